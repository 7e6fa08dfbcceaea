"""Gaussian response model: counts that rise and fall along a latent gradient.

Counts are Poisson, with

    log E y_ik = a_k - ||z_i - u_k||^2 / (2 t_k^2)

for rows at z_i and columns with optima u_k, tolerances t_k and heights a_k. Dropping what is expected from the
likelihood equations gives reciprocal averaging, so the search starts from correspondence analysis [1]_.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, checked_array, fit_context, fit_steps, refuse_negative, warn_caller
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract.correspondence._correspondence_analysis import placed
from fewer.extract.correspondence._counts import (
    CountTable,
    axes_by_svd,
    count_table,
    residuals,
    warn_of_empty_rows,
)

_SCALES = np.geomspace(0.3, 10, 16)
_LARGEST = 60.0  # of a logarithm of a mean: beyond it a search has gone astray, and exp would overflow
_STEPS = 100
_ROUNDS = 5
_PLACES = 16


class Response(NamedTuple):
    """Heights, scores of rows, optima and log tolerances of columns; with totals, these are what rows add up to."""

    heights: np.ndarray
    rows: np.ndarray
    optima: np.ndarray
    log_tolerances: np.ndarray
    row_totals: np.ndarray | None = None


class Fit(NamedTuple):
    """The response found, its log likelihood and that of the start, steps taken, and whether it settled."""

    response: Response
    log_likelihood: float
    started_at: float
    n_iter: int
    settled: bool


def log_means(response: Response) -> np.ndarray:
    """Logarithms of the expected counts."""
    logs = response.heights - _squared_distances(response) / (2 * np.exp(2 * response.log_tolerances))
    if response.row_totals is not None:
        return logs + (np.log(response.row_totals) - logsumexp(logs, axis=1))[:, None]
    return np.minimum(logs, _LARGEST)


def log_likelihood(counts: np.ndarray, response: Response) -> float:
    """Poisson log likelihood of counts."""
    logs = log_means(response)
    return float(np.sum(counts * logs - np.exp(logs)) - gammaln(counts + 1).sum())


def gradient(counts: np.ndarray, response: Response) -> Response:
    """Derivatives of the log likelihood."""
    excess = counts - np.exp(log_means(response))
    pulls = excess * np.exp(-2 * response.log_tolerances)
    return Response(
        excess.sum(axis=0),
        pulls @ response.optima - pulls.sum(axis=1)[:, None] * response.rows,
        pulls.T @ response.rows - pulls.sum(axis=0)[:, None] * response.optima,
        np.sum(pulls * _squared_distances(response), axis=0),
    )


def fitted_response(
    table: CountTable,
    n_axes: int,
    covariates: np.ndarray | None,
    *,
    equal_tolerance: bool,
    row_effects: bool,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> Fit:
    """The most likely response; rows are anywhere, or at ``covariates @ coefficients`` if these are given.

    A row may sit on the wrong side of an optimum, where no small step leads out of: each is placed anew when the search
    has come to an end, and if that helps, the search goes on from there.
    """
    given = np.ascontiguousarray(table.counts, dtype=np.float64)
    # About 1 on average, so that the search ends alike in every unit; powers of 2 cost no digits.
    unit = 2.0 ** np.round(np.log2(given.mean()))
    counts = given / unit
    row_totals, column_totals = table.row_totals / unit, table.column_totals / unit
    table = table._replace(counts=counts, row_totals=row_totals, column_totals=column_totals)
    start = _start(table, counts, n_axes, covariates, row_effects)
    here, n_iter, settled, stopped = start, 0, False, False
    for _ in range(_ROUNDS):
        run = _climbed(counts, here, covariates, equal_tolerance, tol, max_iter - n_iter, on_step)
        here, n_iter, settled, stopped = run.response, n_iter + run.n_iter, run.settled, run.stopped
        if covariates is not None or stopped:
            break
        placed_anew = here._replace(rows=row_scores(counts, here))
        gain = log_likelihood(counts, placed_anew) - log_likelihood(counts, here)
        here = placed_anew if gain >= 0 else here
        if gain <= 1e-6 or n_iter >= max_iter:
            break
    start, here = _times(start, unit), _times(here, unit)
    return Fit(here, log_likelihood(given, here), log_likelihood(given, start), n_iter, settled or stopped)


def _times(response: Response, unit: float) -> Response:
    """The response of counts that are ``unit`` times as large."""
    totals = None if response.row_totals is None else unit * response.row_totals
    return response._replace(heights=response.heights + np.log(unit), row_totals=totals)


class _Climb(NamedTuple):
    response: Response
    n_iter: int
    settled: bool
    stopped: bool


def _climbed(
    counts: np.ndarray,
    start: Response,
    covariates: np.ndarray | None,
    equal_tolerance: bool,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> _Climb:
    """The top that is reached from a start by L-BFGS over heights, rows (or their coefficients), optima, tolerances."""
    free = start.rows if covariates is None else np.linalg.lstsq(covariates, start.rows, rcond=None)[0]
    parts = (start.heights, free, start.optima, start.log_tolerances)
    stops = np.cumsum([part.size for part in parts])[:-1]
    stopped = False

    def unpacked(values: np.ndarray) -> Response:
        heights, rows, optima, tolerances = (
            piece.reshape(part.shape) for piece, part in zip(np.split(values, stops), parts, strict=True)
        )
        places = rows if covariates is None else covariates @ rows
        return Response(heights, places, optima, tolerances, start.row_totals)

    def downhill(values: np.ndarray) -> tuple[float, np.ndarray]:
        response = unpacked(values)
        slopes = gradient(counts, response)
        rows = slopes.rows if covariates is None else covariates.T @ slopes.rows
        tolerances = np.zeros_like(slopes.log_tolerances) if equal_tolerance else slopes.log_tolerances
        packed = np.concatenate([slopes.heights, rows.ravel(), slopes.optima.ravel(), tolerances])
        return -log_likelihood(counts, response), -packed

    def watched(intermediate_result: Any) -> None:
        nonlocal stopped
        stopped = on_step()
        if stopped:
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-15, "gtol": tol * counts.sum(), "maxcor": 20}
    first = np.concatenate([part.ravel() for part in parts])
    run = minimize(downhill, first, jac=True, method="L-BFGS-B", callback=watched, options=options)
    return _Climb(unpacked(run.x), int(run.nit), run.nit < max_iter, stopped)


def row_scores(counts: np.ndarray, response: Response) -> np.ndarray:
    """The most likely scores of rows with given counts: Newton steps from the best of several places."""
    precision = np.exp(-2 * response.log_tolerances)
    weights = counts * precision
    totals = weights.sum(axis=1)
    filled = totals > 0
    found = np.zeros((len(counts), response.optima.shape[1]))
    averages = (weights[filled] @ response.optima) / totals[filled, None]
    found[filled] = _scored(counts[filled], _best_places(counts[filled], averages, response), response, precision)
    return found


def _best_places(counts: np.ndarray, averages: np.ndarray, response: Response) -> np.ndarray:
    """For each row the best of the average of its optima and some places where training rows are."""
    order = np.argsort(response.rows[:, 0], kind="stable")
    some = order[np.linspace(0, len(order) - 1, min(len(order), _PLACES)).astype(int)]
    best, values = averages.copy(), _row_log_likelihoods(counts, _with_rows(response, averages, counts))
    for place in response.rows[some]:
        everywhere = np.broadcast_to(place, averages.shape)
        there = _row_log_likelihoods(counts, _with_rows(response, everywhere, counts))
        better = there > values
        best[better], values[better] = place, there[better]
    return best


def _scored(counts: np.ndarray, rows: np.ndarray, response: Response, precision: np.ndarray) -> np.ndarray:
    moving = np.arange(len(rows))
    for _ in range(_STEPS):
        if not len(moving):
            break
        here = _with_rows(response, rows[moving], counts[moving])
        means = np.exp(log_means(here))
        away = response.optima - here.rows[:, None, :]
        pulls = (counts[moving] - means) * precision
        slopes = np.einsum("ik,ikq->iq", pulls, away)
        bend = np.einsum("ikq,ikr->iqr", (means * precision**2)[..., None] * away, away)
        bend += pulls.sum(axis=1)[:, None, None] * np.eye(rows.shape[1])
        if here.row_totals is not None:
            pulled = np.einsum("ik,ikq->iq", means * precision, away)
            bend -= pulled[:, :, None] * (pulled / here.row_totals[:, None])[:, None, :]
        # Where the likelihood bends upwards, a step along the slope stands in for Newton's.
        enough = 0.1 * np.sum(counts[moving] * precision, axis=1)
        lacking = np.maximum(enough - np.linalg.eigvalsh(bend)[:, 0], 0)
        steps = np.linalg.solve(bend + lacking[:, None, None] * np.eye(rows.shape[1]), slopes[..., None])[..., 0]
        before = _row_log_likelihoods(counts[moving], here)
        for _ in range(30):
            after = _row_log_likelihoods(counts[moving], here._replace(rows=here.rows + steps))
            worse = after < before - 1e-12 * np.abs(before)
            if not worse.any():
                break
            steps[worse] /= 2
        rows[moving] = here.rows + steps
        moving = moving[np.abs(steps).max(axis=1) > 1e-10]
    return rows


def _with_rows(response: Response, rows: np.ndarray, counts: np.ndarray) -> Response:
    """The response for other rows, with their own totals where totals count."""
    return response._replace(rows=rows, row_totals=None if response.row_totals is None else counts.sum(axis=1))


def _row_log_likelihoods(counts: np.ndarray, response: Response) -> np.ndarray:
    logs = log_means(response)
    return np.sum(counts * logs - np.exp(logs), axis=1)


def _start(
    table: CountTable, counts: np.ndarray, n_axes: int, covariates: np.ndarray | None, row_effects: bool
) -> Response:
    """Scores of correspondence analysis, at the most likely of several scales, with the heights that fit them."""
    M = residuals(table._replace(counts=counts))
    if covariates is not None:
        roots = np.sqrt(table.row_totals)
        basis = np.linalg.qr((covariates - table.row_totals @ covariates / table.total) * roots[:, None])[0]
        M = basis @ (basis.T @ M)
    axes = list(axes_by_svd(M, n_axes))
    rows = np.column_stack([axis.left for axis in axes]) * np.sqrt(table.total / table.row_totals)[:, None]
    optima = np.column_stack([axis.right for axis in axes]) * np.sqrt(table.total / table.column_totals)[:, None]
    strengths = np.array([max(axis.size, 1e-6) for axis in axes])
    if covariates is not None:
        rows = covariates @ np.linalg.lstsq(covariates, rows, rcond=None)[0]
    candidates = [
        _with_heights(table, scale * rows * strengths**power, scale * optima * strengths ** (1 - power), row_effects)
        for scale in _SCALES
        for power in (0.0, 0.5, 1.0)
    ]
    return max(candidates, key=lambda response: log_likelihood(counts, response))


def _with_heights(table: CountTable, rows: np.ndarray, optima: np.ndarray, row_effects: bool) -> Response:
    """Heights that make the expected totals of columns those observed (nearly, with row effects), tolerances of 1."""
    response = Response(np.zeros(len(optima)), rows, optima, np.zeros(len(optima)))
    weights = table.row_totals[:, None] if row_effects else None
    heights = np.log(table.column_totals) - logsumexp(log_means(response), axis=0, b=weights)
    return response._replace(heights=heights, row_totals=table.row_totals if row_effects else None)


def _squared_distances(response: Response) -> np.ndarray:
    away = response.rows[:, None, :] - response.optima
    return np.einsum("ikq,ikq->ik", away, away)


_MOST_CELLS = 50_000_000


@method(
    tasks=["unsupervised"],
    when="Counts rise and fall along a latent gradient (species along moisture, words along time).",
    cost="O(n p k) time for a step; O(n p k) memory",
    paper="zhu-cca-lda",
    depends_on_shift="it takes counts, for which 0 means none",
)
class GaussianResponseModel(CallbackSupportMixin, Extractor):
    """Places of rows along a latent gradient, and optima of columns whose counts rise towards them, by likelihood.

    Parameters
    ----------
    n_components : int, default=1
        Dimensions of the gradient; None for as many as possible.
    equal_tolerance : bool, default=True
        All columns fall off equally fast from their optima; that distance is the unit of the scores. Otherwise each
        column has a tolerance of its own, and the unit is their geometric mean.
    max_iter : int, default=500
        Maximum number of steps.
    tol : float, default=1e-8
        Stop when no derivative of the log likelihood is larger than this share of all counts.
    row_effects : bool, default=False
        Every row has a factor of its own, so that its total does not matter: for sites that were searched longer, or
        longer documents. Otherwise a row with few counts is far from all optima.

    Attributes
    ----------
    row_scores_ : ndarray of shape (n_samples, n_components)
        Places of the training rows, with mean 0; NaN for rows without counts, which ``transform`` puts at 0.
    column_scores_ : ndarray of shape (n_features, n_components)
        Optima of the columns; NaN for columns without counts.
    tolerances_ : ndarray of shape (n_features,)
        How far from its optimum a column's counts have fallen to 61%.
    heights_ : ndarray of shape (n_features,)
        Logarithm of the count expected at the optimum; with row effects, relative to the other columns.
    coef_ : ndarray of shape (n_covariates, n_components) or None
        With covariates: what they are multiplied by.
    covariate_means_ : ndarray of shape (n_covariates,) or None
        What is subtracted from them first.
    log_likelihood_ : float
        Log likelihood reached.
    initial_log_likelihood_ : float
        That of correspondence analysis, where the search starts.
    n_iter_ : int
        Steps taken.
    n_components_ : int
        Dimensions of the gradient.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CorrespondenceAnalysis : An approximation of it that takes no iterations.

    Notes
    -----
    Given the total of a row, its counts are those of a discriminant analysis along the gradient, with the tolerances as
    standard deviations of the classes: LDA if they are equal. A larger fit does not begin with a smaller one.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapters 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import GaussianResponseModel
    >>> rng = np.random.default_rng(0)
    >>> places, optima = np.linspace(-2, 2, 50), np.linspace(-2, 2, 8)
    >>> counts = rng.poisson(np.exp(2 - (places[:, None] - optima) ** 2 / 2))
    >>> model = GaussianResponseModel().fit(counts)
    >>> bool(abs(np.corrcoef(model.row_scores_[:, 0], places)[0, 1]) > 0.97)
    True
    """

    _nested = False

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "equal_tolerance": ["boolean"],
        "row_effects": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=1, equal_tolerance=True, max_iter=500, tol=1e-8, row_effects=False):
        self.n_components = n_components
        self.equal_tolerance = equal_tolerance
        self.max_iter = max_iter
        self.tol = tol
        self.row_effects = row_effects

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, covariates=None):
        """Find the gradient.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table of counts, or of other numbers that are 0 or more. A sparse one becomes dense.
        y : Ignored
            Not used.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            Columns that describe the rows: places are linear combinations of them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if getattr(y, "ndim", 1) == 2 and covariates is None:
            raise ValueError("y is not used, and here it is a table; did you mean fit(X, covariates=...)?")
        X = self._dense_counts(X)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        described = self._centred_covariates(covariates, X)
        table = count_table(X, type(self).__name__)
        possible = min(table.counts.shape) - 1
        if described is not None:
            possible = min(possible, int(np.linalg.matrix_rank(described[table.rows])))
        kept = self._number_of_components(possible, "one less than there are rows or columns with counts")
        with fit_steps(self, X) as after_step:
            found = fitted_response(
                table,
                kept,
                None if described is None else described[table.rows],
                equal_tolerance=self.equal_tolerance,
                row_effects=self.row_effects,
                tol=self.tol,
                max_iter=self.max_iter,
                on_step=lambda: after_step("step"),
            )
            self._keep(found, table, X, described)
        if not found.settled:
            warn_caller(
                f"After {found.n_iter} steps the log likelihood was {found.log_likelihood:.6g} and still rising; "
                f"tol={self.tol:g} was asked for. Raise max_iter; a column found at one end only has no optimum.",
                ConvergenceWarning,
            )
        return self

    def _dense_counts(self, X: Any, **options: Any) -> np.ndarray:
        """The table, checked; expected counts are never 0, so that a sparse one has to become dense."""
        X = self._validated(X, **options)
        if sparse.issparse(X):
            if X.shape[0] * X.shape[1] > _MOST_CELLS:
                raise ValueError(
                    f"GaussianResponseModel expects a count in each of the {X.shape[0]:,} x {X.shape[1]:,} cells, "
                    "which are too many to hold: leave rare columns out, or take CorrespondenceAnalysis instead."
                )
            X = X.toarray()
        return np.ascontiguousarray(X)

    def _centred_covariates(self, covariates: Any, X: np.ndarray) -> np.ndarray | None:
        self.covariate_means_ = None
        if covariates is None:
            return None
        described = checked_array(covariates, type(self).__name__, dtype=np.float64)
        check_consistent_length(X, described)
        self.covariate_means_ = described.mean(axis=0)
        return described - self.covariate_means_

    def _keep(self, found: Fit, table: CountTable, X: np.ndarray, described: np.ndarray | None) -> None:
        """Scores with mean 0 along their principal axes, in units of the typical tolerance."""
        response = found.response
        unit = np.exp(response.log_tolerances.mean())
        centre = response.rows.mean(axis=0) if described is None else np.zeros(response.rows.shape[1])
        turn = np.linalg.svd(response.rows - centre, full_matrices=False)[2].T
        optima = (response.optima - centre) @ turn / unit
        signs = np.sign(np.take_along_axis(optima, np.abs(optima).argmax(axis=0)[None], axis=0))
        rows, optima = (response.rows - centre) @ turn / unit * signs, optima * signs
        heights = response.heights - (response.heights.mean() if self.row_effects else 0)
        tolerances = response.log_tolerances - np.log(unit)
        self._response = Response(heights, rows, optima, tolerances, response.row_totals)
        self._columns = table.columns
        n_rows, n_columns = X.shape
        self.row_scores_ = placed(rows, table.rows, n_rows, np.nan, X.dtype)
        self.column_scores_ = placed(optima, table.columns, n_columns, np.nan, X.dtype)
        self.tolerances_ = placed(np.exp(tolerances), table.columns, n_columns, np.nan, X.dtype)
        self.heights_ = placed(heights, table.columns, n_columns, -np.inf, X.dtype)
        self.coef_ = None
        if described is not None:
            self.coef_ = np.linalg.lstsq(described[table.rows], rows, rcond=None)[0]
            self.row_scores_ = (described @ self.coef_).astype(X.dtype)
        self.log_likelihood_ = found.log_likelihood
        self.initial_log_likelihood_ = found.started_at
        self.n_iter_ = max(found.n_iter, 1)

    def transform(self, X):
        """The most likely places of rows with given counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of rows, in the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Their places; 0, with a warning, for rows without counts.
        """
        check_is_fitted(self)
        X = self._dense_counts(X, reset=False)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        counts = X[:, self._columns].astype(np.float64)
        warn_of_empty_rows(counts.sum(axis=1), type(self).__name__)
        return row_scores(counts, self._response).astype(X.dtype)

    def scores_from(self, covariates):
        """Places of rows of which the covariates alone are known.

        Parameters
        ----------
        covariates : array-like of shape (n_samples, n_covariates)
            Columns that describe the rows, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            Their places.
        """
        check_is_fitted(self)
        if self.coef_ is None:
            raise ValueError("The model was fitted without covariates; pass them to fit, or give counts to transform.")
        described = checked_array(covariates, type(self).__name__, dtype=np.float64)
        return (described - self.covariate_means_) @ self.coef_

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about row_scores_ rather than one more to set
        return self.row_scores_.shape[1]

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
