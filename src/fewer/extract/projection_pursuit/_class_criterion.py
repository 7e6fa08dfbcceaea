"""How much classes differ along one direction, or along several together, by the density that is chosen."""

from dataclasses import dataclass

import numpy as np

from fewer.extract.projection_pursuit._indices import (
    Index,
    along,
    class_widths,
    gaussian_ratio,
    kernel_ratio,
    pooled_gaussian_ratio,
)
from fewer.extract.projection_pursuit._joint_index import joint_ratio
from fewer.extract.projection_pursuit._search import Criterion


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
