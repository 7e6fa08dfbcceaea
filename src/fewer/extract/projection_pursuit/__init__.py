"""Projection pursuit: directions of structure, densities and a classifier built along them."""

from fewer.extract.projection_pursuit._backward_density import BackwardProjectionPursuitDensity
from fewer.extract.projection_pursuit._exploratory_projection_pursuit import ExploratoryProjectionPursuit
from fewer.extract.projection_pursuit._forward_density import ForwardProjectionPursuitDensity
from fewer.extract.projection_pursuit._likelihood_ratio_discriminant import LikelihoodRatioDiscriminant
from fewer.extract.projection_pursuit._projection_pursuit_discriminant import ProjectionPursuitDiscriminant

__all__ = [
    "BackwardProjectionPursuitDensity",
    "ExploratoryProjectionPursuit",
    "ForwardProjectionPursuitDensity",
    "LikelihoodRatioDiscriminant",
    "ProjectionPursuitDiscriminant",
]
