"""Component-wise boosting: base-learners x families, built step by step, stopped by resampling."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.boosting._base_learners import (
        BaseLearner,
        CategoricalLearner,
        LinearLearner,
        SpatialLearner,
        SplineLearner,
        TreeLearner,
    )
    from fewer.learn.boosting._boosted_model import PartialEffect
    from fewer.learn.boosting._componentwise_boosting import (
        ComponentwiseBoostingClassifier,
        ComponentwiseBoostingRegressor,
    )
    from fewer.learn.boosting._families import (
        AdaExpFamily,
        BinomialFamily,
        ExpectileFamily,
        Family,
        GaussianFamily,
        HuberFamily,
        LaplaceFamily,
        NegativeBinomialFamily,
        PoissonFamily,
        ProportionalOddsFamily,
        QuantileFamily,
    )
    from fewer.learn.boosting._stopping import AicCurve, RiskCurve, aic_stop, cv_risk
    from fewer.learn.boosting._survival_families import CoxFamily, LogLogisticFamily, LogNormalFamily, WeibullFamily

__all__ = [
    "AdaExpFamily",
    "AicCurve",
    "BaseLearner",
    "BinomialFamily",
    "CategoricalLearner",
    "ComponentwiseBoostingClassifier",
    "ComponentwiseBoostingRegressor",
    "CoxFamily",
    "ExpectileFamily",
    "Family",
    "GaussianFamily",
    "HuberFamily",
    "LaplaceFamily",
    "LinearLearner",
    "LogLogisticFamily",
    "LogNormalFamily",
    "NegativeBinomialFamily",
    "PartialEffect",
    "PoissonFamily",
    "ProportionalOddsFamily",
    "QuantileFamily",
    "RiskCurve",
    "SpatialLearner",
    "SplineLearner",
    "TreeLearner",
    "WeibullFamily",
    "aic_stop",
    "cv_risk",
]

__getattr__, __dir__ = lazy_names(__name__)
