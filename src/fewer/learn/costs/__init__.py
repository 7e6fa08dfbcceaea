"""Linear classifiers for errors of unequal cost."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.costs._cost_linear import (
        SigmoidRiskClassifier,
        ThresholdedLogisticRegression,
        WeightedLogisticRegression,
    )
    from fewer.learn.costs._costs import class_costs, cost_of_errors
    from fewer.learn.costs._meta_cost import MetaCostClassifier

__all__ = [
    "MetaCostClassifier",
    "SigmoidRiskClassifier",
    "ThresholdedLogisticRegression",
    "WeightedLogisticRegression",
    "class_costs",
    "cost_of_errors",
]

__getattr__, __dir__ = lazy_names(__name__)
