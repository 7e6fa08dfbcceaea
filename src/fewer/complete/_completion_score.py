"""How well missing entries are imputed, judged by known entries: hide some, fit to the rest, compare.

The model is fitted anew without the entries that judge it, so nothing of them reaches it. Errors are in units of each
column's own standard deviation, so that no column counts more than another because of its units; column means then have
an error of about one.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_random_state

from fewer._estimators import Interval, checked_array, refuse_dataset, validate_params
from fewer._figures import Result
from fewer.catalogue import method
from fewer.complete._completer import marks_by_nan, with_nan_for, with_nan_for_null
from fewer.complete._observed import Observed

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class CompletionScore(Result):
    """Errors of a model at entries that it has not seen; made by :func:`completion_score`.

    Attributes
    ----------
    model : str
        The model.
    fraction : float
        Share of the observed entries that was hidden, each time.
    n_hidden : int
        Entries hidden, each time.
    errors : ndarray of shape (n_repeats,)
        Root mean squared error at the hidden entries, in units of their columns' standard deviations.
    mean_errors : ndarray of shape (n_repeats,)
        The same for column means.
    rmse : ndarray of shape (n_repeats,)
        Root mean squared error in the units of the table.
    columns : tuple of str
        Names of the columns, or their positions.
    column_errors : ndarray of shape (n_columns,)
        Error of each column over all repeats, in units of its standard deviation; NaN where nothing was hidden.
    column_mean_errors : ndarray of shape (n_columns,)
        The same for column means.
    coverage : float or None
        Share of the hidden entries within 1.96 standard deviations of the imputed value, for models that give them
        (``impute(X, return_std=True)``); 95% would be right.
    """

    model: str
    fraction: float
    n_hidden: int
    errors: np.ndarray
    mean_errors: np.ndarray
    rmse: np.ndarray
    columns: tuple[str, ...]
    column_errors: np.ndarray
    column_mean_errors: np.ndarray
    coverage: float | None

    @property
    def error(self) -> float:
        """Mean error over the repeats."""
        return float(self.errors.mean())

    @property
    def mean_error(self) -> float:
        """Mean error of column means."""
        return float(self.mean_errors.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the error, which is never below 0; NaN with one repeat."""
        low, high = _interval(self.errors, self.fraction)
        return float(np.maximum(low, 0)), high

    @property
    def gain(self) -> float:
        """How much of the error of column means is saved: 1 is all of it, 0 nothing, below 0 it is worse than them."""
        return 1 - self.error / self.mean_error

    @property
    def gain_interval(self) -> tuple[float, float]:
        """95% interval of the gain, which is never above 1; NaN with one repeat."""
        low, high = _interval(1 - self.errors / self.mean_errors, self.fraction)
        return low, float(np.minimum(high, 1))

    _data = (
        "model",
        "fraction",
        "n_hidden",
        "error",
        "interval",
        "mean_error",
        "gain",
        "gain_interval",
        "rmse",
        "errors",
        "mean_errors",
        "columns",
        "column_errors",
        "column_mean_errors",
        "coverage",
    )

    def __repr__(self) -> str:
        repeats = "once" if len(self.errors) == 1 else f"{len(self.errors)} times"
        lines = [
            f"CompletionScore: {self.model}, {self.n_hidden:,} entries ({self.fraction:.0%}) hidden {repeats}",
            f"  error {self.error:.3f}{interval_text(self.interval)}; column means {self.mean_error:.3f}",
            f"  saves {self.gain:.0%} of the error of column means{interval_text(self.gain_interval, '.0%')}",
            f"  root mean squared error {self.rmse.mean():.4g} in the units of the table",
        ]
        if self.coverage is not None:
            lines.append(f"  {self.coverage:.0%} of the hidden entries within 1.96 standard deviations (95% is right)")
        return "\n".join(lines)

    @property
    def reading(self) -> str:
        """What it means, in plain words."""
        low, high = self.gain_interval
        if np.isnan(low):
            verdict = "One repeat gives no interval; use more."
        elif high < 0:
            verdict = "Column means impute better than this model."
        elif low <= 0:
            verdict = "This model is not clearly better than column means."
        else:
            verdict = f"This model imputes better than column means: its error is {low:.0%} to {high:.0%} smaller."
        return (
            f"{verdict} The hidden entries were drawn at random; where values are not missing at "
            "random, the error may differ (see missing_pattern)."
        )

    def plot(self, n_columns: int = 40) -> "go.Figure":
        """Errors of the columns against those of column means, the best imputed first.

        Parameters
        ----------
        n_columns : int, default=40
            Columns shown at most; of more columns, every k-th is shown.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        return column_errors_figure(self, n_columns)


def interval_text(interval: tuple[float, float], form: str = ".3f") -> str:
    """An interval in brackets, or nothing."""
    low, high = interval
    return "" if np.isnan(low) else f" ({low:{form}} to {high:{form}})"


def _interval(values: np.ndarray, fraction: float) -> tuple[float, float]:
    """A 95% interval of the mean; repeats share most of their training entries, which widens it (Nadeau and Bengio)."""
    n = len(values)
    if n < 2:
        return np.nan, np.nan
    error = np.sqrt((1 / n + fraction / (1 - fraction)) * values.var(ddof=1))
    reach = float(stats.t.ppf(0.975, n - 1) * error)
    return float(values.mean()) - reach, float(values.mean()) + reach


class _Trial(NamedTuple):
    """Squared errors at the hidden entries: the model's, column means', where they are, whether they were covered."""

    squares: np.ndarray
    mean_squares: np.ndarray
    columns: np.ndarray
    covered: np.ndarray | None


@method(
    tasks=["evaluation"],
    when="Before you trust imputed values: how far off are they, against column means, and in which columns?",
    cost="O(n_repeats) fits of the model",
    handles=["missing", "sparse"],
)
@validate_params(
    {
        "estimator": "no_validation",
        "X": "no_validation",
        "fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def completion_score(
    estimator: Any,
    X: Any,
    fraction: float = 0.1,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> CompletionScore:
    """How well a model imputes, judged by observed entries that are hidden from it.

    A random share of the observed entries is hidden, the model is fitted anew to the rest, and the imputed values
    are compared with the hidden ones; that is repeated.

    Parameters
    ----------
    estimator : estimator
        A completer of this room, or any imputer of scikit-learn.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table with missing values (NaN); in a sparse one, what is not stored is missing. A sparse table needs a model
        with ``predict_entries``.
    fraction : float, default=0.1
        Share of the observed entries to hide. The last entry of a column is never hidden.
    n_repeats : int, default=5
        How often.
    n_jobs : int, default=None
        Repeats at the same time.
    random_state : int, RandomState instance or None, default=None
        Draws the entries to hide.

    Returns
    -------
    score : CompletionScore
        Prints itself; ``plot()`` draws it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import PCAMissing, completion_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 8)) + 0.2 * rng.normal(size=(100, 8))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> score = completion_score(PCAMissing(2, random_state=0), X, random_state=0)
    >>> bool(score.gain > 0.6)
    True
    """
    refuse_dataset(X)
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit_transform") or hasattr(estimator, "predict_entries")
    ):
        given = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(f"estimator must be an imputer, such as PCAMissing() or KNNImputer(), and not {given}.")
    names = getattr(X, "columns", None)
    checked = checked_array(
        with_nan_for_null(X),
        "completion_score",
        accept_sparse="csr",
        ensure_all_finite="allow-nan",
        dtype=[np.float64, np.float32],
        ensure_min_features=1,
    )
    marker = getattr(estimator, "missing_values", np.nan)
    if not marks_by_nan(marker):
        checked, estimator = with_nan_for(checked, marker), clone(estimator).set_params(missing_values=np.nan)
    whole = Observed(checked)
    # What no entry is known of cannot be judged.
    kept = np.flatnonzero(whole.column_counts)
    if len(kept) == 0:
        raise ValueError("X has no observed entry, so there is nothing to hide.")
    table = whole if len(kept) == whole.shape[1] else whole.columns(kept)
    # The error of a constant column has no unit.
    scales = np.where(table.column_deviations > 0, table.column_deviations, np.nan)
    if table.dense is None and not hasattr(estimator, "predict_entries"):
        raise TypeError(
            f"X is sparse, and {type(estimator).__name__} has no predict_entries to ask for single entries: use a "
            "completer of fewer.complete, or pass a dense table."
        )
    rng = check_random_state(random_state)
    hidden = [_hidden_entries(table, fraction, rng) for _ in range(n_repeats)]
    trials = Parallel(n_jobs=n_jobs)(delayed(_trial)(estimator, table, entries) for entries in hidden)
    columns = tuple(str(names[column] if names is not None else column) for column in kept)
    return _summary(estimator, fraction, trials, scales, columns)


def _hidden_entries(table: Observed, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """Entries to hide, drawn from all but one of each column."""
    columns = table.by_rows.indices
    shuffled = rng.permutation(table.n_observed)
    stays = np.zeros(table.n_observed, dtype=bool)
    stays[shuffled[np.unique(columns[shuffled], return_index=True)[1]]] = True
    free = shuffled[~stays[shuffled]]
    n_hidden = min(max(1, round(fraction * table.n_observed)), len(free))
    if n_hidden == 0:
        raise ValueError("Every column has one observed entry only, so none can be hidden.")
    return np.sort(free[:n_hidden])


def _trial(model: Any, table: Observed, entries: np.ndarray) -> _Trial:
    stored = table.by_rows
    rows = np.searchsorted(stored.indptr, entries, side="right") - 1
    columns, truth = stored.indices[entries], stored.data[entries].astype(np.float64)
    rest = table.hidden(entries)
    fitted = clone(model)
    covered = None
    if rest.dense is None:
        guess = fitted.fit(rest.by_rows).predict_entries(rows, columns)
    else:
        guess = np.asarray(fitted.fit_transform(rest.dense))[rows, columns]
        std = _deviations(fitted, rest.dense)
        if std is not None:
            covered = np.abs(guess - truth) <= 1.96 * std[rows, columns]
    means = rest.column_means[columns]
    return _Trial((guess - truth) ** 2, (means - truth) ** 2, columns, covered)


def _deviations(fitted: Any, X: np.ndarray) -> np.ndarray | None:
    """Standard deviations of filled-in values, of models that give them."""
    from inspect import signature

    impute = getattr(fitted, "impute", None)
    if impute is None or "return_std" not in signature(impute).parameters:
        return None
    try:
        return impute(X, return_std=True)[1]
    except ValueError:  # a method of the model that has none
        return None


def _summary(
    model: Any, fraction: float, trials: list, scales: np.ndarray, columns: tuple[str, ...]
) -> CompletionScore:
    def scaled(squares: np.ndarray, places: np.ndarray) -> float:
        return float(np.sqrt(np.nanmean(squares / scales[places] ** 2)))

    n_columns = len(scales)
    places = np.concatenate([trial.columns for trial in trials])
    counts = np.bincount(places, minlength=n_columns)

    def by_column(squares: np.ndarray) -> np.ndarray:
        totals = np.bincount(places, weights=squares, minlength=n_columns)
        return np.sqrt(np.where(counts > 0, totals, np.nan) / np.maximum(counts, 1)) / scales

    covered = [trial.covered for trial in trials if trial.covered is not None]
    return CompletionScore(
        model=" ".join(repr(model).split()),
        fraction=fraction,
        n_hidden=len(trials[0].squares),
        errors=np.array([scaled(trial.squares, trial.columns) for trial in trials]),
        mean_errors=np.array([scaled(trial.mean_squares, trial.columns) for trial in trials]),
        rmse=np.array([float(np.sqrt(trial.squares.mean())) for trial in trials]),
        columns=columns,
        column_errors=by_column(np.concatenate([trial.squares for trial in trials])),
        column_mean_errors=by_column(np.concatenate([trial.mean_squares for trial in trials])),
        coverage=float(np.mean(np.concatenate(covered))) if covered else None,
    )


def column_errors_figure(score: "CompletionScore", n_columns: int) -> "go.Figure":
    """Errors of the columns beside those of column means, the best filled on top."""
    import plotly.graph_objects as go

    from fewer import _figures

    known = np.flatnonzero(np.isfinite(score.column_errors))
    order = known[np.argsort(score.column_errors[known], kind="stable")]
    if len(order) > n_columns:
        order = order[np.linspace(0, len(order) - 1, n_columns).round().astype(int)]
    left = f" ({n_columns} of {len(known):,} columns, every k-th)" if len(known) > n_columns else ""
    figure = _figures.new_figure(
        title=f"Error {score.error:.2f}{interval_text(score.interval, '.2f')}, column means {score.mean_error:.2f}",
        x=f"error at hidden entries, in standard deviations of the column{left}",
        height=170 + 19 * len(order),
    )
    places = np.arange(len(order))
    errors, by_means = score.column_errors[order], score.column_mean_errors[order]
    names = [score.columns[column] for column in order]
    worse = errors > by_means
    for name, chosen, colour in (
        (score.model.partition("(")[0], ~worse, _figures.BLUE),
        ("worse than the column's mean", worse, _figures.RED),
    ):
        if chosen.any():
            figure.add_trace(
                go.Bar(
                    x=errors[chosen],
                    y=places[chosen],
                    orientation="h",
                    name=name,
                    marker_color=colour,
                    customdata=np.array(names, dtype=object)[chosen],
                    hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
                )
            )
    figure.add_trace(
        go.Scatter(
            x=by_means,
            y=places,
            name="column means",
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 9, "color": _figures.GREY, "line": {"width": 2}},
            hovertemplate="column mean: %{x:.2f}<extra></extra>",
        )
    )
    figure.update_yaxes(range=[len(order) - 0.5, -0.5], tickvals=places, ticktext=names, showgrid=False)
    figure.update_xaxes(rangemode="tozero")
    figure.update_layout(
        bargap=0.2,
        legend={"y": 1.0, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        margin={"t": 75, "b": 60},
    )
    return figure
