"""Latent classes of categorical items and latent profiles of numbers, with missing values."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.classes._latent_class import LatentClass

__all__ = ["LatentClass"]

__getattr__, __dir__ = lazy_names(__name__)
