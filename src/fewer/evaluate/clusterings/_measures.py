"""Information that two clusterings share, from the sizes of their clusters and of the overlaps.

With overlaps ``n_ij``, cluster sizes a_i and b_j, and N rows,

    I = sum_ij n_ij / N log(N n_ij / (a_i b_j)),     H(U) = -sum_i a_i / N log(a_i / N),

and, for labels in random order (overlaps are hypergeometric),

    E[I] = sum_ij sum_n (n / N) log(N n / (a_i b_j)) P(n | a_i, b_j, N).

The sum over n starts at the most likely overlap and ends where what is left cannot be seen in double precision. With
``P(n + 1) / P(n) = (a - n)(b - n) / ((n + 1)(N - a - b + n + 1))`` the probabilities are known up to a factor, which
their sum gives: no factorial is needed, and no digit is lost to large logarithms.

Vinh, N. X., Epps, J. and Bailey, J. (2010). Information theoretic measures for clusterings comparison. JMLR 11,
2837-2854.
"""

from math import log, nan, sqrt

import numpy as np
from numba import njit

MEASURES = ("mi", "nmi", "ami", "vi", "ri", "ari")
AVERAGES = ("joint", "max", "sum", "sqrt", "min")

_NEGLIGIBLE = 1e-18


@njit(cache=True, nogil=True)
def expected_information(sizes, repeats, other_sizes, other_repeats, n_rows, logs):
    """E[I] for clusters of these sizes, each as often as ``repeats`` says; ``logs`` has log n at place n."""
    total = 0.0
    for i in range(sizes.size):
        for j in range(other_sizes.size):
            a, b = sizes[i], other_sizes[j]
            total += repeats[i] * other_repeats[j] * _expected_term(a, b, n_rows, logs)
    return total


@njit(cache=True, nogil=True)
def _expected_term(a, b, n_rows, logs):
    """E[(n / N) log(N n / (a b))] of one overlap."""
    first, last = max(0, a + b - n_rows), min(a, b)
    mode = max(first, min(last, int((a + 1.0) * (b + 1.0) / (n_rows + 2.0))))
    shift = logs[n_rows] - logs[a] - logs[b]
    weight = sums = 1.0
    value = mode * (logs[mode] + shift) if mode > 0 else 0.0
    for n in range(mode, last):
        weight *= float(a - n) * float(b - n) / (float(n + 1) * float(n_rows - a - b + n + 1))
        sums += weight
        value += weight * (n + 1) * (logs[n + 1] + shift)
        # The ratio of neighbours falls, so what is left is at most a geometric series; its terms grow like n log n.
        if weight * (n + 1) < _NEGLIGIBLE:
            break
    weight = 1.0
    for n in range(mode, first, -1):
        weight *= float(n) * float(n_rows - a - b + n) / (float(a - n + 1) * float(b - n + 1))
        sums += weight
        if n > 1:
            value += weight * (n - 1) * (logs[n - 1] + shift)
        if weight < _NEGLIGIBLE:
            break
    return value / (n_rows * sums)


@njit(cache=True, nogil=True)
def overlap_terms(overlaps, sizes, other_sizes):
    """I, H(U), H(V), H(U, V), and the sums of squares of overlaps and of both kinds of sizes; overlaps above 0."""
    n_rows = 0.0
    for size in sizes:
        n_rows += size
    terms = np.zeros(7)
    for which, counts in ((3, overlaps), (1, sizes), (2, other_sizes)):
        entropy = squares = 0.0
        for count in counts:
            entropy -= count / n_rows * log(count / n_rows)
            squares += float(count) * count
        terms[which] = entropy
        terms[4 if which == 3 else 4 + which] = squares
    # Rounding may make it negative, or more than either entropy.
    terms[0] = min(max(terms[1] + terms[2] - terms[3], 0.0), terms[1], terms[2])
    return terms


@njit(cache=True, nogil=True)
def upper_bound(terms, average):
    """The largest information that there can be: joint entropy, or a mean of both entropies."""
    if average == 0:
        return terms[3]
    if average == 1:
        return max(terms[1], terms[2])
    if average == 2:
        return 0.5 * (terms[1] + terms[2])
    if average == 3:
        return sqrt(terms[1] * terms[2])
    return min(terms[1], terms[2])


@njit(cache=True, nogil=True)
def measure_of(terms, expected, n_rows, is_same, measure, average):
    """One of the measures; 1 (distance 0) if both are the same clustering."""
    if measure == 0:
        return terms[0]
    if measure == 3:
        return 0.0 if is_same else terms[1] + terms[2] - 2 * terms[0]
    if is_same:
        return 1.0
    if measure >= 4:
        pairs = n_rows * (n_rows - 1.0) / 2
        both = (terms[4] - n_rows) / 2
        first, second = (terms[5] - n_rows) / 2, (terms[6] - n_rows) / 2
        if measure == 4:
            return (pairs + 2 * both - first - second) / pairs
        chance = first * second / pairs
        possible = 0.5 * (first + second) - chance
        return (both - chance) / possible if possible > 0 else 0.0
    chance = expected if measure == 2 else 0.0
    possible = upper_bound(terms, average) - chance
    # Nothing is left to tell, as when every row is a cluster.
    if possible <= 1e-13 * (1.0 + terms[3]):
        return 0.0
    return (terms[0] - chance) / possible


@njit(cache=True, nogil=True)
def mean_of_pairs(labelings, n_clusters, measure, average, logs):
    """Mean of a measure over all pairs of labelings (rows); -1 where a labeling leaves out a row of the table.

    Pairs without a common row do not count; NaN if there is no other.
    """
    n_labelings, n_rows = labelings.shape
    total, n_pairs = 0.0, 0
    overlaps = np.zeros(n_clusters * n_clusters, dtype=np.int64)
    for first in range(n_labelings):
        for second in range(first + 1, n_labelings):
            overlaps[:] = 0
            n_common = 0
            for row in range(n_rows):
                u, v = labelings[first, row], labelings[second, row]
                if u >= 0 and v >= 0:
                    overlaps[u * n_clusters + v] += 1
                    n_common += 1
            if n_common > 0:
                total += _of_overlaps(overlaps.reshape(n_clusters, n_clusters), n_common, measure, average, logs)
                n_pairs += 1
    return total / n_pairs if n_pairs > 0 else nan


@njit(cache=True, nogil=True)
def _of_overlaps(table, n_rows, measure, average, logs):
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    sizes, other_sizes = rows[rows > 0], columns[columns > 0]
    flat = table.ravel()
    overlaps = flat[flat > 0]
    terms = overlap_terms(overlaps, sizes, other_sizes)
    expected = 0.0
    if measure == 2:
        ones, other_ones = np.ones(sizes.size, dtype=np.int64), np.ones(other_sizes.size, dtype=np.int64)
        expected = expected_information(sizes, ones, other_sizes, other_ones, n_rows, logs)
    is_same = overlaps.size == sizes.size == other_sizes.size
    return measure_of(terms, expected, n_rows, is_same, measure, average)


def logarithms(n_rows: int) -> np.ndarray:
    """log n at place n, and 0 at place 0."""
    return np.log(np.maximum(np.arange(n_rows + 1), 1))
