"""Directions along which classes differ, one after the other or several together, by the density that is chosen.

Four ways to go on after the first: search among directions orthogonal to those found (orthogonal), remove the structure
that was found (removal), search for what adds most to those found (nested), or move all of them in turn until they are
best together (subspace). In several dimensions the likelihood ratio is that of joint densities, of which one direction
moves and the others are fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fewer._estimators import warn_caller
from fewer.extract.projection_pursuit._density_models import without_structure
from fewer.extract.projection_pursuit._kernels import joint_left_out_fit
from fewer.extract.projection_pursuit._search import (
    FLOOR,
    Criterion,
    Effort,
    Found,
    Index,
    along,
    axis_starts,
    best_direction,
    class_widths,
    climbed,
    complement,
    gaussian_ratio,
    kernel_ratio,
    pooled_gaussian_ratio,
    random_starts,
    separating_starts,
)

MOST_ROWS = 1000
"""All pairs are summed, so that the rows are thinned out to so many."""


def thinned(begins: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Rows to sum pairs over, the same share of every class, and where the classes begin among them."""
    sizes = np.diff(begins)
    if begins[-1] <= MOST_ROWS:
        return np.arange(begins[-1]), begins
    kept = np.maximum(np.round(sizes * (MOST_ROWS / begins[-1])).astype(int), np.minimum(sizes, 5))
    rows = [
        begin + np.sort(rng.permutation(size)[:keep])
        for begin, size, keep in zip(begins[:-1], sizes, kept, strict=True)
    ]
    return np.concatenate(rows), np.append(0, np.cumsum(kept))


def joint_ratio(
    Z: np.ndarray, begins: np.ndarray, others: np.ndarray, bandwidth: str | float, oversmooth: float
) -> Criterion:
    """``mean_j [ln f_k(z_j) - ln f(z_j)]`` along the rows of ``others`` and one direction more, by kernel densities.

    The rows of Z are in the order of their classes. Kernels are as wide along each direction: ``n^(-1 / (m + 4))``
    times ``oversmooth``, for m dimensions.
    """
    fixed = np.ascontiguousarray(Z @ np.reshape(others, (-1, Z.shape[1])).T)
    n_dims = fixed.shape[1] + 1
    floor = FLOOR * 0.4 ** (n_dims - 1)  # as far below the top of a normal density as in one dimension

    def width(size: int) -> float:
        return oversmooth * size ** (-1 / (n_dims + 4)) if isinstance(bandwidth, str) else float(bandwidth)

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        values = Z @ direction
        slopes, pooled = np.empty(len(Z)), np.empty(len(Z))
        total = -joint_left_out_fit(fixed, values, width(len(Z)), floor, pooled)
        for begin, end in pairwise(begins):
            own = slice(begin, end)
            total += joint_left_out_fit(fixed[own], values[own], width(end - begin), floor, slopes[own])
        return total / len(Z), (slopes - pooled) @ Z / len(Z)

    return criterion


@dataclass(frozen=True)
class ClassCriterion:
    """The likelihood ratio of rows that are in the order of their classes, which begin at ``begins``."""

    begins: np.ndarray
    density: str
    bandwidth: str | float
    oversmooth: float

    def index(self) -> Index:
        """The ratio as a function of values along one direction."""
        if self.density == "gaussian":
            return gaussian_ratio(self.begins)
        if self.density == "pooled_gaussian":
            return pooled_gaussian_ratio(self.begins)
        return kernel_ratio(self.begins, class_widths(self.begins, self.bandwidth, self.oversmooth))

    def along(self, Z: np.ndarray) -> Criterion:
        """The ratio along a direction."""
        return along(Z, self.index())

    def given(self, Z: np.ndarray, others: list[np.ndarray]) -> Criterion:
        """The ratio along a direction and some others together."""
        if not others:
            return self.along(Z)
        if self.density == "kde":
            return joint_ratio(Z, self.begins, np.array(others), self.bandwidth, self.oversmooth)
        ratio = gaussian_ratio if self.density == "gaussian" else pooled_gaussian_ratio
        added = along(Z, ratio(self.begins, Z @ np.array(others).T))
        before = self.joint(Z, others)

        def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = added(direction)
            return before + value, gradient

        return criterion

    def joint(self, Z: np.ndarray, directions: list[np.ndarray]) -> float:
        """The ratio along all of some directions together."""
        return self.given(Z, directions[:-1])(directions[-1])[0]


_MOST_ROUNDS = 20


class Pursuit(NamedTuple):
    """Directions in sphered coordinates, what each reached, and what is known beside them."""

    directions: list[np.ndarray]
    found: list[Found]
    null_scores: list[np.ndarray]
    removal_maps: list[list[np.ndarray]]


class Ways(NamedTuple):
    """How to look for several directions."""

    method: str
    n_init: int
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
    joint = ways.method in ("nested", "subspace")
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
        starts = _starts(Z, criterion, basis, left_over, ways.n_init, rng)
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
        if ways.method == "removal":
            Z, maps = without_structure(Z, criterion.begins, direction, shift)
            result.removal_maps.append(maps)
        else:
            barred.append(shift)
        if stopped:
            break
    if ways.method == "subspace" and len(result.directions) > 1:
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
        starts = _starts(shuffled, criterion, basis, [], ways.n_init, rng)
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
    """Move one direction after the other until all are best together; then the best by itself comes first."""
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


FEW_ROWS = 5


class LabelledRows(NamedTuple):
    """The classes, which rows to take in which order, and where each class with rows to take begins among them."""

    classes: np.ndarray
    rows: np.ndarray
    begins: np.ndarray


def labelled_rows(classes: np.ndarray, codes: np.ndarray, who: str) -> LabelledRows:
    """Rows of classes with two or more rows, class by class; ``codes`` are places among the classes."""
    sizes = np.bincount(codes)
    if (sizes < 2).any():
        _warn_of_single_rows(classes[sizes < 2], int(np.count_nonzero(sizes > 1)), who)
    few = np.flatnonzero((sizes > 1) & (sizes < FEW_ROWS))
    if len(few):
        warn_caller(
            f"Class {classes.tolist()[few[0]]!r} has {sizes[few[0]]} rows only: with fewer than {FEW_ROWS} {who} "
            "cannot estimate the shape of a distribution well. Merge small classes, or leave them out."
        )
    kept = np.flatnonzero(sizes > 1)
    rows = np.argsort(codes, kind="stable")
    rows = rows[np.isin(codes[rows], kept)]
    return LabelledRows(classes, rows, np.append(0, np.cumsum(sizes[kept])))


def _warn_of_single_rows(classes: np.ndarray, n_others: int, who: str) -> None:
    if n_others < 2:
        raise ValueError(
            f"{who} needs at least two classes with two or more rows each: the density of a class at a row is made of "
            "the other rows of that class."
        )
    names = ", ".join(repr(name) for name in classes[:5].tolist())
    warn_caller(f"Classes with a single row have no density and are left out of the search: {names}.")
