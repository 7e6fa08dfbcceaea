"""Projection indices, and the search for the direction along which one is largest: L-BFGS on the sphere.

Coordinates are uncorrelated and of unit variance, ``z = R^(-1/2) D^(-1) (x - mean)``, D the standard deviations of
columns and R their correlations. Of all coordinates of this kind these are nearest to the columns, and change little
when the table does. If columns are linearly dependent, the coordinates are principal axes instead, and directions
without variance are left out.

Indices of the values z along a direction, with their derivatives by the values:

- Classes: ``mean_j [ln f_k(z_j) - ln f(z_j)]``, f_k the density of the row's own class, f that of all rows: kernel
  densities without the row itself, or normal ones with or without a common variance. With the latter it is
  ``ln(total variance / variance within classes) / 2``, which discriminant analysis maximises.
- Shape: ``mean_j [ln f(z_j) - ln n(z_j)]``, n the normal density with the mean and variance of z: negentropy.

A criterion takes a unit vector and gives its value and gradient. Only the part of the gradient along the sphere
matters: with ``a = x / ||x||``, ``d/dx = (g - (g'a) a) / ||x||``.
"""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer._kernels._numpy_lapack import generalized_eigh, largest_eigh
from fewer._kernels._scipy_solvers import minimize
from fewer.extract._centred_table import uncorrelated
from fewer.extract._kurtosis_ica import kurtosis_axes
from fewer.extract.projection_pursuit._kernels import left_out_fit, likelihood_ratio

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Found(NamedTuple):
    """Where a climb ended."""

    direction: np.ndarray
    value: float
    n_iter: int
    slope: float
    converged: bool


class Search(NamedTuple):
    """The best end, and the ends of all starts from the best on."""

    best: Found
    ends: list[np.ndarray]
    stopped: bool


class Effort(NamedTuple):
    """How hard to search."""

    max_iter: int
    tol: float
    n_jobs: int | None = None


def climbed(criterion: Criterion, start: np.ndarray, basis: np.ndarray, effort: Effort) -> Found:
    """Climb from a start to the next maximum among directions in the span of the orthonormal columns of ``basis``."""

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        length = np.linalg.norm(point)
        unit = point / length
        value, gradient = criterion(basis @ unit)
        inside = gradient @ basis
        return -value, ((inside @ unit) * unit - inside) / length

    point = start @ basis
    point /= np.linalg.norm(point)
    if len(point) == 1:
        return Found(basis[:, 0] * point[0], float(-loss(point)[0]), 1, 0.0, True)
    options = {"maxiter": effort.max_iter, "ftol": effort.tol, "gtol": effort.tol, "maxls": 30}
    end = minimize(loss, point, jac=True, method="L-BFGS-B", options=options)
    direction = basis @ (end.x / np.linalg.norm(end.x))
    # Status 1 is the limit of iterations; when the line search finds nothing better, this is the maximum.
    converged = end.status != 1
    return Found(direction, float(-end.fun), max(int(end.nit), 1), float(np.linalg.norm(end.jac)), converged)


def best_direction(
    criterion: Criterion,
    starts: list[np.ndarray],
    basis: np.ndarray,
    effort: Effort,
    on_step: Callable[[], bool] = lambda: False,
) -> Search:
    """The best of the climbs from all starts; ``on_step`` is called after each, and stops the search if it says so."""
    if basis.shape[1] == 1:
        starts = starts[:1]
    ends: list[Found] = []
    stopped = False
    climbs = Parallel(n_jobs=effort.n_jobs, prefer="threads", return_as="generator")(
        delayed(climbed)(criterion, start, basis, effort) for start in starts
    )
    for end in climbs:
        ends.append(end)
        if on_step():
            stopped = True
            with warnings.catch_warnings():  # joblib tells of climbs that nobody waits for any more
                warnings.simplefilter("ignore")
                climbs.close()
            break
    order = np.argsort([-end.value for end in ends], kind="stable")
    return Search(ends[order[0]], [ends[place].direction for place in order], stopped)


def complement(directions: np.ndarray, dim: int) -> np.ndarray:
    """Orthonormal basis (columns) of what is orthogonal to the given rows."""
    if len(directions) == 0:
        return np.eye(dim)
    full, _ = np.linalg.qr(np.asarray(directions).T, mode="complete")
    return full[:, len(directions) :]


def warn_unfinished(searches: list[Found], effort: Effort, what: str = "direction") -> None:
    """Say which directions still moved when the iterations ran out."""
    late = [(place, found) for place, found in enumerate(searches) if not found.converged]
    if late:
        place, worst = max(late, key=lambda one: one[1].slope)
        warn_caller(
            f"{len(late)} of {len(searches)} searches for a {what} still climbed after {effort.max_iter} iterations, "
            f"the {what} with index {place} with a slope of {worst.slope:.2g}; tol={effort.tol:g} was asked for. Raise "
            "max_iter, or tol if that is accurate enough.",
            ConvergenceWarning,
        )


class Sphere(NamedTuple):
    """Mean of the rows, and the maps to and from sphered coordinates."""

    mean: np.ndarray
    to_sphere: np.ndarray
    from_sphere: np.ndarray

    @property
    def rank(self) -> int:
        return self.to_sphere.shape[1]

    def coordinates(self, X: Any) -> np.ndarray:
        """Sphered coordinates of rows, in double precision."""
        return np.ascontiguousarray(X @ self.to_sphere - self.mean @ self.to_sphere, dtype=float)

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume that a unit of sphered volume takes up among the rows."""
        return 0.5 * float(np.linalg.slogdet(self.from_sphere @ self.from_sphere.T)[1])


def sphere_of(X: Any) -> Sphere:
    """Sphered coordinates of a table; constant columns have no part in them."""
    varying = _varying(X)
    if not varying.any():
        raise ValueError("All columns are constant, so that there is no direction to look along; check the table.")
    if varying.all():
        return _of_varying(X)
    inner = _of_varying(X[:, varying])
    mean = np.asarray(X.mean(axis=0, dtype=float)).ravel()
    to_sphere, from_sphere = np.zeros((X.shape[1], inner.rank)), np.zeros((inner.rank, X.shape[1]))
    to_sphere[varying], from_sphere[:, varying] = inner.to_sphere, inner.from_sphere
    return Sphere(mean, to_sphere, from_sphere)


def _varying(X: Any) -> np.ndarray:
    """Which columns hold more than one value."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray((high != low).toarray() if hasattr(low, "toarray") else high != low).ravel()


def _of_varying(X: Any) -> Sphere:
    mean, to_sphere = uncorrelated(X)
    coordinates = Sphere(mean, to_sphere, to_sphere.T).coordinates(X)
    # What columns have in common with the coordinates is the way back, as these are uncorrelated. Their means are 0 but
    # for rounding, which columns far from 0 would magnify.
    coordinates -= coordinates.mean(axis=0)
    return _nearest_to_columns(Sphere(mean, to_sphere, np.asarray((X.T @ coordinates).T) / len(coordinates)))


def warn_of_lost_dimensions(sphere: Sphere, X: Any, who: str) -> None:
    """Say that a density is one of fewer dimensions than columns."""
    if sphere.rank < X.shape[1]:
        warn_caller(
            f"The rows span {sphere.rank} of {X.shape[1]} dimensions: {who} gives the density within these, and "
            "ignores the others in new rows. Leave out constant and linearly dependent columns, or use more rows than "
            "columns."
        )


def _nearest_to_columns(sphere: Sphere) -> Sphere:
    """The same coordinates turned next to the columns, or upright where these depend on one another."""
    if sphere.rank == len(sphere.to_sphere):
        axes = sphere.from_sphere / np.abs(sphere.from_sphere).max(axis=0)  # whose squares may be too large to count
        axes /= np.linalg.norm(axes, axis=0)
        turn = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    else:
        largest = np.take_along_axis(sphere.from_sphere, np.abs(sphere.from_sphere).argmax(axis=1)[:, None], axis=1)
        turn = np.diag(np.where(largest[:, 0] < 0, -1.0, 1.0))
    return Sphere(sphere.mean, sphere.to_sphere @ turn, turn.T @ sphere.from_sphere)


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


_MOST_OF_A_KIND = 2


def separating_starts(Z: np.ndarray, begins: np.ndarray) -> list[np.ndarray]:
    """Directions of discriminant analysis, and those along which covariances of classes differ.

    The rows are in the order of their classes. The former are the eigenvectors of the covariance within classes with
    the smallest eigenvalues, the latter those of ``sum_k pi_k (T - S_k)^2`` with the largest, T the total covariance
    and S_k that of a class.
    """
    total = _covariance(Z)
    within, unequal = np.zeros_like(total), np.zeros_like(total)
    for begin, end in pairwise(begins):
        share = (end - begin) / len(Z)
        own = _covariance(Z[begin:end])
        within += share * own
        unequal += share * (total - own) @ (total - own)
    # Directions without any variance separate nothing.
    by_means = _leading(total - within, within + 1e-9 * np.eye(len(total)), min(len(begins) - 2, _MOST_OF_A_KIND))
    return [*by_means, *_leading(unequal, None, _MOST_OF_A_KIND)]


def non_normal_starts(Z: np.ndarray) -> list[np.ndarray]:
    """Axes of the smallest and the largest fourth moments."""
    axes = kurtosis_axes(Z).axes.T
    return [axes[-1], axes[0]] if len(axes) > 1 else [axes[0]]


def axis_starts(Z: np.ndarray, index: Index) -> list[np.ndarray]:
    """The coordinates along which an index is largest: those next to the columns of the largest index."""
    scores = [index(np.ascontiguousarray(values))[0] for values in Z.T]
    return list(np.eye(Z.shape[1])[np.argsort(scores, kind="stable")[::-1][:_MOST_OF_A_KIND]])


def random_starts(n: int, dim: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Directions of no preference."""
    return list(rng.normal(size=(n, dim)))


def _covariance(Z: np.ndarray) -> np.ndarray:
    """Of any number of rows: before 2.2, NumPy's takes a single row for a column."""
    centred = Z - Z.mean(axis=0)
    return centred.T @ centred / len(Z)


def _leading(symmetric: np.ndarray, metric: np.ndarray | None, n: int) -> list[np.ndarray]:
    n = min(n, len(symmetric))
    vectors = (largest_eigh(symmetric, n) if metric is None else generalized_eigh(symmetric, metric))[1]
    return list(vectors.T[::-1][:n])
