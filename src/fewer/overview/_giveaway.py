"""Columns that give the target away: one column alone predicts it almost perfectly.

Such a column was often written down after the outcome was known (a discharge code, a second spelling of the class),
and a study that keeps it measures nothing else. The rules here predict each row from the *other* rows, so that an
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

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

THRESHOLD = 0.99
_SCREENED_FROM = 0.9
_FEWEST_KNOWN = 0.5
_ROWS_SCREENED = 512
_ROWS_SCREENED_PER_CLASS = 40
_CELLS_AT_ONCE = 500_000


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
    >>> from fewer.overview._giveaway import enough_to_tell
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
    >>> from fewer.overview._giveaway import class_scores
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
    >>> from fewer.overview._giveaway import rank_scores
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
    >>> from fewer.overview._giveaway import category_class_score
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
    >>> from fewer.overview._giveaway import category_rank_score
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
    step = max(1, _CELLS_AT_ONCE // max(1, values.shape[0]))
    for start in range(0, values.shape[1], step):
        yield np.ascontiguousarray(values[:, start : start + step].T, dtype=np.float64)


def _sorted_with(columns: np.ndarray, companion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row of ``columns`` sorted (missing last), and the companion values in that order.

    Equal values stay in the order of the rows: any other order depends on the instructions that the processor has.
    """
    order = np.argsort(columns, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), companion[order]
