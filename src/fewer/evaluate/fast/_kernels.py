"""Kernels of the closed forms.

Least-squares fits without the rows of one fold, for many targets with folds of their own. With ``M = I - H`` (H the hat
matrix of all rows), the residuals of the rows F under the fit without them are ``M_FF^{-1} (M Y)_F``, and the fit
without them has the residual products ``Y'MY - (MY)_F' M_FF^{-1} (MY)_F``. With few columns the normal equations
``(G - G_F) B = Z'Y - Z_F'Y_F`` are smaller than M_FF.

Votes of the nearest neighbours outside a row's own fold, for many labellings at once. Neighbours do not depend on
labels. They are sorted once; for each labelling and its folds a walk along the sorted list skips the row's own fold and
collects the first k labels.

Nearest neighbours for a path of column sets: each set is the one before and some columns more, or starts afresh. The
squared distances of one query to all rows stay in the cache while the columns come in one by one.
"""

import numpy as np
from numba import njit

from fewer._kernels._arrays import copy_into


@njit(cache=True, nogil=True)
def _cholesky(a, size):
    """Lower factor in place; returns the log determinant, or -inf when a pivot is not positive."""
    log_det = 0.0
    for j in range(size):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        if not pivot > 0.0:
            return -np.inf
        pivot = np.sqrt(pivot)
        log_det += 2.0 * np.log(pivot)
        a[j, j] = pivot
        for i in range(j + 1, size):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / pivot
    return log_det


@njit(cache=True, nogil=True)
def _solve(factor, size, b, n_targets):
    """Solve in place, given the lower factor."""
    for t in range(n_targets):
        for i in range(size):
            total = b[i, t]
            for k in range(i):
                total -= factor[i, k] * b[k, t]
            b[i, t] = total / factor[i, i]
        for i in range(size - 1, -1, -1):
            b[i, t] /= factor[i, i]
            value = b[i, t]
            for k in range(i):
                b[k, t] -= factor[i, k] * value


@njit(cache=True, nogil=True)
def _grouped(folds, n_folds, start, members):
    """Rows of each fold, one fold after the other; ``start`` marks where each begins."""
    start[:] = 0
    for row in range(folds.shape[0]):
        if folds[row] >= 0:
            start[folds[row] + 1] += 1
    for fold in range(n_folds):
        start[fold + 1] += start[fold]
    filled = start[:-1].copy()
    for row in range(folds.shape[0]):
        if folds[row] >= 0:
            members[filled[folds[row]]] = row
            filled[folds[row]] += 1


@njit(cache=True, nogil=True)
def left_out_by_residuals(M, MY, Y, folds, n_folds, keep_factors, fitted, explained, log_dets):
    """Fitted values of left-out rows from the residual matrix M, for many targets.

    ``Y`` and ``MY`` have the shape (n_labellings, n_rows, n_targets); ``folds`` (n_labellings, n_rows). Fills
    ``fitted`` like Y, ``explained`` with ``MY_F' M_FF^{-1} MY_F`` for each labelling and fold, and ``log_dets`` with
    that of M_FF. With ``keep_factors`` the folds are the same for all labellings, and M_FF is factorised once.
    """
    n_labellings, n_rows, n_targets = Y.shape
    start = np.zeros(n_folds + 1, dtype=np.int64)
    members = np.empty(n_rows, dtype=np.int64)
    if keep_factors:
        _grouped(folds[0], n_folds, start, members)
        for fold in range(n_folds):
            rows = members[start[fold] : start[fold + 1]]
            size = rows.shape[0]
            a = np.empty((size, size))
            for i in range(size):
                for j in range(size):
                    a[i, j] = M[rows[i], rows[j]]
            log_det = _cholesky(a, size)
            b = np.empty((size, n_targets))
            for labelling in range(n_labellings):
                _left_out(a, log_det, b, rows, MY, Y, labelling, fold, fitted, explained, log_dets)
        return
    for labelling in range(n_labellings):
        _grouped(folds[labelling], n_folds, start, members)
        for fold in range(n_folds):
            rows = members[start[fold] : start[fold + 1]]
            size = rows.shape[0]
            a = np.empty((size, size))
            for i in range(size):
                for j in range(i + 1):
                    a[i, j] = M[rows[i], rows[j]]
            b = np.empty((size, n_targets))
            _left_out(a, _cholesky(a, size), b, rows, MY, Y, labelling, fold, fitted, explained, log_dets)


@njit(cache=True, nogil=True)
def _left_out(factor, log_det, b, rows, MY, Y, labelling, fold, fitted, explained, log_dets):
    log_dets[labelling, fold] = log_det
    if log_det == -np.inf:
        return
    size, n_targets = b.shape
    for i in range(size):
        for t in range(n_targets):
            b[i, t] = MY[labelling, rows[i], t]
    _solve(factor, size, b, n_targets)
    for i in range(size):
        for t in range(n_targets):
            fitted[labelling, rows[i], t] = Y[labelling, rows[i], t] - b[i, t]
            for s in range(n_targets):
                explained[labelling, fold, s, t] += MY[labelling, rows[i], s] * b[i, t]


@njit(cache=True, nogil=True)
def left_out_by_normal_equations(Z, G, ZY, Y, folds, n_folds, keep_factors, fitted, explained, log_dets):
    """Fitted values of left-out rows from the normal equations, for many targets.

    ``Z`` holds the columns (n_rows, n_columns), ``G`` is ``Z'Z`` plus the penalty, ``ZY`` (n_labellings, n_columns,
    n_targets) is ``Z'Y``. Fills ``fitted`` like Y, ``explained`` with ``B'(G - G_F)B`` for each labelling and fold,
    and ``log_dets`` with that of ``G - G_F``.
    """
    n_labellings, n_rows, n_targets = Y.shape
    n_columns = Z.shape[1]
    start = np.zeros(n_folds + 1, dtype=np.int64)
    members = np.empty(n_rows, dtype=np.int64)
    factors = np.empty((n_folds if keep_factors else 1, n_columns, n_columns))
    kept_log_dets = np.empty(n_folds)
    right = np.empty((n_columns, n_targets))
    solution = np.empty((n_columns, n_targets))
    for labelling in range(n_labellings):
        if labelling == 0 or not keep_factors:
            _grouped(folds[labelling], n_folds, start, members)
        for fold in range(n_folds):
            rows = members[start[fold] : start[fold + 1]]
            slot = fold if keep_factors else 0
            if labelling == 0 or not keep_factors:
                left = Z[rows]
                products = np.dot(left.T, left)
                for i in range(n_columns):
                    for k in range(n_columns):
                        factors[slot, i, k] = G[i, k] - products[i, k]
                kept_log_dets[fold] = _cholesky(factors[slot], n_columns)
            log_dets[labelling, fold] = kept_log_dets[fold]
            if kept_log_dets[fold] == -np.inf:
                continue
            for c in range(n_columns):
                copy_into(right[c], ZY[labelling, c])
            for i in range(rows.shape[0]):
                for t in range(n_targets):
                    value = Y[labelling, rows[i], t]
                    if value != 0.0:
                        for c in range(n_columns):
                            right[c, t] -= Z[rows[i], c] * value
            for c in range(n_columns):
                copy_into(solution[c], right[c])
            _solve(factors[slot], n_columns, solution, n_targets)
            for s in range(n_targets):
                for t in range(n_targets):
                    total = 0.0
                    for c in range(n_columns):
                        total += right[c, s] * solution[c, t]
                    explained[labelling, fold, s, t] = total
            for i in range(rows.shape[0]):
                for t in range(n_targets):
                    total = 0.0
                    for c in range(n_columns):
                        total += Z[rows[i], c] * solution[c, t]
                    fitted[labelling, rows[i], t] = total


@njit(cache=True, nogil=True)
def neighbour_votes(order, distances, slack, labels, folds, n_neighbors, by_distance, n_classes, predicted, unsure):
    """Fill ``predicted`` and ``unsure``, both of one row for each labelling.

    Parameters
    ----------
    order, distances, slack : arrays of shape (n_rows, n_listed)
        Neighbours of each row from near to far (not itself), their distances, and the difference of distances
        that rounding may hide.
    labels, folds : int arrays of shape (n_labellings, n_rows)
        A row in fold -1 is never predicted, but votes.
    by_distance : bool
        Weigh votes by the inverse of the distance instead of equally.
    predicted : int array of shape (n_labellings, n_rows)
        The class with most votes, the first of them when several have.
    unsure : bool array of shape (n_labellings, n_rows)
        True where equal distances or equal votes leave the answer to the order of the rows.
    """
    n_rows, n_listed = order.shape
    votes = np.zeros(n_classes)
    for labelling in range(labels.shape[0]):
        own_labels = labels[labelling]
        own_folds = folds[labelling]
        for row in range(n_rows):
            if own_folds[row] < 0:
                continue
            votes[:] = 0.0
            found = 0
            last = -1
            at = 0
            exact = False
            while at < n_listed and found < n_neighbors:
                neighbour = order[row, at]
                if own_folds[neighbour] != own_folds[row]:
                    label = own_labels[neighbour]
                    distance = distances[row, at]
                    if not by_distance:
                        votes[label] += 1.0
                    elif distance == 0.0:
                        if not exact:  # rows at distance zero outvote all others
                            votes[:] = 0.0
                            exact = True
                        votes[label] += 1.0
                    elif not exact:
                        votes[label] += 1.0 / distance
                    found += 1
                    last = at
                at += 1
            doubt = found < n_neighbors
            if not doubt:
                # Rows as far as the last one: if their labels differ, which of them vote is a matter of order.
                edge = distances[row, last]
                tied_label = own_labels[order[row, last]]
                mixed = False
                back = last - 1
                while back >= 0 and edge - distances[row, back] <= slack[row, last]:
                    neighbour = order[row, back]
                    if own_folds[neighbour] != own_folds[row] and own_labels[neighbour] != tied_label:
                        mixed = True
                    back -= 1
                ahead = last + 1
                more = False
                while ahead < n_listed and distances[row, ahead] - edge <= slack[row, last]:
                    neighbour = order[row, ahead]
                    if own_folds[neighbour] != own_folds[row]:
                        more = True
                        if own_labels[neighbour] != tied_label:
                            mixed = True
                    ahead += 1
                beyond = ahead == n_listed and n_listed < n_rows - 1
                doubt = (more and mixed) or beyond
            best = 0
            for label in range(1, n_classes):
                if votes[label] > votes[best]:
                    best = label
            if by_distance:
                for label in range(n_classes):
                    if label != best and votes[best] - votes[label] <= 1e-9 * votes[best]:
                        doubt = True
            predicted[labelling, row] = best
            unsure[labelling, row] = doubt


@njit(cache=True, nogil=True)
def _add_column(distances, column, at):
    for row in range(distances.size):
        gap = at - column[row]
        distances[row] += gap * gap


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _smallest(values):
    least = np.inf
    for place in range(values.size):
        least = values[place] if values[place] < least else least
    return least


@njit(cache=True, nogil=True)
def _note_nearest(distances, nearest, nearest_distances):
    """Fill in the nearest rows, nearest first; of equal distances, the row that comes first in the table."""
    wanted = nearest.size
    if wanted == 1:
        least = _smallest(distances)
        row = 0
        while row < distances.size - 1 and distances[row] != least:
            row += 1
        nearest[0] = row
        nearest_distances[0] = least
        return
    nearest_distances[:] = np.inf
    nearest[:] = 0
    for row in range(distances.size):
        distance = distances[row]
        if distance >= nearest_distances[wanted - 1]:
            continue
        place = wanted - 1
        while place > 0 and distance < nearest_distances[place - 1]:
            nearest_distances[place] = nearest_distances[place - 1]
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest_distances[place] = distance
        nearest[place] = row


@njit(cache=True, nogil=True)
def path_neighbours(train_columns, queries, columns, stops, afresh, n_neighbors):
    """Nearest training rows of every query for every set on the path, and their squared distances.

    ``train_columns`` is (columns, rows) and ``queries`` (queries, columns). Set s adds the columns
    ``columns[stops[s - 1]:stops[s]]``, to nothing where ``afresh[s]``. The results are (sets, queries, neighbours).
    """
    n_sets, n_queries = stops.size, queries.shape[0]
    nearest = np.empty((n_sets, n_queries, n_neighbors), dtype=np.int64)
    nearest_distances = np.empty((n_sets, n_queries, n_neighbors))
    distances = np.empty(train_columns.shape[1])
    for query in range(n_queries):
        distances[:] = 0.0
        start = 0
        for member in range(n_sets):
            if afresh[member]:
                distances[:] = 0.0
            for place in range(start, stops[member]):
                column = columns[place]
                _add_column(distances, train_columns[column], queries[query, column])
            start = stops[member]
            _note_nearest(distances, nearest[member, query], nearest_distances[member, query])
    return nearest, nearest_distances
