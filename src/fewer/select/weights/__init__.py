"""Soft weights for columns, chosen by the criterion of the projection that follows."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.weights._fisher_weight_selector import FisherWeightSelector
    from fewer.select.weights._haar_features import HaarFeatures
    from fewer.select.weights._variance_weight_selector import VarianceWeightSelector
    from fewer.select.weights._weighted_fisher import WeightedFisher
    from fewer.select.weights._weighted_pca import WeightedPCA

__all__ = ["FisherWeightSelector", "HaarFeatures", "VarianceWeightSelector", "WeightedFisher", "WeightedPCA"]

__getattr__, __dir__ = lazy_names(__name__)
