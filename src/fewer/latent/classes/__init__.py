"""Latent classes of categorical items and latent profiles of numbers, with missing values."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.classes._latent_class import LatentClass
    from fewer.latent.classes._latent_profile import LatentProfile
    from fewer.latent.classes._three_step import three_step_covariates, three_step_outcome

__all__ = ["LatentClass", "LatentProfile", "three_step_covariates", "three_step_outcome"]

__getattr__, __dir__ = lazy_names(__name__)
