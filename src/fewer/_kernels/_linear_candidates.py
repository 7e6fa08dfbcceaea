"""Predictions of linear rules after a change of one column, for many candidate columns at once.

A column more or less moves the prediction of a row by its partial column (what the other columns do not explain of it)
times a coefficient, so that a candidate costs O(1) for each row and class.
"""

import numpy as np
from numba import njit

# A row that is left out of its own fit has no prediction by this formula when the fit hangs on that row alone.
_NO_LEVERAGE_LEFT = 1e-10


@njit(cache=True, nogil=True)
def hits_after(decisions, shifts, coefficients, offsets, classes):
    """Rows whose own class has the highest decision value after the change; of equals the first class.

    ``decisions`` is (rows, classes) before the change; ``shifts`` (rows, candidates); ``coefficients`` and ``offsets``
    (candidates, classes).
    """
    n_rows, n_candidates = shifts.shape
    n_classes = decisions.shape[1]
    hits = np.zeros(n_candidates)
    for row in range(n_rows):
        own = classes[row]
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            best, winner = -np.inf, -1
            for one in range(n_classes):
                value = decisions[row, one] + shift * coefficients[candidate, one] + offsets[candidate, one]
                if value > best:
                    best, winner = value, one
            if winner == own:
                hits[candidate] += 1.0
    return hits


@njit(cache=True, nogil=True)
def squared_errors_after(residuals, shifts, coefficients):
    """Sum of squared residuals after the change, for each candidate."""
    n_rows, n_candidates = shifts.shape
    errors = np.zeros(n_candidates)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            residual = residuals[row] - shifts[row, candidate] * coefficients[candidate]
            errors[candidate] += residual * residual
    return errors


@njit(cache=True, nogil=True)
def left_out_hits(targets, residuals, leverage_left, shifts, coefficients, inverses, classes):
    """Rows that get their own class from the least-squares fit without them; NaN where a fit hangs on one row.

    ``targets`` and ``residuals`` are (rows, targets): a single target tells class 1 from class 0 by its sign, several
    stand for a class each, of which the highest wins. ``leverage_left`` is ``1 - h``.
    """
    n_rows, n_candidates = shifts.shape
    n_targets = targets.shape[1]
    hits = np.zeros(n_candidates)
    for row in range(n_rows):
        own = classes[row]
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            left = leverage_left[row] - shift * shift * inverses[candidate]
            if not left > _NO_LEVERAGE_LEFT:
                hits[candidate] = np.nan
                continue
            best, winner = (0.0, 0) if n_targets == 1 else (-np.inf, -1)
            for target in range(n_targets):
                residual = (residuals[row, target] - shift * coefficients[candidate, target]) / left
                value = targets[row, target] - residual
                if value > best:
                    best, winner = value, (1 if n_targets == 1 else target)
            if winner == own:
                hits[candidate] += 1.0
    return hits


@njit(cache=True, nogil=True)
def left_out_squared_errors(residuals, leverage_left, shifts, coefficients, inverses):
    """Sum of squared residuals of rows under the fit without them; NaN where a fit hangs on one row."""
    n_rows, n_candidates = shifts.shape
    errors = np.zeros(n_candidates)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            left = leverage_left[row] - shift * shift * inverses[candidate]
            if left > _NO_LEVERAGE_LEFT:
                residual = (residuals[row] - shift * coefficients[candidate]) / left
                errors[candidate] += residual * residual
            else:
                errors[candidate] = np.nan
    return errors


@njit(cache=True, nogil=True)
def left_out_discriminant_hits(distances, products, places, centres, inverses, classes, sizes, log_shares):
    """Rows that linear discriminant analysis without them puts into their own class; NaN where that hangs on one row.

    In the metric of the scatter W within classes, and for row i of class g with deviation ``d = x_i - m_g``:
    ``distances`` holds ``|x_i - m_k|^2`` and ``products`` ``<d, x_i - m_k>``, (rows, classes). ``places`` (rows,
    candidates) and ``centres`` (classes, candidates) are the coordinates that a candidate adds, ``inverses`` the metric
    of these. Without row i, W loses ``c d d'`` with ``c = n_g / (n_g - 1)``, and m_g moves away from x_i.
    """
    n_rows, n_candidates = places.shape
    n_classes = distances.shape[1]
    hits = np.zeros(n_candidates)
    for row in range(n_rows):
        own = classes[row]
        if sizes[own] < 2:
            continue  # without the row there is no such class
        factor = sizes[own] / (sizes[own] - 1.0)
        for candidate in range(n_candidates):
            inverse = inverses[candidate]
            place = places[row, candidate]
            deviation = place - centres[own, candidate]
            spread = distances[row, own] + deviation * deviation * inverse
            left = 1.0 - factor * spread
            if not left > _NO_LEVERAGE_LEFT:
                hits[candidate] = np.nan
                continue
            best, winner = -np.inf, -1
            for one in range(n_classes):
                if one == own:
                    distance = factor * factor * spread / left
                    share = np.log((sizes[own] - 1.0) / (n_rows - 1.0))
                else:
                    gap = place - centres[one, candidate]
                    product = products[row, one] + deviation * gap * inverse
                    distance = distances[row, one] + gap * gap * inverse + factor * product * product / left
                    share = log_shares[one]
                value = share - 0.5 * (n_rows - 1.0) * distance
                if value > best:
                    best, winner = value, one
            if winner == own:
                hits[candidate] += 1.0
    return hits
