"""Discrete components of counts: gamma-Poisson and Dirichlet-multinomial models, and what is built from them."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.counts._component_features import ComponentClassifier, ComponentFeatures
    from fewer.latent.counts._discrete_components import DiscreteComponentAnalysis

__all__ = ["ComponentClassifier", "ComponentFeatures", "DiscreteComponentAnalysis"]

__getattr__, __dir__ = lazy_names(__name__)
