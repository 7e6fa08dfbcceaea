"""Whether rows that belong together resemble each other, and what ignoring it does to a score.

Rows of one patient, or of neighbouring days, are nearly copies of one another. Folds that part them test on what was
learnt by heart. Everything here is computed from the Gram matrix ``K = Z Z'`` of some hundred standardised rows:

- distances ``d_ij^2 = K_ii + K_jj - 2 K_ij``, and with them the nearest neighbour of each row. *Resemblance* is how
  often it has the same value of a column, against how often another row with the same target has it: rows may resemble
  each other because they are of one class, and that is no sign of a group;
- two scores on held-out rows, each the best of three quick learners (1 and 5 nearest neighbours, and ridge regression
  ``(K + a I)^-1 y`` with ``a`` the mean of ``K_ii``): one with random folds, one with folds that keep rows together or
  that predict later rows from earlier ones. The test rows, and the number of training rows, are the same.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

ROWS_COMPARED = 1000
MOST_TESTED = 12
FEWEST_ROWS_COMPARED = 30
STANDARD_ERRORS = 6
GAP = 0.05
CERTAIN = 3
N_FOLDS = 5
_NEIGHBOURS = (1, 5)
_STRATA = 10
Split = tuple[np.ndarray, np.ndarray]


def standardised(columns: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1, missing and infinite values at the mean; constant columns become 0.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Numbers.

    Returns
    -------
    standardised : ndarray of float32, same shape
        Without missing values.
    """
    known = np.isfinite(columns)
    n = np.maximum(known.sum(axis=0), 1)
    # Scaled by the largest entry first, so that no square overflows.
    largest = np.where(known, np.abs(columns), 0).max(axis=0, initial=0)
    values = np.where(known, columns, 0) / np.where(largest > 0, largest, 1)
    deviations = np.where(known, values - values.sum(axis=0) / n, 0.0)
    spread = np.sqrt((deviations**2).sum(axis=0) / n)
    return (deviations / np.where(spread > 1e-9, spread, np.inf)).astype(np.float32)


class Rows:
    """Some rows of a table by their Gram matrix, with their target.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Standardised rows.
    y : ndarray of shape (n_rows,) or None
        Codes of classes from 0, or numbers.
    is_classes : bool
        Whether ``y`` holds classes.
    """

    def __init__(self, Z: np.ndarray, y: np.ndarray | None, *, is_classes: bool) -> None:
        self.gram = (Z @ Z.T).astype(np.float64)
        squares = np.diagonal(self.gram)
        self.distances = squares[:, None] + squares - 2 * self.gram
        np.fill_diagonal(self.distances, np.inf)
        self.nearest = self.distances.argmin(axis=1)
        self.y, self.is_classes = y, is_classes
        self.strata = _strata(y, is_classes) if y is not None else np.zeros(len(Z), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.gram)


class Resemblance(NamedTuple):
    """How often the nearest neighbour has the same value, and how often it would by chance among equal targets."""

    share: float
    chance: float
    z: float
    order_ratio: float  # how much likelier it has the same value than the next one in sorted order


def resemblance(rows: Rows, ranks: np.ndarray) -> Resemblance:
    """Whether rows with the same value of a column resemble each other.

    Parameters
    ----------
    rows : Rows
        Without that column.
    ranks : ndarray of int of shape (n_rows,)
        The values as numbers from 0 in sorted order, without gaps in the table (there may be some in the sample).

    Returns
    -------
    resemblance : Resemblance
        Shares over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._resemblance import Rows, resemblance, standardised
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(30), 4)
    >>> Z = standardised(rng.normal(size=(30, 8))[patient] + 0.3 * rng.normal(size=(120, 8)))
    >>> found = resemblance(Rows(Z, None, is_classes=False), patient)
    >>> found.share > 0.9, found.chance < 0.03, found.order_ratio > 5
    (True, True, True)
    """
    pair = np.unique(np.column_stack([rows.strata, ranks]), axis=0, return_inverse=True)[1].ravel()
    in_stratum = np.bincount(rows.strata)[rows.strata]
    chance = (np.bincount(pair)[pair] - 1) / np.maximum(in_stratum - 1, 1)
    step = np.abs(ranks[rows.nearest] - ranks)
    same = step == 0
    counts = np.bincount(ranks, minlength=ranks.max() + 2)
    beside = np.where(ranks > 0, counts[np.maximum(ranks - 1, 0)], 0) + counts[ranks + 1]
    spread = np.sqrt(max((chance * (1 - chance)).sum(), 1.0))
    # Half a neighbour more in each count, so that none beside is not an infinite ratio.
    of_same = (same.sum() + 0.5) / max((counts[ranks] - 1).sum(), 1)
    of_beside = ((step == 1).sum() + 0.5) / max(beside.sum(), 1)
    return Resemblance(
        float(same.mean()),
        float(chance.mean()),
        float((same.sum() - chance.sum()) / spread),
        float(of_same / of_beside),
    )


def nearness_in_order(rows: Rows, place: np.ndarray) -> tuple[float, float]:
    """How much nearer in order the nearest neighbour is than another row with the same target: ratio, and z.

    Parameters
    ----------
    rows : Rows
        The rows.
    place : ndarray of shape (n_rows,)
        Place of each row in the order.

    Returns
    -------
    ratio, z : float
        Mean step to the nearest neighbour over the mean step within the stratum, and the difference in standard errors.
    """
    steps = np.abs(place[rows.nearest] - place).astype(float)
    means, spreads = np.zeros(len(rows)), np.zeros(len(rows))
    for stratum in np.unique(rows.strata):
        inside = np.flatnonzero(rows.strata == stratum)
        between = np.abs(place[inside, None] - place[inside]).astype(float)
        means[inside], spreads[inside] = between.mean(axis=1), between.std(axis=1)
    total = means.sum()
    return float(steps.sum() / max(total, 1e-9)), float((total - steps.sum()) / max(np.sqrt((spreads**2).sum()), 1e-9))


class BothWays(NamedTuple):
    """Score with random folds, score with folds that respect groups or time, and their difference in standard errors.

    Both are at least what chance gives, so that a loss below it does not count.
    """

    plain: float
    kept: float
    z: float

    @property
    def gap(self) -> float:
        """How much random folds flatter."""
        return self.plain - self.kept


def is_harmful(scores: BothWays, gap: float = GAP, certain: float = CERTAIN) -> bool:
    """Whether random folds score better by a gap that is larger than chance explains."""
    return scores.gap >= gap and scores.z >= certain


def scores_by_group(rows: Rows, groups: np.ndarray, random_state: int = 0) -> BothWays:
    """Scores with random folds and with folds that keep the rows of a group together.

    Parameters
    ----------
    rows : Rows
        With a target.
    groups : ndarray of int of shape (n_rows,)
        Group of each row.
    random_state : int, default=0
        Draws the folds.

    Returns
    -------
    scores : BothWays
        Balanced accuracies, or R2.
    """
    rng = np.random.default_rng(random_state)
    groups = np.unique(groups, return_inverse=True)[1]
    fold_of_group = _balanced_folds(np.bincount(groups), rng)
    return _both_ways(
        rows, _splits(rng.permutation(len(rows)) % N_FOLDS), _splits(fold_of_group[groups]), clusters=groups
    )


def scores_in_order(rows: Rows, place: np.ndarray, random_state: int = 0) -> BothWays:
    """Scores of blocks of rows, learnt from as many random rows as there are earlier ones, and from the earlier ones.

    Parameters
    ----------
    rows : Rows
        With a target.
    place : ndarray of shape (n_rows,)
        Place of each row in the order.
    random_state : int, default=0
        Draws the random rows.

    Returns
    -------
    scores : BothWays
        Balanced accuracies, or R2.
    """
    rng = np.random.default_rng(random_state)
    blocks = np.array_split(np.argsort(place, kind="stable"), N_FOLDS + 1)
    ordered, plain = [], []
    for k in range(1, N_FOLDS + 1):
        earlier, test = np.concatenate(blocks[:k]), blocks[k]
        others = np.setdiff1d(np.arange(len(rows)), test)
        ordered.append((earlier, test))
        # With random folds other rows of the block are learnt from as well: each half is predicted with the rest.
        for half in np.array_split(rng.permutation(test), 2):
            rest = np.concatenate([others, np.setdiff1d(test, half)])
            plain.append((rng.choice(rest, len(earlier), replace=False), half))
    clusters = np.empty(len(rows), dtype=np.int64)
    for k, block in enumerate(blocks):
        clusters[block] = 10 * k + np.arange(len(block)) * 10 // max(len(block), 1)
    return _both_ways(rows, iter(plain), iter(ordered), clusters=clusters)


def plain_score(rows: Rows, random_state: int = 0) -> float:
    """Score of the best quick learner with random folds: balanced accuracy, or R2."""
    gains = _class_gains(rows) if rows.is_classes else _number_gains(rows)
    splits = _splits(np.random.default_rng(random_state).permutation(len(rows)) % N_FOLDS)
    return max(float(np.nanmean(gains(predicted))) for predicted in _predictions(rows, splits))


def _both_ways(rows: Rows, plain: Iterator[Split], kept: Iterator[Split], *, clusters: np.ndarray) -> BothWays:
    gains = _class_gains(rows) if rows.is_classes else _number_gains(rows)
    floor = 1 / (int(rows.y.max()) + 1) if rows.is_classes else 0.0  # type: ignore[union-attr]
    ways = [
        max((gains(p) for p in _predictions(rows, way)), key=lambda gain: np.nanmean(gain)) for way in (plain, kept)
    ]
    scores = [max(float(np.nanmean(gain)), floor) for gain in ways]
    difference = np.nan_to_num(ways[0] - ways[1])
    per_cluster = np.bincount(clusters, difference)
    error = np.sqrt(max((per_cluster**2).sum(), 1e-12)) / np.count_nonzero(~np.isnan(ways[1]))
    return BothWays(scores[0], scores[1], float((scores[0] - scores[1]) / error))


def _class_gains(rows: Rows) -> Callable[[np.ndarray], np.ndarray]:
    """Of a prediction, its part in the balanced accuracy for each row; NaN for rows that were not predicted."""

    def gains(predicted: np.ndarray) -> np.ndarray:
        asked = ~np.isnan(predicted)
        counts = np.bincount(rows.y[asked], minlength=int(rows.y.max()) + 1)  # type: ignore[index, union-attr]
        weight = asked.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return np.where(asked, (predicted == rows.y) * weight[rows.y], np.nan)

    return gains


def _number_gains(rows: Rows) -> Callable[[np.ndarray], np.ndarray]:
    """Of a prediction, its part in R2 for each row; NaN for rows that were not predicted."""

    def gains(predicted: np.ndarray) -> np.ndarray:
        asked = ~np.isnan(predicted)
        variance = max(float(np.var(rows.y[asked])), 1e-300)  # type: ignore[index]
        return np.where(asked, 1 - (rows.y - predicted) ** 2 / variance, np.nan)

    return gains


def _predictions(rows: Rows, splits: Iterator[Split]) -> list[np.ndarray]:
    """What each learner predicts for the rows held out; NaN for rows that never are."""
    y = rows.y
    assert y is not None
    goal = np.eye(int(y.max()) + 1)[y] if rows.is_classes else y[:, None].astype(float)
    found = [np.full((len(rows), goal.shape[1]), np.nan) for _ in range(len(_NEIGHBOURS) + 1)]
    alpha = max(float(np.diagonal(rows.gram).mean()), 1e-9)
    for train, test in splits:
        order = np.argsort(rows.distances[np.ix_(test, train)], axis=1, kind="stable")[:, : max(_NEIGHBOURS)]
        for table, k in zip(found, _NEIGHBOURS, strict=False):
            table[test] = goal[train[order[:, :k]]].mean(axis=1)
        centre = goal[train].mean(axis=0)
        inner = rows.gram[np.ix_(train, train)] + alpha * np.eye(len(train))
        found[-1][test] = centre + rows.gram[np.ix_(test, train)] @ np.linalg.solve(inner, goal[train] - centre)
    if not rows.is_classes:
        return [table[:, 0] for table in found]
    return [np.where(np.isnan(table[:, 0]), np.nan, table.argmax(axis=1)) for table in found]


def _splits(fold: np.ndarray) -> Iterator[Split]:
    for k in range(N_FOLDS):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if len(train) and len(test):
            yield train, test


def _balanced_folds(sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fold of each group: the largest first, each into the fold with the fewest rows."""
    fold, filled = np.empty(len(sizes), dtype=np.int64), np.zeros(N_FOLDS)
    shuffled = rng.permutation(len(sizes))
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return fold


def _strata(y: np.ndarray, is_classes: bool) -> np.ndarray:
    """Classes, or tenths of the sorted numbers."""
    if is_classes:
        return np.unique(y, return_inverse=True)[1]
    edges = np.unique(np.quantile(y, np.linspace(0, 1, _STRATA + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, y, side="right"), return_inverse=True)[1]
