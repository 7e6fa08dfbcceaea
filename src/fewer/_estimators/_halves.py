"""Complementary pairs of halves of the rows, and what they bound: the machinery of stability selection.

Of N things that may be chosen (columns, edges), a half of the rows chooses q. Those chosen on a share ``threshold`` of
the halves include at most ``q^2 / ((2 threshold - 1) N)`` useless ones on average, when useless ones are as likely to
be chosen as one another, and less likely than useful ones. Halves come in pairs that share no row.
"""

import numpy as np


def expected_false_bound(n_chosen: float, threshold: float, n_candidates: int) -> float:
    """Bound on the mean number of useless candidates kept, when ``n_chosen`` of them are chosen on each half.

    Examples
    --------
    >>> expected_false_bound(10, 0.75, 1000)
    0.2
    """
    return n_chosen**2 / ((2 * threshold - 1) * n_candidates)


def number_for_bound(max_false: float, threshold: float, n_candidates: int) -> int:
    """How many to choose on each half so that the bound is ``max_false``; at least one.

    Examples
    --------
    >>> number_for_bound(0.2, 0.75, 1000)
    10
    """
    return max(1, int(np.sqrt(max_false * (2 * threshold - 1) * n_candidates)))


def paired_halves(y: np.ndarray, n_pairs: int, rng, classes: bool) -> list[np.ndarray]:
    """Pairs of halves of the rows, no row in both; each class is halved where there are classes."""
    groups = [np.flatnonzero(y == label) for label in np.unique(y)] if classes else [np.arange(len(y))]
    halves = []
    for _ in range(n_pairs):
        first, second = [], []
        for group in groups:
            shuffled = rng.permutation(group)
            middle = len(shuffled) // 2
            first.append(shuffled[:middle])
            second.append(shuffled[middle : 2 * middle])
        halves += [np.concatenate(first), np.concatenate(second)]
    return halves


def paired_stretches(n_rows: int, n_pairs: int, rng) -> list[np.ndarray]:
    """Pairs of halves of rows that are in order: each is a stretch of the series, closed to a circle.

    Examples
    --------
    >>> [half.tolist() for half in paired_stretches(6, 1, np.random.RandomState(0))]
    [[4, 5, 0], [1, 2, 3]]
    """
    halves = []
    for start in rng.randint(n_rows, size=n_pairs):
        circle = np.roll(np.arange(n_rows), -start)
        middle = n_rows // 2
        halves += [circle[:middle], circle[middle : 2 * middle]]
    return halves
