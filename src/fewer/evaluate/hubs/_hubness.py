"""How often each row is among the nearest neighbours of others, and how unequal that is.

``N_k(x)`` is the number of rows that have x among their k nearest, so that its mean is k. In many dimensions its
distribution is skewed: a few hubs are the neighbours of very many rows, and many rows (antihubs) of none. With classes,
``BN_k(x)`` counts the rows of another class among them. Hubness is the skewness

    S = E(N_k - mean)^3 / std^3.

The dimension is that of Levina and Bickel: with T_j(x) the distance of x to its j-th neighbour,
``m_k(x) = (k - 2) / sum_j log(T_k(x) / T_j(x))``, averaged over rows and over k = k1 .. k2.

Radovanovic, M., Nanopoulos, A. and Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in high-dimensional
data. JMLR 11, 2487-2531.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.stats import poisson, rankdata
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, checked_array, encoded_classes, fit_context, validated, warn_caller
from fewer._figures import AMBER, GREY, Result, line, new_figure
from fewer._kernels._neighbour_counts import (
    levina_bickel_dimension,
    skewness,
    standard_scores,
    times_listed,
    times_listed_badly,
)
from fewer._kernels._neighbours import (
    EXACT_ROWS,
    approximate_neighbours,
    nearest_neighbours,
)
from fewer._kernels._one_thread import one_thread
from fewer._wording import counted, rounded_percent
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go


SMALL_TABLE = 1 << 20
"""Entries below which k-means is faster on one thread."""


@dataclass(frozen=True, eq=False, repr=False)
class KOccurrences(Result):
    """How often rows are listed as neighbours; made by :func:`k_occurrences`.

    Attributes
    ----------
    n_occurrences : ndarray of int of shape (n_samples,)
        N_k: rows that have this row among their k nearest.
    bad_occurrences, good_occurrences : ndarray of int of shape (n_samples,) or None
        Those of another class, and of the same; None without classes.
    neighbors : ndarray of int of shape (n_samples, n_neighbors)
        The neighbours of each row, near to far.
    distances : ndarray of shape (n_samples, n_neighbors) or None
        Their distances; None if neighbours were given.
    """

    n_occurrences: np.ndarray
    bad_occurrences: np.ndarray | None
    good_occurrences: np.ndarray | None
    neighbors: np.ndarray
    distances: np.ndarray | None

    _data = ("n_occurrences", "bad_occurrences", "good_occurrences", "skewness", "antihub_fraction")

    @property
    def skewness(self) -> float:
        """S of the distribution of N_k; NaN if all are equal."""
        return skewness(self.n_occurrences)

    @property
    def antihub_fraction(self) -> float:
        """Share of the rows that are nobody's neighbour."""
        return float(np.mean(self.n_occurrences == 0))

    @property
    def reading(self) -> str:
        """What it means for methods that use neighbours."""
        return hubness_reading(self.skewness, self.antihub_fraction, self.neighbors.shape[1])

    def __repr__(self) -> str:
        n_rows, k = self.neighbors.shape
        return (
            f"KOccurrences: {counted(n_rows, 'row')}, {counted(k, 'neighbour')}, skewness {self.skewness:.2f}\n"
            f"  most often listed: {self.n_occurrences.max():,} times; never: {rounded_percent(self.antihub_fraction)}"
        )

    def plot(self) -> "go.Figure":
        """How many rows are listed how often, against what chance would do (Poisson with mean k).

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure, on logarithmic axes; rows that are never listed are counted in its title.
        """
        return occurrence_figure(self.n_occurrences, self.neighbors.shape[1])


@method(
    tasks=["evaluation"],
    when="You rely on nearest neighbours (kNN, LOF, spectral clustering, UMAP, imputation) in many columns and "
    "want to know whether a few rows are everybody's neighbours.",
    cost="O(n^2 p) time and O(n k) memory for Euclidean distances; O(block n) memory for others",
    paper="hubs",
    handles=["sparse"],
)
def k_occurrences(
    X: Any,
    n_neighbors: int = 10,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    y: Any = None,
    solver: str = "auto",
    random_state: Any = None,
) -> KOccurrences:
    """How many rows have each row among their nearest neighbours.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; distances (n_samples, n_samples) with ``metric="precomputed"``, or neighbours (n_samples, n_neighbors)
        as row numbers with ``metric="neighbors"``.
    n_neighbors : int, default=10
        Neighbours of each row, k; itself excluded.
    metric : str or callable, default="euclidean"
        Distance as in ``sklearn.metrics.pairwise_distances``; "minkowski" takes any ``p`` above 0.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as ``{"p": 0.5}``.
    y : array-like of shape (n_samples,), default=None
        Classes, for bad and good occurrences.
    solver : {"auto", "exact", "approximate"}, default="auto"
        "exact" compares all pairs of rows. "approximate" uses the package pynndescent. "auto" is exact up to 50,000
        rows; beyond, it is approximate with a warning if pynndescent is installed, and otherwise exact with a warning.
    random_state : int, Generator or None, default=None
        Random seed of the approximate neighbours.

    Returns
    -------
    occurrences : KOccurrences
        The counts, the neighbours and their distances, and the skewness; it plots itself.

    See Also
    --------
    HubnessAnalyzer : Why there are hubs, and what they do.

    References
    ----------
    .. [1] Radovanovic, M., Nanopoulos, A. & Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in
       high-dimensional data. Journal of Machine Learning Research 11, 2487-2531.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import k_occurrences
    >>> X = np.random.default_rng(0).normal(size=(1000, 100))
    >>> found = k_occurrences(X, 5)
    >>> found.n_occurrences.sum()
    np.int64(5000)
    >>> print(found.reading)
    Nearest neighbours are unreliable here: 32.3% of the rows are nobody's neighbour, and the counts are strongly skewed
    (10.5): a few rows are neighbours of very many others.
    """
    if metric == "neighbors":
        neighbours, distances = _checked_graph(X), None
    else:
        X = _checked_table(X, n_neighbors, metric, "k_occurrences")
        neighbours, distances = _neighbours(X, n_neighbors, metric, metric_params, solver, random_state)
    counts, bad = times_listed(neighbours), None
    if y is not None:
        codes = encoded_classes(np.asarray(y), "k_occurrences").codes
        if len(codes) != len(counts):
            raise ValueError(f"X has {len(counts)} rows and y has {len(codes)}.")
        bad = times_listed_badly(neighbours, codes)
    return KOccurrences(counts, bad, None if bad is None else counts - bad, neighbours, distances)


def hubness_reading(skew: float, antihubs: float, n_neighbors: int) -> str:
    """What a distribution of k-occurrences means, in words."""
    if np.isnan(skew):
        return "All rows are listed equally often: there are no hubs."
    never = f"{rounded_percent(antihubs)} of the rows are nobody's neighbour"
    if skew > 2:
        return (
            f"Nearest neighbours are unreliable here: {never}, and the counts are strongly skewed ({skew:.1f}): a few "
            "rows are neighbours of very many others."
        )
    if skew > 1:
        return f"There are hubs (skewness {skew:.1f}): {never} among the {n_neighbors} nearest."
    return f"There are no marked hubs (skewness {skew:.1f}); {never}."


def occurrence_figure(counts: np.ndarray, n_neighbors: int) -> "go.Figure":
    """Rows by how often they are listed, and the Poisson distribution of the same mean, on logarithmic axes."""
    largest = max(int(counts.max()), 2)
    edges = np.unique(np.round(np.geomspace(1, largest + 1, 25)).astype(int))
    rows = np.histogram(counts, edges)[0] / np.diff(edges)
    middle = np.sqrt(edges[:-1] * np.maximum(edges[1:] - 1, edges[:-1]))
    never = rounded_percent(float(np.mean(counts == 0)))
    title = f"{never} of the rows are never listed; the first of the hubs {counts.max():,} times"
    figure = new_figure(title=title, x=f"times listed among {n_neighbors} neighbours", y="rows")
    figure.add_scatter(
        x=middle[rows > 0], y=rows[rows > 0], mode="markers+lines", name="this table", marker={"size": 8}
    )
    reference = np.arange(1, largest + 1)
    expected = len(counts) * poisson.pmf(reference, n_neighbors)
    shown = expected > 0.05
    figure.add_trace(line("without hubs (Poisson)", reference[shown], expected[shown], GREY))
    figure.add_vline(x=n_neighbors, line={"color": AMBER, "dash": "dot"})
    return figure.update_xaxes(type="log").update_yaxes(type="log")


def mle_intrinsic_dimension(
    X: Any, k1: int = 6, k2: int = 12, *, metric: Any = "euclidean", metric_params: dict[str, Any] | None = None
) -> float:
    """Intrinsic dimension of a table by the maximum likelihood of Levina and Bickel.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; duplicate rows count once.
    k1, k2 : int, default=6, 12
        The estimate is averaged over numbers of neighbours from ``k1`` to ``k2``.
    metric : str or callable, default="euclidean"
        Distance.
    metric_params : dict or None, default=None
        Further arguments of the metric.

    Returns
    -------
    dimension : float
        Number of dimensions that the rows fill.

    References
    ----------
    .. [1] Levina, E. & Bickel, P. (2005). Maximum likelihood estimation of intrinsic dimension. Advances in Neural
       Information Processing Systems 17, 777-784.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import mle_intrinsic_dimension
    >>> plane = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> round(mle_intrinsic_dimension(plane @ np.ones((2, 30)) + plane[:, :1] * np.arange(30)), 1)
    1.9
    """
    if not 3 <= k1 <= k2:
        raise ValueError(f"k1={k1} and k2={k2} must be at least 3, and k1 at most k2.")
    X = _checked_table(X, 1, metric, "mle_intrinsic_dimension")
    X = _unique_rows(X, metric)
    if X.shape[0] <= k2:
        raise ValueError(f"There are {X.shape[0]} different rows, and k2={k2} neighbours need at least {k2 + 1}.")
    return levina_bickel_dimension(nearest_neighbours(X, k2, metric, metric_params)[1], k1, k2)


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
    n_shuffles : int, default=0
        How often the columns are permuted, each by itself, to see the hubs of a table without dependence.
    cluster : bool, default=False
        Whether to look for the number of clusters whose centres are nearest to the hubs.
    n_init : int, default=10
        Starts of k-means for each number of clusters.
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
    shuffled_skewness_ : ndarray of shape (n_shuffles,)
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
        "n_shuffles": [Interval(Integral, 0, None, closed="left")],
        "cluster": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
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
        n_shuffles=0,
        cluster=False,
        n_init=10,
        solver="auto",
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.hub_threshold = hub_threshold
        self.n_shuffles = n_shuffles
        self.cluster = cluster
        self.n_init = n_init
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
        if given and (self.cluster or self.n_shuffles):
            raise ValueError('cluster=True and n_shuffles need the table, which metric="precomputed" does not have.')
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below the number of rows, which is n_samples = {X.shape[0]}."
            )
        settings = (self.metric, self.metric_params, self.solver, seed)
        n_listed = min(max(self.n_neighbors, 12), X.shape[0] - 1)
        listed, distances = _neighbours(X, n_listed, *settings)
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
        self._relate_to_classes(X, y, listed[:, : self.n_neighbors], seed)
        self.cluster_correlation_, self.n_clusters_ = (
            _closest_centres(X, self.n_occurrences_, self.n_init, rng) if self.cluster else (None, None)
        )
        self.shuffled_skewness_ = np.array(
            [
                skewness(times_listed(_neighbours(_shuffled(X, rng), self.n_neighbors, *settings)[0]))
                for _ in range(self.n_shuffles)
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
                f"the rows fill about {self.intrinsic_dim_:.0f} dimensions of {self.n_features_in_}."
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


def _neighbours(
    X: Any, n_neighbors: int, metric: Any, metric_params: dict[str, Any] | None, solver: str, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    if solver not in ("auto", "exact", "approximate"):
        raise ValueError(f"solver={solver!r} is not one of 'auto', 'exact', 'approximate'.")
    if solver == "auto" and X.shape[0] > EXACT_ROWS and metric != "precomputed":
        from importlib.util import find_spec

        solver = "approximate" if find_spec("pynndescent") else "exact"
        other = "exact" if solver == "approximate" else "approximate"
        need = "" if solver == "approximate" else ", which needs the package pynndescent"
        warn_caller(
            f"The table has {counted(X.shape[0], 'row')}, more than {EXACT_ROWS:,}, so neighbours are {solver}; "
            f'give solver="{solver}" to accept that, or solver="{other}"{need}.'
        )
    if solver == "approximate" and metric != "precomputed":
        return approximate_neighbours(X, n_neighbors, metric, metric_params, random_state)
    return nearest_neighbours(X, n_neighbors, metric, metric_params)


def _checked_table(X: Any, n_neighbors: int, metric: Any, who: str) -> Any:
    X = checked_array(X, who, accept_sparse="csr", dtype=np.float64, ensure_min_samples=3)
    if metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed distances must be square, and X has the shape {X.shape}.")
    if not 1 <= n_neighbors < X.shape[0]:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1 and below the number of rows, {X.shape[0]}.")
    return X


def _checked_graph(X: Any) -> np.ndarray:
    graph = np.asarray(X)
    if graph.ndim != 2 or graph.dtype.kind not in "iu":
        raise ValueError("A graph of neighbours must hold row numbers, a row for each row of the table.")
    if graph.min() < 0 or graph.max() >= len(graph):
        raise ValueError(f"A graph of neighbours of {len(graph)} rows must hold the numbers 0 to {len(graph) - 1}.")
    if (graph == np.arange(len(graph))[:, None]).any():
        raise ValueError("A graph of neighbours must not list a row among its own neighbours.")
    return graph.astype(np.int64)


def _unique_rows(X: Any, metric: Any) -> Any:
    if metric == "precomputed":
        earlier = np.tril(X == 0, k=-1).any(axis=1)
        return X[~earlier][:, ~earlier]
    if sparse.issparse(X):
        _, first = np.unique(np.array([hash(row.toarray().tobytes()) for row in X]), return_index=True)
        return X[np.sort(first)]
    return np.unique(X, axis=0)


def _dimension(X: Any, distances: np.ndarray, metric: Any, metric_params: dict[str, Any] | None) -> float:
    """Intrinsic dimension, from the distances at hand unless there are duplicate rows."""
    if distances[:, 0].min() == 0:
        X = _unique_rows(X, metric)
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
