"""Continuous latent quantities behind rows: factors of numbers, traits behind answers, causes that add up."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.factors._factor_analysis import FactorAnalysis

__all__ = ["FactorAnalysis"]

__getattr__, __dir__ = lazy_names(__name__)
