"""Filters for discrete columns: how well the rows that agree in all columns of a subset agree in their class.

A subset makes a decision table: a group for every combination of values that occurs. Its objectives are sums over the
groups of a function of the class counts, so a column more costs O(n): each group is split by the column's values. A
column less is the meeting of the groups of those before it and of those after it.

- Class entropy: ``- sum_g P(g) sum_c P(c | g) log2 P(c | g)`` over the groups g of rows that agree on the subset.
- Conflicts: pairs of rows that agree in all columns of a subset, and differ in class.
- Inconsistency: the share of rows that are not of the commonest class of their group.
- Description length: bits for the table, and for the classes of the rows given the table.
  ``log2 (p + 1) + log2 C(p, k)``, which k of p columns, and for every group of m rows with m_c of class c
  ``log2 C(m + C - 1, C - 1) + log2 (m! / prod_c m_c!)``, its class counts and then which row has which class.

*Kernels*: rows are put in order of (group, code of the column) by two counting sorts, so that every new group is a run
of rows: O(rows) for each column, whatever the number of values and of groups.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy.special import gammaln, xlogy

from fewer._estimators import encoded_classes, known_column, warn_caller
from fewer.select.objectives._objective import CandidateThreads, Objective, SubsetScorer


@dataclass
class DecisionTableObjective(Objective):
    """Base of the filters for discrete columns; each scores the decision table of a subset."""

    @property
    def takes_nan(self) -> bool:
        """A missing value counts as a value of its own."""
        return True

    @abstractmethod
    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """J from the sums over groups of ``split_summaries``, for subsets with ``size`` of ``n_columns`` columns."""

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> "DecisionTableScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table; equal values are the same value, and NaN is one.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Threads that share the candidates.
        random_state : Ignored
            Nothing is drawn.

        Returns
        -------
        scorer : DecisionTableScorer
            Holds the groups.
        """
        codes = encoded_classes(np.asarray(y), type(self).__name__).codes
        return DecisionTableScorer(np.asarray(X), codes, self, CandidateThreads(n_jobs))


class DecisionTableScorer(SubsetScorer):
    """Groups of rows that agree in the columns of the subset; made by the ``start`` of these objectives."""

    def __init__(
        self, X: np.ndarray, classes: np.ndarray, objective: DecisionTableObjective, threads: CandidateThreads
    ) -> None:
        super().__init__(threads.close)
        self._threads = threads
        self._objective = objective
        self._codes, self._n_codes = _coded(X)
        n_rows, n_classes = len(classes), int(classes.max()) + 1
        counts = np.arange(n_rows + n_classes, dtype=float)
        self._classes = (classes, n_classes, xlogy(counts, counts) / np.log(2), gammaln(counts + 1) / np.log(2))
        # The groups before the first column, after the first, after the second ..., and how many there are.
        self._groups = [(np.zeros(n_rows, dtype=np.int32), 1)]

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        groups = self._groups[-1]
        summaries = self._threads(
            lambda part: split_summaries(*groups, self._codes, self._n_codes, part, *self._classes), candidates
        )
        return self._worth(summaries, len(self.subset) + 1)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        wanted = {int(column) for column in candidates}
        worth = {}
        after = self._groups[0]
        for place in range(len(self.subset) - 1, -1, -1):
            column = self.subset[place]
            if column in wanted:
                summary = split_summaries(
                    *self._groups[place], after[0][None], np.array([after[1]]), np.array([0]), *self._classes
                )
                worth[column] = self._worth(summary, len(self.subset) - 1)[0]
            after = self._split(after, column)
        return np.array([worth[int(column)] for column in candidates])

    def add(self, column: int) -> None:
        super().add(column)
        self._groups.append(self._split(self._groups[-1], column))

    def remove(self, column: int) -> None:
        place = self.subset.index(column)
        super().remove(column)
        del self._groups[place + 1 :]
        for later in self.subset[place:]:
            self._groups.append(self._split(self._groups[-1], later))

    def _split(self, groups: tuple[np.ndarray, int], column: int) -> tuple[np.ndarray, int]:
        split = np.empty_like(groups[0])
        return split, split_groups(*groups, self._codes[column], self._n_codes[column], split)

    def _worth(self, summaries: np.ndarray, size: int) -> np.ndarray:
        n_columns, n_rows = self._codes.shape
        return self._objective.worth(summaries, n_rows=n_rows, n_columns=n_columns, size=size)


def _coded(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values as numbers from 0, (columns, rows), and how many different ones each column has."""
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    n_codes = np.empty(X.shape[1], dtype=np.int64)
    for column in range(X.shape[1]):
        values, codes[column] = np.unique(X[:, column], return_inverse=True)
        n_codes[column] = len(values)
    nearly_unique = np.flatnonzero(n_codes > max(len(X) / 2, 10))
    if len(nearly_unique):
        first = known_column(nearly_unique[0], X.shape[1])
        warn_caller(
            f"Column {first!r} has {n_codes[nearly_unique[0]]} different values in {len(X)} rows "
            f"({len(nearly_unique)} of {X.shape[1]} columns are like this). Hardly any two rows share a value, so "
            "every subset with it looks perfect; bin such columns first, with "
            "sklearn.preprocessing.KBinsDiscretizer for example."
        )
    return codes, n_codes


@dataclass
class ClassEntropyObjective(DecisionTableObjective):
    """Minus the entropy of the class, in bits, among rows with equal values on the subset.

    For discrete columns. It never falls when a column is added, and 0 means that the subset determines the class on the
    rows at hand. With many columns each row is a group of its own, and the entropy is 0 for want of rows.

    See Also
    --------
    DescriptionLengthObjective : Charges for the size of the table too.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import ClassEntropyObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    >>> with ClassEntropyObjective().start(X, y) as scorer:
    ...     scorer.score_added(np.array([0, 1]))
    array([-0.5, -0.5])
    """

    @property
    def monotone(self) -> bool:
        """Knowing more never makes the class less sure, on average."""
        return True

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the mean over rows."""
        return 0.0 - summaries[:, CLASS_BITS] / n_rows


@dataclass
class ConflictsObjective(DecisionTableObjective):
    """Minus the number of pairs of rows with equal values on the subset and different classes.

    For discrete columns. It never falls when a column is added, and 0 means that the subset determines the class on the
    rows at hand.

    See Also
    --------
    ExhaustiveSearch : With ``target_score=0``, the smallest subset without conflicts (FOCUS).
    InconsistencyObjective : Counts rows instead of pairs.

    References
    ----------
    .. [1] Almuallim, H. and Dietterich, T. G. (1991). Learning with many irrelevant features. Proceedings of the Ninth
       National Conference on Artificial Intelligence, 547-552.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import ConflictsObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> with ConflictsObjective().start(X, y) as scorer:
    ...     alone = scorer.score_added(np.array([0, 1]))
    ...     scorer.add(0)
    ...     together = scorer.score_added(np.array([1]))
    >>> alone, together
    (array([-2., -2.]), array([0.]))
    """

    @property
    def monotone(self) -> bool:
        """A column more splits groups, and conflicts stay within groups."""
        return True

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the pairs."""
        return 0.0 - summaries[:, CONFLICTS]


@dataclass
class DescriptionLengthObjective(DecisionTableObjective):
    """Minus the bits that describe the classes of the rows by a decision table on the subset.

    For discrete columns. Every group of rows that agree pays for its class counts, so a column that splits groups
    without telling classes apart costs bits: unlike conflicts and entropy, it has a best size. The code is the one of
    Kononenko for the counts and the classes; the principle, and the table, are Pfahringer's.

    See Also
    --------
    ClassEntropyObjective : Without the price of the table.

    References
    ----------
    .. [1] Pfahringer, B. (1995). Compression-based feature subset selection. Proceedings of the IJCAI-95 Workshop on
       Data Engineering for Inductive Learning, 109-119.
    .. [2] Kononenko, I. (1995). On biases in estimating multi-valued attributes. Proceedings of the Fourteenth
       International Joint Conference on Artificial Intelligence, 1034-1040.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import DescriptionLengthObjective, SequentialSearch
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 8))
    >>> y = X[:, 2] & X[:, 5]
    >>> SequentialSearch(DescriptionLengthObjective()).fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the bits."""
        choices = gammaln(n_columns + 1) - gammaln(size + 1) - gammaln(n_columns - size + 1)
        return 0.0 - summaries[:, LABEL_BITS] - np.log2(n_columns + 1) - choices / np.log(2)


@dataclass
class InconsistencyObjective(DecisionTableObjective):
    """Minus the rate of inconsistency: rows outside the majority class of the rows with equal values on the subset.

    For discrete columns. It is the training error of the decision table: it never falls when a column is added, and 0
    means that the subset determines the class on the rows at hand.

    See Also
    --------
    RandomSubsetSearch : With ``target_score=-0.05``, the smallest subset with at most 5% (LVF).

    References
    ----------
    .. [1] Liu, H. and Setiono, R. (1996). A probabilistic approach to feature selection: a filter solution. Proceedings
       of the Thirteenth International Conference on Machine Learning, 319-327.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import InconsistencyObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    >>> with InconsistencyObjective().start(X, y) as scorer:
    ...     scorer.score_added(np.array([0, 1]))
    array([-0.25, -0.25])
    """

    @property
    def monotone(self) -> bool:
        """A column more can only make majorities purer."""
        return True

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the share of rows."""
        return 0.0 - summaries[:, MINORITY] / n_rows


CONFLICTS, CLASS_BITS, MINORITY, LABEL_BITS = range(4)


@njit(cache=True, nogil=True)
def _order_by(keys, n_keys, rows, ordered, starts):
    """Put ``rows`` in the order of their keys; rows with equal keys stay in their order."""
    starts[: n_keys + 1] = 0
    for row in rows:
        starts[keys[row] + 1] += 1
    for key in range(n_keys):
        starts[key + 1] += starts[key]
    for row in rows:
        ordered[starts[keys[row]]] = row
        starts[keys[row]] += 1


@njit(cache=True, nogil=True)
def split_groups(groups, n_groups, codes, n_codes, split):
    """Number the groups of rows that agree in group and code, into ``split``; returns how many there are."""
    n_rows = groups.shape[0]
    by_code, by_both = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    starts = np.empty(max(n_groups, n_codes) + 1, np.int64)
    _order_by(codes, n_codes, np.arange(n_rows).astype(np.int32), by_code, starts)
    _order_by(groups, n_groups, by_code, by_both, starts)
    count = 0
    for place in range(n_rows):
        row = by_both[place]
        if place > 0:
            before = by_both[place - 1]
            if groups[row] != groups[before] or codes[row] != codes[before]:
                count += 1
        split[row] = count
    return count + 1


@njit(cache=True, nogil=True)
def split_summaries(groups, n_groups, codes, n_codes, candidates, classes, n_classes, x_log_x, log_factorial):
    """What the groups look like after each candidate column has split them.

    ``codes`` is (columns, rows). With ``m`` rows in a group, ``m_c`` of them of class c, the four numbers for each
    candidate are sums over groups of: pairs of rows of different classes; ``m log2 m - sum_c m_c log2 m_c``; ``m - max
    m_c``; and ``log2 (m + C - 1)! - log2 (C - 1)! - sum_c log2 m_c!``. The tables hold ``x log2 x`` and ``log2 x!``.
    """
    n_rows = groups.shape[0]
    summaries = np.zeros((candidates.shape[0], 4))
    every_row = np.arange(n_rows).astype(np.int32)
    by_code, by_both = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    counts = np.zeros(n_classes, np.int64)
    for index in range(candidates.shape[0]):
        column = codes[candidates[index]]
        starts = np.empty(max(n_groups, n_codes[candidates[index]]) + 1, np.int64)
        _order_by(column, n_codes[candidates[index]], every_row, by_code, starts)
        _order_by(groups, n_groups, by_code, by_both, starts)
        first = 0
        while first < n_rows:
            group, code = groups[by_both[first]], column[by_both[first]]
            last = first
            while last < n_rows and groups[by_both[last]] == group and column[by_both[last]] == code:
                counts[classes[by_both[last]]] += 1
                last += 1
            size, largest, same_pairs = last - first, 0, 0
            class_bits, label_bits = x_log_x[size], log_factorial[size + n_classes - 1] - log_factorial[n_classes - 1]
            for place in range(first, last):
                one = classes[by_both[place]]
                count = counts[one]
                if count > 0:  # each class once
                    counts[one] = 0
                    largest = max(largest, count)
                    same_pairs += count * (count - 1)
                    class_bits -= x_log_x[count]
                    label_bits -= log_factorial[count]
            summaries[index, CONFLICTS] += (size * (size - 1) - same_pairs) / 2
            summaries[index, CLASS_BITS] += class_bits
            summaries[index, MINORITY] += size - largest
            summaries[index, LABEL_BITS] += label_bits
            first = last
    return summaries
