"""What one split of a table tells about the number of columns worth using.

One part of the rows ranks the columns; the other estimates how much they tell. There, let ``b_j`` be half the
difference of the class means divided by the standard deviation within the classes (nu degrees of freedom), and ``v``
its variance. For normal columns ``((nu - 2) / nu) b_j^2 - v`` is an unbiased estimate of ``mu_j^2``; its sums over the
n columns ranked first estimate ``s_n``. They are summed as they are, below zero too: setting each to 0 at least would
add about ``0.48 v`` for every column that tells nothing, and use them all.

When the rows that rank also train the rule, the columns ranked first have the largest weights by chance as well. Then
``sum_j a_j b_j / sqrt(sum_j a_j^2)``, with ``a`` the differences in the rows that rank, estimates f for that very rule.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.random import RandomState

# Parts that the rows are split into: one judges, the others rank.
PARTS = {"other": 2, "same": 5}
# With a single one, chance in the splitting would widen the band where many columns are used.
_SPLITS_OF_A_SAMPLE = 4


class Table(NamedTuple):
    """What all splits share: the columns, centred copies and their squares, the classes, and how to rank."""

    X: Any
    centred: Any
    squares: Any
    y: np.ndarray
    positive: np.ndarray
    order: Any
    rank_on: str


class Differences(NamedTuple):
    """Standardised half differences of the class means, the variance of one, and the degrees of freedom."""

    values: np.ndarray
    variance: float
    df: float


def standardised_differences(table: Table, weights: np.ndarray) -> Differences:
    """Half the difference of the class means over the standard deviation within classes, for weighted rows."""
    by_class = np.vstack([weights * table.positive, weights * ~table.positive]).astype(float)
    totals = by_class.sum(axis=1, keepdims=True)
    means = np.asarray((table.centred.T @ by_class.T).T) / totals
    spreads = np.asarray((table.squares.T @ by_class.T).T) - totals * means**2
    shares = (by_class**2).sum(axis=1, keepdims=True) / totals
    df = float((totals - shares).sum())
    scales = np.sqrt(np.maximum(spreads.sum(axis=0), 0) / df)
    half = (means[0] - means[1]) / 2
    # A column that happens to be constant within both classes here says nothing about its scale.
    values = np.divide(half, scales, out=np.zeros_like(half), where=scales > 1e-12 * np.abs(means).max(axis=0))
    return Differences(values, float((shares / totals).sum() / 4), df)


def curve_of_split(table: Table, counts: np.ndarray, parts: np.ndarray, random: "RandomState") -> np.ndarray:
    """One split's mean over its parts of ``s_n`` (``f`` itself when the rule is trained on the rows that rank)."""
    curves = []
    for part in np.unique(parts[counts > 0]):
        inside = parts == part
        ranking = standardised_differences(table, counts * ~inside)
        judging = standardised_differences(table, counts * inside)
        best_first = ranked_columns(table, counts * ~inside, ranking, random)
        a, b = ranking.values[best_first], judging.values[best_first]
        if table.rank_on == "same":
            lengths = np.sqrt(np.cumsum(a**2))
            b = b * (1 - 3 / (4 * judging.df - 1))  # dividing by an estimated scale makes means larger on average
            curves.append(np.divide(np.cumsum(a * b), lengths, out=np.zeros_like(a), where=lengths > 0))
        else:
            curves.append(np.cumsum((judging.df - 2) / judging.df * b**2 - judging.variance))
    return np.mean(curves, axis=0)


def ranked_columns(table: Table, counts: np.ndarray, found: Differences, random: "RandomState") -> np.ndarray:
    """Columns by the score on the counted rows, best first; chance decides between equal ones."""
    if callable(table.order):
        rows = np.repeat(np.arange(len(counts)), counts)
        scores = np.asarray(table.order(table.X[rows], table.y[rows]), dtype=float)
        if scores.shape != found.values.shape or np.isnan(scores).any():
            raise ValueError(
                f"order gave scores of shape {scores.shape}; it must give one number for each of the "
                f"{found.values.size} columns, the larger the better, and none may be NaN."
            )
    else:
        scores = np.abs(found.values)
    shuffled = random.permutation(scores.size)
    return shuffled[np.argsort(-scores[shuffled], kind="stable")]


def curve_of_task(task: tuple[int, bool], table: Table) -> np.ndarray:
    """The curve of one random split of the rows, or the mean over a few splits of a bootstrap sample of them."""
    from sklearn.utils import check_random_state

    seed, resample = task
    random = check_random_state(seed)
    counts = np.ones(len(table.y), dtype=int)
    if resample:
        counts[:] = 0
        for group in (np.flatnonzero(table.positive), np.flatnonzero(~table.positive)):
            np.add.at(counts, _resampled(group, 2 * PARTS[table.rank_on], random), 1)
    splits = [_parts(table, counts, random) for _ in range(_SPLITS_OF_A_SAMPLE if resample else 1)]
    return np.mean([curve_of_split(table, counts, parts, random) for parts in splits], axis=0)


def _parts(table: Table, counts: np.ndarray, random: "RandomState") -> np.ndarray:
    """A random part for each row, even over the classes. All copies of a row are in one, so none ranks and judges."""
    parts = np.zeros(len(table.y), dtype=int)
    for group in (np.flatnonzero(table.positive), np.flatnonzero(~table.positive)):
        distinct = random.permutation(group[counts[group] > 0])
        parts[distinct] = np.arange(len(distinct)) % PARTS[table.rank_on]
    return parts


def _resampled(group: np.ndarray, at_least: int, random: "RandomState") -> np.ndarray:
    """A bootstrap sample with enough distinct rows for two in every part."""
    while True:
        drawn = random.choice(group, size=len(group))
        if len(np.unique(drawn)) >= min(at_least, len(group) // 2):
            return drawn
