"""Correlation-based feature selection: subsets of columns that go with the target and not with each other.

The merit of a subset of k columns is

    k r_cf / sqrt(k + k (k - 1) r_ff),

the correlation of their sum with the target, where r_cf is the mean correlation of the columns with the target and r_ff
that between the columns. Correlations are symmetric uncertainties of levels for classes, and absolute Pearson
correlations for numbers. Best-first search looks for the subset with the highest merit: it always expands the best
subset not expanded yet, by scoring it with each other column added, and ends after a number of expansions in a row
without a better subset. So it can pass through worse subsets where a forward search would stop.

Hall, M. (2000). Correlation-based feature selection for discrete and numeric class machine learning. ICML, 359-366.
"""

import heapq
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import numbers, target_levels, task_of
from fewer.select.information._levels import N_BINS, Information, discretise
from fewer.select.redundancy._similarity import Correlations

# What a subset must be better by to count as better.
LEAST_GAIN = 1e-5


class BestFirst(NamedTuple):
    """The best subset (its columns in order of entry), its merit, and how many subsets were expanded."""

    subset: tuple[int, ...]
    merit: float
    n_expansions: int


def best_first(
    merits_with: Callable[[tuple[int, ...]], np.ndarray],
    *,
    max_stale: int,
    on_step: Callable[[BestFirst], bool] = lambda found: False,
) -> BestFirst:
    """Search from the empty subset, whose merit is 0.

    Parameters
    ----------
    merits_with : callable
        From a subset to the merits with each column added, one number for each column; minus infinity for those that
        cannot be added.
    max_stale : int
        End after this many consecutive expansions without a better subset.
    on_step : callable
        Called after each expansion; may return True to stop and keep what there is.

    Returns
    -------
    found : BestFirst
        Of subsets with the same merit, the one found first.
    """
    found = BestFirst((), 0.0, 0)
    frontier = _Frontier()
    subset: tuple[int, ...] | None = ()
    stale = 0
    while subset is not None:
        merits = merits_with(subset)
        best = int(np.argmax(merits))
        n_expansions = found.n_expansions + 1
        if merits[best] > found.merit + LEAST_GAIN:
            found, stale = BestFirst((*subset, best), float(merits[best]), n_expansions), 0
        else:
            found, stale = found._replace(n_expansions=n_expansions), stale + 1
        if on_step(found) or stale >= max_stale:
            break
        frontier.add(subset, merits)
        subset = frontier.best()
    return found


class _Frontier:
    """Subsets that are scored and not expanded yet.

    Every expanded subset has one entry, its best child that is left; so the queue stays short, however wide the table.
    """

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, int]] = []  # minus the merit, the parent, the child's place in its order
        self._parents: list[tuple[tuple[int, ...], np.ndarray, np.ndarray]] = []
        self._expanded: set[frozenset[int]] = set()

    def add(self, parent: tuple[int, ...], merits: np.ndarray) -> None:
        """Put in all children of a subset."""
        self._expanded.add(frozenset(parent))
        self._parents.append((parent, np.argsort(-merits, kind="stable"), merits))
        self._put(len(self._parents) - 1, 0)

    def _put(self, parent: int, place: int) -> None:
        _, order, merits = self._parents[parent]
        if place < len(order) and merits[order[place]] > -np.inf:
            heapq.heappush(self._queue, (-merits[order[place]], parent, place))

    def best(self) -> tuple[int, ...] | None:
        """Take out the best subset that was not expanded in another order of its columns; None if there is none."""
        while self._queue:
            _, parent, place = heapq.heappop(self._queue)
            subset, order, _ = self._parents[parent]
            self._put(parent, place + 1)
            child = (*subset, int(order[place]))
            if frozenset(child) not in self._expanded:
                return child
        return None


# From here on a column is a copy of another, with room for rounding errors.
SAME = 1 - 1e-9


def merit(with_target: np.ndarray, between: np.ndarray) -> float:
    """Merit of a set of columns, given their correlations with the target and with each other.

    Examples
    --------
    >>> import numpy as np
    >>> round(merit(np.array([0.5, 0.5]), np.eye(2)), 4), merit(np.array([0.5, 0.5]), np.ones((2, 2)))
    (0.7071, 0.5)
    """
    pairs = np.abs(between).sum() - np.abs(np.diagonal(between)).sum()
    return float(np.abs(with_target).sum() / np.sqrt(len(with_target) + pairs))


class SubsetMerits:
    """Merits of subsets with one column added; correlations between columns are computed when they are first needed.

    Parameters
    ----------
    with_target : ndarray of shape (n_columns,)
        Correlation of each column with the target, not negative.
    with_column : callable
        From a column to its correlations with all columns, not negative.
    """

    def __init__(self, with_target: np.ndarray, with_column: Callable[[int], np.ndarray]):
        self._with_target = with_target
        self._with_column = with_column
        self._known: dict[int, np.ndarray] = {}

    def between(self, column: int) -> np.ndarray:
        """Correlations of a column with all columns."""
        if column not in self._known:
            self._known[column] = self._with_column(column)
        return self._known[column]

    def __call__(self, subset: tuple[int, ...]) -> np.ndarray:
        """Merit of the subset with each column added; minus infinity for the columns in it and their copies.

        The formula alone sometimes likes a copy, which doubles the weight of a good column.
        """
        members = list(subset)
        pairs = np.zeros(len(self._with_target))
        inside = 0.0
        for column in members:
            pairs += self.between(column)
            inside += self.between(column)[members].sum() - self.between(column)[column]
        total = self._with_target[members].sum() + self._with_target
        merits = total / np.sqrt(len(members) + 1 + inside + 2 * pairs)
        merits[members] = -np.inf
        for column in members:
            merits[self.between(column) >= SAME] = -np.inf
        return merits


@method(
    tasks=["classification", "regression"],
    when="A small set of columns that do not repeat each other is wanted, and their number is not known: the merit "
    "decides, and often for very few. Columns that are useful only together (XOR) are missed, and so are those that "
    "add little to a strong one.",
    cost="O(n p) for each column that the search looks at, typically some dozen; cuts by description length sort the "
    "columns, O(n p log n).",
    paper="cfs",
)
class CFS(CallbackSupportMixin, Selector):
    """Keep the subset of columns that goes best with the target and least with itself, by best-first search.

    The merit of k columns is ``k r_cf / sqrt(k + k (k - 1) r_ff)``, where r_cf is the mean correlation of the columns
    with the target and r_ff that between the columns.

    Parameters
    ----------
    measure : {"auto", "symmetric_uncertainty", "pearson"}, default="auto"
        What correlation means: symmetric uncertainty of levels, or the absolute Pearson correlation (for classes, the
        mean over the classes, each against the rest, by their share of the rows). "auto" takes the first for classes
        and the second for numbers.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How columns are cut into levels: by description length, which leaves columns without information about the
        target in one piece; or into bins. Binned columns with at most ``n_bins`` values keep them.
    n_bins : int, default=5
        Levels at most, for bins and for a numeric target.
    max_stale : int, default=5
        The search ends after this many consecutive expansions without a better subset.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Correlation of each column with the target.
    merit_ : float
        Merit of the subset kept.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the columns kept in order of entry, then the others by the merit of the
        subset with them.
    n_features_to_select_ : int
        Columns kept.
    n_expansions_ : int
        How many subsets the search went on from.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    MRMR : For a given number of columns.
    FCBF : Compares columns in pairs, without a search.

    Notes
    -----
    Columns whose correlation with one of the subset is 1 are not added to it: the merit alone would sometimes take a
    copy, to give a good column twice the weight.

    References
    ----------
    .. [1] Hall, M. (2000). Correlation-based feature selection for discrete and numeric class machine learning. ICML,
       359-366.
    .. [2] Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import CFS
    >>> wine = load("wine")
    >>> select = CFS().fit(wine.X, wine.y)
    >>> select.n_features_to_select_, round(select.merit_, 2)
    (8, 0.81)
    """

    _takes_sparse = True
    _parameter_constraints = {
        "measure": [StrOptions({"auto", "symmetric_uncertainty", "pearson"})],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "max_stale": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(self, *, measure="auto", discretisation="mdl", n_bins=N_BINS, max_stale=5, task="auto"):
        self.measure = measure
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.max_stale = max_stale
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Search for the subset.

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
        with_target, with_column = self._measured(X, y)
        merits = SubsetMerits(with_target, with_column)
        with fit_steps(self, X, y) as after_step:
            found = best_first(
                merits,
                max_stale=self.max_stale,
                on_step=lambda found: after_step("expand-subset", lambda: self._attributes(found, merits, with_target)),
            )
            self._set(self._attributes(found, merits, with_target))
        if not found.subset:
            warn_caller("No column is associated with the target by this measure; the first one is kept.")
        return self

    def _measured(self, X: Any, y: np.ndarray) -> tuple[np.ndarray, Callable[[int], np.ndarray]]:
        """Correlations with the target, and a function for those with a column."""
        task = task_of(y, self.task)
        measure = self.measure
        if measure == "auto":
            measure = "symmetric_uncertainty" if task == "classification" else "pearson"
        if measure == "symmetric_uncertainty":
            levels = target_levels(y, task, self.n_bins, "CFS")
            information = Information(discretise(X, levels, method=self.discretisation, n_bins=self.n_bins))
            return information.symmetric_uncertainty_with_target(levels), information.symmetric_uncertainty_with_column
        correlations = Correlations(X, n_asked=10)
        if task == "regression":
            with_target = np.abs(correlations.with_target(numbers(y, "CFS")))
        else:
            codes = target_levels(y, task, self.n_bins, "CFS")
            with_target = sum(
                share * np.abs(correlations.with_target((codes == code).astype(float)))
                for code, share in enumerate(np.bincount(codes) / len(codes))
            )
        return with_target, lambda column: np.abs(correlations.with_column(column))

    def _attributes(self, found: BestFirst, merits: SubsetMerits, with_target: np.ndarray) -> dict[str, Any]:
        """What the search found, as the attributes of a fitted selector."""
        subset = found.subset or (0,)
        merits_of_others = merits(subset)
        others = np.setdiff1d(np.arange(len(with_target)), subset)
        others = others[np.lexsort((others, -merits_of_others[others]))]
        return {
            "scores_": with_target,
            "merit_": found.merit,
            "ranking_": ranks_of_order(np.concatenate([np.array(subset, dtype=int), others])),
            "n_features_to_select_": len(subset),
            "n_expansions_": found.n_expansions,
        }
