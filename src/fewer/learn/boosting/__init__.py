"""Component-wise boosting: base-learners x families, built step by step, stopped by resampling."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.boosting._aic_stop import AicCurve, aic_stop
    from fewer.learn.boosting._classifier import ComponentwiseBoostingClassifier
    from fewer.learn.boosting._cv_risk import RiskCurve, cv_risk
    from fewer.learn.boosting._effects import PartialEffect
    from fewer.learn.boosting._regressor import ComponentwiseBoostingRegressor
    from fewer.learn.boosting.base_learners import (
        BaseLearner,
        CategoricalLearner,
        LinearLearner,
        SpatialLearner,
        SplineLearner,
        TreeLearner,
    )
    from fewer.learn.boosting.families import (
        AdaExpFamily,
        BinomialFamily,
        CoxFamily,
        ExpectileFamily,
        Family,
        GaussianFamily,
        HuberFamily,
        LaplaceFamily,
        LogLogisticFamily,
        LogNormalFamily,
        NegativeBinomialFamily,
        PoissonFamily,
        ProportionalOddsFamily,
        QuantileFamily,
        WeibullFamily,
    )

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
