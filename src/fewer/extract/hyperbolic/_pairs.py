"""Pairs of rows labelled as same or different: their scatter operator in feature space, and the risk of a threshold.

The operator whose leading eigenvectors keep same pairs close and different ones apart is

    T = eta mean over different pairs of dd' - mean over same pairs of dd',    d = psi(x) - psi(x').

T is indefinite: along directions with a negative eigenvalue different pairs are closer than same ones. In
coordinates R of the rows in feature space, each mean is ``R'LR`` for the Laplacian L of a graph of pairs; for labels,
class sums replace it, and the number of pairs does not matter.

A threshold on the distance decides whether two rows are of the same kind. For squared projected distances t and r = 1
(same) or -1 (different), the loss of a pair at the threshold c is ``f(r (c^2 - t))`` with ``f(m) = 1`` for m <= 0,
falling to 0 at the margin g. Distances are in units of the diameter.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import linalg, sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fewer._kernels._numpy_lapack import largest_eigh, solve_triangular
from fewer._kernels._one_thread import scipy_on_one_thread
from fewer._kernels._row_products import squared_distances
from fewer.extract._centred_table import pivoted_factor


@njit(cache=True, nogil=True)
def squared_gaps(rows, first, second):
    """``|rows[first[k]] - rows[second[k]]|^2`` for each pair k."""
    found = np.empty(len(first))
    for k in range(len(first)):
        total = 0.0
        for column in range(rows.shape[1]):
            gap = rows[first[k], column] - rows[second[k], column]
            total += gap * gap
        found[k] = total
    return found


_RELATIVE_CUT = 1e-10
_ROWS_FOR_MEDIAN = 1000


class FeatureSpace(NamedTuple):
    """Rows of a table in coordinates of feature space (rows, k), and k rows that span it.

    The latter is None if the coordinates are the columns themselves.
    """

    rows: Any
    spanning: np.ndarray | None

    def dual(self, directions: np.ndarray) -> np.ndarray:
        """Weights of the rows (rows, directions) that make up directions (k, directions)."""
        weights = np.zeros((self.rows.shape[0], directions.shape[1]))
        weights[self.spanning] = solve_triangular(self.rows[self.spanning], directions, transposed=True)
        return weights


def feature_space(G: np.ndarray) -> FeatureSpace:
    """Coordinates R from the kernel matrix ``G = R R'``; directions that are but rounding are left out."""
    return FeatureSpace(*pivoted_factor(G, _RELATIVE_CUT))


def diameter(rows: Any) -> float:
    """A bound of the distance between two rows: twice the largest distance from the mean."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    squared = row_norms(rows, squared=True) - 2 * safe_sparse_dot(rows, mean) + mean @ mean
    largest = float(squared.max())
    rounding = np.finfo(rows.dtype).eps * len(mean) * float(mean @ mean)
    return 2 * np.sqrt(largest) if largest > rounding else 0.0


def median_squared_distance(X: Any) -> float:
    """Over at most some hundred thousand pairs."""
    some = np.unique(np.linspace(0, X.shape[0] - 1, _ROWS_FOR_MEDIAN).astype(int))
    squared = squared_distances(X[some], X[some])[np.triu_indices(len(some), k=1)]
    positive = squared[squared > 0]
    return float(np.median(positive)) if positive.size else 1.0


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


def pair_distances(Z: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Squared distance of the two rows of each pair."""
    Z = np.ascontiguousarray(Z, dtype=float)
    return squared_gaps(Z, pairs.first, pairs.second)


class Scatter(NamedTuple):
    """Mean outer products of the differences of different and of same pairs, with the share that each has."""

    different: np.ndarray
    same: np.ndarray
    shares: tuple[float, float]

    def operator(self, eta: float) -> np.ndarray:
        """T."""
        return eta * self.shares[0] * self.different - self.shares[1] * self.same


def label_scatter(R: Any, codes: np.ndarray, balanced: bool) -> Scatter:
    """Over all pairs of rows, same if they have the same label."""
    n_rows = len(codes)
    sizes = np.bincount(codes)
    n_same = float(np.sum(sizes * (sizes - 1.0)))
    n_different = n_rows * (n_rows - 1.0) - n_same
    members = sparse.csr_array((np.ones(n_rows), (codes, np.arange(n_rows))), shape=(len(sizes), n_rows))
    sums = safe_sparse_dot(members, R, dense_output=True)
    within = sums.T @ sums
    total = sums.sum(axis=0)
    by_own, by_others = _grams(R, sizes[codes].astype(float))
    same = 2 * (by_own - within) / max(n_same, 1)
    different = 2 * (by_others - np.outer(total, total) + within) / max(n_different, 1)
    return Scatter(different, same, _shares(n_different, n_same, balanced))


def pair_scatter(R: Any, pairs: Pairs, balanced: bool) -> Scatter:
    """Over the pairs given."""
    n_same = int(pairs.same.sum())
    n_different = len(pairs.same) - n_same
    found = []
    for chosen, count in ((~pairs.same, n_different), (pairs.same, n_same)):
        ends = (pairs.first[chosen], pairs.second[chosen])
        graph = sparse.csr_array((np.ones(count), ends), shape=(R.shape[0], R.shape[0]))
        graph = graph + graph.T
        pulled = safe_sparse_dot(R.T, graph @ R, dense_output=True)
        found.append((_gram(R, graph.sum(axis=1)) - pulled) / max(count, 1))
    return Scatter(found[0], found[1], _shares(n_different, n_same, balanced))


def _grams(R: Any, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``R' diag(own) R`` and ``R' diag(n - own) R``, at the cost of one product where classes are of one size."""
    plain = _gram(R, np.ones(len(own)))
    by_own = own[0] * plain if own.min() == own.max() else _gram(R, own)
    return by_own, len(own) * plain - by_own


def _gram(R: Any, weights: np.ndarray) -> np.ndarray:
    """``R' diag(weights) R`` for weights that are 0 or more."""
    roots = np.sqrt(weights)
    if sparse.issparse(R):
        scaled = sparse.diags_array(roots) @ R
        return (scaled.T @ scaled).toarray()
    scaled = R * roots[:, None]
    return scaled.T @ scaled  # of one array with itself, which takes half of the time


def _shares(n_different: float, n_same: float, balanced: bool) -> tuple[float, float]:
    total = n_different + n_same
    return (1.0, 1.0) if balanced else (n_different / total, n_same / total)


class Leading(NamedTuple):
    """Largest eigenvalues, decreasing, and unit eigenvectors as columns."""

    values: np.ndarray
    vectors: np.ndarray


def leading_eigenpairs(T: np.ndarray, n_pairs: int | None) -> Leading:
    """Eigenpairs with the largest positive eigenvalues, as many as asked for, or all."""
    # Not by Lanczos' method: positive eigenvalues are very small beside the negative ones, and it does not find an end.
    values, vectors = largest_eigh(T, len(T) if n_pairs is None else min(n_pairs, len(T)))
    kept = values > _least(T)
    return Leading(values[kept][::-1], vectors[:, kept][:, ::-1])


def number_of_positive_eigenvalues(T: np.ndarray) -> int:
    """As many as pivots are positive, by Sylvester's law of inertia."""
    shifted = T.copy()
    shifted.flat[:: len(T) + 1] -= _least(T)
    with scipy_on_one_thread():  # products are by NumPy
        factor, pivots, _ = linalg.lapack.dsytrf(shifted, lower=1, overwrite_a=1)
    # A pivot of two rows, whose numbers are negative, always has one positive and one negative eigenvalue.
    return int(np.count_nonzero((np.diag(factor) > 0) & (pivots > 0)) + np.count_nonzero(pivots < 0) // 2)


def _least(T: np.ndarray) -> float:
    """What is more than rounding."""
    return float(_RELATIVE_CUT * np.abs(T).max())


_N_THRESHOLDS = 201


class Threshold(NamedTuple):
    """The threshold c with the smallest risk, and that risk."""

    c: float
    risk: float


def margin_risks(squared: np.ndarray, same: np.ndarray, c: np.ndarray, margin: float, balanced: bool) -> np.ndarray:
    """Mean loss at each threshold; with ``balanced``, same and different pairs weigh one half each."""
    return _sorted_risks(np.sort(squared[same]), np.sort(squared[~same]), c, margin, balanced)


def _sorted_risks(same: np.ndarray, different: np.ndarray, c: np.ndarray, margin: float, balanced: bool) -> np.ndarray:
    # Turned round, a different pair is a same pair: f(t - c^2) = f(-c^2 - (-t)).
    of_same = _mean_losses(same, c**2, margin)
    of_different = _mean_losses(-different[::-1], -(c**2), margin)
    share = 0.5 if balanced else len(same) / (len(same) + len(different))
    return share * of_same + (1 - share) * of_different


def _mean_losses(values: np.ndarray, limits: np.ndarray, margin: float) -> np.ndarray:
    """Mean of ``f(limit - value)`` over sorted values: 0 far below the limit, 1 from there on, a slope between."""
    if len(values) == 0:
        return np.zeros(len(limits))
    low, high = np.searchsorted(values, limits - margin, side="right"), np.searchsorted(values, limits, side="left")
    sums = np.concatenate([[0.0], np.cumsum(values)])
    on_slope = (high - low) * (1 - limits / margin) + (sums[high] - sums[low]) / margin
    return np.clip((len(values) - high + on_slope) / len(values), 0, 1)


def best_threshold(
    squared: np.ndarray, same: np.ndarray, margin: float, balanced: bool, c_grid: np.ndarray | None = None
) -> Threshold:
    """The best of some thresholds; by default quantiles of the distances of both kinds of pairs."""
    of_same, of_different = np.sort(squared[same]), np.sort(squared[~same])
    if c_grid is None:
        edges = np.concatenate([_quantiles(kind) for kind in (of_same, of_different) if len(kind)])
        # A same pair has no loss if it is a margin below the threshold, a different one none at it already.
        c_grid = np.sqrt(np.unique(np.concatenate([edges, edges + margin])))
    risks = _sorted_risks(of_same, of_different, np.asarray(c_grid, dtype=float), margin, balanced)
    best = int(np.argmin(risks))
    return Threshold(float(c_grid[best]), float(risks[best]))


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles of sorted values, evenly spaced from the smallest to the largest."""
    places = np.linspace(0, len(values) - 1, _N_THRESHOLDS)
    return np.interp(places, np.arange(len(values)), values)


def pair_weights(c: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of different and of same pairs for which an affine function of P bounds the risk most tightly.

    With them, ``risk(P, c) <= 1 + c^2 mean(weights) - <T, P>`` for T the mean of the weighted outer products.
    """
    return np.minimum(1 / (1 - c**2), 1 / margin), -np.minimum(1 / c**2, 1 / margin)


def bounded_risk(risk: float, n_components: int, n_pairs: int, margin: float, delta: float) -> float:
    """What the risk on new pairs does not exceed with probability ``1 - delta``, from independent pairs."""
    complexity = 2 * (np.sqrt(n_components) + 1) / margin
    return float(risk + (complexity + np.sqrt(np.log(1 / delta) / 2)) / np.sqrt(n_pairs))
