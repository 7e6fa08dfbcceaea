"""The direction along which a criterion is largest: L-BFGS on the sphere from several starts.

A criterion takes a unit vector and gives its value and gradient. Only the part of the gradient along the sphere
matters: with ``a = x / ||x||``, ``d/dx = (g - (g'a) a) / ||x||``.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import linalg, optimize
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller

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
    end = optimize.minimize(loss, point, jac=True, method="L-BFGS-B", options=options)
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
    full, _ = linalg.qr(np.asarray(directions).T)
    return full[:, len(directions) :]


def warn_unfinished(searches: list[Found], effort: Effort, what: str = "direction") -> None:
    """Say which directions still moved when the iterations ran out."""
    late = [(place, found) for place, found in enumerate(searches) if not found.converged]
    if late:
        place, worst = max(late, key=lambda one: one[1].slope)
        warn_caller(
            f"{len(late)} of {len(searches)} searches for a {what} still climbed after {effort.max_iter} iterations, "
            f"the {what} with index {place} with a slope of {worst.slope:.2g}; tol={effort.tol:g} was asked for. Raise "
            "max_iter, or tol if that is near enough.",
            ConvergenceWarning,
        )
