"""A smooth, increasing map of values to standard normal ones: ``Phi^(-1)(F(z))``.

F is the distribution function of a kernel density, mixed with a little of a wide normal one, so that values far out are
mapped to finite ones and back. The density is kept at the nodes of an even grid and is linear between them, so that F
is its integral exactly, and the map's derivative is density over normal density to the last digit.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from fewer._kernels._projected_densities import density_on_grid

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
