"""Gaussian naive Bayes for many sets of columns that differ from one set by a single column.

The log density of a row is a sum over columns, so a candidate costs one more term for each row and class. All variances
get a share of the largest variance of any column in the set; where a change of the set changes that, the sum is made
afresh.
"""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into


@njit(cache=True, nogil=True)
def fold_moments(X, codes, n_classes, member):
    """Means and variances of each class (folds, classes, columns), of all classes together, and class counts.

    ``member`` (folds, rows) marks the training rows. A class without training rows gets mean 0 and variance 1.
    """
    n_folds, n_rows = member.shape
    n_columns = X.shape[1]
    means, variances = np.zeros((n_folds, n_classes, n_columns)), np.zeros((n_folds, n_classes, n_columns))
    spreads, counts = np.zeros((n_folds, n_columns)), np.zeros((n_folds, n_classes))
    middle = np.empty(n_columns)
    for fold in range(n_folds):
        for row in range(n_rows):
            if member[fold, row]:
                counts[fold, codes[row]] += 1.0
                for column in range(n_columns):
                    means[fold, codes[row], column] += X[row, column]
        total = counts[fold].sum()
        middle[:] = 0.0
        for one in range(n_classes):
            for column in range(n_columns):
                middle[column] += means[fold, one, column] / total
                means[fold, one, column] /= max(counts[fold, one], 1.0)
        for row in range(n_rows):
            if member[fold, row]:
                for column in range(n_columns):
                    gap = X[row, column] - means[fold, codes[row], column]
                    variances[fold, codes[row], column] += gap * gap
                    away = X[row, column] - middle[column]
                    spreads[fold, column] += away * away / total
        for one in range(n_classes):
            for column in range(n_columns):
                if counts[fold, one] == 0:
                    variances[fold, one, column] = 1.0
                else:
                    variances[fold, one, column] /= counts[fold, one]
    return means, variances, spreads, counts


@njit(cache=True, nogil=True, inline="always")
def _log_density(gap, variance):
    """Up to a constant; a column without any variance says nothing."""
    if not variance > 0.0:
        return 0.0
    return -0.5 * (np.log(variance) + gap * gap / variance)


@njit(cache=True, nogil=True)
def _note_densities(x, columns, means, variances, scales, extra, log_shares, logs, sums):
    """Sum of log densities of one row over columns, for each class, into ``sums``; ``logs`` are those of variances."""
    for one in range(sums.shape[0]):
        total = log_shares[one]
        for place in range(columns.shape[0]):
            column = columns[place]
            variance = variances[one, column] + extra
            if variance > 0.0:
                gap = (x[column] - means[one, column]) * scales[column]
                total -= 0.5 * (logs[one, place] + gap * gap / variance)
        sums[one] = total


@njit(cache=True, nogil=True)
def _logs_of(columns, variances, extra):
    logs = np.zeros((variances.shape[0], columns.shape[0]))
    for one in range(variances.shape[0]):
        for place in range(columns.shape[0]):
            variance = variances[one, columns[place]] + extra
            if variance > 0.0:
                logs[one, place] = np.log(variance)
    return logs


@njit(cache=True, nogil=True)
def _largest(values, columns):
    largest = 0.0
    for column in columns:
        largest = max(largest, values[column])
    return largest


@njit(cache=True, nogil=True)
def classes_with(X, queries, starts, moments, scales, log_shares, smoothing, subset, candidates):
    """Class of each query with each candidate added to the subset (candidates, queries).

    ``queries`` are rows, those of the fold f from ``starts[f]`` to ``starts[f + 1]``. ``scales`` (folds, columns)
    multiply the columns; variances and spreads are those of the scaled columns, means are not scaled.
    """
    means, variances, spreads, _ = moments
    n_folds, n_classes = log_shares.shape
    found = np.empty((candidates.shape[0], queries.shape[0]), dtype=np.int32)
    own_sums = np.empty(n_classes)
    for fold in range(n_folds):
        rows = queries[starts[fold] : starts[fold + 1]]
        widest = _largest(spreads[fold], subset)
        extra = smoothing * widest
        logs = _logs_of(subset, variances[fold], extra)
        sums = np.empty((rows.shape[0], n_classes))
        for index in range(rows.shape[0]):
            x = X[rows[index]]
            _note_densities(
                x, subset, means[fold], variances[fold], scales[fold], extra, log_shares[fold], logs, sums[index]
            )
        for index in range(candidates.shape[0]):
            candidate = candidates[index]
            wider = spreads[fold, candidate] > widest
            own_extra = smoothing * spreads[fold, candidate] if wider else extra
            own_logs = _logs_of(subset, variances[fold], own_extra) if wider else logs
            column_logs = _logs_of(candidates[index : index + 1], variances[fold], own_extra)
            for query in range(rows.shape[0]):
                x = X[rows[query]]
                if wider:
                    _note_densities(
                        x, subset, means[fold], variances[fold], scales[fold], own_extra, log_shares[fold], own_logs,
                        own_sums,
                    )  # fmt: skip
                else:
                    copy_into(own_sums, sums[query])
                best, winner = -np.inf, -1
                for one in range(n_classes):
                    value = own_sums[one]
                    variance = variances[fold, one, candidate] + own_extra
                    if variance > 0.0:
                        gap = (x[candidate] - means[fold, one, candidate]) * scales[fold, candidate]
                        value -= 0.5 * (column_logs[one, 0] + gap * gap / variance)
                    if value > best:
                        best, winner = value, one
                found[index, starts[fold] + query] = winner
    return found


@njit(cache=True, nogil=True)
def classes_without(X, queries, starts, moments, scales, log_shares, smoothing, subset, places):
    """The same with the columns at each of these places of the subset taken away, one at a time (places, queries).

    What is left of a row's sum is put together from the columns before the place and those after it.
    """
    means, variances, spreads, _ = moments
    n_folds, n_classes = log_shares.shape
    size = subset.shape[0]
    found = np.empty((places.shape[0], queries.shape[0]), dtype=np.int32)
    after = np.zeros((size + 1, n_classes))
    before = np.zeros((size + 1, n_classes))
    terms = np.empty(size)
    for fold in range(n_folds):
        widest = _largest(spreads[fold], subset)
        # Without the widest column the variances get less: from then on each set has an extra of its own.
        extras = np.full(places.shape[0], smoothing * widest)
        for index in range(places.shape[0]):
            if spreads[fold, subset[places[index]]] == widest:
                rest = np.concatenate((subset[: places[index]], subset[places[index] + 1 :]))
                extras[index] = smoothing * _largest(spreads[fold], rest)
        extra = smoothing * widest
        for query in range(starts[fold], starts[fold + 1]):
            x = X[queries[query]]
            for one in range(n_classes):
                before[0, one] = log_shares[fold, one]
                for place in range(size):
                    column = subset[place]
                    gap = (x[column] - means[fold, one, column]) * scales[fold, column]
                    terms[place] = _log_density(gap, variances[fold, one, column] + extra)
                    before[place + 1, one] = before[place, one] + terms[place]
                for place in range(size - 1, -1, -1):
                    after[place, one] = after[place + 1, one] + terms[place]
            for index in range(places.shape[0]):
                best, winner = -np.inf, -1
                for one in range(n_classes):
                    if extras[index] == extra:
                        value = before[places[index], one] + after[places[index] + 1, one]
                    else:
                        value = log_shares[fold, one]
                        for place in range(size):
                            if place != places[index]:
                                column = subset[place]
                                gap = (x[column] - means[fold, one, column]) * scales[fold, column]
                                value += _log_density(gap, variances[fold, one, column] + extras[index])
                    if value > best:
                        best, winner = value, one
                found[index, query] = winner
    return found
