"""Exact nearest neighbours of the rows of a table among its other rows.

For Euclidean distances, products of blocks of rows in single precision,

    d_ij^2 = s_i + s_j - 2 x_i'x_j,   s_i = |x_i|^2,   about the column means,

with a bound on their rounding error, say which pairs can be near; the distances of these are then summed in double
precision from the differences. Each pair of blocks is multiplied once and serves the rows of both. So the result does
not depend on the processor, equal rows are equally far, and of equal distances the smaller row number comes first.
Memory is O(rows x neighbours), beside a strip of products for each thread.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from fewer._kernels._arrays import _n_threads, read_only
from fewer._kernels._neighbour_counts import neighbours_of_distances
from fewer._kernels._one_thread import one_thread

EXACT_ROWS = 50_000
"""Rows beyond which all pairs take minutes, except for Euclidean and cosine distances in few columns."""

_BLOCK = 512
_FEWEST_ASKED = 30
_STRIP = 64
_UNIT_ROUNDOFF = float(np.finfo(np.float32).eps) / 2


def nearest_neighbours(
    X: Any, n_neighbors: int, metric: Any = "euclidean", metric_params: dict[str, Any] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other rows of each row, near to far, and their distances.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features), or (n_samples, n_samples) of distances
        Table.
    n_neighbors : int
        Neighbours of each row, fewer than there are rows.
    metric : str or callable, default="euclidean"
        As in ``sklearn.metrics.pairwise_distances``; "precomputed" if X holds distances.
    metric_params : dict or None, default=None
        Further arguments of the metric.

    Returns
    -------
    neighbours : ndarray of int of shape (n_samples, n_neighbors)
        Row numbers. Of equal distances, the smaller number comes first.
    distances : ndarray of float64 of shape (n_samples, n_neighbors)
        Their distances.
    """
    if metric == "cosine" and not sparse.issparse(X):
        lengths = np.linalg.norm(X, axis=1)
        if (lengths > 0).all():  # |a - b|^2 / 2 for rows of length 1
            neighbours, distances = _euclidean(np.asarray(X, dtype=np.float64) / lengths[:, None], n_neighbors)
            return neighbours, distances**2 / 2
    if metric in ("euclidean", "l2", "sqeuclidean") and not sparse.issparse(X):
        neighbours, distances = _euclidean(X, n_neighbors)
        return neighbours, distances**2 if metric == "sqeuclidean" else distances
    return neighbours_of_distances(_distance_blocks(X, metric, metric_params or {}), X.shape[0], n_neighbors)


def approximate_neighbours(
    X: Any, n_neighbors: int, metric: Any, metric_params: dict[str, Any] | None, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The same by pynndescent, which finds most of the nearest rows.

    It is asked for more than are wanted, and the nearest of these are kept: of 60,000 rows with 20 independent columns
    it finds 76% of the 10 nearest if asked for 10, and 99.5% if asked for 30.
    """
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            'solver="approximate" needs the package pynndescent: pip install "fewer[neighbours]", or use '
            'solver="exact".'
        ) from error
    seed = np.random.default_rng(random_state).integers(2**31 - 1) if random_state is not None else None
    asked = min(max(2 * n_neighbors, _FEWEST_ASKED) + 1, X.shape[0])
    index = NNDescent(X, metric=metric, metric_kwds=metric_params or {}, n_neighbors=asked, random_state=seed)
    found, distances = index.neighbor_graph
    # The list of a row begins with the row itself, and ends with -1 where too few others were found.
    itself_or_none = (found == np.arange(len(found))[:, None]) | (found < 0)
    few = int(np.sum(asked - itself_or_none.sum(axis=1) < n_neighbors))
    if few:
        raise ValueError(
            f'pynndescent found fewer than {n_neighbors} neighbours of {few} of {len(found)} rows; use solver="exact".'
        )
    kept = np.argsort(itself_or_none, axis=1, kind="stable")[:, :n_neighbors]
    return (
        np.take_along_axis(found, kept, axis=1).astype(np.int64),
        np.take_along_axis(distances, kept, axis=1).astype(np.float64),
    )


def _distance_blocks(X: Any, metric: Any, params: dict[str, Any]) -> Iterator[np.ndarray]:
    from sklearn.metrics import pairwise_distances_chunked

    if metric == "precomputed":
        for start in range(0, X.shape[0], _BLOCK):
            yield np.asarray(X[start : start + _BLOCK], dtype=np.float64)
        return
    if metric == "minkowski" and not params.get("p", 2) > 0:
        raise ValueError(f"p={params['p']} of metric='minkowski' must be above 0.")
    if metric == "minkowski" and params.get("p", 2) < 1:  # no metric, and refused by scikit-learn's own code
        from scipy.spatial.distance import cdist

        rows = max(1, (1 << 24) // X.shape[0])
        for start in range(0, X.shape[0], rows):
            yield cdist(X[start : start + rows], X, "minkowski", **params)
        return
    yield from pairwise_distances_chunked(X, metric=metric, working_memory=128, **params)


def _euclidean(X: Any, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.ascontiguousarray(X, dtype=np.float64)
    n_rows, n_columns = X.shape
    unit = _power_of_two(float(np.abs(X).max(initial=0.0)))
    X = X / unit  # so that squares of huge and of tiny numbers stay in range
    rough = X - X.mean(axis=0)
    spread = _power_of_two(float(np.abs(rough).max(initial=0.0)))
    rough = (rough / spread).astype(np.float32)
    squares = np.einsum("ij,ij->i", rough, rough, dtype=np.float64)
    lost = float(np.finfo(np.float64).eps) / spread  # of an entry, by centring
    slack = (10 * np.sqrt(n_columns) + 8) * _UNIT_ROUNDOFF * squares
    slack += 8 * lost * np.abs(rough).sum(axis=1) + 8 * n_columns * lost**2
    half = 0.5 * (squares - slack)
    nearest = np.full((n_rows, n_neighbors), np.inf)
    neighbours = np.full((n_rows, n_neighbors), n_rows, dtype=np.int64)
    least = np.full(n_rows, -np.inf, dtype=np.float32)
    state = (read_only(X), read_only(rough), read_only(half), spread**-2, nearest, neighbours, least)
    with one_thread("blas"):
        for pairs in _rounds(-(-n_rows // _BLOCK)):
            _in_turn(pairs, n_rows, state)
    return neighbours, np.sqrt(nearest) * unit


def _power_of_two(size: float) -> float:
    """The next power of 2, which divides without rounding; 1 for 0."""
    return float(2.0 ** np.ceil(np.log2(size))) if size > 0 else 1.0


def _rounds(n_blocks: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair of blocks once, in rounds in which no block comes twice (a round-robin tournament)."""
    yield [(block, block) for block in range(n_blocks)]
    size = n_blocks + n_blocks % 2
    for shift in range(size - 1):
        places = [0, *((place + shift) % (size - 1) + 1 for place in range(size - 1))]
        pairs = zip(places[: size // 2], reversed(places[size // 2 :]), strict=True)
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < n_blocks]


def _in_turn(pairs: list[tuple[int, int]], n_rows: int, state: tuple) -> None:
    """Work through pairs that have no block in common, on all threads."""

    def work(part: list[tuple[int, int]]) -> None:
        for first, second in part:
            stops = (min((first + 1) * _BLOCK, n_rows), min((second + 1) * _BLOCK, n_rows))
            _update_pair(first * _BLOCK, stops[0], second * _BLOCK, stops[1], *state)

    n_threads = min(_n_threads(), len(pairs))
    if n_threads < 2:
        work(pairs)
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        parts = [pool.submit(work, pairs[place::n_threads]) for place in range(1, n_threads)]
        work(pairs[::n_threads])
        for part in parts:
            part.result()


@njit(cache=True, nogil=True)
def _update_pair(start, stop, other_start, other_stop, X, rough, half, unit, nearest, neighbours, least):
    """Let the rows of two blocks find neighbours in one another."""
    others = rough[other_start:other_stop].T
    width = other_stop - other_start
    products = np.empty((_STRIP, width), dtype=np.float32)
    offsets = half[other_start:other_stop].astype(np.float32)
    for strip in range(start, stop, _STRIP):
        height = min(_STRIP, stop - strip)
        np.dot(rough[strip : strip + height], others, products[:height])
        for r in range(height):
            row = strip + r
            own_offset = np.float32(half[row])
            line = products[r]
            first = row + 1 - other_start if start == other_start else 0
            place = max(first, 0)
            while place < width:
                end = min(place + 32, width)
                hits = 0
                own_least = least[row]
                for j in range(place, end):
                    near = (line[j] - offsets[j] >= own_least) | (line[j] - own_offset >= least[other_start + j])
                    hits += near
                if hits:
                    for j in range(place, end):
                        other = other_start + j
                        if line[j] - offsets[j] >= least[row] or line[j] - own_offset >= least[other]:
                            square = _squared_distance(X[row], X[other])
                            if _enters(nearest[row], neighbours[row], square, other):
                                least[row] = _least_product(half[row], nearest[row, -1] * unit)
                            if _enters(nearest[other], neighbours[other], square, row):
                                least[other] = _least_product(half[other], nearest[other, -1] * unit)
                place = end


@njit(cache=True, nogil=True)
def _least_product(half, square):
    """The smallest product, less the other row's offset, of a pair that can be nearer; rounded down."""
    bound = half - 0.5 * square
    return np.float32(bound - 8 * _UNIT_ROUNDOFF * (abs(half) + square))


@njit(cache=True, nogil=True)
def _squared_distance(first, second):
    n = first.size
    whole = n - n % 4
    a = b = c = d = 0.0
    for j in range(0, whole, 4):
        a += (first[j] - second[j]) * (first[j] - second[j])
        b += (first[j + 1] - second[j + 1]) * (first[j + 1] - second[j + 1])
        c += (first[j + 2] - second[j + 2]) * (first[j + 2] - second[j + 2])
        d += (first[j + 3] - second[j + 3]) * (first[j + 3] - second[j + 3])
    for j in range(whole, n):
        a += (first[j] - second[j]) * (first[j] - second[j])
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def _enters(nearest, neighbours, square, row):
    """Put a row into a sorted list if it is nearer than the last; of equal ones, the smaller number is nearer."""
    last = nearest.size - 1
    if square > nearest[last] or (square == nearest[last] and row > neighbours[last]):
        return False
    place = last
    while place > 0 and (square < nearest[place - 1] or (square == nearest[place - 1] and row < neighbours[place - 1])):
        nearest[place] = nearest[place - 1]
        neighbours[place] = neighbours[place - 1]
        place -= 1
    nearest[place] = square
    neighbours[place] = row
    return True
