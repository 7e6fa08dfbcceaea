"""The direction with the largest likelihood ratio, from many starts, in coordinates in which the total is I."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from fewer.extract.gaussian_directions._criteria import (
    likelihood_ratio,
    likelihood_ratio_and_gradient,
    likelihood_ratio_hessian,
    save_kernel,
)
from fewer.extract.gaussian_directions._moments import Moments

_ALIKE = 0.99
_NEWTON_STEPS = 20
_NEAR = 1e-5  # from here on Newton steps are the shorter way


class Climb(NamedTuple):
    """Where a climb came to, as a unit vector."""

    direction: np.ndarray
    value: float
    slope: float
    n_iter: int


def climbs(moments: Moments, n_restarts: int, tol: float, max_iter: int, rng: np.random.RandomState) -> Iterator[Climb]:
    """The best climb so far, after each start."""
    identity = np.eye(moments.means.shape[1])
    best = None
    for start in _starts(moments, n_restarts, rng).T:
        found = _climbed(start, identity, moments, tol, max_iter)
        if best is None or found.value > best.value:
            best = found
        yield best


def _starts(moments: Moments, n_restarts: int, rng: np.random.RandomState) -> np.ndarray:
    """Of what the classes' axes, the means, SAVE and chance suggest, the most promising that are not alike."""
    n_dims = moments.means.shape[1]
    axes = [linalg.eigh(each, check_finite=False)[1] for each in moments.covariances]
    between = linalg.eigh(moments.between, check_finite=False)[1][:, -min(len(moments.priors) - 1, n_dims) :]
    save = linalg.eigh(save_kernel(moments.covariances, moments.priors), check_finite=False)[1]
    chance = rng.standard_normal((n_dims, n_restarts))
    candidates = np.hstack([between, *axes, save, chance / np.linalg.norm(chance, axis=0)])
    order = np.argsort(
        -likelihood_ratio(candidates, np.eye(n_dims), moments.covariances, moments.priors), kind="stable"
    )
    chosen: list[int] = []
    for each in order:
        if len(chosen) == n_restarts:
            break
        if not chosen or np.abs(candidates[:, chosen].T @ candidates[:, each]).max() < _ALIKE:
            chosen.append(each)
    return candidates[:, chosen]


def _climbed(start: np.ndarray, total: np.ndarray, moments: Moments, tol: float, max_iter: int) -> Climb:
    def downhill(direction: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood_ratio_and_gradient(direction, total, moments.covariances, moments.priors)
        return -value, -gradient

    run = optimize.minimize(
        downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "gtol": max(tol, _NEAR), "ftol": 0}
    )
    return _sharpened(run.x / np.linalg.norm(run.x), run.nit, max_iter, total, moments)


def _sharpened(direction: np.ndarray, n_iter: int, max_iter: int, total: np.ndarray, moments: Moments) -> Climb:
    """Newton steps, each kept only if it lowers the slope: near the top, values no longer tell two points apart."""
    value, gradient = likelihood_ratio_and_gradient(direction, total, moments.covariances, moments.priors)
    slope = np.abs(gradient).max()
    for _ in range(min(_NEWTON_STEPS, max_iter - n_iter)):
        hessian = likelihood_ratio_hessian(direction, total, moments.covariances, moments.priors)
        # LR does not change along the direction itself: any curvature there makes the system solvable.
        step = linalg.lstsq(np.outer(direction, direction) - hessian, gradient, check_finite=False)[0]
        moved = (direction + step) / np.linalg.norm(direction + step)
        moved_value, moved_gradient = likelihood_ratio_and_gradient(moved, total, moments.covariances, moments.priors)
        moved_slope = np.abs(moved_gradient).max()
        if not moved_slope < slope / 2 or moved_value < value - 1e-10:
            break
        direction, value, gradient, slope = moved, moved_value, moved_gradient, moved_slope
        n_iter += 1
    return Climb(direction, value, float(slope), n_iter)
