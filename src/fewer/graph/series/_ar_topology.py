"""The graph of several time series, with the order of the model and the penalty chosen by an information criterion.

1. Penalised models (:class:`ARGraphicalLasso`) for each order and a row of penalties.
2. Their partial coherences above a threshold give graphs.
3. Each graph gets a model without shrinkage (:class:`ConstrainedAR`).
4. Of these, the one with the smallest criterion wins. With m pairs without an edge,

       k = n (n + 1) / 2 - m + p (n^2 - 2 m),    BIC = -2 L + k log N,    AIC = -2 L + 2 k,
       AICc = -2 L + 2 N k / (N - k - 1).

Songsiri and Vandenberghe (2010), JMLR 11, 2671-2705.
"""

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, decreasing_alphas, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.graph.series._ar_graphs import ARGraph, edges_above, log_likelihood, warn_unconverged
from fewer.graph.series._dual import ARSolution, SingularSeriesError, largest_alpha, penalised, penalty_norm, with_zeros
from fewer.graph.series._spectra import partial_coherence

_OFF_GRAPH = 1e-6
"""Entries of the inverse spectrum of the scaled series off the graph are at most this."""


def n_parameters(adjacency: np.ndarray, order: int) -> int:
    """Free numbers of an inverse spectrum on a graph."""
    size = len(adjacency)
    n_missing = int(np.triu(~adjacency, 1).sum())
    return size * (size + 1) // 2 - n_missing + order * (size**2 - 2 * n_missing)


def information_criterion(criterion: str, loglik: float, k: int, n_rows: int) -> float:
    """BIC, AIC or AICc; infinite where AICc has too few rows.

    Examples
    --------
    >>> information_criterion("aic", -10.0, 3, 100), information_criterion("aicc", -10.0, 3, 4)
    (26.0, inf)
    """
    if criterion == "bic":
        return -2 * loglik + k * np.log(n_rows)
    if criterion == "aic":
        return -2 * loglik + 2 * k
    return -2 * loglik + 2 * n_rows * k / (n_rows - k - 1) if n_rows > k + 1 else np.inf


def tradeoff_alphas(
    solve: Callable[[float], ARSolution], norm: Callable[[ARSolution], float], largest: float, eps: float, most: int
) -> dict[float, ARSolution]:
    """Solutions at the penalties that bend the curve of fit against penalty norm most.

    Starting with the two ends, the next penalty is the slope of the chord between two neighbours, where the curve lies
    farthest below; pairs whose chord nearly touches the curve are left.
    """
    found = {alpha: solve(alpha) for alpha in (largest, eps * largest)}

    def fit(alpha: float) -> float:
        point = found[alpha].point
        return -point.value - float((point.Z * point.spectrum).sum())

    while len(found) < most:
        alphas = sorted(found, reverse=True)
        best, wanted = 0.0, None
        for high, low in pairwise(alphas):
            width = norm(found[low]) - norm(found[high])
            if width <= 0:
                continue
            slope = (fit(high) - fit(low)) / width
            # Between tangents of slopes high and low, the curve is below the chord by at most this.
            below = width * max((high - slope) * (slope - low), 0.0) / (high - low)
            if below > best and low * 1.001 < slope < high / 1.001:
                best, wanted = below, slope
        if wanted is None or best <= 1e-3 * abs(fit(alphas[-1]) - fit(alphas[0])):
            break
        found[wanted] = solve(wanted)
    return dict(sorted(found.items(), reverse=True))


@method(
    tasks=["unsupervised"],
    when="The graph of several time series when you know neither the order of the model nor the penalty. With fewer "
    "rows than parameters, prefer ARGraphicalLasso itself: refitting a badly chosen graph is worse than shrinkage.",
    cost="O(n p k) for the covariances with k lags, then O((p k)^3) a step for each order and penalty.",
    paper="ar-topology",
    examples=lambda: [ARTopologySelector(n_alphas=4), ARTopologySelector(orders=(0, 1), alphas="tradeoff", n_alphas=4)],
)
class ARTopologySelector(CallbackSupportMixin, ARGraph):
    """Graph of time series by penalised autoregressive models, with the order and the penalty chosen.

    Parameters
    ----------
    orders : sequence of int, default=(1, 2)
        Orders to compare.
    alphas : array-like, "tradeoff" or None, default=None
        Penalties to compare. None for ``n_alphas`` in geometric steps from 0.9 of the smallest one without an edge down
        to ``eps`` times that; "tradeoff" for those where the curve of fit against penalty bends most.
    n_alphas : int, default=9
        Number of penalties, for each order; at most, with "tradeoff".
    eps : float, default=0.02
        Smallest penalty over the smallest one without an edge.
    penalty : {"inf", "2", "1"}, default="inf"
        As in :class:`ARGraphicalLasso`.
    criterion : {"bic", "aic", "aicc"}, default="bic"
        What is minimised.
    threshold : float, default=0.1
        Partial coherence above which a pair has an edge.
    tol : float, default=1e-5
        Duality gap of the penalised models, for each series.
    max_iter : int, default=2000
        Steps at most, for each model.
    windowed : bool, default=True
        Take the series as zero before and after, which makes the model stable.
    with_std : bool, default=True
        Divide the series by their standard deviations first, for they share one penalty.

    Attributes
    ----------
    order_ : int
        Order of the model chosen.
    alpha_ : float
        Penalty that gave its graph.
    criterion_ : float
        Its criterion.
    path_ : dict of ndarray
        What was compared: ``order``, ``alpha``, ``n_edges`` and ``criterion``.
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
    loglik_ : float
        Log-likelihood of the scaled series, up to a constant.
    location_ : ndarray of shape (n_features,)
        Means of the series.
    n_iter_ : int
        Steps of the final fit.
    n_features_in_ : int
        Number of series seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ARGraphicalLasso : At one order and penalty.
    edge_stability : How sure each edge is.

    References
    ----------
    .. [1] Songsiri, J. and Vandenberghe, L. (2010). Topology selection in graphical models of autoregressive processes.
       Journal of Machine Learning Research 11, 2671-2705.

    Examples
    --------
    >>> from fewer.datasets import simulate_sparse_var
    >>> from fewer.graph import ARTopologySelector
    >>> X, _, truth = simulate_sparse_var(2000, 5, order=2, n_nonzero=4, random_state=0)
    >>> graph = ARTopologySelector().fit(X)
    >>> graph.order_, bool((graph.adjacency_ == truth["adjacency"]).all())
    (2, True)
    """

    _parameter_constraints = {
        "orders": ["array-like"],
        "alphas": ["array-like", StrOptions({"tradeoff"}), None],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 0.9, closed="neither")],
        "penalty": [StrOptions({"inf", "2", "1"})],
        "criterion": [StrOptions({"bic", "aic", "aicc"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "windowed": ["boolean"],
        "with_std": ["boolean"],
    }

    def __init__(
        self,
        orders=(1, 2),
        *,
        alphas=None,
        n_alphas=9,
        eps=0.02,
        penalty="inf",
        criterion="bic",
        threshold=0.1,
        tol=1e-5,
        max_iter=2000,
        windowed=True,
        with_std=True,
    ):
        self.orders = orders
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.eps = eps
        self.penalty = penalty
        self.criterion = criterion
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.windowed = windowed
        self.with_std = with_std

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Compare orders and penalties, and fit the best model.

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
        orders = np.unique(np.asarray(self.orders, dtype=int))
        if not len(orders) or orders[0] < 0:
            raise ValueError(f"orders={self.orders!r} must hold at least one order, and none below 0.")
        series = self._scaled_series(X, int(orders[-1]))
        rows: list[tuple[int, float, int, float]] = []
        best: tuple[float, Any, Any, float] = (np.inf, None, None, np.nan)
        with fit_steps(self, X) as after_step:
            for order in orders:
                C = self._covariances(series, int(order))
                refitted: dict[bytes, tuple[float, ARSolution | None]] = {}
                for alpha, solution in self._penalised_models(C, series.shape[1]):
                    adjacency = edges_above(partial_coherence(solution.point.spectrum), self.threshold)
                    graph = adjacency.tobytes()
                    if graph not in refitted:
                        refitted[graph] = self._refitted(C, adjacency, len(series))
                    criterion, model = refitted[graph]
                    rows.append((int(order), alpha, int(adjacency.sum()) // 2, criterion))
                    # Of infinite criteria (AICc), the first model is kept.
                    if model is not None and (best[1] is None or criterion < best[0]):
                        best = criterion, model, adjacency, alpha
                    if after_step("graph"):
                        break
                else:
                    continue
                break
            self.criterion_, model, self.adjacency_, self.alpha_ = best
            if model is None:
                raise ValueError(
                    f"None of the {len(rows)} graphs has a likelihood with a maximum: X has too few rows, or series "
                    "that others predict exactly, such as duplicates. Leave these out."
                )
            self.order_ = len(model.point.Z) - 1
            self.path_ = dict(
                zip(("order", "alpha", "n_edges", "criterion"), map(np.array, zip(*rows, strict=True)), strict=True)
            )
            warn_unconverged(model, _OFF_GRAPH, "the largest entry off the graph")
            self._warn_of_few_rows(n_parameters(self.adjacency_, self.order_), len(series))
            self._set_model(model, len(series))
        return self

    def _warn_of_few_rows(self, n_free: int, n_rows: int) -> None:
        """Without shrinkage, more parameters than rows are estimated badly."""
        if n_free > n_rows:
            warn_caller(
                f"The model chosen has {n_free} parameters and X has {n_rows} rows. Its coefficients are not shrunk: "
                "those of ARGraphicalLasso are probably nearer to the truth."
            )

    def _penalised_models(self, C: np.ndarray, size: int):
        """(penalty, solution) for a row of penalties, largest first, each from the one before."""
        largest = largest_alpha(C, size, self.penalty) or 1.0
        start: list[Any] = [None]

        def solve(alpha: float) -> ARSolution:
            solution = penalised(C, size, alpha, self.penalty, self.tol * size, self.max_iter, start[0])
            warn_unconverged(solution, self.tol * size, "the duality gap")
            start[0] = solution.point.Z
            return solution

        if isinstance(self.alphas, str):
            most = max(self.n_alphas, 2)
            yield from tradeoff_alphas(
                solve, lambda each: penalty_norm(each.point, self.penalty), largest, self.eps, most
            ).items()
            return
        alphas = (
            np.geomspace(0.9, self.eps, self.n_alphas) * largest
            if self.alphas is None
            else decreasing_alphas(self.alphas)
        )
        for alpha in alphas:
            yield float(alpha), solve(float(alpha))

    def _refitted(self, C: np.ndarray, adjacency: np.ndarray, n_rows: int) -> tuple[float, ARSolution | None]:
        try:
            solution = with_zeros(C, adjacency, _OFF_GRAPH, self.max_iter)
        except SingularSeriesError:
            return np.inf, None
        order = len(solution.point.Z) - 1
        loglik = log_likelihood(solution, n_rows)
        return information_criterion(self.criterion, loglik, n_parameters(adjacency, order), n_rows), solution
