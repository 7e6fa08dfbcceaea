"""Losses for probabilities, built from a weight function and a link, and a linear classifier for any of them."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.composite._composite_classifier import CompositeLossClassifier
    from fewer.learn.composite._composite_cv import CompositeLossClassifierCV
    from fewer.learn.composite._composite_loss import CompositeLoss, Link, link_named, reference_link
    from fewer.learn.composite._proper_loss import (
        ProperLoss,
        beta_loss,
        is_calibrated_at,
        is_noise_robust,
        proper_loss,
        symmetric_from_half,
        zero_one_regret_bound,
    )

__all__ = [
    "CompositeLoss",
    "CompositeLossClassifier",
    "CompositeLossClassifierCV",
    "Link",
    "ProperLoss",
    "beta_loss",
    "is_calibrated_at",
    "is_noise_robust",
    "link_named",
    "proper_loss",
    "reference_link",
    "symmetric_from_half",
    "zero_one_regret_bound",
]

__getattr__, __dir__ = lazy_names(__name__)
