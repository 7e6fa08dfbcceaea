"""Mutual information from distances to nearest neighbours, along sorted columns.

In one dimension the k nearest neighbours of a value are a window of the sorted column that only moves forward, and
how many values are within a distance is found by steps that double. In two dimensions, rows are dealt into strips of
equally many along one axis, each strip sorted by the other axis; only the strips that can hold a nearer row are
looked at.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _count_within(values, at, radius):
    """How many of the sorted values are within ``radius`` of the one at position ``at``, itself included."""
    here, last = values[at], values.size - 1
    right, step = at, 1
    while right + step <= last and values[right + step] - here <= radius:
        right += step
        step *= 2
    while step > 0:
        if right + step <= last and values[right + step] - here <= radius:
            right += step
        step //= 2
    left, step = at, 1
    while left - step >= 0 and here - values[left - step] <= radius:
        left -= step
        step *= 2
    while step > 0:
        if left - step >= 0 and here - values[left - step] <= radius:
            left -= step
        step //= 2
    return right - left + 1


@njit(cache=True, nogil=True)
def class_information(values, classes, n_classes, n_neighbors, digamma):
    """Information (nats) of one sorted column on the classes of its rows (Ross, 2014).

    The distance to the k-th nearest row of the same class is the radius; what counts is how many rows of any class are
    nearer. Rows that are alone in their class are left out. ``digamma[m]`` is the digamma function of m.
    """
    sizes = np.zeros(n_classes, np.int64)
    for place in range(values.size):
        sizes[classes[place]] += 1
    kept, n_kept = np.empty(values.size), 0
    begins = np.zeros(n_classes + 1, np.int64)
    for code in range(n_classes):
        begins[code + 1] = begins[code] + (sizes[code] if sizes[code] > 1 else 0)
    positions, filled = np.empty(begins[n_classes], np.int64), begins[:-1].copy()
    for place in range(values.size):
        code = classes[place]
        if sizes[code] > 1:
            kept[n_kept] = values[place]
            positions[filled[code]] = n_kept
            filled[code] += 1
            n_kept += 1
    if n_kept == 0:
        return 0.0
    kept = kept[:n_kept]
    total = 0.0
    for code in range(n_classes):
        own = positions[begins[code] : begins[code + 1]]
        size = own.size
        if size == 0:
            continue
        k = min(n_neighbors, size - 1)
        total += size * (digamma[k] - digamma[size])
        low = 0
        for index in range(size):
            here = kept[own[index]]
            low = max(low, index - k)
            while low < index and low + k + 1 < size and kept[own[low + k + 1]] - here < here - kept[own[low]]:
                low += 1
            radius = max(here - kept[own[low]], kept[own[low + k]] - here)
            total -= digamma[_count_within(kept, own[index], np.nextafter(radius, 0.0))]
    return max(0.0, digamma[n_kept] + total / n_kept)


@njit(cache=True, nogil=True)
def class_informations(values, orders, classes, n_classes, n_neighbors, digamma):
    """The same for a block of sorted columns, each a row of ``values``, with the original rows in ``orders``."""
    found = np.empty(values.shape[0])
    in_order = np.empty(values.shape[1], np.int64)
    for column in range(values.shape[0]):
        for place in range(values.shape[1]):
            in_order[place] = classes[orders[column, place]]
        found[column] = class_information(values[column], in_order, n_classes, n_neighbors, digamma)
    return found


@njit(cache=True, nogil=True)
def _note(nearest, distance):
    """Put a distance into the ascending list of the least ones."""
    place = nearest.size - 1
    if distance >= nearest[place]:
        return
    while place > 0 and distance < nearest[place - 1]:
        nearest[place] = nearest[place - 1]
        place -= 1
    nearest[place] = distance


@njit(cache=True, nogil=True)
def _look_along(strip_x, strip_y, start, stop, below, above, x, y, nearest):
    """Note the rows of a strip, going up from ``above`` and down from ``below`` until they are too far in y."""
    furthest = nearest.size - 1
    while above < stop and strip_y[above] - y < nearest[furthest]:
        _note(nearest, max(abs(strip_x[above] - x), strip_y[above] - y))
        above += 1
    while below >= start and y - strip_y[below] < nearest[furthest]:
        _note(nearest, max(abs(strip_x[below] - x), y - strip_y[below]))
        below -= 1


@njit(cache=True, nogil=True)
def number_information(values, order, target, target_order, target_sorted, n_neighbors, digamma):
    """Information (nats) of one column on a target of numbers (Kraskov, Stoegbauer and Grassberger, 2004).

    The distance to the k-th nearest row in the plane, the larger of the two differences, is the radius; what counts is
    how many rows are nearer in the column alone and in the target alone. ``values`` is sorted by ``order``, ``target``
    is by row, and ``target_order`` sorts it.
    """
    n_rows = values.size
    width = max(4, int(np.sqrt(n_neighbors * n_rows)))
    n_strips = (n_rows + width - 1) // width
    rank = np.empty(n_rows, np.int64)
    for place in range(n_rows):
        rank[order[place]] = place
    strip_x, strip_y = np.empty(n_rows), np.empty(n_rows)
    strip_rank, strip_place = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    filled = np.arange(n_strips) * width
    for place in range(n_rows):
        row = target_order[place]
        strip = rank[row] // width
        at = filled[strip]
        strip_x[at], strip_y[at] = values[rank[row]], target[row]
        strip_rank[at], strip_place[at] = rank[row], place
        filled[strip] += 1
    nearest = np.empty(n_neighbors)
    total = 0.0
    for strip in range(n_strips):
        start, stop = strip * width, min((strip + 1) * width, n_rows)
        for at in range(start, stop):
            x, y = strip_x[at], strip_y[at]
            nearest[:] = np.inf
            _look_along(strip_x, strip_y, start, stop, at - 1, at + 1, x, y, nearest)
            other = strip - 1
            while other >= 0 and x - values[(other + 1) * width - 1] < nearest[n_neighbors - 1]:
                begin, end = other * width, (other + 1) * width
                above = begin + np.searchsorted(strip_y[begin:end], y)
                _look_along(strip_x, strip_y, begin, end, above - 1, above, x, y, nearest)
                other -= 1
            other = strip + 1
            while other < n_strips and values[other * width] - x < nearest[n_neighbors - 1]:
                begin, end = other * width, min((other + 1) * width, n_rows)
                above = begin + np.searchsorted(strip_y[begin:end], y)
                _look_along(strip_x, strip_y, begin, end, above - 1, above, x, y, nearest)
                other += 1
            radius = np.nextafter(nearest[n_neighbors - 1], 0.0)
            total += digamma[_count_within(values, strip_rank[at], radius)]
            total += digamma[_count_within(target_sorted, strip_place[at], radius)]
    return max(0.0, digamma[n_rows] + digamma[n_neighbors] - total / n_rows)


@njit(cache=True, nogil=True)
def number_informations(values, orders, target, target_order, target_sorted, n_neighbors, digamma):
    """The same for a block of sorted columns, each a row of ``values``."""
    found = np.empty(values.shape[0])
    for column in range(values.shape[0]):
        found[column] = number_information(
            values[column], orders[column], target, target_order, target_sorted, n_neighbors, digamma
        )
    return found
