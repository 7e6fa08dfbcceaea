"""Why a table has hubs, and what they do: where they sit, and how they mix with classes.

Hubness is the skewness of the k-occurrences (``_occurrences.py``). Hubs sit near the mean of the table, or near the
centres of its clusters; in many dimensions these rows are closer to all others. The betweenness of a row in the graph
of neighbours is the number of shortest paths between other rows that lead through it: with sigma(s, t) shortest paths
from s to t, sigma(s, t | v) of them through v,

    B(v) = sum over s, t of sigma(s, t | v) / sigma(s, t).

A search from each s counts the paths; on the way back, ``delta(v) = sum_w sigma(v) / sigma(w) (1 + delta(w))`` over the
rows w that follow v, and the sum of these over all s is B.

Radovanovic, M., Nanopoulos, A. and Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in high-dimensional
data. JMLR 11, 2487-2531.
Brandes, U. (2001). A faster algorithm for betweenness centrality. Journal of Mathematical Sociology 25, 163-177.
"""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, validated, warn_caller
from fewer._kernels._arrays import in_threads, read_only
from fewer._kernels._neighbour_counts import (
    levina_bickel_dimension,
    skewness,
    standard_scores,
    times_listed,
    times_listed_badly,
)
from fewer._kernels._neighbours import nearest_neighbours
from fewer._kernels._one_thread import one_thread
from fewer._wording import rounded_percent
from fewer.catalogue import method
from fewer.evaluate.hubs._occurrences import (
    check_distances,
    hubness_reading,
    neighbours_of,
    occurrence_figure,
    unique_rows,
    warn_of_equal_rows,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


SMALL_TABLE = 1 << 20
"""Entries below which k-means is faster on one thread."""


@method(
    tasks=["evaluation"],
    when="Before kNN, clustering or outlier detection in many columns: are there hubs, do they sit at the centre, do "
    "they mislead classifiers, and is it the dimension of the table that makes them?",
    cost="O(n^2 p), once more for each shuffle; with cluster=True O(sqrt(n)) fits of k-means for each start",
    paper="hubs",
    examples=lambda: [HubnessAnalyzer(5)],
)
class HubnessAnalyzer(BaseEstimator):
    """Hubs of a table: how strong they are, where they sit, and what they do to classes.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours of each row, k.
    metric : str or callable, default="euclidean"
        Distance, as in :func:`k_occurrences`, or "precomputed".
    metric_params : dict or None, default=None
        Further arguments of the metric.
    hub_threshold : float, default=2.0
        Rows whose standardised count exceeds this are hubs.
    n_permutations : int, default=0
        How often the columns are permuted, each by itself, to see the hubs of a table without dependence.
    cluster : bool, default=False
        Whether to look for the number of clusters whose centres are nearest to the hubs.
    n_init : int, default=10
        Starts of k-means for each number of clusters.
    betweenness : bool, default=False
        Whether to compute the betweenness of each row in the graph of neighbours, in O(n^2 k).
    solver : {"auto", "exact", "approximate"}, default="auto"
        As in :func:`k_occurrences`.
    random_state : int, RandomState or None, default=None
        Random seed of shuffles, k-means and approximate neighbours.

    Attributes
    ----------
    n_occurrences_ : ndarray of int of shape (n_samples,)
        N_k, how many rows list each row.
    bad_occurrences_ : ndarray of int of shape (n_samples,) or None
        Rows of another class that list each row; None without y, as all that is about classes.
    good_occurrences_ : ndarray of int of shape (n_samples,) or None
        Rows of the same class that list each row.
    skewness_ : float
        Skewness of N_k: about 0 without hubs, above 2 strong.
    hubness_score_ : ndarray of shape (n_samples,)
        N_k less its mean, over its standard deviation.
    bad_hubness_score_ : ndarray of shape (n_samples,) or None
        The same of bad occurrences.
    hubs_ : ndarray of int
        Rows with a score above ``hub_threshold``, the largest first.
    antihubs_ : ndarray of int
        As many rows with the smallest N_k.
    antihub_fraction_ : float
        Share of the rows that nobody lists.
    bad_fraction_ : float or None
        Share of all occurrences that are bad.
    bad_correlation_ : float or None
        Rank correlation of N_k and bad occurrences.
    centre_correlation_ : float or None
        Rank correlation of N_k and the distance to the mean; strongly negative where hubs sit near the mean. None for
        given distances.
    cluster_correlation_ : float or None
        The most negative mean rank correlation of N_k and the distance to the closest centre of k-means.
    n_clusters_ : int or None
        Its number of clusters.
    betweenness_correlation_ : float or None
        Rank correlation of N_k and the betweenness of the rows in the directed graph of neighbours: positive where
        paths between rows lead through hubs.
    shuffled_skewness_ : ndarray of shape (n_permutations,)
        Skewness with permuted columns; far above ``skewness_`` where the intrinsic dimension is far below the number
        of columns.
    intrinsic_dim_ : float
        By :func:`mle_intrinsic_dimension`; NaN with fewer than 13 different rows.
    cav_ : float or None
        By :func:`cluster_assumption_violation`.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.HubnessWeightedKNeighborsClassifier : Weighs bad hubs less.
    secondary_distances : Distances with fewer hubs.

    References
    ----------
    .. [1] Radovanovic, M., Nanopoulos, A. & Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in
       high-dimensional data. Journal of Machine Learning Research 11, 2487-2531.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from fewer.evaluate import HubnessAnalyzer
    >>> X, y = load_wine(return_X_y=True)
    >>> model = HubnessAnalyzer().fit(scale(X), y)
    >>> round(model.skewness_, 3), round(model.bad_fraction_, 3), round(model.intrinsic_dim_, 2)
    (0.63, 0.076, 6.69)
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "hub_threshold": [Interval(Real, 0, None, closed="left")],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "cluster": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "betweenness": ["boolean"],
        "solver": [StrOptions({"auto", "exact", "approximate"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors=10,
        *,
        metric="euclidean",
        metric_params=None,
        hub_threshold=2.0,
        n_permutations=0,
        cluster=False,
        n_init=10,
        betweenness=False,
        solver="auto",
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.hub_threshold = hub_threshold
        self.n_permutations = n_permutations
        self.cluster = cluster
        self.n_init = n_init
        self.betweenness = betweenness
        self.solver = solver
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Count occurrences and relate them to places and classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table, or distances with ``metric="precomputed"``.
        y : array-like of shape (n_samples,), default=None
            Classes; without them all that is about classes is None.

        Returns
        -------
        self : object
            The fitted analyzer.
        """
        X = validated(self, X, dtype=np.float64, ensure_min_samples=3)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        given = self.metric == "precomputed"
        if given and (self.cluster or self.n_permutations):
            raise ValueError(
                'cluster=True and n_permutations need the table, which metric="precomputed" does not have.'
            )
        if given:
            check_distances(X)
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below the number of rows, which is n_samples = {X.shape[0]}."
            )
        settings = (self.metric, self.metric_params, self.solver, seed)
        n_listed = min(max(self.n_neighbors, 12), X.shape[0] - 1)
        listed, distances = neighbours_of(X, n_listed, *settings)
        warn_of_equal_rows(distances)
        self.n_occurrences_ = times_listed(listed[:, : self.n_neighbors])
        self.skewness_ = skewness(self.n_occurrences_)
        if np.isnan(self.skewness_):
            warn_caller("All rows are listed equally often, so that the skewness is not defined.")
        self.hubness_score_ = standard_scores(self.n_occurrences_)
        order = np.argsort(-self.n_occurrences_, kind="stable")
        self.hubs_ = order[self.hubness_score_[order] > self.hub_threshold]
        self.antihubs_ = np.argsort(self.n_occurrences_, kind="stable")[: len(self.hubs_)]
        self.antihub_fraction_ = float(np.mean(self.n_occurrences_ == 0))
        to_mean = None if given else np.linalg.norm(X - X.mean(axis=0), axis=1)
        self.centre_correlation_ = None if to_mean is None else rank_correlation(self.n_occurrences_, to_mean)
        self.intrinsic_dim_ = _dimension(X, distances, self.metric, self.metric_params)
        graph = listed[:, : self.n_neighbors]
        self._relate_to_classes(X, y, graph, seed)
        self.betweenness_correlation_ = (
            rank_correlation(self.n_occurrences_, betweenness(graph)) if self.betweenness else None
        )
        self.cluster_correlation_, self.n_clusters_ = (
            _closest_centres(X, self.n_occurrences_, self.n_init, rng) if self.cluster else (None, None)
        )
        self.shuffled_skewness_ = np.array(
            [
                skewness(times_listed(neighbours_of(_shuffled(X, rng), self.n_neighbors, *settings)[0]))
                for _ in range(self.n_permutations)
            ]
        )
        return self

    def _relate_to_classes(self, X: np.ndarray, y: Any, neighbours: np.ndarray, seed: int) -> None:
        from fewer.evaluate.hubs._uses import cluster_assumption_violation

        self.bad_occurrences_ = self.good_occurrences_ = self.bad_hubness_score_ = None
        self.bad_fraction_ = self.bad_correlation_ = self.cav_ = None
        if y is None:
            return
        codes = encoded_classes(np.asarray(y), type(self).__name__).codes
        if len(codes) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(codes)}.")
        self.bad_occurrences_ = times_listed_badly(neighbours, codes)
        self.good_occurrences_ = self.n_occurrences_ - self.bad_occurrences_
        self.bad_hubness_score_ = standard_scores(self.bad_occurrences_)
        self.bad_fraction_ = float(self.bad_occurrences_.sum() / neighbours.size)
        self.bad_correlation_ = rank_correlation(self.n_occurrences_, self.bad_occurrences_)
        if self.metric != "precomputed":
            self.cav_ = cluster_assumption_violation(X, y, random_state=seed)

    @property
    def reading_(self) -> str:
        """What the hubs mean for methods that use neighbours."""
        said = [hubness_reading(self.skewness_, self.antihub_fraction_, self.n_neighbors)]
        if self.bad_fraction_ is not None:
            said.append(f"{rounded_percent(self.bad_fraction_)} of all neighbours are of another class.")
        if len(self.shuffled_skewness_) and self.shuffled_skewness_.min() > 2 * max(self.skewness_, 0.1):
            said.append(
                f"Without dependence between the columns the skewness would be {self.shuffled_skewness_.mean():.1f}: "
                f"the intrinsic dimension of the {self.n_features_in_} columns is about {self.intrinsic_dim_:.0f}."
            )
        return " ".join(said)

    def plot(self) -> "go.Figure":
        """How many rows are listed how often, against what chance would do.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        return occurrence_figure(self.n_occurrences_, self.n_neighbors)


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation; NaN if one of them is constant."""
    ranks = np.array([rankdata(first), rankdata(second)])
    return float(np.corrcoef(ranks)[0, 1]) if (ranks.std(axis=1) > 0).all() else float("nan")


def _dimension(X: Any, distances: np.ndarray, metric: Any, metric_params: dict[str, Any] | None) -> float:
    """Intrinsic dimension, from the distances at hand unless there are duplicate rows."""
    if distances[:, 0].min() == 0:
        X = unique_rows(X, metric)
        distances = nearest_neighbours(X, 12, metric, metric_params)[1] if X.shape[0] > 12 else distances[:, :0]
    return levina_bickel_dimension(distances, 6, 12) if distances.shape[1] >= 12 else float("nan")


def _shuffled(X: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Every column in an order of its own."""
    return np.take_along_axis(X, rng.uniform(size=X.shape).argsort(axis=0), axis=0)


def _closest_centres(
    X: np.ndarray, counts: np.ndarray, n_init: int, rng: np.random.RandomState
) -> tuple[float | None, int | None]:
    """Most negative mean rank correlation of the counts and the distance to a centre, and its number of clusters."""
    best: tuple[float | None, int | None] = (None, None)
    for n_clusters in range(2, int(np.sqrt(len(X))) + 1):
        found = []
        with one_thread(when=X.size < SMALL_TABLE):
            for _ in range(n_init):
                means = KMeans(n_clusters, init="random", n_init=1, random_state=rng.randint(2**31 - 1)).fit(X)
                found.append(rank_correlation(counts, pairwise_distances_argmin_min(X, means.cluster_centers_)[1]))
        value = float(np.mean(found))
        if best[0] is None or value < best[0]:
            best = (value, n_clusters)
    return best


_PARTS = 16


def betweenness(neighbours: np.ndarray) -> np.ndarray:
    """Betweenness of each row in the graph with an arrow from each row to each of its neighbours.

    Parameters
    ----------
    neighbours : ndarray of int of shape (n_samples, n_neighbors)
        The rows that each row lists.

    Returns
    -------
    betweenness : ndarray of shape (n_samples,)
        Numbers of paths, over ordered pairs of other rows; a pair with several shortest paths counts 1 in all.

    Examples
    --------
    >>> betweenness(np.array([[1], [2], [3], [0]]))  # a circle of four
    array([3., 3., 3., 3.])
    """
    n_rows, n_neighbors = neighbours.shape
    # Sums of parts that do not depend on the number of threads.
    sums = np.zeros((min(_PARTS, n_rows), n_rows))
    sources = np.linspace(0, n_rows, len(sums) + 1).astype(np.int64)
    in_threads(_add_paths, sources * n_rows * n_neighbors, read_only(neighbours), read_only(sources), sums, cost=4)
    return sums.sum(axis=0)


@njit(cache=True, nogil=True)
def _add_paths(start, stop, indptr, neighbours, sources, sums):
    n_rows, n_neighbors = neighbours.shape
    order, far = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    paths, through = np.empty(n_rows), np.empty(n_rows)
    for part in range(start, stop):
        total = sums[part]
        for source in range(sources[part], sources[part + 1]):
            far[:] = -1
            paths[:] = 0.0
            order[0], far[source], paths[source] = source, 0, 1.0
            n_seen, place = 1, 0
            while place < n_seen:
                row = order[place]
                for j in range(n_neighbors):
                    other = neighbours[row, j]
                    if far[other] < 0:
                        far[other] = far[row] + 1
                        order[n_seen] = other
                        n_seen += 1
                    if far[other] == far[row] + 1:
                        paths[other] += paths[row]
                place += 1
            for place in range(n_seen - 1, 0, -1):
                row = order[place]
                below = 0.0
                for j in range(n_neighbors):
                    other = neighbours[row, j]
                    if far[other] == far[row] + 1:
                        below += (1.0 + through[other]) / paths[other]
                through[row] = paths[row] * below
                total[row] += through[row]
