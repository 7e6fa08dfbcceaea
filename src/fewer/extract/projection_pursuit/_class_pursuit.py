"""Directions along which classes differ, one after the other.

Four ways to go on after the first: look across those found (orthogonal), take away what was found (removal), look for
what adds most to those found (nested), or move all of them in turn until they are best together (subspace).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fewer.extract.projection_pursuit._class_criterion import ClassCriterion
from fewer.extract.projection_pursuit._joint_index import thinned
from fewer.extract.projection_pursuit._removal import without_structure
from fewer.extract.projection_pursuit._search import (
    Criterion,
    Effort,
    Found,
    best_direction,
    climbed,
    complement,
)
from fewer.extract.projection_pursuit._starts import axis_starts, random_starts, separating_starts

_MOST_ROUNDS = 20


class Pursuit(NamedTuple):
    """Directions in sphered coordinates, what each reached, and what is known beside them."""

    directions: list[np.ndarray]
    found: list[Found]
    null_scores: list[np.ndarray]
    removal_maps: list[list[np.ndarray]]


class Ways(NamedTuple):
    """How to look for several directions."""

    strategy: str
    n_restarts: int
    n_permutations: int
    effort: Effort


def pursued(
    Z: np.ndarray,
    criterion: ClassCriterion,
    n_components: int,
    ways: Ways,
    metric: np.ndarray | None,
    rng: np.random.RandomState,
    on_step: Callable[[], bool] = lambda: False,
) -> Pursuit:
    """Directions along which the classes of rows differ most.

    ``metric`` takes a direction to the one that others must be orthogonal to; None stands for itself.
    """
    joint = ways.strategy in ("nested", "subspace")
    thin, thin_criterion = Z, criterion
    result = Pursuit([], [], [], [])
    barred: list[np.ndarray] = []
    left_over: list[np.ndarray] = []
    while len(result.directions) < n_components:
        basis = complement(np.array(barred), Z.shape[1])
        if joint and criterion.density == "kde" and len(result.directions) == 1:
            rows, begins = thinned(criterion.begins, rng)
            thin, thin_criterion = Z[rows], replace(criterion, begins=begins)
        goal = thin_criterion.given(thin, result.directions) if joint and result.directions else criterion.along(Z)
        starts = _starts(Z, criterion, basis, left_over, ways.n_restarts, rng)
        search = best_direction(goal, starts, basis, ways.effort, on_step)
        null = np.full(ways.n_permutations, np.nan)
        if not search.stopped:
            null = _null(Z, criterion, basis, ways, rng, on_step)
        stopped = search.stopped or bool(np.isnan(null).any())
        if result.directions and not stopped and search.best.value <= null.max(initial=-np.inf):
            break
        result.null_scores.append(null)
        direction = search.best.direction
        result.directions.append(direction)
        result.found.append(search.best)
        left_over = search.ends[1:]
        shift = direction if metric is None else metric @ direction
        if ways.strategy == "removal":
            Z, maps = without_structure(Z, criterion.begins, direction, shift)
            result.removal_maps.append(maps)
        else:
            barred.append(shift)
        if stopped:
            break
    if ways.strategy == "subspace" and len(result.directions) > 1:
        return _together(thin, thin_criterion, result, metric, ways.effort, on_step)
    return result


def _starts(
    Z: np.ndarray,
    criterion: ClassCriterion,
    basis: np.ndarray,
    left_over: list[np.ndarray],
    n_random: int,
    rng: np.random.RandomState,
) -> list[np.ndarray]:
    """Telling directions in the span of a basis, other maxima of the search before, and random directions."""
    drawn = [basis @ (basis.T @ start) for start in random_starts(n_random, Z.shape[1], rng)]
    telling = [basis @ start for start in separating_starts(Z @ basis, criterion.begins)]
    others = [basis @ (basis.T @ end) for end in [*axis_starts(Z, criterion.index()), *left_over[:2]]]
    return [*telling, *(end for end in others if end @ end > 0.1), *drawn]


def _null(
    Z: np.ndarray,
    criterion: ClassCriterion,
    basis: np.ndarray,
    ways: Ways,
    rng: np.random.RandomState,
    on_step: Callable[[], bool],
) -> np.ndarray:
    """The best ratio in each of some tables whose rows have changed their classes by chance; NaN once stopped."""
    best = np.full(ways.n_permutations, np.nan)
    for number in range(ways.n_permutations):
        shuffled = Z[rng.permutation(len(Z))]
        starts = _starts(shuffled, criterion, basis, [], ways.n_restarts, rng)
        search = best_direction(criterion.along(shuffled), starts, basis, ways.effort, on_step)
        if search.stopped:
            break
        best[number] = search.best.value
    return best


def _together(
    Z: np.ndarray,
    criterion: ClassCriterion,
    result: Pursuit,
    metric: np.ndarray | None,
    effort: Effort,
    on_step: Callable[[], bool],
) -> Pursuit:
    """Move one direction after the other until all are best together; then the most telling by itself comes first."""
    directions = list(result.directions)
    found = list(result.found)
    before = criterion.joint(Z, directions)
    for _ in range(_MOST_ROUNDS):
        for place in range(len(directions)):
            others = directions[:place] + directions[place + 1 :]
            barred = others if metric is None else [metric @ other for other in others]
            goal: Criterion = criterion.given(Z, others)
            basis = complement(np.array(barred), Z.shape[1])
            found[place] = climbed(goal, directions[place], basis, effort)
            directions[place] = found[place].direction
        if on_step() or found[-1].value - before <= effort.tol * max(1.0, abs(before)):
            break
        before = found[-1].value
    alone = criterion.along(Z)
    order = np.argsort([-alone(direction)[0] for direction in directions], kind="stable")
    directions = [directions[place] for place in order]
    values = [criterion.joint(Z, directions[: size + 1]) for size in range(len(directions))]
    kept = [found[place]._replace(value=value) for place, value in zip(order, values, strict=True)]
    return result._replace(directions=directions, found=kept)
