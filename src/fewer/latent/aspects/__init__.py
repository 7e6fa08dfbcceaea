"""Aspects of counts by maximum likelihood: PLSA, the aspect model, and what they show."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.aspects._aspect_model import AspectModel
    from fewer.latent.aspects._aspect_report import AspectReport, aspect_report
    from fewer.latent.aspects._bag_of_prototypes import BagOfPrototypes
    from fewer.latent.aspects._plsa import PLSA

__all__ = ["PLSA", "AspectModel", "AspectReport", "BagOfPrototypes", "aspect_report"]

__getattr__, __dir__ = lazy_names(__name__)
