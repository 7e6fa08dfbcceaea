"""Leave-one-out residuals of kernel ridge regression with an intercept, in closed form.

The machine ``f(x) = sum_i alpha_i K(x_i, x) + b`` solves

    C [alpha; b] = [y; 0],    C = [[K + lam I, 1], [1', 0]].

With P the part of ``C^{-1}`` that belongs to the rows, ``alpha = P y``, and the residual of row i for the machine that
has not seen it is ``r_i = alpha_i / P_ii``. PRESS is the sum of their squares. Several targets are columns of y.

Cawley, G. C. & Talbot, N. L. C. (2003). Efficient leave-one-out cross-validation of kernel Fisher discriminant
classifiers. Pattern Recognition 36, 2585-2592.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg


class BorderedSolution(NamedTuple):
    dual_coef: np.ndarray  # alpha, of the shape of y
    intercept: np.ndarray  # b, one for each target
    residuals: np.ndarray  # leave-one-out, of the shape of y
    row_inverse: np.ndarray  # P


def bordered_solution(K: np.ndarray, y: np.ndarray, reg: float) -> BorderedSolution:
    """Solution of the bordered system, with its leave-one-out residuals: O(n^3), one Cholesky factor.

    Raises ``LinAlgError`` when ``reg`` is too small beside K for the factor to exist in floating point.
    """
    inverse = _positive_definite_inverse(K, reg)
    inverse_ones = inverse.sum(axis=0)
    total = inverse_ones.sum()
    row_inverse = inverse - np.outer(inverse_ones, inverse_ones / total)
    dual_coef = row_inverse @ y
    residuals = (dual_coef.T / np.diag(row_inverse)).T
    return BorderedSolution(dual_coef, inverse_ones @ y / total, residuals, row_inverse)


def _positive_definite_inverse(K: np.ndarray, reg: float) -> np.ndarray:
    system = np.array(K, order="F")
    system.flat[:: len(system) + 1] += reg
    factor, failed = linalg.lapack.dpotrf(system, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"K + {reg:g} I is not positive definite in floating point.")
    lower, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse = lower + lower.T
    inverse.flat[:: len(inverse) + 1] /= 2
    return inverse


def press_sensitivity(solution: BorderedSolution) -> np.ndarray:
    """Symmetric S with ``dPRESS = sum(S * dM)`` for a change dM of ``K + lam I``.

    From ``dP = -P dM P``: ``dPRESS = 2 sum_i (r_i / P_ii) (r_i (P dM P)_ii - (P dM alpha)_i)``.
    """
    P = solution.row_inverse
    residuals = solution.residuals.reshape(len(P), -1)
    dual_coef = solution.dual_coef.reshape(len(P), -1)
    weighted = residuals / np.diag(P)[:, None]
    through_diagonal = 2 * (P * (weighted * residuals).sum(axis=1)) @ P
    through_coef = (P @ weighted) @ dual_coef.T
    return through_diagonal - through_coef - through_coef.T


class KernelSpectrum(NamedTuple):
    """Eigenvectors of a kernel matrix with what every regularisation shares: after O(n^3), each costs O(n^2)."""

    values: np.ndarray
    vectors: np.ndarray
    ones: np.ndarray  # the vector of ones, in these coordinates
    y: np.ndarray  # the targets, likewise, one column each

    @classmethod
    def of(cls, K: np.ndarray, y: np.ndarray) -> "KernelSpectrum":
        """Of the kernel matrix K and the targets y."""
        values, vectors = linalg.eigh(K, check_finite=False)
        # What rounding makes of a zero eigenvalue may be negative, and would matter beside a small regularisation.
        return cls(np.maximum(values, 0), vectors, vectors.sum(axis=0), vectors.T @ y.reshape(len(y), -1))

    def dual_coef(self, regs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(alpha, b) for each regularisation: arrays of shape (n, n_targets, n_regs) and (n_targets, n_regs)."""
        damping = 1 / (self.values[:, None] + regs)
        intercept = (self.y.T @ (damping * self.ones[:, None])) / (damping.T @ self.ones**2)
        coordinates = (self.y[:, :, None] - self.ones[:, None, None] * intercept) * damping[:, None, :]
        return np.tensordot(self.vectors, coordinates, axes=1), intercept

    def press(self, regs: np.ndarray) -> np.ndarray:
        """PRESS for each regularisation."""
        damping = 1 / (self.values[:, None] + regs)
        inverse_ones = self.vectors @ (damping * self.ones[:, None])
        diagonal = self.vectors**2 @ damping - inverse_ones**2 / (damping.T @ self.ones**2)
        dual_coef, _ = self.dual_coef(regs)
        return ((dual_coef / diagonal[:, None, :]) ** 2).sum(axis=(0, 1))
