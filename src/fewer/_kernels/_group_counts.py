"""Classes within groups of rows that agree, for groups that one more column splits.

Rows are put in order of (group, code of the column) by two counting sorts, so that every new group is a run of rows:
O(rows) for each column, whatever the number of values and of groups.
"""

import numpy as np
from numba import njit

CONFLICTS, CLASS_BITS, MINORITY, LABEL_BITS = range(4)


@njit(cache=True, nogil=True)
def _order_by(keys, n_keys, rows, ordered, starts):
    """Put ``rows`` in the order of their keys; rows with equal keys stay in their order."""
    starts[: n_keys + 1] = 0
    for row in rows:
        starts[keys[row] + 1] += 1
    for key in range(n_keys):
        starts[key + 1] += starts[key]
    for row in rows:
        ordered[starts[keys[row]]] = row
        starts[keys[row]] += 1


@njit(cache=True, nogil=True)
def split_groups(groups, n_groups, codes, n_codes, split):
    """Number the groups of rows that agree in group and code, into ``split``; returns how many there are."""
    n_rows = groups.shape[0]
    by_code, by_both = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    starts = np.empty(max(n_groups, n_codes) + 1, np.int64)
    _order_by(codes, n_codes, np.arange(n_rows).astype(np.int32), by_code, starts)
    _order_by(groups, n_groups, by_code, by_both, starts)
    count = 0
    for place in range(n_rows):
        row = by_both[place]
        if place > 0:
            before = by_both[place - 1]
            if groups[row] != groups[before] or codes[row] != codes[before]:
                count += 1
        split[row] = count
    return count + 1


@njit(cache=True, nogil=True)
def split_summaries(groups, n_groups, codes, n_codes, candidates, classes, n_classes, x_log_x, log_factorial):
    """What the groups look like after each candidate column has split them.

    ``codes`` is (columns, rows). With ``m`` rows in a group, ``m_c`` of them of class c, the four numbers for each
    candidate are sums over groups of: pairs of rows of different classes; ``m log2 m - sum_c m_c log2 m_c``; ``m - max
    m_c``; and ``log2 (m + C - 1)! - log2 (C - 1)! - sum_c log2 m_c!``. The tables hold ``x log2 x`` and ``log2 x!``.
    """
    n_rows = groups.shape[0]
    summaries = np.zeros((candidates.shape[0], 4))
    every_row = np.arange(n_rows).astype(np.int32)
    by_code, by_both = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    counts = np.zeros(n_classes, np.int64)
    for index in range(candidates.shape[0]):
        column = codes[candidates[index]]
        starts = np.empty(max(n_groups, n_codes[candidates[index]]) + 1, np.int64)
        _order_by(column, n_codes[candidates[index]], every_row, by_code, starts)
        _order_by(groups, n_groups, by_code, by_both, starts)
        first = 0
        while first < n_rows:
            group, code = groups[by_both[first]], column[by_both[first]]
            last = first
            while last < n_rows and groups[by_both[last]] == group and column[by_both[last]] == code:
                counts[classes[by_both[last]]] += 1
                last += 1
            size, largest, same_pairs = last - first, 0, 0
            class_bits, label_bits = x_log_x[size], log_factorial[size + n_classes - 1] - log_factorial[n_classes - 1]
            for place in range(first, last):
                one = classes[by_both[place]]
                count = counts[one]
                if count > 0:  # each class once
                    counts[one] = 0
                    largest = max(largest, count)
                    same_pairs += count * (count - 1)
                    class_bits -= x_log_x[count]
                    label_bits -= log_factorial[count]
            summaries[index, CONFLICTS] += (size * (size - 1) - same_pairs) / 2
            summaries[index, CLASS_BITS] += class_bits
            summaries[index, MINORITY] += size - largest
            summaries[index, LABEL_BITS] += label_bits
            first = last
    return summaries
