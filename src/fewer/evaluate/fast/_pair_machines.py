"""Support vector machines of every pair of classes, from one kernel matrix of all rows.

The machine of two classes, with ``y`` 1 for the first and -1 for the second, solves

    min_a  a'Qa / 2 - 1'a,   Q_ij = y_i y_j K_ij,   y'a = 0,   0 <= a_i <= C_class(i),

by sequential minimal optimisation with second-order working sets and shrinking (Fan, Chen and Lin 2005), step by step
as libsvm does: the kernel in single precision, the same pairs, the same tolerance, the same place of a tie. In place
of the gradient G there is ``F = -y G = y - K (y a)``, whose update needs no signs. The kernel is 1 on its diagonal.
"""

import numpy as np
from numba import njit

_LEAST_CURVATURE = 1e-12  # libsvm's TAU
_MOST_BETWEEN_SHRINKINGS = 1000
# Squares of differences of so many rows at a time are exponentiated at once.
BLOCK = 64


@njit(cache=True, nogil=True)
def add_squares(left, right, whole, distances):
    """Add squared differences of columns (n_columns, n_rows) to distances, up to the block of the diagonal or all."""
    n_right = right.shape[1]
    for i in range(left.shape[1]):
        stop = n_right if whole else min(n_right, (i // BLOCK + 1) * BLOCK)
        row = distances[i]
        for column in range(len(left)):
            value, others = left[column, i], right[column]
            for j in range(stop):
                difference = others[j] - value
                row[j] += difference * difference


@njit(cache=True, nogil=True)
def pair_machines(kernel, starts, penalties, tolerance, shrinking, weights, offsets):
    """Fill ``y a`` of each row in the machine with each other class (n_rows, n_classes - 1), and offsets by pair.

    The kernel is of rows ordered by their class; those of class c are from ``starts[c]`` to ``starts[c + 1]``.
    """
    n_classes = len(penalties)
    sizes = np.sort(np.diff(starts))
    cells = np.empty((sizes[-1] + sizes[-2]) ** 2, dtype=np.float32)
    pair = 0
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            n_first = starts[first + 1] - starts[first]
            n_second = starts[second + 1] - starts[second]
            rows = np.empty(n_first + n_second, dtype=np.int64)
            rows[:n_first] = np.arange(starts[first], starts[first + 1])
            rows[n_first:] = np.arange(starts[second], starts[second + 1])
            signs = np.ones(len(rows))
            signs[n_first:] = -1.0
            bounds = np.full(len(rows), penalties[first])
            bounds[n_first:] = penalties[second]
            alphas = np.zeros(len(rows))
            offsets[pair] = _solve(kernel, rows, signs, bounds, alphas, cells, tolerance, shrinking)
            for k in range(len(rows)):
                weights[rows[k], second - 1 if signs[k] > 0 else first] = signs[k] * alphas[k]
            pair += 1


@njit(cache=True, nogil=True)
def _solve(kernel, rows, signs, bounds, alphas, cells, tolerance, shrinking):
    """Change alphas, and the order of all, to the solution; the offset that is subtracted from ``K (y a)``."""
    n = len(rows)
    F = signs.copy()
    # 0 where y a may rise, or fall, and infinite elsewhere.
    rise, fall = np.where(signs > 0, 0.0, np.inf), np.where(signs > 0, np.inf, 0.0)
    # Rows of the kernel in the order of the machine, taken when they are first needed.
    taken, is_taken = cells[: n * n].reshape((n, n)), np.zeros(n, dtype=np.bool_)
    active, unshrunk = n, False
    counter = min(n, _MOST_BETWEEN_SHRINKINGS) + 1
    while True:
        counter -= 1
        if counter == 0:
            counter = min(n, _MOST_BETWEEN_SHRINKINGS)
            if shrinking:
                active, unshrunk = _shrink(
                    kernel, rows, signs, bounds, alphas, F, rise, fall, is_taken, active, unshrunk, tolerance
                )
        i, j = _working_set(kernel, rows, F, rise, fall, taken, is_taken, active, tolerance)
        if j < 0:
            _restore(kernel, rows, signs, alphas, F, active)
            active = n
            i, j = _working_set(kernel, rows, F, rise, fall, taken, is_taken, active, tolerance)
            if j < 0:
                return _offset(F, rise, fall)
            counter = 1
        _take(kernel, rows, taken, is_taken, j)
        before_i, before_j = alphas[i], alphas[j]
        _step(alphas, signs, bounds, F, taken[i, j], i, j)
        change_i, change_j = signs[i] * (alphas[i] - before_i), signs[j] * (alphas[j] - before_j)
        kernel_i, kernel_j = taken[i], taken[j]
        for k in range(active):
            F[k] -= kernel_i[k] * change_i + kernel_j[k] * change_j
        for k in (i, j):
            at_bound, at_zero = alphas[k] >= bounds[k], alphas[k] <= 0 and alphas[k] < bounds[k]
            if signs[k] < 0:
                at_bound, at_zero = at_zero, at_bound
            rise[k], fall[k] = np.inf if at_bound else 0.0, np.inf if at_zero else 0.0


@njit(cache=True, nogil=True)
def _take(kernel, rows, taken, is_taken, i):
    if is_taken[i]:
        return
    source, target = kernel[rows[i]], taken[i]
    for k in range(len(rows)):
        target[k] = source[rows[k]]
    is_taken[i] = True


# Of numbers without NaN, the largest is found several at a time; all other arithmetic is as it is written.
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _working_set(kernel, rows, F, rise, fall, taken, is_taken, active, tolerance):
    """The row with the largest F that may rise, and that whose fall lowers the objective most; -1 at the solution."""
    largest = -np.inf
    for k in range(active):
        largest = max(largest, F[k] - rise[k])
    if largest == -np.inf:
        return -1, -1
    i = active - 1
    while F[i] - rise[i] != largest:
        i -= 1
    _take(kernel, rows, taken, is_taken, i)
    kernel_i = taken[i]
    j, smallest, best = -1, np.inf, np.inf
    for k in range(active):
        if fall[k] == 0:
            smallest = min(smallest, F[k])
            difference = largest - F[k]
            if difference > 0:
                curvature = 2.0 - 2.0 * kernel_i[k]
                change = -(difference * difference) / (curvature if curvature > 0 else _LEAST_CURVATURE)
                if change <= best:
                    j, best = k, change
    if largest - smallest < tolerance:
        return -1, -1
    return i, j


@njit(cache=True, nogil=True)
def _step(alphas, signs, bounds, F, kernel_ij, i, j):
    """Solve for two alphas, inside their bounds."""
    curvature = 2.0 - 2.0 * kernel_ij
    if curvature <= 0:
        curvature = _LEAST_CURVATURE
    gradient_i, gradient_j = -signs[i] * F[i], -signs[j] * F[j]
    if signs[i] != signs[j]:
        change = (-gradient_i - gradient_j) / curvature
        difference = alphas[i] - alphas[j]
        alphas[i] += change
        alphas[j] += change
        if difference > 0:
            if alphas[j] < 0:
                alphas[i], alphas[j] = difference, 0.0
        elif alphas[i] < 0:
            alphas[i], alphas[j] = 0.0, -difference
        if difference > bounds[i] - bounds[j]:
            if alphas[i] > bounds[i]:
                alphas[i], alphas[j] = bounds[i], bounds[i] - difference
        elif alphas[j] > bounds[j]:
            alphas[i], alphas[j] = bounds[j] + difference, bounds[j]
    else:
        change = (gradient_i - gradient_j) / curvature
        total = alphas[i] + alphas[j]
        alphas[i] -= change
        alphas[j] += change
        if total > bounds[i]:
            if alphas[i] > bounds[i]:
                alphas[i], alphas[j] = bounds[i], total - bounds[i]
        elif alphas[j] < 0:
            alphas[i], alphas[j] = total, 0.0
        if total > bounds[j]:
            if alphas[j] > bounds[j]:
                alphas[i], alphas[j] = total - bounds[j], bounds[j]
        elif alphas[i] < 0:
            alphas[i], alphas[j] = 0.0, total


@njit(cache=True, nogil=True)
def _restore(kernel, rows, signs, alphas, F, active):
    """F of the rows that are not active."""
    n = len(rows)
    if active == n:
        return
    F[active:] = signs[active:]
    for i in range(n):
        if alphas[i] != 0:
            source, weight = kernel[rows[i]], signs[i] * alphas[i]
            for k in range(active, n):
                F[k] -= weight * source[rows[k]]


@njit(cache=True, nogil=True)
def _shrink(kernel, rows, signs, bounds, alphas, F, rise, fall, is_taken, active, unshrunk, tolerance):
    """Move rows that are at a bound, and likely to stay there, behind the active ones."""
    largest, smallest = -np.inf, np.inf
    for k in range(active):
        largest, smallest = max(largest, F[k] - rise[k]), min(smallest, F[k] + fall[k])
    if not unshrunk and largest - smallest <= 10 * tolerance:
        unshrunk = True
        _restore(kernel, rows, signs, alphas, F, active)
        active = len(rows)
    moved = False
    i = 0
    while i < active:
        if _is_out(F[i], rise[i], fall[i], largest, smallest):
            active -= 1
            while active > i:
                if not _is_out(F[active], rise[active], fall[active], largest, smallest):
                    for values in (signs, bounds, alphas, F, rise, fall):
                        values[i], values[active] = values[active], values[i]
                    rows[i], rows[active] = rows[active], rows[i]
                    moved = True
                    break
                active -= 1
        i += 1
    if moved:
        is_taken[:] = False
    return active, unshrunk


@njit(cache=True, nogil=True)
def _is_out(value, rise, fall, largest, smallest):
    """Whether a row at a bound is beyond all that could change with it."""
    return (rise > 0 and value > largest) or (fall > 0 and value < smallest)


@njit(cache=True, nogil=True)
def _offset(F, rise, fall):
    n_free, total, above, below = 0, 0.0, np.inf, -np.inf
    for k in range(len(F)):
        if rise[k] == 0 and fall[k] == 0:
            n_free += 1
            total -= F[k]
        elif rise[k] == 0:
            above = min(above, -F[k])
        else:
            below = max(below, -F[k])
    return total / n_free if n_free else (above + below) / 2
