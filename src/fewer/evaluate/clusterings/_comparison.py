"""Two clusterings of the same rows compared, with what chance would give.

Similarities are ``I / Z``, adjusted ones ``(I - E[I]) / (Z - E[I])``, distances ``Z - I`` or 1 less a similarity, where
Z is an upper bound of the shared information I: the joint entropy, or the larger, mean, geometric mean or smaller of
the two entropies.

Vinh, N. X., Epps, J. and Bailey, J. (2010). Information theoretic measures for clusterings comparison: variants,
properties, normalization and correction for chance. JMLR 11, 2837-2854.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from fewer._estimators import is_missing_label
from fewer._figures import Result
from fewer._wording import counted
from fewer.catalogue import method
from fewer.evaluate.clusterings._measures import (
    AVERAGES,
    MEASURES,
    expected_information,
    logarithms,
    measure_of,
    overlap_terms,
    upper_bound,
)

Average = Literal["joint", "max", "sum", "sqrt", "min"]
_WORTH_CORRECTING = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class ClusteringComparison(Result):
    """How far two clusterings agree; made by :func:`clustering_comparison`.

    Attributes
    ----------
    mutual_info : float
        I, the information that they share.
    entropies : tuple of float
        H of both.
    joint_entropy : float
        H of the pair of labels.
    expected_mutual_info : float
        I of labels in random order, on average.
    expected_bound : float
        An upper bound of it that needs the numbers of clusters only.
    rand_index, adjusted_rand_index : float
        Share of the pairs of rows on which both agree, and the same corrected for chance.
    n_samples : int
        Number of rows.
    n_clusters : tuple of int
        Numbers of clusters.
    base : float
        Base of the logarithms.
    """

    mutual_info: float
    entropies: tuple[float, float]
    joint_entropy: float
    expected_mutual_info: float
    expected_bound: float
    rand_index: float
    adjusted_rand_index: float
    n_samples: int
    n_clusters: tuple[int, int]
    base: float
    is_same: bool

    _data = (
        "mutual_info",
        "expected_mutual_info",
        "adjusted_mutual_info",
        "variation_of_information",
        "normalized_information_distance",
        "rand_index",
        "adjusted_rand_index",
        "reading",
    )

    def similarity(self, average_method: Average = "max", *, adjust: bool = False) -> float:
        """Shared information over its upper bound.

        Parameters
        ----------
        average_method : {"joint", "max", "sum", "sqrt", "min"}, default="max"
            The bound: joint entropy, or the larger, mean ("arithmetic" in scikit-learn), geometric mean or smaller of
            both entropies. "min" does not see how large clusters are; do not validate with it.
        adjust : bool, default=False
            Whether to take away what chance gives, from both.

        Returns
        -------
        similarity : float
            1 for the same clustering; adjusted, 0 on average for labels in random order.
        """
        if adjust and average_method == "joint":
            raise ValueError(
                'average_method="joint" has no correction for chance in closed form; take "max", or adjust=False.'
            )
        which = MEASURES.index("ami" if adjust else "nmi")
        expected = self.expected_mutual_info
        return float(measure_of(self._terms, expected, self.n_samples, self.is_same, which, _average(average_method)))

    def distance(self, average_method: Average = "max", *, normalized: bool = True, adjust: bool = False) -> float:
        """What the similarity leaves to 1, or shared information to its bound.

        Parameters
        ----------
        average_method : {"joint", "max", "sum", "sqrt", "min"}, default="max"
            The bound, as in `similarity`.
        normalized : bool, default=True
            1 less the similarity. False for the bound less the shared information, in units of information.
        adjust : bool, default=False
            Whether to correct the similarity for chance.

        Returns
        -------
        distance : float
            0 for the same clustering. Only "joint" and "max", and "sum" without ``normalized``, are metrics, and no
            adjusted one is.
        """
        if normalized or adjust:
            return 1 - self.similarity(average_method, adjust=adjust)
        return 0.0 if self.is_same else upper_bound(self._terms, _average(average_method)) - self.mutual_info

    @property
    def adjusted_mutual_info(self) -> float:
        """AMI, with the larger entropy as bound."""
        return self.similarity("max", adjust=True)

    @property
    def variation_of_information(self) -> float:
        """VI = H(U, V) - I, a metric."""
        return self.distance("joint", normalized=False)

    @property
    def normalized_information_distance(self) -> float:
        """NID = 1 - I / max(H(U), H(V)), a metric from 0 to 1."""
        return self.distance("max")

    @property
    def information_distance(self) -> float:
        """D_max = max(H(U), H(V)) - I, a metric."""
        return self.distance("max", normalized=False)

    @property
    def normalized_variation_of_information(self) -> float:
        """NVI = 1 - I / H(U, V), a metric from 0 to 1."""
        return self.distance("joint")

    def scaled_variation_of_information(self, max_clusters: int | None = None) -> float:
        """VI over its largest value for this number of rows, a metric from 0 to 1.

        Parameters
        ----------
        max_clusters : int or None, default=None
            Most clusters that a clustering can have, for a scale of 2 log K; log n by default. It serves to compare
            clusterings of tables of different sizes.

        Returns
        -------
        distance : float
            0 for the same clustering.
        """
        if max_clusters is not None and max_clusters < max(self.n_clusters):
            raise ValueError(f"max_clusters={max_clusters} is below the number of clusters, {max(self.n_clusters)}.")
        bound = np.log(self.n_samples)
        if max_clusters is not None:
            bound = min(bound, 2 * np.log(max_clusters))
        return float(self.variation_of_information * np.log(self.base) / bound) if bound > 0 else 0.0

    @property
    def needs_correction(self) -> bool:
        """Whether chance may give more than 5% of the larger entropy."""
        return self.expected_bound > _WORTH_CORRECTING * max(self.entropies)

    @property
    def reading(self) -> str:
        """How much of the agreement is chance."""
        if self.is_same:
            return "Both are the same clustering."
        correction = "is needed" if self.needs_correction else "changes little"
        return (
            f"The adjusted mutual information is {self.adjusted_mutual_info:.2f} (0 at chance, 1 for the same "
            f"clustering). Labels in random order would share {self.expected_mutual_info:.2g} of the "
            f"{self.mutual_info:.2g} that these share, so correction for chance {correction}."
        )

    @property
    def _terms(self) -> np.ndarray:
        return np.array([self.mutual_info, *self.entropies, self.joint_entropy, 0.0, 0.0, 0.0])

    def __repr__(self) -> str:
        first, second = self.n_clusters
        return (
            f"ClusteringComparison: {counted(self.n_samples, 'row')}, {first:,} and {second:,} clusters\n"
            f"  AMI {self.adjusted_mutual_info:.3f}, ARI {self.adjusted_rand_index:.3f}, NMI {self.similarity():.3f}, "
            f"VI {self.variation_of_information:.3f}"
        )


@method(
    tasks=["evaluation"],
    when="You have two clusterings of the same rows, or a clustering and known classes, and want to know whether they "
    "agree better than chance; corrected measures are needed with many small clusters.",
    cost="O(n log n), and for E[I] O(distinct sizes squared)",
    paper="clusterings",
)
def clustering_comparison(
    labels_true: Any, labels_pred: Any, *, base: float | None = None, noise_label: Any = None
) -> ClusteringComparison:
    """Compare two clusterings of the same rows by the information that they share.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Cluster of each row in the first clustering; numbers, text or any values that can be keys of a dictionary.
    labels_pred : array-like of shape (n_samples,)
        The same for the second. A label such as -1 for noise is a cluster as any other, unless it is ``noise_label``.
    base : float or None, default=None
        Base of the logarithms; None for natural ones (nats).
    noise_label : object, default=None
        Leave out rows that have this label in one of the two, such as -1 of DBSCAN.

    Returns
    -------
    comparison : ClusteringComparison
        Similarities and distances of all kinds, adjusted and not.

    See Also
    --------
    adjusted_mutual_info : Only that.
    consensus_index : Mean agreement of many clusterings.

    References
    ----------
    .. [1] Vinh, N. X., Epps, J. & Bailey, J. (2010). Information theoretic measures for clusterings comparison:
       variants, properties, normalization and correction for chance. Journal of Machine Learning Research 11,
       2837-2854.

    Examples
    --------
    >>> from fewer.evaluate import clustering_comparison
    >>> found = clustering_comparison([0, 0, 0, 1, 1, 1], ["a", "a", "b", "b", "c", "c"])
    >>> found
    ClusteringComparison: 6 rows, 2 and 3 clusters
      AMI 0.225, ARI 0.242, NMI 0.421, VI 0.868
    >>> round(found.distance("joint"), 3)
    0.652
    """
    if noise_label is not None:
        labels_true, labels_pred = _without_noise(labels_true, labels_pred, noise_label)
    overlaps, sizes, other_sizes, n_rows = overlaps_of(labels_true, labels_pred)
    if base is not None and not (isinstance(base, Real) and base > 1):
        raise ValueError(f"base={base!r} must be a number above 1.")
    unit = 1.0 if base is None else float(np.log(base))
    terms = overlap_terms(overlaps, sizes, other_sizes)
    is_same = len(overlaps) == len(sizes) == len(other_sizes)
    rand = [
        float(measure_of(terms, 0.0, n_rows, is_same, MEASURES.index(name), 1)) if n_rows > 1 else 1.0
        for name in ("ri", "ari")
    ]
    information, first, second, joint = (terms[:4] / unit).tolist()
    return ClusteringComparison(
        mutual_info=information,
        entropies=(first, second),
        joint_entropy=joint,
        expected_mutual_info=expected_mutual_info(sizes, other_sizes) / unit,
        expected_bound=expected_mi_bounds(sizes, other_sizes)[1] / unit,
        rand_index=rand[0],
        adjusted_rand_index=rand[1],
        n_samples=n_rows,
        n_clusters=(len(sizes), len(other_sizes)),
        base=math.e if base is None else float(base),
        is_same=is_same,
    )


def _without_noise(labels_true: Any, labels_pred: Any, noise_label: Any) -> tuple[np.ndarray, np.ndarray]:
    both = [_as_labels(labels_true), _as_labels(labels_pred)]
    if len(both[0]) != len(both[1]):
        raise ValueError(f"labels_true has {len(both[0])} rows and labels_pred has {len(both[1])}.")
    kept = np.array(
        [noise_label not in pair for pair in zip(*(each.tolist() for each in both), strict=True)], dtype=bool
    )
    if not kept.any():
        raise ValueError(f"Every row is noise (noise_label={noise_label!r}) in one of the two clusterings.")
    return both[0][kept], both[1][kept]


def _as_labels(labels: Any) -> np.ndarray:
    """An array with an entry for each row, also where labels are tuples."""
    if isinstance(labels, list | tuple) and any(isinstance(label, tuple) for label in labels):
        found = np.empty(len(labels), dtype=object)
        found[:] = labels
        return found
    return np.asarray(labels)


def overlaps_of(labels_true: Any, labels_pred: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Sizes of the overlaps above 0, of both kinds of clusters, and the number of rows."""
    first, n_first = cluster_codes(labels_true, "labels_true")
    second, n_second = cluster_codes(labels_pred, "labels_pred")
    if len(first) != len(second):
        raise ValueError(f"labels_true has {len(first)} rows and labels_pred has {len(second)}.")
    keys = first * n_second + second
    if n_first * n_second <= 4 * len(keys) + 1000:
        overlaps = np.bincount(keys)
        overlaps = overlaps[overlaps > 0]
    else:  # a table of all pairs of clusters would be larger than the data
        overlaps = np.unique(keys, return_counts=True)[1]
    return overlaps, np.bincount(first), np.bincount(second), len(first)


def cluster_codes(labels: Any, name: str) -> tuple[np.ndarray, int]:
    """Clusters as numbers from 0 on, without gaps, and how many there are."""
    labels = _as_labels(labels)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"{name} must hold one label for each row, and has the shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"{name} contains NaN, in row {int(np.flatnonzero(np.isnan(labels))[0])}.")
    if labels.dtype.kind == "O":  # of any kinds, which may have no order
        missing = [row for row, label in enumerate(labels) if is_missing_label(label)]
        if missing:
            raise ValueError(f"{name} has a missing label, in row {missing[0]}.")
        numbers: dict[Any, int] = {}
        try:
            codes = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
        except TypeError:
            raise ValueError(f"{name} holds labels that cannot be keys of a dictionary; make them text.") from None
        return codes, len(numbers)
    if labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < 2 * len(labels):
        there = np.bincount(labels) > 0  # without sorting
        return (np.cumsum(there) - 1)[labels], int(there.sum())
    found, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), len(found)


def expected_mutual_info(sizes: Any, other_sizes: Any) -> float:
    """Mutual information of two clusterings whose labels are in random order, on average; exact.

    Parameters
    ----------
    sizes, other_sizes : array-like of int
        Sizes of the clusters of both; they must have the same sum.

    Returns
    -------
    expected : float
        In nats.

    See Also
    --------
    expected_mi_bounds : Bounds of it in closed form.

    References
    ----------
    .. [1] Vinh, N. X., Epps, J. & Bailey, J. (2010). Information theoretic measures for clusterings comparison. Journal
       of Machine Learning Research 11, 2837-2854.

    Examples
    --------
    >>> from fewer.evaluate import expected_mutual_info
    >>> round(expected_mutual_info([10] * 10, [2, 4, 6, 8, 10, 10, 12, 14, 16, 18]), 4)
    0.4618
    """
    first, second = _checked_sizes(sizes), _checked_sizes(other_sizes)
    n_rows = int(first.sum())
    if n_rows != second.sum():
        raise ValueError(f"The sizes of both clusterings must have the same sum, and have {n_rows} and {second.sum()}.")
    if len(first) == 1 or len(second) == 1:
        return 0.0
    return float(
        expected_information(
            *np.unique(first, return_counts=True), *np.unique(second, return_counts=True), n_rows, logarithms(n_rows)
        )
    )


def expected_mi_bounds(sizes: Any, other_sizes: Any) -> tuple[float, float]:
    """Two upper bounds of the expected mutual information, the first one closer.

    Parameters
    ----------
    sizes, other_sizes : array-like of int
        Sizes of the clusters of both.

    Returns
    -------
    by_sizes, by_numbers : float
        From the sizes, and from the numbers of rows and clusters alone; in nats.

    Examples
    --------
    >>> from fewer.evaluate import expected_mi_bounds
    >>> [round(bound, 4) for bound in expected_mi_bounds([10] * 10, [2, 4, 6, 8, 10, 10, 12, 14, 16, 18])]
    [0.5584, 0.5978]
    """
    (a, repeats), (b, other_repeats) = (
        np.unique(_checked_sizes(each), return_counts=True) for each in (sizes, other_sizes)
    )
    n_rows = float(repeats @ a)
    if n_rows != other_repeats @ b:
        raise ValueError(
            f"The sizes of both clusterings must have the same sum, and have {n_rows:g} and {other_repeats @ b:g}."
        )
    n_first, n_second = repeats.sum(), other_repeats.sum()
    if n_rows < 2:
        return 0.0, 0.0
    products = np.outer(a, b).astype(float)
    inside = n_rows * np.outer(a - 1, b - 1) / ((n_rows - 1) * products) + n_rows / products
    by_sizes = float(np.sum(np.outer(repeats, other_repeats) * products / n_rows**2 * np.log(inside)))
    return by_sizes, float(np.log((n_rows + n_first * n_second - n_first - n_second) / (n_rows - 1)))


def adjusted_mutual_info(labels_true: Any, labels_pred: Any, *, average_method: Average = "max") -> float:
    """Mutual information of two clusterings, corrected for chance.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.
    average_method : {"max", "sum", "sqrt", "min"}, default="max"
        The upper bound: the larger, mean, geometric mean or smaller entropy.

    Returns
    -------
    ami : float
        1 for the same clustering, 0 at chance; may be below 0.

    Examples
    --------
    >>> from fewer.evaluate import adjusted_mutual_info
    >>> round(adjusted_mutual_info([0, 0, 1, 1], [0, 1, 0, 1]), 3), adjusted_mutual_info([0, 0, 1], ["b", "b", "a"])
    (-0.5, 1.0)
    """
    return clustering_comparison(labels_true, labels_pred).similarity(average_method, adjust=True)


def variation_of_information(labels_true: Any, labels_pred: Any, *, base: float | None = None) -> float:
    """Variation of information of two clusterings, H(U|V) + H(V|U): a metric, 0 for the same clustering.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.
    base : float or None, default=None
        Base of the logarithms; None for natural ones (nats).

    Returns
    -------
    distance : float
        At most log n.

    Examples
    --------
    >>> from fewer.evaluate import variation_of_information
    >>> variation_of_information([0, 0, 1, 1], [0, 1, 0, 1], base=2)
    2.0
    """
    return clustering_comparison(labels_true, labels_pred, base=base).variation_of_information


def normalized_information_distance(labels_true: Any, labels_pred: Any) -> float:
    """Distance of two clusterings from 0 to 1: 1 - I / max(H(U), H(V)), a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.

    Returns
    -------
    distance : float
        Not corrected for chance: with fewer than about 100 rows for a cluster, look at the adjusted measures too.

    Examples
    --------
    >>> from fewer.evaluate import normalized_information_distance
    >>> round(normalized_information_distance([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.333
    """
    return clustering_comparison(labels_true, labels_pred).normalized_information_distance


def normalized_variation_of_information(labels_true: Any, labels_pred: Any) -> float:
    """Distance of two clusterings from 0 to 1: 1 - I / H(U, V), a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.

    Returns
    -------
    distance : float
        Not corrected for chance.

    Examples
    --------
    >>> from fewer.evaluate import normalized_variation_of_information
    >>> round(normalized_variation_of_information([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.333
    """
    return clustering_comparison(labels_true, labels_pred).normalized_variation_of_information


def information_distance(labels_true: Any, labels_pred: Any, *, base: float | None = None) -> float:
    """Information that the richer of two clusterings has beyond the other: max(H(U), H(V)) - I, a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.
    base : float or None, default=None
        Base of the logarithms; None for natural ones (nats).

    Returns
    -------
    distance : float
        At most log n.

    Examples
    --------
    >>> from fewer.evaluate import information_distance
    >>> information_distance([0, 0, 1, 1], [0, 1, 0, 1], base=2)
    1.0
    """
    return clustering_comparison(labels_true, labels_pred, base=base).information_distance


def adjusted_information_distance(labels_true: Any, labels_pred: Any, *, average_method: Average = "max") -> float:
    """Distance of two clusterings, corrected for chance: 1 less the adjusted mutual information; not a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The clusters of each row.
    average_method : {"max", "sum", "sqrt", "min"}, default="max"
        The upper bound: the larger, mean, geometric mean or smaller entropy.

    Returns
    -------
    distance : float
        0 for the same clustering, 1 at chance; may be above 1.

    Examples
    --------
    >>> from fewer.evaluate import adjusted_information_distance
    >>> round(adjusted_information_distance([0, 0, 1, 1], [0, 1, 0, 1]), 3)
    1.5
    """
    return 1 - adjusted_mutual_info(labels_true, labels_pred, average_method=average_method)


def _checked_sizes(sizes: Any) -> np.ndarray:
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError("Sizes of clusters must be whole numbers from 1 on.")
    return sizes.astype(np.int64)


def _average(name: str) -> int:
    if name not in AVERAGES:
        raise ValueError(f"average_method={name!r} is not one of {', '.join(map(repr, AVERAGES))}.")
    return AVERAGES.index(name)
