"""Projections from pairs that are the same or different, good for classes not seen before."""

from fewer.extract.hyperbolic._hyperbolic_pca import HyperbolicPCA
from fewer.extract.hyperbolic._normalized_rbf import normalized_rbf
from fewer.extract.hyperbolic._one_shot_nn import one_shot_nn

__all__ = ["HyperbolicPCA", "normalized_rbf", "one_shot_nn"]
