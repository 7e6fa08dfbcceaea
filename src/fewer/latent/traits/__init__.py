"""Continuous traits behind items with a few answers."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.traits._latent_trait import LatentTrait

__all__ = ["LatentTrait"]

__getattr__, __dir__ = lazy_names(__name__)
