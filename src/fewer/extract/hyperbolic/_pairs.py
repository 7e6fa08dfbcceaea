"""Pairs of rows that are said to be of the same kind, or of different kinds."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from fewer._kernels._squared_gaps import squared_gaps

MOST_PAIRS = 2_000_000
"""Of more pairs than this, as many are drawn for estimates of risk."""


class Pairs(NamedTuple):
    """Numbers of two rows for each pair, and whether both are of the same kind."""

    first: np.ndarray
    second: np.ndarray
    same: np.ndarray


def all_pairs(codes: np.ndarray) -> Pairs:
    """Every two rows."""
    first, second = np.triu_indices(len(codes), k=1)
    return Pairs(first, second, codes[first] == codes[second])


def drawn_pairs(codes: np.ndarray, n_pairs: int, rng: np.random.RandomState) -> Pairs:
    """Pairs at random, half of them of the same kind, as far as there are such, and half of different kinds."""
    n_same = n_pairs // 2
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    chances = sizes * (sizes - 1.0)
    n_same = n_same if chances.any() else 0
    kinds = rng.choice(len(sizes), n_same, p=chances / chances.sum()) if n_same else np.empty(0, dtype=int)
    places = rng.randint(sizes[kinds])
    shifts = 1 + rng.randint(sizes[kinds] - 1)
    first, second = order[starts[kinds] + places], order[starts[kinds] + (places + shifts) % sizes[kinds]]
    # A different row: one of those outside of the first one's stretch in the order of the classes.
    n_rows, n_other = len(codes), n_pairs - n_same
    chances = sizes * (n_rows - sizes.astype(float))
    if not chances.any():
        return Pairs(first, second, np.ones(n_same, dtype=bool))
    kinds = rng.choice(len(sizes), n_other, p=chances / chances.sum())
    mine = order[starts[kinds] + rng.randint(sizes[kinds])]
    outside = rng.randint(n_rows - sizes[kinds])
    other = order[(starts[kinds] + sizes[kinds] + outside) % n_rows]
    same = np.repeat([True, False], [n_same, n_other])
    return Pairs(np.concatenate([first, mine]), np.concatenate([second, other]), same)


def judged_pairs(codes: np.ndarray, rng: np.random.RandomState) -> Pairs:
    """Every two rows, or very many at random."""
    if len(codes) * (len(codes) - 1) / 2 <= MOST_PAIRS:
        return all_pairs(codes)
    return drawn_pairs(codes, MOST_PAIRS, rng)


def told_pairs(pairs: Any, r: Any, n_rows: int) -> Pairs:
    """Pairs that were given, checked."""
    pairs = check_array(pairs, dtype=np.int64, input_name="pairs")
    r = column_or_1d(r)
    check_consistent_length(pairs, r)
    if pairs.shape[1] != 2:
        raise ValueError(f"pairs has {pairs.shape[1]} columns; it must have two, the numbers of both rows.")
    if pairs.min() < 0 or pairs.max() >= n_rows:
        raise ValueError(f"pairs must hold numbers of rows from 0 to {n_rows - 1}.")
    # -1 and 0 both mean different, but a mixture of the two is a mistake somewhere.
    if r.dtype.kind not in "biuf" or not (np.isin(r, [-1, 1]).all() or np.isin(r, [0, 1]).all()):
        raise ValueError(
            "r must be 1 (or True) for a pair that is the same and -1 (or 0, or False) for one that is different; it "
            f"holds {', '.join(map(repr, np.unique(r)[:5].tolist()))}."
        )
    return Pairs(pairs[:, 0], pairs[:, 1], r == 1)


def squared_distances(Z: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Squared distance of the two rows of each pair."""
    Z = np.ascontiguousarray(Z, dtype=float)
    return squared_gaps(Z, pairs.first, pairs.second)
