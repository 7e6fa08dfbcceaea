"""Groups of redundant columns, each with a column that represents it.

Two columns are similar if their similarity (absolute correlation, rank correlation or symmetric uncertainty) reaches a
threshold. Columns that are linked by such pairs are found block by block, by joining sets, so that no matrix of all
pairs is ever held. Complete or average linkage then divides groups that are linked only by a chain of pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as merge_tree
from scipy.spatial.distance import squareform
from sklearn.utils import check_consistent_length, column_or_1d

from fewer._estimators import Interval, StrOptions, checked_array, validate_params
from fewer._figures import Result
from fewer.select._target import target_levels, task_of
from fewer.select.information._levels import N_BINS, Information, discretise
from fewer.select.redundancy._similarity import Measure, Similarity, relevance_by_score, similarity_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


Linkage = Literal["single", "average", "complete"]

_BLOCK = 1024
# Columns in a chain that complete and average linkage can take apart: their similarities are held all at once.
_LONGEST_CHAIN = 10_000
# Columns of which the similarities are kept for the picture.
_MOST_SHOWN = 100
_ROUNDING = 1e-12


@dataclass(frozen=True)
class RedundancyGroup:
    """Redundant columns.

    Attributes
    ----------
    columns : tuple of int
        The columns, in the order of the table.
    names : tuple
        Their names, or their numbers.
    representative : int
        The column that represents all of them.
    similarities : ndarray of shape (n_columns,)
        Similarity of each of them to the representative.
    min_similarity : float
        The lowest similarity of two of them.
    """

    columns: tuple[int, ...]
    names: tuple[Any, ...]
    representative: int
    similarities: np.ndarray = field(repr=False)
    min_similarity: float

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def representative_name(self) -> Any:
        """Name of the representative."""
        return self.names[self.columns.index(self.representative)]

    @property
    def nearest_first(self) -> list[int]:
        """The representative, then the others from the most similar to it on."""
        others = [self.columns[place] for place in np.argsort(-self.similarities, kind="stable")]
        return [self.representative, *(column for column in others if column != self.representative)]

    def __str__(self) -> str:
        others = [name for column, name in zip(self.columns, self.names, strict=True) if column != self.representative]
        shown = ", ".join(str(name) for name in others[:6]) + (
            f" and {len(others) - 6:,} more" if len(others) > 6 else ""
        )
        return f"{self.representative_name} represents {shown} (similarity {self.min_similarity:.2f} or more)"


@dataclass(frozen=True)
class RedundancyGroups(Result):
    """Groups of redundant columns; made by :func:`redundancy_groups`.

    Attributes
    ----------
    groups : tuple of RedundancyGroup
        Groups of two or more columns, largest first.
    n_features : int
        Columns of the table.
    threshold : float
        Smallest similarity of redundant columns.
    measure : str
        What similarity means.
    linkage : str
        Which pairs of a group reach the threshold: every two ("complete"), on average, or a chain of them ("single").
    feature_names : tuple
        Names of the columns, or their numbers.
    shown : ndarray of shape (n_shown,)
        The first columns of the largest groups, group by group, 100 at most.
    shown_similarities : ndarray of shape (n_shown, n_shown)
        Their similarities.
    """

    groups: tuple[RedundancyGroup, ...]
    n_features: int
    threshold: float
    measure: str
    linkage: str
    feature_names: tuple[Any, ...] = field(repr=False)
    shown: np.ndarray = field(repr=False)
    shown_similarities: np.ndarray = field(repr=False)

    @property
    def redundant(self) -> np.ndarray:
        """Columns that another one represents, in the order of the table."""
        found = [column for group in self.groups for column in group.columns if column != group.representative]
        return np.array(sorted(found), dtype=int)

    @property
    def representatives(self) -> np.ndarray:
        """Columns to keep so that nothing is said twice: one of each group, and all that are in none."""
        return np.setdiff1d(np.arange(self.n_features), self.redundant)

    @property
    def labels(self) -> np.ndarray:
        """Number of the group of each column, -1 for none."""
        labels = np.full(self.n_features, -1)
        for number, group in enumerate(self.groups):
            labels[list(group.columns)] = number
        return labels

    @property
    def reading(self) -> str:
        """What was found, in a sentence."""
        if not self.groups:
            return f"No two of the {self.n_features:,} columns have a similarity of {self.threshold:g} or more."
        n_grouped = sum(len(group) for group in self.groups)
        groups = "1 group" if len(self.groups) == 1 else f"{len(self.groups):,} groups"
        return (
            f"{n_grouped:,} of {self.n_features:,} columns are in {groups} of redundant columns; "
            f"{len(self.representatives):,} columns are left with one for each group."
        )

    def __repr__(self) -> str:
        shown = [f"  {group}" for group in self.groups[:10]]
        more = [f"  and {len(self.groups) - 10:,} more groups"] if len(self.groups) > 10 else []
        return "\n".join([self.reading, *shown, *more])

    def plot(self, n_features: int = 40) -> "go.Figure":
        """Similarities of the columns of the largest groups, group by group.

        Parameters
        ----------
        n_features : int, default=40
            Columns to show, 100 at most.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A heat map with a frame around each group.
        """
        return groups_figure(self, n_features)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like", None],
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "measure": [StrOptions({"pearson", "spearman", "symmetric_uncertainty"})],
        "linkage": [StrOptions({"single", "average", "complete"})],
        "relevance": [str, callable],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "feature_names": ["array-like", None],
        "task": [StrOptions({"auto", "classification", "regression"})],
    },
    prefer_skip_nested_validation=True,
)
def redundancy_groups(
    X: Any,
    y: Any = None,
    *,
    threshold: float = 0.9,
    measure: Measure = "pearson",
    linkage: Linkage = "complete",
    relevance: str | Callable[..., Any] = "mutual_information",
    n_bins: int = N_BINS,
    feature_names: Sequence[Any] | None = None,
    task: str = "auto",
) -> RedundancyGroups:
    """Find groups of redundant columns, and a column that represents each.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table without missing values. Constant columns are in no group.
    y : array-like of shape (n_samples,), default=None
        Target. With it the most relevant column represents a group; without, the one most similar to the others.
    threshold : float, default=0.9
        Smallest similarity of two redundant columns.
    measure : {"pearson", "spearman", "symmetric_uncertainty"}, default="pearson"
        What similarity means: the absolute correlation, that of the ranks, or the symmetric uncertainty of levels,
        which sees relations of any form and takes longest.
    linkage : {"complete", "average", "single"}, default="complete"
        Which columns of a group reach the threshold: every two, on average, or each with at least one other, so that
        ends of a chain may differ. Only "single" takes chains of more than 10,000 columns.
    relevance : str or callable, default="mutual_information"
        What the most relevant column is, if there is a target: mutual information of levels, the name of another score,
        or a function ``(X, y) -> scores``.
    n_bins : int, default=5
        Levels for mutual information and symmetric uncertainty.
    feature_names : sequence, default=None
        Names of the columns; by default those of a frame, or their numbers.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Returns
    -------
    groups : RedundancyGroups
        Groups with their representatives, the columns to keep, and a picture.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import redundancy_groups
    >>> cancer = load("breast_cancer")
    >>> redundancy_groups(cancer.X, cancer.y, threshold=0.95, feature_names=cancer.columns)
    8 of 30 columns are in 3 groups of redundant columns; 25 columns are left with one for each group.
      mean perimeter represents mean radius, mean area (similarity 0.99 or more)
      worst perimeter represents worst radius, worst area (similarity 0.98 or more)
      radius error represents perimeter error (similarity 0.97 or more)
    """
    names = _names(X, feature_names)
    sparse = "csc" if measure != "spearman" else False
    taken = {"accept_sparse": sparse, "dtype": (np.float64, np.float32), "ensure_min_samples": 2}
    X = checked_array(X, "redundancy_groups", **taken)
    names = tuple(range(X.shape[1])) if names is None else names
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names for {X.shape[1]} columns.")
    merits = None
    if y is not None:
        y = column_or_1d(y, warn=False)
        check_consistent_length(X, y)
        merits = _relevance(X, y, relevance, n_bins, task)
    similarity = similarity_of(X, measure, n_bins)
    groups = []
    for chain in chains(similarity, X.shape[1], threshold):
        for columns in _divided(similarity, chain, threshold, linkage):
            groups.append(_group(similarity, columns, merits, names))
    groups.sort(key=lambda group: (-len(group), group.columns))
    shown = np.array([column for group in groups for column in group.nearest_first][:_MOST_SHOWN], dtype=int)
    return RedundancyGroups(
        tuple(groups),
        X.shape[1],
        float(threshold),
        measure,
        linkage,
        names,
        shown,
        np.abs(similarity.between(shown, shown)) if len(shown) else np.empty((0, 0)),
    )


def _names(X: Any, feature_names: Sequence[Any] | None) -> tuple[Any, ...] | None:
    if feature_names is not None:
        return tuple(feature_names)
    columns = None if sp.issparse(X) else getattr(X, "columns", None)
    return None if columns is None else tuple(columns)


def _relevance(X: Any, y: np.ndarray, relevance: str | Callable[..., Any], n_bins: int, task: str) -> np.ndarray:
    if relevance == "mutual_information":
        levels = target_levels(y, task_of(y, task), n_bins, "redundancy_groups")
        return Information(discretise(X, n_bins=n_bins)).with_target(levels)
    return relevance_by_score(relevance, X, y)


def chains(similarity: Similarity, n_columns: int, threshold: float) -> list[np.ndarray]:
    """Sets of two or more columns that hang together by pairs that reach the threshold."""
    parents = np.arange(n_columns)
    blocks = [np.arange(start, min(start + _BLOCK, n_columns)) for start in range(0, n_columns, _BLOCK)]
    for place, first in enumerate(blocks):
        for second in blocks[place:]:
            join_similar(parents, similarity.between(first, second), first, second, threshold - _ROUNDING)
    roots = all_roots(parents)
    order = np.argsort(roots, kind="stable")
    starts = np.flatnonzero(np.diff(roots[order])) + 1
    return [columns for columns in np.split(order, starts) if len(columns) > 1]


def _divided(similarity: Similarity, chain: np.ndarray, threshold: float, linkage: Linkage) -> list[np.ndarray]:
    """The groups of two or more columns that a chain holds."""
    if linkage == "single" or len(chain) == 2:
        return [chain]
    if len(chain) > _LONGEST_CHAIN:
        raise ValueError(
            f"{len(chain):,} columns are linked by similar pairs, too many for linkage={linkage!r}; raise "
            f"threshold={threshold:g}, or take linkage='single'."
        )
    distances = 1 - np.abs(similarity.between(chain, chain))
    np.fill_diagonal(distances, 0)
    tree = merge_tree(squareform(np.maximum(distances, 0), checks=False), method=linkage)
    labels = fcluster(tree, 1 - threshold + _ROUNDING, criterion="distance")
    groups = [chain[labels == label] for label in np.unique(labels)]
    return [columns for columns in groups if len(columns) > 1]


def _group(
    similarity: Similarity, columns: np.ndarray, merits: np.ndarray | None, names: tuple[Any, ...]
) -> RedundancyGroup:
    """A group with its representative: the most relevant column, or the one that is most like the others."""
    totals, min_similarity = np.zeros(len(columns)), 1.0
    for start in range(0, len(columns), _BLOCK):
        block = np.abs(similarity.between(columns[start : start + _BLOCK], columns))
        totals[start : start + _BLOCK] = block.sum(axis=1)
        min_similarity = min(min_similarity, float(block.min()))
    best = np.flatnonzero(totals >= totals.max() - 1e-9 * len(columns))
    if merits is not None:
        most = merits[columns].max()
        equals = np.flatnonzero(merits[columns] >= most - _ROUNDING)
        best = equals[totals[equals] >= totals[equals].max() - 1e-9 * len(columns)]
    representative = columns[best[0]]
    return RedundancyGroup(
        tuple(int(column) for column in columns),
        tuple(names[column] for column in columns),
        int(representative),
        np.abs(similarity.between(np.array([representative]), columns)[0]),
        min_similarity,
    )


def groups_figure(found: "RedundancyGroups", n_features: int) -> "go.Figure":
    """Heat map of the similarities within and between the largest groups, with a frame around each."""
    import plotly.graph_objects as go

    from fewer import _figures

    shown = found.shown[:n_features]
    names = [str(found.feature_names[column]) for column in shown]
    stands_for = {group.representative for group in found.groups}
    labels = [f"<b>{name}</b>" if column in stands_for else name for column, name in zip(shown, names, strict=True)]
    figure = _figures.new_figure(title=found.reading, height=max(320, 120 + 18 * len(shown)))
    places = np.arange(len(shown))
    if len(shown):
        figure.add_trace(
            go.Heatmap(
                z=found.shown_similarities[:n_features, :n_features],
                x=places,
                y=places,
                zmin=0,
                zmax=1,
                colorscale=[[0, _figures.translucent(_figures.BLUE, 0.02)], [1, _figures.BLUE]],
                customdata=np.array([[f"{a} and {b}" for b in names] for a in names]),
                hovertemplate="%{customdata}: %{z:.2f}<extra></extra>",
                colorbar={"title": {"text": "similarity"}, "thickness": 12},
            )
        )
    labels_shown = found.labels[shown]
    for group in np.unique(labels_shown):
        start, end = np.flatnonzero(labels_shown == group)[[0, -1]] + [-0.5, 0.5]
        figure.add_shape(type="rect", x0=start, x1=end, y0=start, y1=end, line={"color": _figures.RED, "width": 2})
    axis = {"tickvals": places, "ticktext": labels, "showgrid": False}
    figure.update_xaxes(**axis, tickangle=-45)
    figure.update_yaxes(**axis, autorange="reversed")
    return figure


@njit(cache=True, nogil=True)
def root_of(parents, item):
    """The item that stands for the set of this one; paths are halved on the way, so that they stay short."""
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


@njit(cache=True, nogil=True)
def join_similar(parents, similarities, rows, columns, threshold):
    """Join the sets of every row and column of a block of similarities that reach the threshold, of either sign."""
    for i in range(rows.size):
        for j in range(columns.size):
            if abs(similarities[i, j]) >= threshold and rows[i] != columns[j]:
                first, second = root_of(parents, rows[i]), root_of(parents, columns[j])
                # The lower number stands for the set, so that results do not depend on the order of the blocks.
                if first < second:
                    parents[second] = first
                elif second < first:
                    parents[first] = second


@njit(cache=True, nogil=True)
def all_roots(parents):
    """The item that stands for the set of each."""
    roots = np.empty_like(parents)
    for item in range(parents.size):
        roots[item] = root_of(parents, item)
    return roots
