"""Projection pursuit: directions of structure, densities and a classifier built along them."""

from fewer.extract.projection_pursuit._exploratory_projection_pursuit import ExploratoryProjectionPursuit
from fewer.extract.projection_pursuit._likelihood_ratio_discriminant import LikelihoodRatioDiscriminant

__all__ = ["ExploratoryProjectionPursuit", "LikelihoodRatioDiscriminant"]
