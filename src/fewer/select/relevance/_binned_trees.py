"""Kernels for importances of the columns of a binned table in trees, without keeping the trees.

Each value is replaced by the number of its bin, in one byte. Equal values share a bin. A column with no more distinct
values than bins keeps them all apart; any other is cut into bins of about as many rows each.

At every node some columns are drawn and the best cut of any of them is taken. The impurity is the variance of the
target, or Gini's index of the classes; for two classes these are the same. Cuts are found from sums over bins, in one
pass over the rows and one over the bins.
"""

import numpy as np
from numba import njit

from fewer._kernels._arrays import copy_into
from fewer._kernels._draws import distinct_bootstrap_rows, draw_below


def binned_columns(X: np.ndarray, n_bins: int) -> np.ndarray:
    """Bins (n_columns, n_rows) of a finite dense table; ``n_bins`` is at most 256."""
    bins = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    for column in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, column])
        _fill_bins(values, np.argsort(values), n_bins, bins[column])
    return bins


@njit(cache=True, nogil=True)
def _fill_bins(values, order, n_bins, out):
    n_rows = order.size
    n_distinct = 1
    for place in range(1, n_rows):
        n_distinct += values[order[place]] != values[order[place - 1]]
    level = first = 0
    for place in range(n_rows):
        if place > 0 and values[order[place]] != values[order[place - 1]]:
            level, first = level + 1, place
        out[order[place]] = level if n_distinct <= n_bins else first * n_bins // n_rows


@njit(cache=True, nogil=True)
def _best_cut_by_sums(bins, rows, weights, products, size, total, min_leaf, sizes, sums):
    """Best ``s_L^2 / n_L + s_R^2 / n_R`` over the cuts of a column, and the last bin on its left; -1 for no cut."""
    lowest, highest = 255, 0
    for row in rows:
        at = int(bins[row])
        sizes[at] += weights[row]
        sums[at] += products[row]
        lowest = at if at < lowest else lowest
        highest = at if at > highest else highest
    best, cut = -1.0, -1
    n_left, left = 0.0, 0.0
    for at in range(lowest, highest):
        if sizes[at] == 0:
            continue
        n_left += sizes[at]
        left += sums[at]
        n_right = size - n_left
        if n_left >= min_leaf and n_right >= min_leaf:
            value = left * left / n_left + (total - left) * (total - left) / n_right
            if value > best:
                best, cut = value, at
    sizes[lowest : highest + 1] = 0
    sums[lowest : highest + 1] = 0.0
    return best, cut


@njit(cache=True, nogil=True)
def _best_cut_by_classes(bins, rows, weights, codes, size, counts, min_leaf, table, left):
    """The same for the sum of squared class counts."""
    n_classes = counts.size
    lowest, highest = 255, 0
    for row in rows:
        at = int(bins[row])
        table[at, codes[row]] += weights[row]
        lowest = at if at < lowest else lowest
        highest = at if at > highest else highest
    best, cut = -1.0, -1
    n_left = 0.0
    left[:] = 0
    for at in range(lowest, highest):
        here = 0.0
        for label in range(n_classes):
            here += table[at, label]
            left[label] += table[at, label]
        if here == 0:
            continue
        n_left += here
        n_right = size - n_left
        if n_left >= min_leaf and n_right >= min_leaf:
            of_left = of_right = 0.0
            for label in range(n_classes):
                of_left += left[label] * left[label]
                of_right += (counts[label] - left[label]) * (counts[label] - left[label])
            value = of_left / n_left + of_right / n_right
            if value > best:
                best, cut = value, at
    table[lowest : highest + 1] = 0
    return best, cut


@njit(cache=True, nogil=True)
def _partition(bins, cut, rows, scratch):
    """Put the rows up to a bin first, in place; returns how many they are."""
    n_left = n_right = 0
    for place in range(rows.size):
        row = rows[place]
        if bins[row] <= cut:
            rows[n_left] = row
            n_left += 1
        else:
            scratch[n_right] = row
            n_right += 1
    copy_into(rows[n_left:], scratch[:n_right])
    return n_left


@njit(cache=True, nogil=True)
def tree_importances(bins, shadows, active, target, codes, weights, n_classes, n_draws, max_depth, min_leaf, seed):
    """Decrease of impurity by each active column and then by each shadow, in one tree.

    ``bins`` (n_columns, n_rows) are the columns, of which those in ``active`` take part, ``shadows`` further ones. With
    more than two classes, the integers ``codes`` are the target, else the centred numbers ``target``. Sizes are
    sums of ``weights``.
    """
    state = np.array([seed], dtype=np.uint64)
    n_rows = bins.shape[1]
    rows = distinct_bootstrap_rows(n_rows, state)
    n_columns = active.size + shadows.shape[0]
    importances = np.zeros(n_columns)
    draws = np.arange(n_columns)
    by_classes = n_classes > 2
    sizes, sums, products = np.zeros(256), np.zeros(256), target * weights
    table = np.zeros((256 if by_classes else 1, max(n_classes, 1)))
    counts, left = np.zeros(max(n_classes, 1)), np.zeros(max(n_classes, 1))
    scratch = np.empty_like(rows)
    everything = 0.0
    for row in rows:
        everything += weights[row]

    # Nodes still to be split: where their rows start and stop, their depth, and how many of the columns at the front of
    # ``draws`` are known to be constant in them.
    waiting = [(0, rows.size, 0, 0)]
    while len(waiting) > 0:
        start, stop, depth, n_constant = waiting.pop()
        here = rows[start:stop]
        size = 0.0
        for row in here:
            size += weights[row]
        if depth >= max_depth or size < 2 * min_leaf:
            continue
        total, squares = 0.0, 0.0
        if by_classes:
            counts[:] = 0
            for row in here:
                counts[codes[row]] += weights[row]
            for label in range(n_classes):
                squares += counts[label] * counts[label]
            base, pure = squares / size, squares >= size * size * (1 - 1e-12)
        else:
            for row in here:
                total += products[row]
                squares += products[row] * target[row]
            base = total * total / size
            pure = squares - base <= 1e-12 * squares
        if pure:
            continue
        best, best_cut, best_column = base, -1, -1
        place = n_constant
        n_tried = 0
        while place < n_columns and n_tried < n_draws:
            other = place + draw_below(state, n_columns - place)
            column = draws[other]
            draws[other], draws[place] = draws[place], column
            values = bins[active[column]] if column < active.size else shadows[column - active.size]
            if by_classes:
                value, cut = _best_cut_by_classes(values, here, weights, codes, size, counts, min_leaf, table, left)
            else:
                value, cut = _best_cut_by_sums(values, here, weights, products, size, total, min_leaf, sizes, sums)
            if cut < 0:
                draws[place], draws[n_constant] = draws[n_constant], column
                n_constant += 1
            else:
                n_tried += 1
                if value > best:
                    best, best_cut, best_column = value, cut, column
            place += 1
        if best_cut < 0:
            continue
        importances[best_column] += best - base
        values = bins[active[best_column]] if best_column < active.size else shadows[best_column - active.size]
        n_left = _partition(values, best_cut, here, scratch)
        waiting.append((start + n_left, stop, depth + 1, n_constant))
        waiting.append((start, start + n_left, depth + 1, n_constant))
    return importances / everything
