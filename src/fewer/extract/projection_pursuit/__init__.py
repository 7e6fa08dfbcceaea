"""Projection pursuit: directions of structure, densities and a classifier built along them."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.projection_pursuit._densities import (
        BackwardProjectionPursuitDensity,
        ForwardProjectionPursuitDensity,
    )
    from fewer.extract.projection_pursuit._exploratory_projection_pursuit import ExploratoryProjectionPursuit
    from fewer.extract.projection_pursuit._likelihood_ratio_discriminant import LikelihoodRatioDiscriminant
    from fewer.extract.projection_pursuit._projection_pursuit_discriminant import ProjectionPursuitDiscriminant

__all__ = [
    "BackwardProjectionPursuitDensity",
    "ExploratoryProjectionPursuit",
    "ForwardProjectionPursuitDensity",
    "LikelihoodRatioDiscriminant",
    "ProjectionPursuitDiscriminant",
]

__getattr__, __dir__ = lazy_names(__name__)
