"""Target leakage: columns that alone predict the target almost perfectly.

Such a column was often recorded after the outcome was known (a discharge code, a second spelling of the class), and the
scores of a study that keeps it are meaningless. The rules here predict each row from the *other* rows, so that an
identifier does not look perfect:

- numbers (dates and booleans too): rows are sorted by the column, and a row is predicted by the majority of its two
  neighbours on each side, the nearer one deciding ties;
- categories: a row is predicted by the strict majority among the other rows of its category;
- the score is the balanced accuracy over all rows, with the missing cells as a value of their own, or over the known
  rows if that is higher and half of the rows or more are known;
- for a target of numbers the rows predict the *rank* of the target by the mean of the neighbours (of the category), and
  the score is R2 on ranks, which no monotone change of the target or outlier alters.

A column is reported from a score of 0.99 on; or when its sorted values pass through the classes one after the other
without overlap (a target of numbers: when it only rises or only falls with the column), since then the few errors are
only rows at the borders.

With few rows and many columns some column looks perfect by luck. `enough_to_tell` bounds the number of columns of pure
noise that would be reported, and nothing is reported unless this is below 0.01.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.overview._description import LeakingColumn
from fewer.overview._parts import Parts, TableRows
from fewer.overview._resemblance import (
    plain_score,
)

THRESHOLD = 0.99
_SCREENED_FROM = 0.9
_FEWEST_KNOWN = 0.5
_ROWS_SCREENED = 512
_ROWS_SCREENED_PER_CLASS = 40
_CELLS_SORTED_AT_ONCE = 500_000
_CELLS_AT_ONCE = 4_000_000
_ROWS_FOR_CATEGORIES = 20_000
_EASY = 0.97


class Scores(NamedTuple):
    """How well each column alone tells the target."""

    all_rows: np.ndarray
    known_rows: np.ndarray  # -inf where too few are known
    separates: np.ndarray  # no overlap of classes, or a target of numbers that only rises or only falls

    def best(self) -> np.ndarray:
        """The score to show for each column."""
        return np.maximum(self.all_rows, self.known_rows)

    def pass_threshold(self, threshold: float = THRESHOLD) -> np.ndarray:
        """Mask of the columns at or above the threshold, or without overlap."""
        return (self.best() >= threshold) | self.separates


def enough_to_tell(counts: np.ndarray, n_columns: int, *, ordered: bool = False) -> bool:
    """Whether so many columns of noise would hardly ever hold one that looks perfect.

    A column of noise sorts the ``n`` rows at random, so it puts each class in one piece with the probability
    ``k! n_1! ... n_k! / n!``; the bound takes this ``n`` times to allow for looser patterns.

    Parameters
    ----------
    counts : ndarray of int
        Rows of each class, or of each value of a target of numbers.
    n_columns : int
        Number of columns that are searched.
    ordered : bool, default=False
        For a target of numbers: only the two monotone orders of the values count, not all ``k!``.

    Returns
    -------
    enough : bool
        True if less than 0.01 such columns are to be expected.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._leakage import enough_to_tell
    >>> enough_to_tell(np.array([30, 30]), 20_000), enough_to_tell(np.array([5, 5]), 20_000)
    (True, False)
    """
    from scipy.special import gammaln

    counts = np.asarray(counts, dtype=float)
    n_rows, n_classes = counts.sum(), len(counts)
    if n_classes < 2:
        return False
    orders = np.log(2.0) if ordered else gammaln(n_classes + 1)
    log_chance = orders + gammaln(counts + 1).sum() - gammaln(n_rows + 1)
    return bool(np.log(n_columns * n_rows) + log_chance < np.log(0.01))


def screened_rows(labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Some hundred rows in random order, the classes as evenly as there are rows of them.

    Parameters
    ----------
    labels : ndarray of int, optional
        Class of each row as a number from 0; None for a target of numbers.
    n_rows : int
        Number of rows.

    Returns
    -------
    rows : ndarray of int
        Row numbers, shuffled.
    """
    shuffled = np.random.default_rng(20).permutation(n_rows)
    if labels is None:
        return shuffled[:_ROWS_SCREENED]
    n_classes = int(labels.max()) + 1
    share = max(_ROWS_SCREENED // n_classes, _ROWS_SCREENED_PER_CLASS)
    by_class = np.argsort(labels[shuffled], kind="stable")
    counts = np.bincount(labels, minlength=n_classes)
    place = np.empty(n_rows, dtype=np.int64)
    place[by_class] = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
    return shuffled[place < share]


def passes_on_some_rows(scores: Scores) -> np.ndarray:
    """Mask of the columns that are worth looking at on all rows."""
    return scores.pass_threshold(_SCREENED_FROM)


def class_scores(values: np.ndarray, labels: np.ndarray) -> Scores:
    """Scores of columns of numbers for classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Numbers, NaN where missing, rows in random order: among equal values the order of the rows decides who is whose
        neighbour, and must tell nothing.
    labels : ndarray of int of shape (n_rows,)
        Class of each row, from 0.

    Returns
    -------
    scores : Scores
        One entry for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._leakage import class_scores
    >>> labels = np.arange(100) % 2
    >>> noise = np.random.default_rng(0).normal(size=100)
    >>> class_scores(np.column_stack([labels * 3.0, noise]), labels).best() > 0.99
    array([ True, False])
    """
    n_classes = int(labels.max()) + 1
    parts = [_class_scores(block, labels, n_classes) for block in _column_blocks(values)]
    return Scores(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _class_scores(columns: np.ndarray, labels: np.ndarray, n_classes: int) -> Scores:
    n_columns, n_rows = columns.shape
    values, own = _sorted_with(columns, labels)
    known = ~np.isnan(values)
    right = _majority_is_own(own, _gaps(values))
    # One number for each pair of column and class, so that a single count serves the whole block.
    cell = own + n_classes * np.arange(n_columns)[:, None]

    def recalls(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = n_columns * n_classes
        total = np.bincount(cell[rows], minlength=size).reshape(n_columns, n_classes)
        hits = np.bincount(cell[rows & right], minlength=size).reshape(n_columns, n_classes)
        return hits / np.maximum(total, 1), total

    all_rows = recalls(np.ones_like(known))[0].mean(axis=1)
    known_rows = np.full(n_columns, -np.inf)
    if not known.all():
        recall, total = recalls(known)
        usable = (total > 0).all(axis=1) & (known.sum(axis=1) >= _FEWEST_KNOWN * n_rows)
        known_rows[usable] = recall.mean(axis=1)[usable]
    border = (own[:, 1:] != own[:, :-1]) & known[:, 1:]
    tied = border & (values[:, 1:] == values[:, :-1])
    mostly_known = known.sum(axis=1) >= _FEWEST_KNOWN * n_rows
    separates = (border.sum(axis=1) == n_classes - 1) & ~tied.any(axis=1) & mostly_known
    if separates.any():
        seen = [len(np.unique(own[j][known[j]])) == n_classes for j in np.flatnonzero(separates)]
        separates[separates] = seen
    return Scores(all_rows, known_rows, separates)


def _majority_is_own(own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Whether each row's class wins among the two rows on either side; the nearer neighbour decides ties."""
    n_columns, n_rows = own.shape
    padded = np.full((n_columns, n_rows + 4), -1, dtype=own.dtype)
    padded[:, 2:-2] = own
    padded[:, [0, -1]] = -2  # beyond the ends no two stand for the same class
    beside = [padded[:, shift : shift + n_rows] for shift in (0, 1, 3, 4)]
    mine = [label == own for label in beside]
    votes = np.sum(mine, axis=0, dtype=np.int8)
    others_agree = np.zeros(own.shape, dtype=bool)
    for a in range(4):
        for b in range(a + 1, 4):
            others_agree |= (beside[a] == beside[b]) & ~mine[a]
    nearer_left = gaps[:, :-1] < gaps[:, 1:]
    nearest_mine = np.where(nearer_left, mine[1], mine[2])
    # Two votes lose only to another pair, one vote only to any pair.
    tie = ((votes == 2) & others_agree) | ((votes == 1) & ~others_agree)
    return (votes >= 3) | ((votes == 2) & ~others_agree) | (tie & nearest_mine)


def _gaps(values: np.ndarray) -> np.ndarray:
    """Distance to the row before and after in sorted order: 0 between equal or missing values, inf at the ends."""
    gaps = np.full((values.shape[0], values.shape[1] + 1), np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        inner = np.diff(values, axis=1)
    missing = np.isnan(values)
    same = (values[:, 1:] == values[:, :-1]) | (missing[:, 1:] & missing[:, :-1])
    gaps[:, 1:-1] = np.where(same, 0.0, np.where(np.isnan(inner), np.inf, inner))
    return gaps


def rank_scores(values: np.ndarray, ranks: np.ndarray) -> Scores:
    """Scores of columns of numbers for a target of numbers.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Numbers, NaN where missing, rows in random order.
    ranks : ndarray of shape (n_rows,)
        Rank of each row's target, ties sharing their mean rank.

    Returns
    -------
    scores : Scores
        One entry for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._leakage import rank_scores
    >>> target = np.random.default_rng(0).normal(size=100)
    >>> rank_scores(np.exp(target)[:, None], target.argsort().argsort()).best() > 0.99
    array([ True])
    """
    parts = [_rank_scores(block, ranks) for block in _column_blocks(values)]
    return Scores(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _rank_scores(columns: np.ndarray, ranks: np.ndarray) -> Scores:
    n_columns, n_rows = columns.shape
    values, own = _sorted_with(columns, ranks.astype(np.float64))
    known = ~np.isnan(values)
    padded = np.zeros((n_columns, n_rows + 4))
    padded[:, 2:-2] = own
    inside = np.zeros(n_rows + 4)
    inside[2:-2] = 1.0
    shifts = (0, 1, 3, 4)
    sums = np.sum([padded[:, shift : shift + n_rows] for shift in shifts], axis=0)
    predicted = sums / np.sum([inside[shift : shift + n_rows] for shift in shifts], axis=0)
    errors = (own - predicted) ** 2

    def r2(rows: np.ndarray) -> np.ndarray:
        n = np.maximum(rows.sum(axis=1), 1)
        total = (own**2 * rows).sum(axis=1) - (own * rows).sum(axis=1) ** 2 / n
        return np.where(total > 0, 1 - (errors * rows).sum(axis=1) / np.where(total > 0, total, 1.0), -np.inf)

    all_rows = r2(np.ones_like(known))
    mostly_known = known.sum(axis=1) >= _FEWEST_KNOWN * n_rows
    usable = mostly_known & ~known.all(axis=1)
    known_rows = np.where(usable, r2(known), -np.inf) if usable.any() else np.full(n_columns, -np.inf)
    steps = np.diff(own, axis=1) * known[:, 1:]
    tied = (steps != 0) & (values[:, 1:] == values[:, :-1])
    one_way = ((steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)) & (steps != 0).any(axis=1)
    return Scores(all_rows, known_rows, one_way & ~tied.any(axis=1) & mostly_known)


def category_class_score(codes: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Score of one column of categories for classes, on all rows and on the known ones.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Category of each row; negative where missing.
    labels : ndarray of int of shape (n_rows,)
        Class of each row, from 0.

    Returns
    -------
    all_rows, known_rows : float
        Balanced accuracies; the second is -inf when no row is missing or fewer than half of the rows are known.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._leakage import category_class_score
    >>> category_class_score(np.array([5, 5, 5, 7, 7, 7]), np.array([0, 0, 0, 1, 1, 1]))
    (1.0, -inf)
    >>> category_class_score(np.arange(6), np.array([0, 0, 0, 1, 1, 1]))  # an identifier tells nothing
    (0.0, -inf)
    """
    n_classes = int(labels.max()) + 1
    category = _compact(codes)
    counts = np.bincount(category * n_classes + labels, minlength=(category.max() + 1) * n_classes)
    counts = counts.reshape(-1, n_classes)
    second, first = np.partition(counts, -2, axis=1)[:, -2:].T
    own = counts[category, labels]
    rival = np.where(own == first[category], second[category], first[category])
    right = own - 1 > rival

    def balanced(rows: np.ndarray) -> float:
        total = np.bincount(labels[rows], minlength=n_classes)
        if not total.all():
            return -np.inf
        return float((np.bincount(labels[rows & right], minlength=n_classes) / total).mean())

    known = codes >= 0
    return balanced(np.ones_like(known)), balanced(known) if _partly_known(known) else -np.inf


def category_rank_score(codes: np.ndarray, ranks: np.ndarray) -> tuple[float, float]:
    """Score of one column of categories for a target of numbers, on all rows and on the known ones.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Category of each row; negative where missing.
    ranks : ndarray of shape (n_rows,)
        Rank of each row's target.

    Returns
    -------
    all_rows, known_rows : float
        R2 on ranks; the second is -inf when no row is missing or fewer than half of the rows are known.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._leakage import category_rank_score
    >>> category_rank_score(np.repeat([3, 8], 50), np.repeat([1.0, 2.0], 50))
    (1.0, -inf)
    """
    category = _compact(codes)
    size, sums = np.bincount(category), np.bincount(category, ranks)
    others = np.maximum(size[category] - 1, 1)
    predicted = np.where(size[category] > 1, (sums[category] - ranks) / others, ranks.mean())

    def r2(rows: np.ndarray) -> float:
        total = ((ranks[rows] - ranks[rows].mean()) ** 2).sum()
        return float(1 - ((ranks[rows] - predicted[rows]) ** 2).sum() / total) if total > 0 else -np.inf

    known = codes >= 0
    return r2(np.ones_like(known)), r2(known) if _partly_known(known) else -np.inf


def _compact(codes: np.ndarray) -> np.ndarray:
    """The categories numbered from 0 without gaps, missing as a category of its own."""
    shifted = np.maximum(codes, -1) + 1
    seen = np.zeros(shifted.max() + 1, dtype=np.int64)
    seen[shifted] = 1
    return (np.cumsum(seen) - 1)[shifted]


def _partly_known(known: np.ndarray) -> bool:
    return bool(_FEWEST_KNOWN <= known.mean() < 1)


def _column_blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    """Blocks of columns, each turned so that a column is one contiguous row."""
    step = max(1, _CELLS_SORTED_AT_ONCE // max(1, values.shape[0]))
    for start in range(0, values.shape[1], step):
        yield np.ascontiguousarray(values[:, start : start + step].T, dtype=np.float64)


def _sorted_with(columns: np.ndarray, companion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row of ``columns`` sorted (missing last), and the companion values in that order.

    Equal values stay in the order of the rows: any other order depends on the instructions that the processor has.
    """
    order = np.argsort(columns, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), companion[order]


def leaking_columns(dataset: Dataset, parts: Parts) -> tuple[tuple[LeakingColumn, ...], bool]:
    """Columns that give the target away, the best first; and whether there were rows enough to tell."""
    if dataset.y is None or not dataset.n_rows or not dataset.n_columns:
        return (), False
    task = _Task(dataset)
    if not task.can_tell(np.ones(dataset.n_rows, dtype=bool)):
        return (), False
    found = [*_among_numbers(task, parts), *_among_labels(task, parts)]
    return tuple(sorted(found, key=lambda leak: -leak.score)), True


class _Task:
    """The target in the form that the rules take, and the rules that fit it."""

    def __init__(self, dataset: Dataset) -> None:
        self.columns = dataset.columns
        self.n_rows = dataset.n_rows
        self.is_classes = dataset.task != "regression"
        y = np.asarray(dataset.y)
        _, self.codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        # Rows with the same value share the mean of their ranks; scipy.stats would take longer to import than to use.
        self.goal = self.codes if self.is_classes else (np.cumsum(counts) - (counts - 1) / 2)[self.codes]
        self.measure = "balanced accuracy" if self.is_classes else "R2 on ranks"
        self.score_numbers: Callable[[np.ndarray, np.ndarray], Scores] = (
            class_scores if self.is_classes else rank_scores
        )
        self.score_category: Callable[[np.ndarray, np.ndarray], tuple[float, float]] = (
            category_class_score if self.is_classes else category_rank_score
        )

    def can_tell(self, known: np.ndarray) -> bool:
        """Whether a perfect score on these rows is beyond luck, given the number of columns."""
        counts = np.bincount(self.codes[known])
        return enough_to_tell(counts[counts > 0], len(self.columns), ordered=not self.is_classes)

    def leak(self, position: int, all_rows: float, known_rows: float, known: np.ndarray) -> LeakingColumn | None:
        """The record for a column that reached the threshold, unless it may be luck."""
        if known.all():
            by_missing = False
        else:
            by_missing = self.score_category(known.astype(np.int64), self.goal)[0] >= THRESHOLD
            if not by_missing and known_rows >= all_rows and not self.can_tell(known):
                return None
        score = min(max(all_rows, known_rows), 1.0)
        by = "missing cells" if by_missing else "values"
        return LeakingColumn(self.columns[position], float(score), self.measure, by, float(known.mean()))


def _among_numbers(task: _Task, parts: Parts) -> Iterator[LeakingColumn]:
    X = parts.numbers.tocsc() if sp.issparse(parts.numbers) else parts.numbers
    columns = _sparse_columns_that_may(task, X) if sp.issparse(X) else np.arange(X.shape[1])
    rows = screened_rows(task.codes if task.is_classes else None, task.n_rows)
    if len(rows) < task.n_rows:
        screened = [
            passes_on_some_rows(task.score_numbers(block, task.goal[rows])) for block in _dense(X, rows, columns)
        ]
        columns = columns[np.concatenate(screened)] if screened else columns
        rows = np.random.default_rng(20).permutation(task.n_rows)
    start = 0
    for block in _dense(X, rows, columns):
        scores = task.score_numbers(block, task.goal[rows])
        for j in np.flatnonzero(scores.pass_threshold()):
            known = np.empty(task.n_rows, dtype=bool)
            known[rows] = ~np.isnan(block[:, j])
            position = int(parts.number_positions[columns[start + j]])
            found = task.leak(position, scores.all_rows[j], scores.known_rows[j], known)
            if found is not None:
                yield found
        start += block.shape[1]


def _dense(X: Any, rows: np.ndarray, columns: np.ndarray) -> Iterator[np.ndarray]:
    """The cells of these rows and columns as floats, some columns at a time."""
    step = max(1, _CELLS_AT_ONCE // max(1, len(rows)))
    for start in range(0, len(columns), step):
        some = columns[start : start + step]
        block = X[:, some].tocsr()[rows].toarray() if sp.issparse(X) else X[np.ix_(rows, some)]
        yield block.astype(np.float64, copy=False)


def _sparse_columns_that_may(task: _Task, X: Any) -> np.ndarray:
    """Columns of a sparse table whose zeros do not already rule them out.

    Rows that share the value zero cannot be told apart. So at most one class may have many zeros; and for a target of
    numbers, the ranks of the rows with zeros must lie close together.
    """
    stored = sp.csc_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    if task.is_classes:
        n_classes = int(task.codes.max()) + 1
        members = sp.csr_array(
            (np.ones(task.n_rows), (task.codes, np.arange(task.n_rows))), shape=(n_classes, task.n_rows)
        )
        zero_share = 1 - (members @ stored).toarray() / np.bincount(task.codes)[:, None]
        second_most = np.partition(zero_share, -2, axis=0)[-2]
        return np.flatnonzero(second_most <= 0.05 + (1 - THRESHOLD) * n_classes)
    ranks = task.goal - task.goal.mean()
    n_zeros = task.n_rows - np.diff(X.indptr)
    total = -(stored.T @ ranks)
    squares = (ranks**2).sum() - stored.T @ ranks**2
    return np.flatnonzero(squares - total**2 / np.maximum(n_zeros, 1) <= 0.05 * (ranks**2).sum())


def _among_labels(task: _Task, parts: Parts) -> Iterator[LeakingColumn]:
    some = np.random.default_rng(20).permutation(task.n_rows)[:_ROWS_FOR_CATEGORIES]
    goal = np.unique(task.goal[some], return_inverse=True)[1] if task.is_classes else task.goal[some]
    for j, position in enumerate(parts.label_positions):
        if len(some) < task.n_rows and max(task.score_category(parts.labels[some, j], goal)) < 0.8:
            continue
        all_rows, known_rows = task.score_category(parts.labels[:, j], task.goal)
        if max(all_rows, known_rows) >= THRESHOLD:
            found = task.leak(int(position), all_rows, known_rows, parts.labels[:, j] >= 0)
            if found is not None:
                yield found


def judged_leaks(found: tuple[LeakingColumn, ...], table: TableRows) -> tuple[LeakingColumn, ...]:
    """Only a warning where the other columns predict the target almost perfectly, too: it is easy, and none leaks."""
    if not found or not table.has_score or len(found) == table.dataset.n_columns:
        return found
    positions = [table.dataset.columns.index(each.column) for each in found]
    rows = screened_rows(table.y if table.is_classes else None, table.dataset.n_rows)
    if plain_score(table.at(np.sort(rows), positions)) < _EASY:
        return found
    return tuple(replace(each, level="warning") for each in found)
