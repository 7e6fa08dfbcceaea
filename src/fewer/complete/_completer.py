"""What every completer is: a scikit-learn transformer that imputes missing entries of rows by a fitted low-rank model.

All models of the room have the form ``table = scores @ loadings' + mean``. So that they can be exchanged for one
another, methods have the same names in the whole room:

- ``transform(X)`` imputes missing entries, as scikit-learn's imputers do; observed entries stay as they are,
- ``impute(X)`` does the same for plain arrays, and returns a standard deviation where the model has one,
- ``project(X)`` gives the scores: the coordinates of rows in the model's few dimensions,
- ``reconstruct(scores)`` gives rows back from scores,
- ``predict_entries(rows, columns)`` gives single entries of the training table, for tables too large to be completed.

The scores of a row depend on the fitted model and on the observed entries of that row only: other rows that are
transformed with it make no difference.

A model derives from ``Completer``, has ``missing_values``, ``add_indicator`` and ``keep_empty_features`` among its
parameters, gets its table from ``_training_table(X)`` in ``fit``, sets ``loadings_``, ``mean_`` and ``scores_``, and
implements ``_scores_of(table)``. ``LowRankCompleter`` is the base of those whose model is ``U diag(d) V'``, with
offsets and scales of columns and rows that are taken from the observed entries first (``Offsets``).
"""

import sys
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import MissingValues, StrOptions, check_feature_names_in, fit_context, validated, warn_caller
from fewer.complete._entries import observed_entries
from fewer.complete._observed import Observed

_SWEEPS = 100
_SETTLED = 1e-10


class Offsets(NamedTuple):
    """An entry of row i and column j stands for ``(x - rows[i] - columns[j]) / scales[j]``."""

    rows: np.ndarray | None
    columns: np.ndarray
    scales: np.ndarray


def fitted_offsets(table: Observed, with_mean: bool | str, with_std: bool) -> Offsets:
    """Means of what is observed: of columns, or of rows and columns together; scales are standard deviations."""
    columns = np.zeros(table.shape[1]) if not with_mean else table.column_means
    rows = None
    if with_mean == "both":
        rows, columns = _two_way_means(table, columns)
    scales = np.ones(table.shape[1])
    if with_std:
        stored = standardised(table, Offsets(rows, columns, scales)).by_rows
        squares = np.bincount(stored.indices, weights=stored.data.astype(np.float64) ** 2, minlength=table.shape[1])
        spread = np.sqrt(squares / np.maximum(table.column_counts, 1))
        # What rounding leaves of a constant column is not worth scaling up.
        scales = np.where(spread > 1e-6 * np.abs(columns), spread, 1.0)
        scales[scales == 0] = 1.0
    return Offsets(rows, columns, scales)


def offsets_of_rows(table: Observed, fitted: Offsets) -> Offsets:
    """The same for new rows: each row's own mean, from what is observed of it, where rows have offsets."""
    if fitted.rows is None:
        return fitted
    stored = table.by_rows
    return fitted._replace(rows=_row_means(stored, stored.data - fitted.columns[stored.indices]))


def standardised(table: Observed, offsets: Offsets) -> Observed:
    """The table without its offsets, in units of its scales."""
    if offsets.rows is None and not offsets.columns.any() and (offsets.scales == 1).all():
        return table
    columns, scales = offsets.columns.astype(table.dtype), offsets.scales.astype(table.dtype)
    rows = np.zeros(table.shape[0], table.dtype) if offsets.rows is None else offsets.rows.astype(table.dtype)
    if table.dense is not None:
        return Observed((table.dense - rows[:, None] - columns) / scales)
    stored = table.by_rows
    values = stored.data - np.repeat(rows, np.diff(stored.indptr)) - columns[stored.indices]
    values /= scales[stored.indices]
    return Observed(sparse.csr_array((values, stored.indices, stored.indptr), shape=stored.shape))


def _two_way_means(table: Observed, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of rows and of columns that leave no mean in either, by turns."""
    stored = table.by_rows
    counts = np.maximum(table.column_counts, 1)
    size = max(float(np.abs(columns).max(initial=0)), np.finfo(float).tiny)
    for _ in range(_SWEEPS):
        rows = _row_means(stored, stored.data - columns[stored.indices])
        left = stored.data - np.repeat(rows, np.diff(stored.indptr))
        before, columns = columns, np.bincount(stored.indices, weights=left, minlength=len(counts)) / counts
        if np.abs(columns - before).max(initial=0) <= _SETTLED * size:
            break
    return _row_means(stored, stored.data - columns[stored.indices]), columns


def _row_means(stored: sparse.csr_array, values: np.ndarray) -> np.ndarray:
    counts = np.diff(stored.indptr)
    totals = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=values, minlength=len(counts))
    return totals / np.maximum(counts, 1)


# Rows are imputed in blocks of about this many entries, so that the model's values never need a second whole table.
_ENTRIES_AT_ONCE = 1 << 22
# A sparse table with more entries than this, missing ones counted, is not completed in one piece: 2 GB in float64.
_ENTRIES_TO_FILL = 1 << 28


class Completer(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Base class of all that impute missing values."""

    _parameter_constraints: dict = {
        "missing_values": [MissingValues(numeric_only=True), None],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
    }

    loadings_: np.ndarray
    mean_: np.ndarray
    scores_: np.ndarray
    n_observed_: np.ndarray
    indicator_: MissingIndicator | None

    def __init__(self, *, missing_values=np.nan, add_indicator=False, keep_empty_features=False):
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit the low-rank model to the observed entries of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values (NaN); in a sparse one, what is not stored is missing.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def transform(self, X):
        """Impute the missing values of rows, each from what is observed of it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values; in a sparse one, what is not stored is missing.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features_out)
            The table without missing values. Columns with nothing observed in ``fit`` are dropped, unless
            ``keep_empty_features``. With ``add_indicator``, the indicators of missing values follow.
        """
        filled = self.impute(X)
        if self.indicator_ is None:
            return filled
        missing = np.isnan(self._new_table(X).columns(self.indicator_.features_).with_nan())
        return np.hstack([filled, missing.astype(filled.dtype)])

    def impute(self, X):
        """Impute the missing values of rows, as ``transform`` does, always as an array and without indicators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values; in a sparse one, what is not stored is missing.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features_out)
            The table without missing values.
        """
        table = self._new_table(X)
        self._refuse_to_fill(table)
        filled = table.with_nan()
        for rows in self._incomplete_rows(table):
            missing = np.isnan(filled[rows])
            filled[rows] = np.where(missing, self._rows_from(self._scores_seen(table.rows(rows))), filled[rows])
        return filled[:, self._columns_out()]

    def project(self, X):
        """Scores of rows: their coordinates in the model's few dimensions, each from what is observed of the row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values; in a sparse one, what is not stored is missing.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            One row for each row of the table.
        """
        return self._scores_seen(self._new_table(X))

    def reconstruct(self, scores):
        """Rows that the model gives for scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_components)
            Coordinates, as ``project`` gives them.

        Returns
        -------
        X_model : ndarray of shape (n_samples, n_features)
            The model's value for every entry.
        """
        check_is_fitted(self)
        return self._rows_from(np.asarray(scores))

    def predict_entries(self, rows, columns):
        """Model's values for single entries of the training table.

        Parameters
        ----------
        rows : array-like of int of shape (n_entries,)
            Rows of the training table.
        columns : array-like of int of shape (n_entries,)
            Columns of the training table, by position.

        Returns
        -------
        values : ndarray of shape (n_entries,)
            One value for each pair.
        """
        check_is_fitted(self)
        rows = _positions(rows, len(self.scores_), "rows")
        columns = _positions(columns, len(self.loadings_), "columns")
        if rows.shape != columns.shape:
            raise ValueError(f"rows and columns come in pairs, but there are {len(rows)} and {len(columns)} of them.")
        return np.einsum("ij,ij->i", self.scores_[rows], self.loadings_[columns]) + self.mean_[columns]

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that ``transform`` gives: those of the table.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, where ``fit`` saw none.

        Returns
        -------
        names : ndarray of str
            One for each column; columns with nothing observed in ``fit`` are left out, unless
            ``keep_empty_features``. Those of indicators are ``missingindicator_`` and the name of the column.
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        added = [] if self.indicator_ is None else self.indicator_.get_feature_names_out(names)
        return np.concatenate([names[self._columns_out()], added])

    def _training_table(self, X: Any) -> Observed:
        """The table to fit, checked; warns of columns with no observed entry."""
        table = Observed(self._validated(X, reset=True))
        if table.n_observed == 0:
            raise ValueError("X has no observed entry: every entry is NaN, or (in a sparse table) none is stored.")
        self._refuse_huge(table)
        self.n_observed_ = table.column_counts
        self.indicator_ = self._fitted_indicator(table) if self.add_indicator else None
        empty = np.flatnonzero(table.column_counts == 0)
        if len(empty):
            names = getattr(self, "feature_names_in_", np.arange(table.shape[1]))[empty].tolist()
            shown = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
            fate = "filled with 0" if self.keep_empty_features else "dropped by transform"
            warn_caller(
                f"Nothing is observed of {len(empty)} of {table.shape[1]} columns ({shown}): they are {fate}; "
                "set keep_empty_features to choose."
            )
        return table

    def _refuse_huge(self, table: Observed) -> None:
        """Numbers whose squares cannot be added up; the column with the largest is named."""
        values = table.by_rows.data if table.dense is None else table.dense
        with np.errstate(invalid="ignore"):
            largest = float(max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None), 0.0))
        most = float(np.sqrt(np.finfo(table.dtype).max / values.size)) / 100
        if largest > most:
            place = int(table.by_rows.indices[np.abs(table.by_rows.data).argmax()])
            name = getattr(self, "feature_names_in_", np.arange(table.shape[1])).tolist()[place]
            raise ValueError(
                f"Column {name!r} holds numbers up to {largest:.2g}, whose squares are beyond what {table.dtype} "
                f"counts with: {type(self).__name__} needs numbers below {most:.2g}. Give the columns in other units, "
                "by MaxAbsScaler as the step before in a pipeline."
            )

    def _new_table(self, X: Any) -> Observed:
        check_is_fitted(self)
        return Observed(self._validated(X, reset=False))

    def _validated(self, X: Any, reset: bool) -> Any:
        """The checked table, with NaN for every missing value."""
        table = validated(
            self,
            with_nan_for_null(X),
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._marks_by_nan else True,
        )
        return table if self._marks_by_nan else with_nan_for(table, self.missing_values)

    @property
    def _marks_by_nan(self) -> bool:
        return marks_by_nan(self.missing_values)

    def _fitted_indicator(self, table: Observed) -> MissingIndicator:
        """It learns which columns have missing values, so one row that has them all is enough."""
        marker = np.nan if self._marks_by_nan else self.missing_values
        row = np.where(table.column_counts < table.shape[0], marker, 1.0 if marker == 0 else 0.0)
        return MissingIndicator(missing_values=marker, error_on_new=False).fit(row[None, :])

    def _scores_seen(self, table: Observed) -> np.ndarray:
        """Scores from the columns that the model has learnt something about."""
        return self._scores_of(table.without(self.n_observed_ == 0))

    def _scores_of(self, table: Observed) -> np.ndarray:
        """Scores of new rows, one row each, from their observed entries and the fitted model alone."""
        raise NotImplementedError

    def _rows_from(self, scores: np.ndarray) -> np.ndarray:
        return scores @ self.loadings_.T + self.mean_

    def _incomplete_rows(self, table: Observed) -> list[np.ndarray]:
        """Numbers of the rows with missing entries, in blocks."""
        chosen = np.flatnonzero(table.row_counts < table.shape[1])
        block = max(1, _ENTRIES_AT_ONCE // table.shape[1])
        return [chosen[start : start + block] for start in range(0, len(chosen), block)]

    def _refuse_to_fill(self, table: Observed) -> None:
        n_rows, n_columns = table.shape
        size = n_rows * n_columns
        if table.dense is None and size > _ENTRIES_TO_FILL:
            raise ValueError(
                f"Completed, this sparse table of {n_rows:,} x {n_columns:,} would take {size * 8e-9:,.0f} GB. "
                "Transform it in blocks of rows, X[:1000] and so on, or ask for the entries that you need by "
                "predict_entries(rows, columns)."
            )

    def _columns_out(self) -> np.ndarray | slice:
        if self.keep_empty_features or self.n_observed_.all():
            return slice(None)
        return self.n_observed_ > 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._marks_by_nan
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def usable_rank(rank: int, shape: tuple[int, int], name: str = "n_components") -> int:
    """The rank asked for, or the largest that a table of this shape can have, with a warning."""
    largest = min(shape)
    if rank > largest:
        warn_caller(
            f"{name}={rank} is more than a table of {shape[0]} x {shape[1]} can hold; {largest} will be used.",
        )
    return min(rank, largest)


def marks_by_nan(marker: Any) -> bool:
    """Whether ``missing_values`` is NaN or another null, and not a number."""
    return not isinstance(marker, Real) or marker != marker


def with_nan_for_null(X: Any) -> Any:
    """The table with NaN for ``pandas.NA`` among Python objects, which cannot become a number otherwise."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return X
    if isinstance(X, pandas.DataFrame):
        return X.where(X.notna(), np.nan) if any(kind.kind == "O" for kind in X.dtypes) else X
    objects = np.asarray(X) if isinstance(X, list | tuple | np.ndarray) else None
    return X if objects is None or objects.dtype != object else np.where(pandas.isna(objects), np.nan, objects)


def with_nan_for(table: Any, marker: float) -> Any:
    """A copy of a checked table with NaN wherever the marker stands."""
    table = table.copy()
    values = table.data if sparse.issparse(table) else table
    values[values == marker] = np.nan
    return table


def _positions(given: Any, n: int, what: str) -> np.ndarray:
    positions = np.asarray(given)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise ValueError(f"{what} must be a list of positions (whole numbers), one for each entry asked for.")
    if positions.size and (positions.min() < 0 or positions.max() >= n):
        raise ValueError(f"{what} must lie between 0 and {n - 1}; {positions.min()} to {positions.max()} were given.")
    return positions


_LEAST_PENALTY = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
"""Of a row's scores: keeps them finite where a row observes fewer columns than there are dimensions."""
_UNEQUAL = 100
"""Of the largest column to the middle one: then the others hardly count."""


class LowRankCompleter(Completer):
    """Base class of completers with factors ``U_``, ``d_``, ``V_``.

    A new row's scores minimise ``||x_o - V_o a||^2 + sum of penalties * a^2`` over its observed columns o. With the
    penalties that belong to the model, a training row gets the scores that it has in the fit.
    """

    _parameter_constraints: dict = {
        **Completer._parameter_constraints,
        "with_mean": ["boolean", StrOptions({"both"})],
        "with_std": ["boolean"],
        "random_state": ["random_state"],
    }

    with_mean: bool | str
    with_std: bool
    random_state: Any
    U_: np.ndarray
    d_: np.ndarray
    V_: np.ndarray

    def _training_entries(self, X: Any) -> Any:
        """The observed entries to fit, with their offsets taken away."""
        table = self._training_table(X)
        empty = int((table.row_counts == 0).sum())
        if empty:
            filled = "the offsets alone" if self.with_mean else "0, since with_mean=False"
            warn_caller(f"Nothing is observed of {empty} of {table.shape[0]} rows: they are filled with {filled}.")
        offsets = fitted_offsets(table, self.with_mean, self.with_std)
        # As plain arrays: a saved model must not hold classes that nobody trusts.
        self._row_offsets, self._column_offsets, self._scales = offsets
        entries = observed_entries(standardised(table, offsets))
        self._warn_of_units(entries.column_squares() / np.maximum(table.column_counts, 1))
        return entries

    def _warn_of_units(self, squares: np.ndarray) -> None:
        """Say so when a column outweighs the others by its unit alone; ``squares`` are the columns' mean squares."""
        if self.with_std or not (squares > 0).any():
            return
        largest, median = float(np.sqrt(squares.max())), float(np.sqrt(np.median(squares[squares > 0])))
        if largest > _UNEQUAL * median:
            name = getattr(self, "feature_names_in_", np.arange(len(squares))).tolist()[int(squares.argmax())]
            means = "" if self.with_mean else ", with_mean=True takes away their means"
            warn_caller(
                f"Entries of column {name!r} are some {largest / median:,.0f} times as large as "
                "those of most columns, so it dominates how missing entries are imputed. If that is a matter of units, "
                f"with_std=True gives all columns the same weight{means}."
            )

    def _offsets(self) -> Offsets:
        return Offsets(self._row_offsets, self._column_offsets, self._scales)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _keep(
        self, U: np.ndarray, d: np.ndarray, V: np.ndarray, penalties: np.ndarray, core: np.ndarray | None = None
    ) -> None:
        """Set the fitted model ``U diag(d) V'``, or ``U core V'`` where the weights were fitted anew.

        ``penalties`` are those of a row's scores in the basis V before that.
        """
        V = V.copy()
        self._basis, self._penalties, self._weights = V, penalties, None
        if core is not None:
            turn, weights, back = np.linalg.svd(core)
            self._weights = turn * weights / d[:, None]
            U, d, V = U @ turn, weights, V @ back.T
        # Rounding leaves traces of columns that were never seen.
        V[self.n_observed_ == 0] = 0
        signs = _signs(V)
        self.U_, self.d_, self.V_ = U * signs, d, V * signs
        if self._weights is not None:
            self._weights = self._weights * signs
        else:
            self._basis = self.V_
        offsets = self._offsets()
        scores, loadings = self.U_ * d, self.V_ * offsets.scales[:, None].astype(V.dtype)
        self.mean_ = offsets.columns.astype(V.dtype)
        if offsets.rows is not None:
            scores = np.column_stack([scores, offsets.rows.astype(V.dtype)])
            loadings = np.column_stack([loadings, np.ones_like(self.mean_)])
        self.scores_, self.loadings_ = scores, loadings

    def _scores_of(self, table: Observed) -> np.ndarray:
        offsets = offsets_of_rows(table, self._offsets())
        entries = observed_entries(standardised(table, offsets))
        basis = self._basis.astype(entries.dtype)
        scores = entries.ridge_rows(basis, np.maximum(self._penalties, _LEAST_PENALTY[basis.dtype]))
        if self._weights is not None:
            scores = scores @ self._weights.astype(scores.dtype)
        if offsets.rows is not None:
            scores = np.column_stack([scores, offsets.rows.astype(scores.dtype)])
        return scores


def _signs(V: np.ndarray) -> np.ndarray:
    """Signs that make the largest entry of each column, in absolute value, positive."""
    if not V.size:
        return np.ones(V.shape[1], dtype=V.dtype)
    return np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1, 1).astype(V.dtype)
