"""Least-squares fits without the rows of one fold, for many targets with folds of their own.

With ``M = I - H`` (H the hat matrix of all rows), the residuals of the rows F under the fit without them are
``M_FF^{-1} (M Y)_F``, and the fit without them has the residual products ``Y'MY - (MY)_F' M_FF^{-1} (MY)_F``. With
few columns the normal equations ``(G - G_F) B = Z'Y - Z_F'Y_F`` are smaller than M_FF.
"""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into


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
