"""Densities of classes along shared directions, found where they differ most: forward and backward.

Forward, ``p_k(z) = n(z) prod_m f_mk(a_m'z)``: one normal density for all, and for each class its own functions along
the same directions. Backward, each class is made normal along a direction by its own map before the next is looked for,
and what is left of all classes is one normal density.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fewer.extract.projection_pursuit._indices import Widths, along, kernel_ratio
from fewer.extract.projection_pursuit._normal_map import NormalMap, made_normal, normal_map
from fewer.extract.projection_pursuit._ridges import RidgeModel, normal_points, ridge_grid
from fewer.extract.projection_pursuit._search import Criterion, Effort, Found, best_direction
from fewer.extract.projection_pursuit._starts import axis_starts, random_starts, separating_starts


class ClassRows(NamedTuple):
    """Sphered rows in the order of their classes, where these begin, and kernel widths."""

    Z: np.ndarray
    begins: np.ndarray
    widths: Widths


class Hunt(NamedTuple):
    """How to look for directions."""

    n_ridges: int
    n_restarts: int
    effort: Effort
    rng: np.random.RandomState
    on_step: Callable[[], bool] = lambda: False


class ForwardClasses(NamedTuple):
    """Directions, the nodes along them, and the logarithm of each class's functions there (directions first)."""

    found: list[Found]
    grids: list[np.ndarray]
    log_ridges: list[np.ndarray]


class BackwardClasses(NamedTuple):
    """Directions, each class's map along them, and the normal density left after each step."""

    found: list[Found]
    maps: list[list[NormalMap]]
    means: list[np.ndarray]
    covariances: list[np.ndarray]


def forward_classes(rows: ClassRows, n_points: int, hunt: Hunt) -> ForwardClasses:
    """Directions and functions that are found forward."""
    Z, begins, widths = rows
    points = normal_points(n_points, Z.shape[1], hunt.rng)
    models = [RidgeModel.normal(points) for _ in widths.classes]
    pooled = RidgeModel.normal(points)
    result = ForwardClasses([], [], [])
    left_over: list[np.ndarray] = []
    while len(result.found) < hunt.n_ridges:
        direction, left_over, stopped = _next(rows, _ridge_ratio(rows, models, pooled), left_over, hunt, result.found)
        values = Z @ direction
        grid = ridge_grid(values, widths.pooled)
        own = []
        for model, (begin, end), width in zip(models, pairwise(begins), widths.classes, strict=True):
            model.grow(direction, grid, model.ridge(direction, values[begin:end], width, grid), hunt.rng)
            own.append(model.log_ridges[-1])
        pooled.grow(direction, grid, pooled.ridge(direction, values, widths.pooled, grid), hunt.rng)
        result.grids.append(grid)
        result.log_ridges.append(np.array(own))
        if stopped:
            break
    return result


def backward_classes(rows: ClassRows, hunt: Hunt) -> BackwardClasses:
    """Directions and maps that are found backward."""
    Z, begins, widths = rows
    result = BackwardClasses([], [], [], [])
    left_over: list[np.ndarray] = []
    while len(result.found) < hunt.n_ridges:
        now = ClassRows(Z, begins, widths)
        direction, left_over, stopped = _next(
            now, along(Z, kernel_ratio(begins, widths)), left_over, hunt, result.found
        )
        maps, parts = [], []
        for (begin, end), width in zip(pairwise(begins), widths.classes, strict=True):
            maps.append(normal_map(Z[begin:end] @ direction, width))
            parts.append(made_normal(Z[begin:end], direction, maps[-1])[0])
        Z = np.concatenate(parts)
        result.maps.append(maps)
        result.means.append(Z.mean(axis=0))
        result.covariances.append(np.cov(Z, rowvar=False, bias=True).reshape(Z.shape[1], -1))
        if stopped:
            break
    return result


def _next(
    rows: ClassRows, criterion: Criterion, left_over: list[np.ndarray], hunt: Hunt, found: list[Found]
) -> tuple[np.ndarray, list[np.ndarray], bool]:
    """The next direction (which is noted), where other climbs ended, and whether to stop."""
    dim = rows.Z.shape[1]
    starts = [
        *separating_starts(rows.Z, rows.begins),
        *axis_starts(rows.Z, kernel_ratio(rows.begins, rows.widths)),
        *left_over[:2],
        *random_starts(hunt.n_restarts, dim, hunt.rng),
    ]
    search = best_direction(criterion, starts, np.eye(dim), hunt.effort, hunt.on_step)
    found.append(search.best)
    return search.best.direction, search.ends[1:], search.stopped


def _ridge_ratio(rows: ClassRows, models: list[RidgeModel], pooled: RidgeModel) -> Criterion:
    """Log-likelihood that functions of the classes would add, less what one for all rows would, a row."""
    Z, begins, widths = rows
    parts = [
        *zip(models, pairwise(begins), widths.classes, [1.0] * len(models), strict=True),
        (pooled, (0, len(Z)), widths.pooled, -1.0),
    ]

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        values = Z @ direction
        # Most models share their points, which are projected once, and pull the direction together.
        drawn = {id(model.points): model.points @ direction for model, *_ in parts}
        clouds = {id(model.points): model.points for model, *_ in parts}
        pulls = {key: np.zeros(len(each)) for key, each in drawn.items()}
        total, slopes = 0.0, np.zeros(len(Z))
        for model, (begin, end), width, sign in parts:
            key = id(model.points)
            gain, own, drawn_slopes = model.gain(values[begin:end], drawn[key], width)
            total += sign * gain
            slopes[begin:end] += sign * own
            pulls[key] += sign * drawn_slopes
        gradient = slopes @ Z
        for key, pull in pulls.items():
            gradient += pull @ clouds[key]
        return total / len(Z), gradient / len(Z)

    return criterion
