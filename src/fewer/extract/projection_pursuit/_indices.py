"""What is worth looking at along a direction: indices of the values z there, with their derivatives by the values.

- Classes: ``mean_j [ln f_k(z_j) - ln f(z_j)]``, f_k the density of the row's own class, f that of all rows: kernel
  densities without the row itself, or normal ones with or without a common variance. With the latter it is
  ``ln(total variance / variance within classes) / 2``, which discriminant analysis maximises.
- Shape: ``mean_j [ln f(z_j) - ln n(z_j)]``, n the normal density with the mean and variance of z: negentropy.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fewer._kernels._projected_densities import left_out_fit, likelihood_ratio
from fewer.extract.projection_pursuit._search import Criterion

FLOOR = 1e-4
"""Added to densities of values with unit variance, so that rows far from all others do not rule the index."""

_LEAST_VARIANCE = 1e-6

Index = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Widths(NamedTuple):
    """Kernel widths, in standard deviations of all rows: that of each class, and that for all rows together."""

    classes: np.ndarray
    pooled: float


def kernel_width(n_rows: int, bandwidth: str | float, oversmooth: float) -> float:
    """Kernel width for rows of unit variance: ``oversmooth n^(-1/5)``, or as given."""
    return oversmooth * float(n_rows) ** -0.2 if isinstance(bandwidth, str) else float(bandwidth)


def class_widths(begins: np.ndarray, bandwidth: str | float, oversmooth: float) -> Widths:
    """Kernel widths of classes that begin at the given rows."""
    sizes = np.diff(begins)
    own = np.array([kernel_width(size, bandwidth, oversmooth) for size in sizes])
    return Widths(own, kernel_width(int(begins[-1]), bandwidth, oversmooth))


def kernel_ratio(begins: np.ndarray, widths: Widths) -> Index:
    """The index of classes by kernel densities."""
    return lambda values: likelihood_ratio(values, begins, widths.classes, widths.pooled, FLOOR)


def gaussian_ratio(begins: np.ndarray, fixed: np.ndarray | None = None) -> Index:
    """The index of classes by normal densities, each class with its own variance.

    With the values along other directions as columns of ``fixed`` it is what the values add to the ratio there.
    """
    n_rows = int(begins[-1])
    others = np.empty((n_rows, 0)) if fixed is None else fixed
    groups = [slice(0, n_rows), *(slice(*ends) for ends in pairwise(begins))]
    explained = [_orthonormal(others[rows]) for rows in groups]
    shares = [1.0, *(-np.diff(begins) / n_rows)]

    def index(values: np.ndarray) -> tuple[float, np.ndarray]:
        total, slopes = 0.0, np.zeros(n_rows)
        for rows, known, share in zip(groups, explained, shares, strict=True):
            own, own_slopes = _half_log_variance(values[rows], known)
            total += share * own
            slopes[rows] += share * own_slopes
        return total, slopes

    return index


def pooled_gaussian_ratio(begins: np.ndarray, fixed: np.ndarray | None = None) -> Index:
    """The index of classes by normal densities with one variance for all: discriminant analysis."""
    sizes, n_rows = np.diff(begins), int(begins[-1])
    others = np.empty((n_rows, 0)) if fixed is None else fixed

    def within(columns: np.ndarray) -> np.ndarray:
        means = np.add.reduceat(columns, begins[:-1], axis=0) / sizes.reshape(-1, *[1] * (columns.ndim - 1))
        return columns - np.repeat(means, sizes, axis=0)

    known, known_within = _orthonormal(others), _orthonormal(within(others))

    def index(values: np.ndarray) -> tuple[float, np.ndarray]:
        total, slopes = _half_log_variance(values, known)
        inside, inside_slopes = _half_log_variance(within(values), known_within)
        return total - inside, slopes - inside_slopes

    return index


def negentropy(n_rows: int, bandwidth: str | float, oversmooth: float) -> Index:
    """The index of shape."""
    width = kernel_width(n_rows, bandwidth, oversmooth)
    constant = _orthonormal(np.empty((n_rows, 0)))

    def index(values: np.ndarray) -> tuple[float, np.ndarray]:
        slopes = np.empty(len(values))
        fit = left_out_fit(values, width, FLOOR, slopes) / len(values)
        normal, normal_slopes = _half_log_variance(values, constant)
        return fit + normal + 0.5 * np.log(2 * np.pi) + 0.5, slopes / len(values) + normal_slopes

    return index


def surprise_of_normal(n_rows: int, width: float) -> Index:
    """``mean_j [ln f(z_j) - ln n(z_j)]`` with n standard normal: what a map to normal values would gain."""

    def index(values: np.ndarray) -> tuple[float, np.ndarray]:
        slopes = np.empty(n_rows)
        fit = left_out_fit(values, width, FLOOR, slopes)
        return (fit + 0.5 * values @ values) / n_rows + 0.5 * np.log(2 * np.pi), (slopes + values) / n_rows

    return index


def along(Z: np.ndarray, index: Index) -> Criterion:
    """An index as a function of the direction along which the rows of Z are seen."""

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = index(Z @ direction)
        return value, slopes @ Z

    return criterion


def along_by_differences(Z: np.ndarray, index: Callable[[np.ndarray], float]) -> Criterion:
    """The same for an index without derivatives."""

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        values = Z @ direction
        steps = [float(index(values + sign * 1e-5 * column)) for column in Z.T for sign in (1, -1)]
        return float(index(values)), (np.array(steps[::2]) - np.array(steps[1::2])) / 2e-5

    return criterion


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the constant and the columns."""
    return np.linalg.qr(np.column_stack([np.ones(len(columns)), columns]))[0]


def _half_log_variance(values: np.ndarray, known: np.ndarray) -> tuple[float, np.ndarray]:
    """``ln(variance) / 2`` of what an orthonormal basis leaves of the values, and its derivatives."""
    left = values - known @ (values @ known)
    variance = left @ left / len(values) + _LEAST_VARIANCE
    return 0.5 * float(np.log(variance)), left / (len(values) * variance)
