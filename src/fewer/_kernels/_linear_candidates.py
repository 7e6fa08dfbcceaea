"""Predictions of linear rules after a change of one column, for many candidate columns at once.

A column more or less moves the prediction of a row by its partial column (what the other columns do not explain of it)
times a coefficient, so that a candidate costs O(1) for each row and class.
"""

import numpy as np
from numba import njit

# A row that is left out of its own fit has no prediction by this formula when the fit hangs on that row alone.
_NO_LEVERAGE_LEFT = 1e-10


@njit(cache=True, nogil=True)
def classes_after(decisions, shifts, coefficients, offsets):
    """The class (rows, candidates) with the highest decision value after the change; of equals the first.

    ``decisions`` is (rows, classes) before the change; ``shifts`` (rows, candidates); ``coefficients`` and ``offsets``
    (candidates, classes).
    """
    n_rows, n_candidates = shifts.shape
    n_classes = decisions.shape[1]
    found = np.empty((n_rows, n_candidates), dtype=np.int32)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            best, winner = -np.inf, -1
            for one in range(n_classes):
                value = decisions[row, one] + shift * coefficients[candidate, one] + offsets[candidate, one]
                if value > best:
                    best, winner = value, one
            found[row, candidate] = winner
    return found


@njit(cache=True, nogil=True)
def left_out_classes(targets, residuals, leverage_left, shifts, coefficients, inverses):
    """The class (rows, candidates) that the least-squares fit without a row gives it; -1 where it hangs on that row.

    ``targets`` and ``residuals`` are (rows, targets): a single target tells class 1 from class 0 by its sign, several
    stand for a class each, of which the highest wins. ``leverage_left`` is ``1 - h``.
    """
    n_rows, n_candidates = shifts.shape
    n_targets = targets.shape[1]
    found = np.full((n_rows, n_candidates), -1, dtype=np.int32)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            left = leverage_left[row] - shift * shift * inverses[candidate]
            if not left > _NO_LEVERAGE_LEFT:
                continue
            best, winner = (0.0, 0) if n_targets == 1 else (-np.inf, -1)
            for target in range(n_targets):
                residual = (residuals[row, target] - shift * coefficients[candidate, target]) / left
                value = targets[row, target] - residual
                if value > best:
                    best, winner = value, (1 if n_targets == 1 else target)
            found[row, candidate] = winner
    return found


def left_out_values(targets, residuals, leverage_left, shifts, coefficients, inverses):
    """What the fit without a row predicts for it (rows, candidates); NaN where that hangs on this row."""
    left = leverage_left[:, None] - shifts**2 * inverses
    clear = left > _NO_LEVERAGE_LEFT
    after = (residuals[:, None] - shifts * coefficients) / np.where(clear, left, 1.0)
    return np.where(clear, targets[:, None] - after, np.nan)


@njit(cache=True, nogil=True)
def left_out_discriminant_classes(distances, products, places, centres, inverses, classes, sizes, log_shares):
    """The class (rows, candidates) that discriminant analysis without a row gives it; -1 where it hangs on that row.

    In the metric of the scatter W within classes, and for row i of class g with deviation ``d = x_i - m_g``:
    ``distances`` holds ``|x_i - m_k|^2`` and ``products`` ``<d, x_i - m_k>``, (rows, classes). ``places`` (rows,
    candidates) and ``centres`` (classes, candidates) are the coordinates that a candidate adds, ``inverses`` the metric
    of these. Without row i, W loses ``c d d'`` with ``c = n_g / (n_g - 1)``, and m_g moves away from x_i.
    """
    n_rows, n_candidates = places.shape
    n_classes = distances.shape[1]
    found = np.full((n_rows, n_candidates), -1, dtype=np.int32)
    for row in range(n_rows):
        own = classes[row]
        if sizes[own] < 2:  # without the row there is no such class, and its scatter is none
            factor = 0.0
        else:
            factor = sizes[own] / (sizes[own] - 1.0)
        for candidate in range(n_candidates):
            inverse = inverses[candidate]
            place = places[row, candidate]
            deviation = place - centres[own, candidate]
            spread = distances[row, own] + deviation * deviation * inverse
            left = 1.0 - factor * spread
            if not left > _NO_LEVERAGE_LEFT:
                continue
            best, winner = -np.inf, -1
            for one in range(n_classes):
                if one == own:
                    if sizes[own] < 2:
                        continue
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
            found[row, candidate] = winner
    return found
