"""Filters by approximate Markov blankets: FCBF, and the backward elimination of Koller and Sahami.

*FCBF* drops each column that is closer to a better one than to the target. With the symmetric uncertainty SU of levels,
go through the columns from the highest SU with the target on; a column p that is still there drops every later column q
with ``SU(p, q) >= SU(q, target)``. What is left are the predominant columns.

Yu, L. and Liu, H. (2003). Feature selection for high-dimensional data: a fast correlation-based filter solution. ICML,
856-863.

*Backward elimination* drops the column with the least information beyond its blanket. The blanket M of column i are the
K columns j left with the least ``I(class; i | j)``: those beside which i adds least about the class. The column with
the least ``I(class; i | M)`` goes, blankets that held it are filled up, and so on. I(class; i | M) is the expected
Kullback-Leibler divergence between the class distributions with and without column i, given M.

Koller, D. and Sahami, M. (1996). Toward optimal feature selection. ICML, 284-292.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numba import njit
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import target_levels, task_of
from fewer.select.information._levels import (
    N_BINS,
    ROUNDING,
    Information,
    conditional_information,
    discretise,
    joint_levels,
)


class Predominant(NamedTuple):
    """The predominant columns, best first, and for each column the one that dropped it (-1 if none did)."""

    columns: list[int]
    dropped_by: np.ndarray


def predominant_columns(
    with_target: np.ndarray,
    with_column: Callable[[int, np.ndarray], np.ndarray],
    *,
    threshold: float,
    on_step: Callable[[Predominant], bool] = lambda found: False,
) -> Predominant:
    """Columns that no better one is closer to than the target is.

    Parameters
    ----------
    with_target : ndarray of shape (n_columns,)
        Symmetric uncertainty of each column with the target.
    with_column : callable
        From a column and an array of others to the symmetric uncertainty of each of these with it.
    threshold : float
        Columns with less than this, or with nothing, are left out.
    on_step : callable
        Called after each column found; may return True to stop and keep what there is.

    Returns
    -------
    found : Predominant
        The columns and who dropped the others.
    """
    found = Predominant([], np.full(len(with_target), -1))
    order = np.argsort(-with_target, kind="stable")
    left = order[(with_target[order] >= threshold) & (with_target[order] > 0)]
    while len(left):
        best, left = int(left[0]), left[1:]
        found.columns.append(best)
        if len(left):
            closer = with_column(best, left) >= with_target[left] - ROUNDING
            found.dropped_by[left[closer]] = best
            left = left[~closer]
        if on_step(found):
            break
    return found


@method(
    tasks=["classification", "regression"],
    when="A wide table with many redundant columns, and a quick list without them, whose length need not be "
    "set. Columns are compared in pairs only, so those that are useful only together (XOR) are missed.",
    cost="O(n p k) for k columns kept, often far less; cuts by description length sort the columns, O(n p log n).",
    paper="fcbf",
)
class FCBF(CallbackSupportMixin, Selector):
    """Keep the columns that no better column is closer to than the target is.

    Parameters
    ----------
    threshold : float, default=0.0
        Least symmetric uncertainty with the target. Columns that share nothing with the target are never kept.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How columns are cut into levels: by description length, which leaves columns without information about the
        target in one piece; or into bins. Binned columns with at most ``n_bins`` values keep them.
    n_bins : int, default=5
        Levels at most, for bins and for a numeric target.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Symmetric uncertainty of each column with the target.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the columns kept by their score, then the others by theirs.
    dropped_by_ : ndarray of shape (n_features,)
        For each column the better one that made it redundant; -1 for those kept, and for those without a use.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CFS : Looks at subsets instead of pairs.
    MRMR : For a given number of columns.

    References
    ----------
    .. [1] Yu, L. and Liu, H. (2003). Feature selection for high-dimensional data: a fast correlation-based filter
       solution. ICML, 856-863.
    .. [2] Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import FCBF
    >>> wine = load("wine")
    >>> select = FCBF(threshold=0.3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['alcohol', 'flavanoids', 'color_intensity', 'hue', 'od280/od315_of_diluted_wines', 'proline']
    """

    _takes_sparse = True
    _parameter_constraints = {
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(self, *, threshold=0.0, discretisation="mdl", n_bins=N_BINS, task="auto"):
        self.threshold = threshold
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the predominant columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        levels = target_levels(y, task_of(y, self.task), self.n_bins, "FCBF")
        information = Information(discretise(X, levels, method=self.discretisation, n_bins=self.n_bins))
        with_target = information.symmetric_uncertainty_with_target(levels)
        with fit_steps(self, X, y) as after_step:
            found = predominant_columns(
                with_target,
                information.symmetric_uncertainty_with_column,
                threshold=self.threshold,
                on_step=lambda found: after_step("keep-column", lambda: self._attributes(found, with_target)),
            )
            self._set(self._attributes(found, with_target))
        if not found.columns:
            warn_caller(
                f"No column reaches threshold={self.threshold:g} (highest symmetric uncertainty with the target: "
                f"{with_target.max():.3g}); the best one is kept."
            )
        return self

    def _attributes(self, found: Predominant, with_target: np.ndarray) -> dict[str, object]:
        """What was found, as the attributes of a fitted selector."""
        kept = np.array(found.columns or [int(np.argmax(with_target))])
        by_score = np.argsort(-with_target, kind="stable")
        others = by_score[~np.isin(by_score, kept)]
        return {
            "scores_": with_target,
            "ranking_": ranks_of_order(np.concatenate([kept, others])),
            "dropped_by_": found.dropped_by.copy(),
            "n_features_to_select_": len(kept),
        }


# Candidates for a blanket beyond its size that are remembered, so that few have to be looked for again.
_RESERVE = 12


class Elimination(NamedTuple):
    """Columns in order of removal, what each tells (or told, when removed) beyond its blanket, and which are left."""

    removed: list[int]
    losses: np.ndarray
    left: np.ndarray


class _Blankets:
    """For each column, the columns left beside which it tells least about the class."""

    def __init__(self, information: Information, classes: np.ndarray, size: int):
        self._information = information
        self._classes = classes
        self._n_columns = information.table.n_columns
        self._size = size
        self.there = np.ones(self._n_columns, dtype=bool)
        self._with_class = information.joint_entropies(classes) - information.entropies
        length = min(size + _RESERVE, max(self._n_columns - 1, 1))
        self._values = np.full((self._n_columns, length), np.inf)
        self._names = np.full((self._n_columns, length), -1)
        self.members = np.full((self._n_columns, size), -1)

    def find_all(self) -> None:
        """The blankets of all columns, by one pass over all pairs."""
        if self._size == 0:
            return
        for column in range(self._n_columns - 1):
            others = np.arange(column + 1, self._n_columns)
            # H(i, j, class) - H(i, j), which serves for both directions
            both = self._joint_class_entropies(column, others)
            of_column = self._with_class[others] - both
            of_others = self._with_class[column] - both
            note_pairs(
                self._values, self._names, column, others, _without_rounding(of_column), _without_rounding(of_others)
            )
        for column in range(self._n_columns):
            self._take_members(column)

    def _joint_class_entropies(self, column: int, others: np.ndarray) -> np.ndarray:
        own = self._information.table.column(column)
        with_class = self._information.joint_entropies(joint_levels([own, self._classes]), others)
        return with_class - self._information.joint_entropies(own, others)

    def remove(self, column: int) -> np.ndarray:
        """Take a column out, and give the columns whose blankets have changed."""
        self.there[column] = False
        changed = np.flatnonzero((self.members == column).any(axis=1) & self.there)
        for other in changed:
            self._take_members(int(other))
        return changed

    def _take_members(self, column: int) -> None:
        """The first columns of the list that are still there; a list that has run out is made anew."""
        wanted = min(self._size, int(self.there.sum()) - 1)
        listed = self._names[column][self._names[column] >= 0]
        listed = listed[self.there[listed]]
        if len(listed) < wanted:
            others = np.flatnonzero(self.there)
            others = others[others != column]
            values = _without_rounding(self._with_class[others] - self._joint_class_entropies(column, others))
            listed = others[np.argsort(values, kind="stable")][: self._names.shape[1]]
            self._names[column] = -1
            self._names[column, : len(listed)] = listed
        self.members[column] = -1
        self.members[column, :wanted] = listed[:wanted]

    def loss(self, column: int) -> float:
        """What a column tells about the class beyond its blanket, in nats."""
        table = self._information.table
        given = [table.column(member) for member in self.members[column] if member >= 0]
        return conditional_information(self._classes, table.column(column), given)


def _without_rounding(values: np.ndarray) -> np.ndarray:
    return np.where(values > ROUNDING, values, 0.0)


def blanket_elimination(
    information: Information,
    classes: np.ndarray,
    *,
    blanket_size: int,
    on_step: Callable[[Elimination], bool] = lambda so_far: False,
) -> Elimination:
    """Remove all columns but one, least useful first; ``on_step`` may return True to stop and keep the others.

    Of columns with the same loss, the one that tells least by itself goes, then the last in the table.
    """
    n_columns = information.table.n_columns
    relevance = information.with_target(classes)
    blankets = _Blankets(information, classes, min(blanket_size, n_columns - 1))
    blankets.find_all()
    losses = relevance.copy()
    if blanket_size:
        losses = np.array([blankets.loss(column) for column in range(n_columns)])
    so_far = Elimination([], losses, blankets.there)
    while len(so_far.removed) < n_columns - 1:
        there = np.flatnonzero(blankets.there)
        equals = there[losses[there] <= losses[there].min() + ROUNDING]
        equals = equals[relevance[equals] <= relevance[equals].min() + ROUNDING]
        gone = int(equals[-1])
        so_far.removed.append(gone)
        for changed in blankets.remove(gone):
            losses[changed] = blankets.loss(int(changed))
        if on_step(so_far):
            break
    return so_far


@method(
    tasks=["classification", "regression"],
    when="Up to a few thousand columns, of which many are made redundant by one or two others; every column gets its "
    "place, from the first removed to the last one left. With few rows keep the blankets small. Columns that are "
    "useful only together (XOR) are lost among noise.",
    cost="O(n p^2) for blankets of one or more columns, O(n p) without.",
    paper="koller-sahami",
    examples=lambda: [KollerSahami(n_features_to_select=3)],
)
class KollerSahami(CallbackSupportMixin, Selector):
    """Remove, one by one, the column with the least information about the target beyond the columns nearest to it.

    The columns nearest to column i, its approximate Markov blanket M, are the K columns j with the least
    ``I(target; i | j)``. The column with the least ``I(target; i | M)`` is removed, which is the expected
    Kullback-Leibler divergence between the distributions of the target with and without it; and so on.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    blanket_size : int, default=1
        K, the columns in a blanket. With 0 each column is judged by itself, by its mutual information with the target.
        Each more divides the rows into smaller groups, so 1 or 2 is as much as most tables carry.
    discretisation : {"equal_frequency", "equal_width", "mdl"}, default="equal_frequency"
        How columns are cut into levels: into bins, where columns with at most ``n_bins`` values keep them; or by
        description length, which leaves columns that have no information by themselves in one piece.
    n_bins : int, default=5
        Levels at most, for bins and for a numeric target.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Information of each column about the target beyond its blanket when it was removed, in nats. For the last one,
        its mutual information with the target.
    relevance_ : ndarray of shape (n_features,)
        Mutual information of each column with the target.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: 1 for the last one left, 2 for the one removed before, and so on.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    FCBF : Much faster on wide tables, by pairs of columns.

    References
    ----------
    .. [1] Koller, D. and Sahami, M. (1996). Toward optimal feature selection. ICML, 284-292.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import KollerSahami
    >>> wine = load("wine")
    >>> select = KollerSahami(n_features_to_select=3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'color_intensity', 'proline']
    """

    _takes_sparse = True
    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "blanket_size": [Interval(Integral, 0, None, closed="left")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        blanket_size=1,
        discretisation="equal_frequency",
        n_bins=N_BINS,
        task="auto",
    ):
        self.n_features_to_select = n_features_to_select
        self.blanket_size = blanket_size
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Remove columns until one is left, and keep the last ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        levels = target_levels(y, task_of(y, self.task), self.n_bins, "KollerSahami")
        information = Information(discretise(X, levels, method=self.discretisation, n_bins=self.n_bins))
        self.relevance_ = information.with_target(levels)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        with fit_steps(self, X, y, n_steps=X.shape[1] - 1) as after_step:
            found = blanket_elimination(
                information,
                levels,
                blanket_size=self.blanket_size,
                on_step=lambda so_far: after_step("remove-column", lambda: self._attributes(so_far)),
            )
            self._set(self._attributes(found))
        return self

    def _attributes(self, found: Elimination) -> dict[str, object]:
        """What the elimination has come to, as the attributes of a fitted selector."""
        left = np.flatnonzero(found.left)
        left = left[np.lexsort((left, -found.losses[left]))]
        removed = np.array(found.removed, dtype=int)[::-1]
        return {
            "scores_": found.losses.copy(),
            "relevance_": self.relevance_,
            "ranking_": ranks_of_order(np.concatenate([left, removed])),
            "n_features_to_select_": self.n_features_to_select_,
        }


@njit(cache=True, nogil=True)
def put_in(values, names, value, name):
    """Put a value into an ascending list of fixed length, if it belongs there; of equals the earlier stays ahead."""
    place = values.size - 1
    if not value < values[place]:
        return
    while place > 0 and value < values[place - 1]:
        values[place], names[place] = values[place - 1], names[place - 1]
        place -= 1
    values[place], names[place] = value, name


@njit(cache=True, nogil=True)
def note_pairs(values, names, column, others, of_column, of_others):
    """Note what a column has with others in its own list, and what they have with it in theirs."""
    for place in range(others.size):
        other = others[place]
        put_in(values[column], names[column], of_column[place], other)
        put_in(values[other], names[other], of_others[place], column)
