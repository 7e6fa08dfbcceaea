"""Densities along directions: smooth maps to normal values, and a normal density times functions along directions.

The map is ``Phi^(-1)(F(z))``. F is the distribution function of a kernel density, mixed with a little of a wide normal
one, so that values far out are mapped to finite ones and back. The density is kept at the nodes of an even grid and is
linear between them, so that F is its integral exactly, and the map's derivative is density over normal density to the
last digit. Structure is removed along a direction a by making each class normal there, unchanged across:
``x <- x + (Phi^(-1)(F_k(a'x)) - a'x) a``, F_k the class's own distribution function along a.

The other model is ``p(z) = n(z) prod_m f_m(a_m'z)`` in sphered coordinates. The function that is best along a direction
a is the density of the rows there over that of the model so far. The latter is a kernel density of points drawn from
the normal density, each weighted by the functions so far.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from fewer.extract.projection_pursuit._kernels import density_on_grid, fit_under, left_out_fit
from fewer.extract.projection_pursuit._search import FLOOR

N_NODES = 600
_WIDE_SHARE = 0.01
_WIDENING = 2.0
_REACH = 5.0
_HALVINGS = 45
_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)


class NormalMap(NamedTuple):
    """Nodes, densities there, and mean and standard deviation of the wide normal density."""

    grid: np.ndarray
    densities: np.ndarray
    mean: float
    spread: float

    def forth(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Normal values, and the logarithm of the map's derivative."""
        density, below, above = self._kernel_part(values)
        far = (values - self.mean) / self.spread
        with np.errstate(divide="ignore"):  # no mass on one side is the logarithm minus infinity
            log_below = np.logaddexp(
                np.log1p(-_WIDE_SHARE) + np.log(below), np.log(_WIDE_SHARE) + special.log_ndtr(far)
            )
            log_above = np.logaddexp(
                np.log1p(-_WIDE_SHARE) + np.log(above), np.log(_WIDE_SHARE) + special.log_ndtr(-far)
            )
        # Each half by its own tail: 1 - F has no digits left where F is about one.
        normal = np.where(log_below < log_above, special.ndtri_exp(log_below), -special.ndtri_exp(log_above))
        wide = np.log(_WIDE_SHARE) - 0.5 * far**2 - _LOG_ROOT_TWO_PI - np.log(self.spread)
        with np.errstate(divide="ignore"):
            log_density = np.logaddexp(np.log1p(-_WIDE_SHARE) + np.log(density), wide)
        return normal, log_density + 0.5 * normal**2 + _LOG_ROOT_TWO_PI

    def back(self, normal: np.ndarray) -> np.ndarray:
        """Values that are mapped to the given ones."""
        at_nodes = self.forth(self.grid)[0]
        place = np.clip(np.searchsorted(at_nodes, normal) - 1, 0, len(self.grid) - 2)
        low, high = self.grid[place], self.grid[place + 1]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = self.forth(middle)[0] < normal
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        inside = (low + high) / 2
        # Beyond the grid there is the wide density only.
        under = self.mean + self.spread * special.ndtri_exp(
            np.minimum(special.log_ndtr(np.minimum(normal, at_nodes[0])) - np.log(_WIDE_SHARE), 0)
        )
        over = self.mean - self.spread * special.ndtri_exp(
            np.minimum(special.log_ndtr(-np.maximum(normal, at_nodes[-1])) - np.log(_WIDE_SHARE), 0)
        )
        return np.where(normal < at_nodes[0], under, np.where(normal > at_nodes[-1], over, inside))

    def _kernel_part(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kernel density at values, and its mass below and above them."""
        step = self.grid[1] - self.grid[0]
        masses = np.append(0, np.cumsum((self.densities[1:] + self.densities[:-1]) / 2 * step))
        masses_above = np.append(0, np.cumsum(((self.densities[1:] + self.densities[:-1]) / 2 * step)[::-1]))[::-1]
        inside = np.clip(values, self.grid[0], self.grid[-1])
        place = np.minimum(((inside - self.grid[0]) / step).astype(int), len(self.grid) - 2)
        share = (inside - self.grid[place]) / step
        left, right = self.densities[place], self.densities[place + 1]
        density = left + share * (right - left)
        below = masses[place] + step * share * (left + density) / 2
        above = masses_above[place + 1] + step * (1 - share) * (density + right) / 2
        outside = (values < self.grid[0]) | (values > self.grid[-1])
        return np.where(outside, 0, density), np.maximum(below, 0), np.maximum(above, 0)


def normal_map(values: np.ndarray, width: float) -> NormalMap:
    """The map that makes values normal, with kernels of a width."""
    grid = np.linspace(values.min() - _REACH * width, values.max() + _REACH * width, N_NODES)
    densities = np.maximum(density_on_grid(values, np.ones(len(values)), width, grid), 0)
    step = grid[1] - grid[0]
    densities /= (densities.sum() - (densities[0] + densities[-1]) / 2) * step
    return NormalMap(grid, densities, float(values.mean()), _WIDENING * max(float(values.std()), width))


def made_normal(Z: np.ndarray, direction: np.ndarray, to_normal: NormalMap) -> tuple[np.ndarray, np.ndarray]:
    """Rows mapped along a unit direction, and the logarithm of the volume that each gains."""
    values = Z @ direction
    normal, log_slope = to_normal.forth(values)
    return Z + np.outer(normal - values, direction), log_slope


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Values of a standard normal distribution in the order of the given ones; ties share theirs."""
    return special.ndtri((stats.rankdata(values) - 0.5) / len(values))


def without_structure(
    Z: np.ndarray, begins: np.ndarray, direction: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Rows with every class made normal along a direction, and the map of each class as two rows: from, to.

    Rows move along ``shift``, which is the direction itself unless another metric is meant.
    """
    values = Z @ direction
    new = np.concatenate([normal_scores(values[begin:end]) for begin, end in pairwise(begins)])
    maps = []
    for begin, end in pairwise(begins):
        distinct, first = np.unique(values[begin:end], return_index=True)
        maps.append(np.stack([distinct, new[begin:end][first]]))
    return Z + np.outer(new - values, shift / (shift @ direction)), maps


_MARGIN = 3.0
_LEAST_SHARE = 1e-8
"""Of the top of a density: less is nothing that a ratio could be taken of."""

_LARGEST_LOG = 10.0
_FEWEST_EFFECTIVE = 0.1
"""Share of points that must carry the weights, or new ones are drawn."""

_DRAWS_FOR_ONE = 10


def normal_points(n_points: int, dim: int, rng: np.random.RandomState) -> np.ndarray:
    """Points of a standard normal density, with mean zero and unit covariance exactly, where they are enough for it."""
    half = rng.normal(size=(-(-n_points // 2), dim))
    points = np.concatenate([half, -half])
    if len(half) > 2 * dim:
        points = np.linalg.solve(np.linalg.cholesky(points.T @ points / len(points)), points.T).T
    return np.ascontiguousarray(points)


def ridge_grid(values: np.ndarray, width: float) -> np.ndarray:
    """Nodes at which a function along a direction is kept; it is constant beyond them.

    They reach a little further than the values, so that where these end at a wall the function can fall, and the normal
    density behind the wall does not count.
    """
    return np.linspace(values.min() - _MARGIN * width, values.max() + _MARGIN * width, N_NODES)


@dataclass
class RidgeModel:
    """A density that grows by one function after the other, and the points that stand for it."""

    points: np.ndarray
    weights: np.ndarray
    directions: list[np.ndarray] = field(default_factory=list)
    grids: list[np.ndarray] = field(default_factory=list)
    log_ridges: list[np.ndarray] = field(default_factory=list)
    log_normalizer: float = 0.0

    @classmethod
    def normal(cls, points: np.ndarray) -> "RidgeModel":
        """The density to begin with, by points that are drawn from it."""
        return cls(points, np.ones(len(points)))

    def gain(self, values: np.ndarray, drawn: np.ndarray, width: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Log-likelihood that a function along a direction would add for values there, and its derivatives.

        ``drawn`` are the points along the direction; derivatives are by the values and by these. Rows are left out of
        their own density.
        """
        slopes, under, drawn_slopes = np.empty(len(values)), np.empty(len(values)), np.empty(len(drawn))
        fit = left_out_fit(values, width, FLOOR, slopes)
        fit -= fit_under(values, drawn, self.weights, width, FLOOR, under, drawn_slopes)
        return fit, slopes - under, -drawn_slopes

    def ridge(self, direction: np.ndarray, values: np.ndarray, width: float, grid: np.ndarray) -> np.ndarray:
        """Logarithm of the best function along a direction, for rows with these values there, at the nodes."""
        rows = density_on_grid(values, np.ones(len(values)), width, grid)
        model = density_on_grid(self.points @ direction, self.weights, width, grid)
        rows, model = (np.maximum(density, _LEAST_SHARE * density.max()) for density in (rows, model))
        return np.clip(np.log(rows) - np.log(model), -_LARGEST_LOG, _LARGEST_LOG)

    def grow(self, direction: np.ndarray, grid: np.ndarray, log_ridge: np.ndarray, rng: np.random.RandomState) -> None:
        """Take one more function in, scaled so that the density still has the integral one."""
        told = np.interp(self.points @ direction, grid, log_ridge)
        total = np.average(np.exp(told), weights=self.weights)
        self.log_normalizer += float(np.log(total))
        self.directions.append(direction)
        self.grids.append(grid)
        self.log_ridges.append(log_ridge - np.log(total))
        self.weights = self.weights * np.exp(told - np.log(total))
        effective = self.weights.sum() ** 2 / (self.weights @ self.weights)
        if effective < _FEWEST_EFFECTIVE * len(self.points):
            self.points = drawn_rows(
                self.points.shape, np.array(self.directions), np.array(self.grids), np.array(self.log_ridges), rng
            )
            self.weights = np.ones(len(self.points))


def log_factors(Z: np.ndarray, directions: np.ndarray, grids: np.ndarray, log_ridges: np.ndarray) -> np.ndarray:
    """Logarithm of every function at each row (functions, rows)."""
    along = np.reshape(directions, (-1, Z.shape[1])) @ Z.T
    return np.array([np.interp(*each) for each in zip(along, grids, log_ridges, strict=True)]).reshape(-1, len(Z))


def drawn_rows(
    shape: tuple[int, ...],
    directions: np.ndarray,
    grids: np.ndarray,
    log_ridges: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Points of the density, by weighing ten times as many of the normal one."""
    n_points, dim = shape
    pool = normal_points(_DRAWS_FOR_ONE * n_points, dim, rng)
    weights = np.exp(log_factors(pool, directions, grids, log_ridges).sum(axis=0))
    # Evenly spaced along the weights: a point comes as often as its weight asks for, to within one.
    places = (np.arange(n_points) + rng.uniform()) / n_points * weights.sum()
    chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), len(pool) - 1)
    return pool[rng.permutation(chosen)]
