"""Directions along which classes, or slices of a numeric target, differ in mean, spread and correlation."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.gaussian_directions._cpc import CPCDiscriminant
    from fewer.extract.gaussian_directions._gaussian_lr import GaussianLRDiscriminant
    from fewer.extract.gaussian_directions._inverse_regression import PHD, SAVE, SIR
    from fewer.extract.gaussian_directions._moments import CriterionCurve, criterion_curve

__all__ = ["PHD", "SAVE", "SIR", "CPCDiscriminant", "CriterionCurve", "GaussianLRDiscriminant", "criterion_curve"]

__getattr__, __dir__ = lazy_names(__name__)
