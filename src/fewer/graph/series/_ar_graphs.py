"""Graphs of time series from sparse autoregressive models, by a penalised likelihood or on a graph that is given.

    min over X >= 0 of  -log det X_00 + tr(C X) + gamma h(D(X))

C has the covariances of the series with their past, and ``D(X)`` the inverse spectrum, whose entries the penalty h sums
up pair by pair (``_dual.py``). Two series have an edge if their partial coherence exceeds a threshold at some
frequency. With order 0 this is the graphical lasso. Songsiri and Vandenberghe (2010), JMLR 11, 2671-2705.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, validated, warn_caller
from fewer.catalogue import method
from fewer.graph._frame import GraphMixin
from fewer.graph.precision._column_covariance import refuse_constant_columns
from fewer.graph.series._dual import ARSolution, penalised, with_zeros
from fewer.graph.series._spectra import ar_covariance, largest_root, partial_coherence


class ARGraph(GraphMixin, BaseEstimator):
    """A fitted autoregressive model with its inverse spectrum, and the graph that this has."""

    _rows_in_order = True
    _weight_words = "partial coherence"

    def _edge_weights(self) -> np.ndarray:
        return self.partial_coherence_

    def _scaled_series(self, X: Any, most: int) -> np.ndarray:
        """The checked table in standard deviations, if wanted; location and scales are kept for the model."""
        X = validated(self, X, dtype=np.float64, ensure_min_samples=2)
        who = type(self).__name__
        if len(X) <= most:
            raise ValueError(f"{who} looks {most} rows back, and X has {len(X)} sample(s): lower the order.")
        self.location_ = X.mean(axis=0)
        refuse_constant_columns(X.var(axis=0), self.location_, self._node_names(), who)
        self._scales = X.std(axis=0) if self.with_std else np.ones(X.shape[1])
        return (X - self.location_) / self._scales

    def _covariances(self, X: np.ndarray, order: int, alpha: float = 0.0) -> np.ndarray:
        return ar_covariance(X, order, windowed=self.windowed, alpha=alpha)

    def _set_model(self, solution: ARSolution, n_rows: int) -> None:
        """Keep the model in the units of the series."""
        point, scales = solution.point, self._scales
        size, units = len(scales), np.outer(scales, scales)
        order = len(point.Z) - 1
        self.ar_coef_ = point.coef.reshape(size, order, size).transpose(1, 0, 2) * scales[:, None] / scales
        self.noise_cov_ = point.noise_cov * units
        self.inverse_spectrum_ = point.spectrum / units
        self.partial_coherence_ = partial_coherence(self.inverse_spectrum_)
        self.n_iter_ = solution.n_iter
        self.loglik_ = log_likelihood(solution, n_rows)
        if not self.windowed and largest_root(self.ar_coef_) >= 1:
            warn_caller("The fitted model is not stable; windowed=True always gives a stable one.")

    def score(self, X, y=None):
        """Mean log-likelihood of a row given the rows before it; the larger, the better the model fits.

        To classify a series, fit a model to each class and take the one with the largest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Series as columns, oldest row first.
        y : None
            Ignored.

        Returns
        -------
        score : float
            The mean.
        """
        check_is_fitted(self, "ar_coef_")
        X = validated(self, X, dtype=np.float64, reset=False) - self.location_
        order = len(self.ar_coef_)
        if len(X) <= order:
            raise ValueError(f"X has {len(X)} rows; a model of order {order} needs more.")
        residuals = X[order:].copy()
        for lag, coef in enumerate(self.ar_coef_, start=1):
            residuals -= X[order - lag : len(X) - lag] @ coef.T
        distances = np.einsum("ti,ti->t", residuals, np.linalg.solve(self.noise_cov_, residuals.T).T)
        constant = np.linalg.slogdet(self.noise_cov_)[1] + X.shape[1] * np.log(2 * np.pi)
        return float(-(distances.mean() + constant) / 2)


def log_likelihood(solution: ARSolution, n_rows: int) -> float:
    """``(N - p) / 2 (log det X_00 - tr(C X))``, the log-likelihood up to a constant."""
    point = solution.point
    size, order = point.Z.shape[1], len(point.Z) - 1
    trace = size - float((point.Z * point.spectrum).sum())
    return (n_rows - order) / 2 * (point.value + size - trace)


def warn_unconverged(solution: ARSolution, tol: float, what: str) -> None:
    """Report a fit that used up its steps."""
    if solution.gap > tol and not solution.stopped:
        warn_caller(
            f"The autoregressive model did not converge in {solution.n_iter} steps: {what} is {solution.gap:.2g}, "
            f"above {tol:.2g}. Increase alpha if series are nearly collinear or few rows are there, else max_iter or "
            "tol.",
            ConvergenceWarning,
        )


_MODEL_CONSTRAINTS = {
    "order": [Interval(Integral, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "windowed": ["boolean"],
    "with_std": ["boolean"],
}


@method(
    tasks=["unsupervised"],
    when="Rows in time order: which series depend on each other given all the others, at any lag, where a graph of the "
    "rows as if they were independent would miss what comes later. At a penalty that you choose; ARTopologySelector "
    "chooses it.",
    cost="O(n p k) for the covariances with k lags, then O((p k)^3) a step, some dozen steps.",
    paper="ar-topology",
    examples=lambda: [ARGraphicalLasso(), ARGraphicalLasso(0.05, order=2, penalty="2", windowed=False)],
)
class ARGraphicalLasso(CallbackSupportMixin, ARGraph):
    """Sparse graph of time series by a penalised autoregressive likelihood.

    Parameters
    ----------
    alpha : float, default=0.1
        Penalty: half of the paper's gamma for "inf". With ``order=0`` it is that of :class:`SparsePrecision`.
    order : int, default=1
        Rows back that a row depends on (the paper's p).
    penalty : {"inf", "2", "1"}, default="inf"
        Norm of the entries of a pair over all lags that is penalised. "inf" and "2" remove whole pairs; "1" entries.
    threshold : float, default=0.1
        Partial coherence above which a pair has an edge.
    tol : float, default=1e-5
        The objective is above its minimum by at most this for each series.
    max_iter : int, default=2000
        Steps at most.
    windowed : bool, default=True
        Take the series as zero before and after, which makes the model stable.
    with_std : bool, default=True
        Divide the series by their standard deviations first, for they share one penalty.

    Attributes
    ----------
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Which pairs of series have an edge.
    edges_ : polars.DataFrame
        The edges with their partial coherences, largest first.
    partial_coherence_ : ndarray of shape (n_features, n_features)
        Largest partial coherence of each pair over all frequencies.
    ar_coef_ : ndarray of shape (order, n_features, n_features)
        Coefficients: ``x(t) = sum_k ar_coef_[k - 1] @ x(t - k) + w(t)``.
    noise_cov_ : ndarray of shape (n_features, n_features)
        Covariance of w.
    inverse_spectrum_ : ndarray of shape (order + 1, n_features, n_features)
        Coefficients ``Y_k`` of the inverse spectrum.
    dual_ : ndarray of shape (order + 1, n_features, n_features)
        Dual solution, which proves the gap, for the scaled series.
    gap_ : float
        Duality gap.
    loglik_ : float
        Log-likelihood of the scaled series, up to a constant.
    location_ : ndarray of shape (n_features,)
        Means of the series.
    n_iter_ : int
        Steps.
    n_features_in_ : int
        Number of series seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ARTopologySelector : Chooses the penalty and the order.
    ConstrainedAR : On a graph that is given, without shrinkage.
    SparsePrecision : For rows that are independent.

    References
    ----------
    .. [1] Songsiri, J. and Vandenberghe, L. (2010). Topology selection in graphical models of autoregressive processes.
       Journal of Machine Learning Research 11, 2671-2705.

    Examples
    --------
    >>> from fewer.datasets import simulate_sparse_var
    >>> from fewer.graph import ARGraphicalLasso
    >>> X, _, truth = simulate_sparse_var(2000, 5, order=1, n_nonzero=4, random_state=1)
    >>> graph = ARGraphicalLasso(alpha=0.03).fit(X)
    >>> bool((graph.adjacency_ == truth["adjacency"]).all())
    True
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"inf", "2", "1"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        **_MODEL_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha=0.1,
        *,
        order=1,
        penalty="inf",
        threshold=0.1,
        tol=1e-5,
        max_iter=2000,
        windowed=True,
        with_std=True,
    ):
        self.alpha = alpha
        self.order = order
        self.penalty = penalty
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.windowed = windowed
        self.with_std = with_std

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit the model and its graph.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Series as columns, points in time as rows, oldest first.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        series = self._scaled_series(X, self.order)
        size = series.shape[1]
        C = self._covariances(series, self.order)
        with fit_steps(self, X) as after_step:
            solution = penalised(
                C, size, self.alpha, self.penalty, self.tol * size, self.max_iter,
                after_step=lambda _: after_step("step"),
            )  # fmt: skip
            warn_unconverged(solution, self.tol * size, "the duality gap")
            self._set_model(solution, len(series))
            self.dual_, self.gap_ = solution.point.Z, solution.gap
            self.adjacency_ = edges_above(self.partial_coherence_, self.threshold)
        return self


def edges_above(coherence: np.ndarray, threshold: float) -> np.ndarray:
    """Pairs with a partial coherence above a threshold."""
    return (coherence > threshold) & ~np.eye(len(coherence), dtype=bool)


@method(
    tasks=["unsupervised"],
    when="An autoregressive model of several series on a graph that you know or found, without shrinkage; also the "
    "ordinary Yule-Walker model, and one model for each series.",
    cost="O(n p k) for the covariances with k lags, then O((p k)^3) a step.",
    paper="ar-topology",
    examples=lambda: [ConstrainedAR("empty"), ConstrainedAR("empty", order=2, alpha=0.1)],
)
class ConstrainedAR(CallbackSupportMixin, ARGraph):
    """Autoregressive model of several series whose inverse spectrum is zero off a given graph.

    Parameters
    ----------
    adjacency : array-like of shape (n_features, n_features), "empty" or None, default=None
        The graph: which pairs of series may depend on each other given the others. "empty" fits each series by itself,
        None allows every edge.
    order : int, default=1
        Rows back that a row depends on.
    alpha : float, default=0.0
        Added to the diagonal of the covariances, as in ridge regression; scikit-learn's ``GridSearchCV`` can choose it.
    tol : float, default=1e-8
        Entries of the inverse spectrum of the scaled series off the graph are at most this.
    max_iter : int, default=5000
        Steps at most.
    windowed : bool, default=True
        Take the series as zero before and after, which makes the model stable.
    with_std : bool, default=True
        Divide the series by their standard deviations first; without ``alpha`` it makes no difference but to rounding.

    Attributes
    ----------
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        The graph.
    edges_ : polars.DataFrame
        The edges with their partial coherences, largest first.
    partial_coherence_ : ndarray of shape (n_features, n_features)
        Largest partial coherence of each pair over all frequencies.
    ar_coef_ : ndarray of shape (order, n_features, n_features)
        Coefficients: ``x(t) = sum_k ar_coef_[k - 1] @ x(t - k) + w(t)``.
    noise_cov_ : ndarray of shape (n_features, n_features)
        Covariance of w.
    inverse_spectrum_ : ndarray of shape (order + 1, n_features, n_features)
        Coefficients ``Y_k`` of the inverse spectrum.
    loglik_ : float
        Log-likelihood of the scaled series, up to a constant.
    location_ : ndarray of shape (n_features,)
        Means of the series.
    n_iter_ : int
        Steps.
    n_features_in_ : int
        Number of series seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ARGraphicalLasso : Finds a graph.

    References
    ----------
    .. [1] Songsiri, J. and Vandenberghe, L. (2010). Topology selection in graphical models of autoregressive processes.
       Journal of Machine Learning Research 11, 2671-2705.

    Examples
    --------
    >>> from fewer.datasets import simulate_sparse_var
    >>> from fewer.graph import ConstrainedAR
    >>> X, _, truth = simulate_sparse_var(2000, 3, order=1, n_nonzero=3, random_state=0)
    >>> model = ConstrainedAR(truth["adjacency"]).fit(X)
    >>> model.ar_coef_.shape
    (1, 3, 3)
    """

    _parameter_constraints = {
        "adjacency": ["array-like", StrOptions({"empty"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        **_MODEL_CONSTRAINTS,
    }

    def __init__(self, adjacency=None, *, order=1, alpha=0.0, tol=1e-8, max_iter=5000, windowed=True, with_std=True):
        self.adjacency = adjacency
        self.order = order
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.windowed = windowed
        self.with_std = with_std

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Series as columns, points in time as rows, oldest first.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        series = self._scaled_series(X, self.order)
        self.adjacency_ = self._checked_adjacency(series.shape[1])
        C = self._covariances(series, self.order, self.alpha)
        with fit_steps(self, X) as after_step:
            solution = with_zeros(C, self.adjacency_, self.tol, self.max_iter, after_step=lambda _: after_step("step"))
            warn_unconverged(solution, self.tol, "the largest entry off the graph")
            self._set_model(solution, len(series))
        return self

    def _checked_adjacency(self, size: int) -> np.ndarray:
        off = ~np.eye(size, dtype=bool)
        if self.adjacency is None:
            return off
        if isinstance(self.adjacency, str):
            return np.zeros((size, size), dtype=bool)
        adjacency = np.asarray(self.adjacency).astype(bool)
        if adjacency.shape != (size, size) or not np.array_equal(adjacency, adjacency.T):
            raise ValueError(
                f"adjacency has the shape {adjacency.shape}; it must be a symmetric matrix of {size} x {size}, for the "
                f"{size} series in X."
            )
        return adjacency & off
