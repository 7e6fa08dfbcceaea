"""Minimum redundancy, maximum relevance: columns that are relevant and not redundant with those already chosen.

With relevance D(j) of column j and redundancy R(j, s) between two, the next column after the set S is the one with the
highest

    D(j) - mean_{s in S} R(j, s)    (difference)    or    D(j) / mean_{s in S} R(j, s)    (quotient).

The sum over S grows by one term a step, so k columns cost k passes over the table.

Peng, H., Long, F. and Ding, C. (2005). Feature selection based on mutual information: criteria of max-dependency,
max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis and Machine Intelligence 27, 1226-1238.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import numbers, target_levels, task_of
from fewer.select.information._levels import N_BINS, Information, discretise
from fewer.select.redundancy._similarity import Correlations, relevance_by_score, score_takes_sparse

Criterion = Literal["difference", "quotient"]

# The least redundancy that a pair counts with: a chance near-zero must not make the quotient explode.
FLOOR = 0.001
# From here on a column is a copy of another, with room for rounding errors.
SAME = 1 - 1e-9
# What an infinite relevance counts as, so that redundancy still orders such columns.
_LARGEST_RELEVANCE = 1e9


class Redundancy(NamedTuple):
    """What a column has in common with each of the columns: how much, and whether they are the same."""

    values: np.ndarray
    same: np.ndarray


class Path(NamedTuple):
    """What a greedy choice has come to.

    ``order`` holds all columns, those chosen first; ``scores`` is the criterion of a column when it was chosen, or the
    last one if it was not; ``redundancy`` is the mean over the columns chosen before.
    """

    order: np.ndarray
    n_kept: int
    scores: np.ndarray
    redundancy: np.ndarray


def mrmr_path(
    relevance: np.ndarray,
    redundancy_with: Callable[[int], Redundancy],
    constant: np.ndarray,
    *,
    n_features: int,
    criterion: Criterion,
    on_step: Callable[[Callable[[], Path]], bool] = lambda path_so_far: False,
) -> Path:
    """Choose columns one by one; ``on_step`` may return True to stop and keep what there is.

    ``constant`` marks columns without any variation. Columns that repeat a chosen one in full come after all others,
    constant ones last.
    """
    relevance = np.clip(np.nan_to_num(relevance, nan=-np.inf), -_LARGEST_RELEVANCE, _LARGEST_RELEVANCE)
    n_columns = len(relevance)
    total, redundancy, scores = np.zeros(n_columns), np.zeros(n_columns), relevance.copy()
    # 0 while a column may be chosen, then what kind of a rest it belongs to.
    rest = np.where(constant, 2, 0)
    chosen: list[int] = []

    def path_so_far(n_kept: int) -> Path:
        waiting = np.setdiff1d(np.arange(n_columns), chosen)
        waiting = waiting[np.lexsort((waiting, -scores[waiting], rest[waiting]))]
        order = np.concatenate([np.array(chosen, dtype=int), waiting])
        return Path(order, n_kept, scores.copy(), redundancy.copy())

    open_columns = np.flatnonzero(rest == 0)
    while len(chosen) < n_features and len(open_columns):
        latest = int(open_columns[_first_of_the_best(scores[open_columns])])
        chosen.append(latest)
        if on_step(partial(path_so_far, len(chosen))):
            return path_so_far(len(chosen))
        found = redundancy_with(latest)
        total += np.maximum(found.values, FLOOR) if criterion == "quotient" else found.values
        rest[found.same & (rest == 0)] = 1
        rest[latest] = 3
        open_columns = np.flatnonzero(rest == 0)
        waiting = rest < 3
        redundancy[waiting] = total[waiting] / len(chosen)
        if criterion == "quotient":
            scores[waiting] = relevance[waiting] / redundancy[waiting]
        else:
            scores[waiting] = relevance[waiting] - redundancy[waiting]
    return path_so_far(n_features)


def _first_of_the_best(values: np.ndarray) -> int:
    """Place of the first value that is the largest but for rounding."""
    largest = values.max()
    return int(np.argmax(values >= largest - 1e-12 * abs(largest)))


def information_redundancy(information: Information, column: int) -> Redundancy:
    """Mutual information with a column; the same if each of the two determines the other."""
    shared = information.with_column(column)
    total = information.entropies + information.entropies[column]
    return Redundancy(shared, (2 * shared >= SAME * total) & (total > 0))


def correlation_redundancy(correlations: Correlations, column: int) -> Redundancy:
    """Absolute correlation with a column; the same if that is one."""
    found = np.abs(correlations.with_column(column))
    return Redundancy(found, found >= SAME)


@method(
    tasks=["classification", "regression"],
    when="Many columns are redundant (genes of one pathway, neighbouring wavelengths), and a short "
    "list that covers different things is wanted, from a table of any size. It compares columns in pairs only: those "
    "that are useful only together (XOR) are missed.",
    cost="O(n p k) for k columns; O(non-zeros k) for sparse tables. Cuts into bins sort the columns, O(n p log n).",
    paper="mrmr",
    examples=lambda: [
        MRMR(n_features_to_select=3),
        MRMR(n_features_to_select=3, relevance="f", redundancy="correlation", criterion="quotient"),
    ],
    aliases=["minimum redundancy maximum relevance"],
)
class MRMR(CallbackSupportMixin, Selector):
    """Choose columns that are relevant for the target and not redundant with each other, one by one.

    The first column is the one with the highest relevance D. Then again and again the one with the highest
    ``D - R`` (difference) or ``D / R`` (quotient) is added, where R is its mean redundancy with the columns chosen
    already.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    relevance : str or callable, default="mutual_information"
        Relevance of a column for the target: "mutual_information" of levels; "f", the F statistic of classes or of a
        regression; the name of any other score (``fewer.select.score_names()`` lists them); or a function
        ``(X, y) -> scores``, higher for better.
    redundancy : {"mutual_information", "correlation"}, default="mutual_information"
        Redundancy of two columns: mutual information of levels, or the absolute correlation.
    criterion : {"difference", "quotient"}, default="difference"
        How redundancy is held against relevance. The difference wants both in the same units, as with mutual
        information for both; the quotient does not care.
    n_bins : int, default=5
        Levels that columns (and a numeric target) are cut into for mutual information, equally many rows in each.
        Columns with no more values keep them. More bins show finer relations where there are thousands of rows.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The criterion of each column at the step when it was chosen; of the others, after the last step.
    relevance_ : ndarray of shape (n_features,)
        Relevance of each column by itself.
    redundancy_ : ndarray of shape (n_features,)
        Mean redundancy of each column with those chosen before it.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the order of choice, then the others by their last criterion, then those
        that repeat a chosen column in full, then constant ones.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CFS : Also weighs relevance against redundancy, and finds by itself how many columns.
    FCBF : Drops each column that is closer to a better one than to the target.
    SelectTop : Relevance alone.

    Notes
    -----
    Mutual information with difference and quotient are known as MID and MIQ, the F statistic with correlation as FCD
    and FCQ; the last of these is fast, needs no bins, and did well in [2]_.

    In the quotient, the redundancy of a pair counts as 0.001 at least. The mean over many chosen columns hardly notices
    that one of them is a copy; here a copy waits until there is nothing else.

    For the whole order by the criterion, let ``n_features_to_select`` be the number of columns.

    References
    ----------
    .. [1] Peng, H., Long, F. and Ding, C. (2005). Feature selection based on mutual information: criteria of
       max-dependency, max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis and Machine Intelligence
       27, 1226-1238.
    .. [2] Zhao, Z., Anand, R. and Wang, M. (2019). Maximum relevance and minimum redundancy feature selection methods
       for a marketing machine learning platform. IEEE DSAA, 442-452.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import MRMR
    >>> wine = load("wine")
    >>> select = MRMR(3, relevance="f", redundancy="correlation", criterion="quotient").fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'color_intensity', 'proline']
    """

    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "relevance": [str, callable],
        "redundancy": [StrOptions({"mutual_information", "correlation"})],
        "criterion": [StrOptions({"difference", "quotient"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        relevance="mutual_information",
        redundancy="mutual_information",
        criterion="difference",
        n_bins=N_BINS,
        task="auto",
    ):
        self.n_features_to_select = n_features_to_select
        self.relevance = relevance
        self.redundancy = redundancy
        self.criterion = criterion
        self.n_bins = n_bins
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, for mutual information; a row of weight 2 counts as two rows. None for all alike.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        n_features = self._number_to_keep(X.shape[1])
        task = task_of(y, self.task)
        X, y, weights = self._weighted(X, y, sample_weight)
        if weights is not None and not self._takes_weights:
            raise ValueError(
                "MRMR takes sample_weight where both relevance and redundancy are 'mutual_information', not "
                f"{self.relevance!r} and {self.redundancy!r}."
            )
        relevance, redundancy_with, constant = self._measures(X, y, n_features, task, weights)
        with fit_steps(self, X, y, n_steps=n_features) as after_step:
            path = mrmr_path(
                relevance,
                redundancy_with,
                constant,
                n_features=n_features,
                criterion=self.criterion,
                on_step=lambda path: after_step("add-column", lambda: self._attributes(path(), relevance)),
            )
            self._set(self._attributes(path, relevance))
        return self

    @property
    def _takes_weights(self) -> bool:
        """Whether the measures use weights of the rows."""
        return self.relevance == self.redundancy == "mutual_information"

    def _measures(
        self, X: Any, y: np.ndarray, n_features: int, task: str, weights: np.ndarray | None
    ) -> tuple[np.ndarray, Callable[[int], Redundancy], np.ndarray]:
        """Relevance of each column, a function for its redundancy with one, and which columns are constant."""
        levels = target_levels(y, task, self.n_bins, "MRMR", weights)
        if "mutual_information" in (self.relevance, self.redundancy):
            information = Information(discretise(X, n_bins=self.n_bins, weights=weights), weights)
        if self.relevance == "f" or self.redundancy == "correlation":
            correlations = Correlations(X, n_asked=n_features)

        if self.relevance == "mutual_information":
            relevance = information.with_target(levels)
        elif self.relevance == "f" and task == "classification":
            relevance = correlations.f_statistics_of_classes(levels)
        elif self.relevance == "f":
            relevance = correlations.f_statistics_of_numbers(numbers(y, "MRMR"))
        else:
            relevance = relevance_by_score(self.relevance, X, y)

        if self.redundancy == "correlation":
            return relevance, partial(correlation_redundancy, correlations), ~correlations.varies
        return relevance, partial(information_redundancy, information), information.entropies == 0

    def _attributes(self, path: Path, relevance: np.ndarray) -> dict[str, Any]:
        """What the path says, as the attributes of a fitted selector."""
        return {
            "scores_": path.scores,
            "relevance_": relevance,
            "redundancy_": path.redundancy,
            "ranking_": ranks_of_order(path.order),
            "n_features_to_select_": path.n_kept,
        }

    @property
    def _takes_sparse(self) -> bool:
        return self.relevance in ("mutual_information", "f") or score_takes_sparse(self.relevance)
