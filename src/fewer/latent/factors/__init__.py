"""Continuous latent quantities behind rows: factors of numbers, traits behind answers, causes that add up."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.factors._cooperative_vq import CooperativeVQ
    from fewer.latent.factors._factor_analysis import FactorAnalysis
    from fewer.latent.factors._mixture_of_factor_analyzers import MixtureOfFactorAnalyzers

__all__ = ["CooperativeVQ", "FactorAnalysis", "MixtureOfFactorAnalyzers"]

__getattr__, __dir__ = lazy_names(__name__)
