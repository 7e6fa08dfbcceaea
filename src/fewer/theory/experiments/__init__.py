"""The papers' experiments on a table of your own: biased estimates, over-fitted criteria."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory.experiments._bias_experiment import BiasExperiment, selection_bias_experiment
    from fewer.theory.experiments._overfit_curve import OverfitCurve, selection_overfit_curve
    from fewer.theory.experiments._split_criterion import CriterionSurface, RepeatedSplitCriterion, smoothed_error_rate

__all__ = [
    "BiasExperiment",
    "CriterionSurface",
    "OverfitCurve",
    "RepeatedSplitCriterion",
    "selection_bias_experiment",
    "selection_overfit_curve",
    "smoothed_error_rate",
]

__getattr__, __dir__ = lazy_names(__name__)
