"""Densities as a normal one times functions along directions: ``p(z) = n(z) prod_m f_m(a_m'z)`` in sphered coordinates.

The function that is best along a direction a is the density of the rows there over that of the model so far. The
latter is a kernel density of points drawn from the normal density, each weighted by what the functions so far say of
it.
"""

from dataclasses import dataclass, field

import numpy as np

from fewer._kernels._projected_densities import density_on_grid, fit_under, left_out_fit
from fewer.extract.projection_pursuit._indices import FLOOR

N_NODES = 600
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
