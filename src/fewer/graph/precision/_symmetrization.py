"""The symmetric matrix nearest to a given one in the largest absolute column sum.

    min over symmetric Omega of  max_j sum_i |Omega_ij - M_ij|

The diagonal stays, and each entry lies between ``M_ij`` and ``M_ji``. So every pair shares out its difference
``d_ij = |M_ij - M_ji|``: ``w_ij d_ij`` is charged to column j and the rest to column i, and the largest load of a
column is minimised, a linear program. Its value is the largest density ``sum_{i<j in Q} d_ij / |Q|`` of a set Q of
columns, and the dual ``max sum d_ij min(y_i, y_j)`` over weights y of sum 1 certifies it. Yuan (2010), JMLR 11,
2261-2286.

The optimum is rarely unique. Pairs then share so that their two columns carry the same load, as far as they can: this
never raises the larger load of the two, and ends at the smallest sum of squared loads.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import linprog
from scipy.sparse import csr_array


class Symmetrization(NamedTuple):
    """A symmetric matrix near another one; made by :func:`nearest_symmetric`.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The symmetric matrix.
    error : float
        Largest absolute column sum of the difference.
    gap : float
        The error is above the smallest possible one by this at most.
    """

    matrix: np.ndarray
    error: float
    gap: float


def nearest_symmetric(matrix: np.ndarray) -> Symmetrization:
    """Symmetric matrix nearest to ``matrix`` in the largest absolute column sum, by a linear program.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        Any square matrix.

    Returns
    -------
    symmetrization : Symmetrization
        The symmetric matrix, its distance, and a bound on how much smaller the distance could be.

    Examples
    --------
    A star: averages would charge half of all differences to the first column.

    >>> import numpy as np
    >>> from fewer.graph import nearest_symmetric
    >>> star = np.eye(4)
    >>> star[0, 1:] = 1.0
    >>> round(nearest_symmetric(star).error, 6)
    0.75
    """
    matrix = np.asarray(matrix, dtype=float)
    rows, columns = np.triu_indices(len(matrix), 1)
    apart = matrix[columns, rows] - matrix[rows, columns]
    unit = float(np.abs(apart).max(initial=0.0))
    # What rounding leaves between two entries is not shared out.
    differ = np.flatnonzero(np.abs(apart) > 1e-14 * np.abs(matrix).max(initial=0.0))
    if not len(differ):
        return Symmetrization((matrix + matrix.T) / 2, unit, unit)
    rows, columns, apart = rows[differ], columns[differ], apart[differ]
    sizes = np.abs(apart) / unit
    shares, lower_bound = _smallest_largest_load(rows, columns, sizes, len(matrix))
    error = unit * float(_balanced(rows, columns, sizes, shares, len(matrix)).max())
    symmetric = (matrix + matrix.T) / 2
    # The share w of column j is how far its entry moves from M_ij towards M_ji.
    symmetric[rows, columns] = symmetric[columns, rows] = matrix[rows, columns] + shares * apart
    return Symmetrization(symmetric, error, max(error - unit * lower_bound, 0.0))


def _smallest_largest_load(rows, columns, differences, size) -> tuple[np.ndarray, float]:
    """Shares that minimise the largest load, and what no shares can be below."""
    n_pairs = len(differences)
    pairs = np.arange(n_pairs)
    # Load of column j: sum of w d over pairs where it is second, of (1 - w) d where it is first, minus t.
    loads = csr_array(
        (
            np.r_[differences, -differences, -np.ones(size)],
            (np.r_[columns, rows, np.arange(size)], np.r_[pairs, pairs, np.full(size, n_pairs)]),
        ),
        shape=(size, n_pairs + 1),
    )
    fixed = -np.bincount(rows, weights=differences, minlength=size)
    found = linprog(
        np.r_[np.zeros(n_pairs), 1.0],
        A_ub=loads,
        b_ub=fixed,
        bounds=[(0, 1)] * n_pairs + [(0, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of the symmetrisation: {found.message}")
    weights = np.maximum(-found.ineqlin.marginals, 0)
    weights /= weights.sum()
    bound = float((differences * np.minimum(weights[rows], weights[columns])).sum())
    return np.clip(found.x[:n_pairs], 0.0, 1.0), bound


@njit(cache=True, nogil=True)
def _balanced(rows, columns, differences, shares, size):
    """Loads after shares were moved until no pair can bring its two columns nearer; ``shares`` changes in place."""
    loads = np.zeros(size)
    for k in range(len(shares)):
        loads[columns[k]] += shares[k] * differences[k]
        loads[rows[k]] += (1 - shares[k]) * differences[k]
    total = differences.sum()
    for _ in range(1000):
        moved = 0.0
        for k in range(len(shares)):
            i, j = rows[k], columns[k]
            share = shares[k] + (loads[i] - loads[j]) / (2 * differences[k])
            share = min(max(share, 0.0), 1.0)
            change = (share - shares[k]) * differences[k]
            shares[k] = share
            loads[j] += change
            loads[i] -= change
            moved += abs(change)
        if moved <= 1e-12 * total:
            break
    return loads
