"""Completion by shrinking singular values: nuclear norm, rank, and what lies between."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete.soft_impute._mmmf import MMMF
    from fewer.complete.soft_impute._soft_impute import SoftImpute, SoftImputeCV
    from fewer.complete.soft_impute._spectral import soft_threshold_svd
    from fewer.complete.soft_impute._spectral_impute import HardImpute, SpectralImpute

__all__ = ["MMMF", "HardImpute", "SoftImpute", "SoftImputeCV", "SpectralImpute", "soft_threshold_svd"]

__getattr__, __dir__ = lazy_names(__name__)
