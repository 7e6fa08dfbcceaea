"""What follows from hubs: order of labelling, weights, distances without hubs, reduction, clusters, outliers.

- Rows that many others list are the best to label first; hubs and antihubs weigh less in boosting.
- While a reduction keeps the intrinsic dimension, the skewness of the counts stays; below, it falls.
- Hubs lie close to other clusters, and outliers far from their own.

Radovanovic, M., Nanopoulos, A. and Ivanovic, M. (2010). Hubs in space. JMLR 11, 2487-2531.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from fewer._estimators import checked_array, encoded_classes
from fewer._figures import Result, line, mark_point, new_figure
from fewer._kernels._neighbour_counts import (
    standard_scores,
    times_listed,
)
from fewer._kernels._neighbours import (
    nearest_neighbours,
)
from fewer._kernels._one_thread import one_thread
from fewer._kernels._secondary_distances import Correction, secondary, usual_distances
from fewer.evaluate.clusterings._comparison import cluster_codes
from fewer.evaluate.hubs._hubness import SMALL_TABLE, rank_correlation
from fewer.evaluate.hubs._occurrences import check_n_neighbors, k_occurrences

if TYPE_CHECKING:
    import plotly.graph_objects as go


def cluster_assumption_violation(X: Any, y: Any, n_clusters: int | None = None, *, random_state: Any = None) -> float:
    """Share of the pairs of rows in the same cluster that are of different classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    n_clusters : int or None, default=None
        Clusters of k-means; three for each class by default.
    random_state : int, RandomState or None, default=None
        Random seed of k-means.

    Returns
    -------
    violation : float
        From 0, where clusters are of one class, to 1. NaN if every cluster has one row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.evaluate import cluster_assumption_violation
    >>> round(cluster_assumption_violation(*load_iris(return_X_y=True), random_state=0), 2)
    0.05
    """
    X = checked_array(X, "cluster_assumption_violation", dtype=np.float64)
    classes, codes = encoded_classes(np.asarray(y), "cluster_assumption_violation")
    if len(codes) != len(X):
        raise ValueError(f"X has {len(X)} rows and y has {len(codes)}.")
    wanted = min(3 * len(classes) if n_clusters is None else n_clusters, len(X))
    with one_thread(when=X.size < SMALL_TABLE):
        clusters = KMeans(wanted, n_init=10, random_state=random_state).fit(X).labels_
    table = np.zeros((wanted, len(classes)))
    np.add.at(table, (clusters, codes), 1)
    together = _pairs(table.sum(axis=1)).sum()
    return float(1 - _pairs(table).sum() / together) if together else float("nan")


def _pairs(counts: np.ndarray) -> np.ndarray:
    return counts * (counts - 1) / 2


def hub_order(
    X: Any,
    n_neighbors: int = 5,
    order: Literal["hubs", "antihubs", "random"] = "hubs",
    *,
    metric: Any = "euclidean",
    random_state: Any = None,
) -> np.ndarray:
    """Rows in the order in which to label them: those first that are the neighbours of most others.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, with labels and without.
    n_neighbors : int, default=5
        Neighbours of each row.
    order : {"hubs", "antihubs", "random"}, default="hubs"
        Most listed rows first, least listed first, or neither.
    metric : str or callable, default="euclidean"
        Distance, as in :func:`k_occurrences`.
    random_state : int, RandomState or None, default=None
        Random seed of "random".

    Returns
    -------
    rows : ndarray of int of shape (n_samples,)
        Row numbers.

    Examples
    --------
    >>> from fewer.evaluate import hub_order
    >>> hub_order([[0.0], [1.0], [1.4], [3.0], [9.0]], 1)
    array([1, 2, 3, 0, 4])
    """
    if order not in ("hubs", "antihubs", "random"):
        raise ValueError(f"order={order!r} is not one of 'hubs', 'antihubs', 'random'.")
    counts = k_occurrences(X, n_neighbors, metric=metric).n_occurrences
    if order == "random":
        return check_random_state(random_state).permutation(len(counts))
    return np.argsort(-counts if order == "hubs" else counts, kind="stable")


def hubness_sample_weight(X: Any, n_neighbors: int = 10, *, metric: Any = "euclidean") -> np.ndarray:
    """Weights of rows for boosting: ``1 / (1 + |h(x)|)``, so that hubs and antihubs weigh less.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    n_neighbors : int, default=10
        Neighbours of each row; choose it on rows held out.
    metric : str or callable, default="euclidean"
        Distance, as in :func:`k_occurrences`.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        They sum to 1.

    Examples
    --------
    >>> from fewer.evaluate import hubness_sample_weight
    >>> hubness_sample_weight([[0.0], [1.0], [1.4], [3.0], [9.0]], 1).round(2)
    array([0.16, 0.16, 0.16, 0.35, 0.16])
    """
    weights = 1 / (1 + np.abs(standard_scores(k_occurrences(X, n_neighbors, metric=metric).n_occurrences)))
    return weights / weights.sum()


def secondary_distances(
    X: Any,
    method: Correction = "mutual_proximity",
    n_neighbors: int = 10,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> np.ndarray:
    """Distances between rows that make near relations mutual, which removes most hubs.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table, or distances with ``metric="precomputed"``.
    method : {"local_scaling", "mutual_proximity"}, default="mutual_proximity"
        Compare a distance with those of the ``n_neighbors``-th neighbours of both rows, or with all distances of both.
    n_neighbors : int, default=10
        For "local_scaling".
    metric : str or callable, default="euclidean"
        Distance to correct, as in ``sklearn.metrics.pairwise_distances``.
    metric_params : dict or None, default=None
        Further arguments of the metric.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_samples)
        From 0 to 1, with a diagonal of zeros: for estimators that take ``metric="precomputed"``.

    See Also
    --------
    fewer.learn.HubnessWeightedKNeighborsClassifier : Classifies new rows with the same corrections.

    References
    ----------
    .. [1] Schnitzer, D., Flexer, A., Schedl, M. & Widmer, G. (2012). Local and global scaling reduce hubs in space.
       Journal of Machine Learning Research 13, 2871-2902.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import k_occurrences, secondary_distances
    >>> X = np.random.default_rng(0).normal(size=(500, 100))
    >>> corrected = k_occurrences(secondary_distances(X), 10, metric="precomputed")
    >>> round(k_occurrences(X, 10).skewness, 1), round(corrected.skewness, 1)
    (6.6, 0.5)
    """
    if method not in ("local_scaling", "mutual_proximity"):
        raise ValueError(f"method={method!r} is not one of 'local_scaling', 'mutual_proximity'.")
    X = checked_array(X, "secondary_distances", accept_sparse="csr", dtype=np.float64, ensure_min_samples=3)
    check_n_neighbors(n_neighbors, X.shape[0])
    distances = pairwise_distances(X, metric=metric, **(metric_params or {}))
    usual = usual_distances(distances, method, n_neighbors, own=True)
    distances = secondary(distances, usual, usual, method)
    np.fill_diagonal(distances, 0.0)
    return distances


@dataclass(frozen=True, eq=False, repr=False)
class HubnessCurve(Result):
    """Hubness over the number of dimensions kept; made by :func:`hubness_curve`.

    Attributes
    ----------
    sizes : ndarray of int of shape (n_sizes,)
        Numbers of dimensions.
    skewness : ndarray of shape (n_sizes,)
        Skewness of the k-occurrences with each.
    full_skewness : float
        The same of the table itself.
    """

    sizes: np.ndarray
    skewness: np.ndarray
    full_skewness: float

    @property
    def reading(self) -> str:
        """From where on the reduction loses dimensions that the rows fill."""
        order = np.argsort(self.sizes)
        sizes, values = self.sizes[order], self.skewness[order]
        kept = sizes[values >= 0.8 * self.full_skewness]
        if self.full_skewness < 0.5:
            return f"The table has no marked hubs (skewness {self.full_skewness:.2f}), so the curve is not informative."
        if not len(kept):
            return "Every number of dimensions tried has less than 80% of the skewness of the table."
        return (
            f"From {kept[0]} dimensions on, at least 80% of the skewness of the table ({self.full_skewness:.2f}) is "
            "kept; with fewer it falls, as where dimensions that the rows fill are lost."
        )

    def __repr__(self) -> str:
        values = ", ".join(f"{size}: {value:.2f}" for size, value in zip(self.sizes, self.skewness, strict=True))
        return f"HubnessCurve: skewness of the table {self.full_skewness:.2f}\n  by dimensions: {values}"

    def plot(self) -> "go.Figure":
        """Skewness over the number of dimensions.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(title="Hubs that a reduction keeps", x="dimensions kept", y="skewness of k-occurrences")
        figure.add_trace(line("reduced", self.sizes, self.skewness))
        largest = int(np.argmax(self.sizes))
        mark_point(figure, self.sizes[largest], self.full_skewness, "all columns", name="the table")
        return figure.update_xaxes(type="log", tickvals=self.sizes, ticktext=[str(size) for size in self.sizes])


def hubness_curve(
    extractor: Any | Callable[[np.ndarray, int], np.ndarray],
    X: Any,
    sizes: Sequence[int],
    *,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
) -> HubnessCurve:
    """Hubness of a table reduced to fewer and fewer dimensions: have I reduced too far?

    Parameters
    ----------
    extractor : estimator with ``n_components``, or callable
        Not fitted, such as ``PCA()``; or a function of the table and a number of dimensions that gives the new table.
    X : array-like of shape (n_samples, n_features)
        Table.
    sizes : sequence of int
        Numbers of dimensions to try.
    n_neighbors : int, default=10
        Neighbours of each row.
    metric : str or callable, default="euclidean"
        Distance, as in :func:`k_occurrences`.

    Returns
    -------
    curve : HubnessCurve
        Skewness for each number. It stays flat down to about the intrinsic dimension of the table, and then falls; for
        independent columns it falls steadily.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from fewer.evaluate import hubness_curve
    >>> hubness_curve(PCA(svd_solver="full"), load_digits().data[:600], [4, 16])
    HubnessCurve: skewness of the table 0.67
      by dimensions: 4: 0.23, 16: 0.52
    """
    X = checked_array(X, "hubness_curve", dtype=np.float64, ensure_min_samples=3)
    if not hasattr(extractor, "fit_transform") and not callable(extractor):
        raise ValueError(
            f"extractor={extractor!r} must be an estimator such as PCA(), or a function of table and number."
        )
    if isinstance(extractor, BaseEstimator) and "n_components" not in extractor.get_params():
        raise ValueError(
            f"{type(extractor).__name__} has no n_components; give a function of the table and a number of dimensions."
        )
    numbers = np.asarray(list(sizes), dtype=int)
    if not len(numbers) or numbers.min() < 1:
        raise ValueError(f"sizes={sizes!r} must hold numbers of dimensions, from 1 on.")
    values = [k_occurrences(_reduced(extractor, X, int(size)), n_neighbors, metric=metric).skewness for size in numbers]
    return HubnessCurve(numbers, np.array(values), k_occurrences(X, n_neighbors, metric=metric).skewness)


def _reduced(extractor: Any, X: np.ndarray, size: int) -> np.ndarray:
    if hasattr(extractor, "fit_transform"):
        return clone(extractor).set_params(n_components=size).fit_transform(X)
    return extractor(X, size)


@dataclass(frozen=True, eq=False, repr=False)
class OutlierHubness(Result):
    """Outlier scores and how often rows are listed; made by :func:`outlier_hubness`.

    Attributes
    ----------
    scores : ndarray of shape (n_samples,)
        Distance of each row to its k-th neighbour.
    n_occurrences : ndarray of int of shape (n_samples,)
        How many rows list it among their k nearest.
    correlation : float
        Rank correlation of the two.
    contrast : float
        Largest score less the smallest, over the mean.
    """

    scores: np.ndarray
    n_occurrences: np.ndarray
    correlation: float
    contrast: float

    @property
    def reading(self) -> str:
        """What the scores can be trusted for."""
        return (
            f"Outlier scores and k-occurrences have a rank correlation of {self.correlation:.2f}. On independent "
            "columns the gap between the largest and the smallest score grows with their number, so compare scores "
            "with those of permuted columns before taking rows for outliers."
        )

    def __repr__(self) -> str:
        return (
            f"OutlierHubness: {len(self.scores):,} rows, rank correlation {self.correlation:.2f}\n"
            f"  scores from {self.scores.min():.3g} to {self.scores.max():.3g}"
        )


def outlier_hubness(X: Any, n_neighbors: int = 10, *, metric: Any = "euclidean") -> OutlierHubness:
    """Distances to the k-th neighbour as outlier scores, beside how often rows are listed.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    n_neighbors : int, default=10
        k.
    metric : str or callable, default="euclidean"
        Distance, as in :func:`k_occurrences`.

    Returns
    -------
    outliers : OutlierHubness
        Scores, counts and their rank correlation: strongly negative where outliers are antihubs.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import outlier_hubness
    >>> round(outlier_hubness(np.random.default_rng(0).normal(size=(500, 50))).correlation, 2)
    -0.93
    """
    found = k_occurrences(X, n_neighbors, metric=metric)
    scores = found.distances[:, -1]  # type: ignore[index]  # there are distances unless a graph was given
    contrast = float((scores.max() - scores.min()) / scores.mean()) if scores.mean() > 0 else 0.0
    return OutlierHubness(scores, found.n_occurrences, rank_correlation(found.n_occurrences, scores), contrast)


@dataclass(frozen=True, eq=False, repr=False)
class RelativeSilhouette(Result):
    """How hubs and antihubs fit into clusters, relative to other rows; made by :func:`relative_silhouette`.

    Attributes
    ----------
    hubs, antihubs : dict of str to float
        Mean ``silhouette`` (b - a) / max(a, b), mean distance ``within`` the own cluster (a) and to the ``nearest``
        other cluster (b), each divided by its mean over random draws of as many rows.
    n_hubs : int
        Number of hubs, and of antihubs.
    """

    hubs: dict[str, float]
    antihubs: dict[str, float]
    n_hubs: int

    def __repr__(self) -> str:
        def words(ratios: dict[str, float]) -> str:
            return ", ".join(f"{name} {value:.2f}" for name, value in ratios.items())

        return f"RelativeSilhouette: {self.n_hubs} hubs\n  hubs: {words(self.hubs)}\n  antihubs: {words(self.antihubs)}"


def relative_silhouette(
    X: Any,
    labels: Any,
    n_neighbors: int = 10,
    n_draws: int = 100,
    *,
    hub_threshold: float = 2.0,
    random_state: Any = None,
) -> RelativeSilhouette:
    """How well hubs and antihubs fit into their clusters, compared with random rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    labels : array-like of shape (n_samples,)
        Found cluster of each row.
    n_neighbors : int, default=10
        Neighbours of each row.
    n_draws : int, default=100
        Random draws of as many rows as there are hubs.
    hub_threshold : float, default=2.0
        Rows whose standardised count exceeds this are hubs.
    random_state : int, RandomState or None, default=None
        Random seed of the draws.

    Returns
    -------
    ratios : RelativeSilhouette
        Below 1 where they fit worse than random rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import relative_silhouette
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 200)
    >>> X = rng.normal(size=(400, 60)) + labels[:, None]
    >>> found = relative_silhouette(X, labels, random_state=0)
    >>> found.hubs["within"] < 1 < found.antihubs["within"]
    True
    """
    X = checked_array(X, "relative_silhouette", dtype=np.float64, ensure_min_samples=3)
    clusters, n_clusters = cluster_codes(labels, "labels")
    if len(clusters) != len(X) or n_clusters < 2:
        raise ValueError("labels must name the cluster of each row of X, with at least two clusters.")
    if n_draws < 1:
        raise ValueError(f"n_draws={n_draws} must be at least 1.")
    check_n_neighbors(n_neighbors, len(X))
    counts = times_listed(nearest_neighbours(X, n_neighbors)[0])
    n_hubs = int(np.sum(standard_scores(counts) > hub_threshold))
    if n_hubs == 0:
        raise ValueError(f"No row is a hub: none has a standardised count above {hub_threshold:g}.")
    values = _silhouette_parts(X, clusters)
    rng = check_random_state(random_state)
    order = np.argsort(-counts, kind="stable")
    others = order[n_hubs:]
    drawn = [rng.choice(others, size=min(n_hubs, len(others)), replace=False) for _ in range(n_draws)]
    usual = {name: np.mean([value[rows].mean() for rows in drawn]) for name, value in values.items()}

    def ratios(rows: np.ndarray) -> dict[str, float]:
        return {name: float(value[rows].mean() / usual[name]) for name, value in values.items()}

    return RelativeSilhouette(ratios(order[:n_hubs]), ratios(order[::-1][:n_hubs]), n_hubs)


def _silhouette_parts(X: np.ndarray, clusters: np.ndarray) -> dict[str, np.ndarray]:
    """Silhouette, mean distance within the own cluster and to the nearest other one, of each row."""
    sizes = np.bincount(clusters).astype(float)
    rows = np.arange(len(X))
    sums = pairwise_distances(X) @ np.eye(len(sizes))[clusters]
    within = sums[rows, clusters] / np.maximum(sizes[clusters] - 1, 1)
    means = sums / sizes
    means[rows, clusters] = np.inf
    nearest = means.min(axis=1)
    silhouette = np.where(sizes[clusters] > 1, (nearest - within) / np.maximum(nearest, within), 0.0)
    return {"silhouette": silhouette, "within": within, "nearest": nearest}
