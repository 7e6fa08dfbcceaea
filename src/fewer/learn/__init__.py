"""Classifiers and regressors: sparse and ridge linear models, online learning, boosting, kernel machines, naive
Bayes."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn._agreement import AgreementClassifier
    from fewer.learn._harmonic import HarmonicClassifier
    from fewer.learn._hubness_neighbours import HubnessWeightedKNeighborsClassifier
    from fewer.learn._kernel_ridge_loo import KernelRidgeClassifierLOO, KernelRidgeRegressorLOO
    from fewer.learn._naive_bayes_text import NaiveBayesText
    from fewer.learn._ovr_committee import OVRLinearSVMCommittee
    from fewer.learn._prototypes import LVQClassifier, SeparateKMeansClassifier
    from fewer.learn._random_column_forest import RandomColumnForestClassifier
    from fewer.learn._random_separator import RandomSeparatorClassifier
    from fewer.learn.boosting import (
        AdaExpFamily,
        AicCurve,
        BaseLearner,
        BinomialFamily,
        CategoricalLearner,
        ComponentwiseBoostingClassifier,
        ComponentwiseBoostingRegressor,
        CoxFamily,
        ExpectileFamily,
        Family,
        GaussianFamily,
        HuberFamily,
        LaplaceFamily,
        LinearLearner,
        LogLogisticFamily,
        LogNormalFamily,
        NegativeBinomialFamily,
        PartialEffect,
        PoissonFamily,
        ProportionalOddsFamily,
        QuantileFamily,
        RiskCurve,
        SpatialLearner,
        SplineLearner,
        TreeLearner,
        WeibullFamily,
        aic_stop,
        cv_risk,
    )
    from fewer.learn.composite import (
        CompositeLoss,
        CompositeLossClassifier,
        CompositeLossClassifierCV,
        Link,
        ProperLoss,
        beta_loss,
        is_calibrated_at,
        is_noise_robust,
        link_named,
        proper_loss,
        reference_link,
        symmetric_from_half,
        zero_one_regret_bound,
    )
    from fewer.learn.costs import (
        MetaCostClassifier,
        SigmoidRiskClassifier,
        ThresholdedLogisticRegression,
        WeightedLogisticRegression,
    )
    from fewer.learn.dantzig import (
        BasisPursuit,
        DantzigPath,
        DantzigSelector,
        DantzigSolution,
        dantzig_path,
        penalty_level,
        solve_dantzig,
    )
    from fewer.learn.lp_boost import LPBoost, ThresholdStump
    from fewer.learn.online import RDAClassifier, RDARegressor
    from fewer.learn.ridge import RidgePathClassifierCV, RidgePathRegressorCV
    from fewer.learn.sparse import (
        L1History,
        L1LinearClassifier,
        L1LinearRegressor,
        L1Path,
        L1PathClassifierCV,
        L1PathRegressorCV,
        SolverComparison,
        compare_l1_solvers,
        l1_path,
    )

__all__ = [
    "AdaExpFamily",
    "AgreementClassifier",
    "AicCurve",
    "BaseLearner",
    "BasisPursuit",
    "BinomialFamily",
    "CategoricalLearner",
    "ComponentwiseBoostingClassifier",
    "ComponentwiseBoostingRegressor",
    "CompositeLoss",
    "CompositeLossClassifier",
    "CompositeLossClassifierCV",
    "CoxFamily",
    "DantzigPath",
    "DantzigSelector",
    "DantzigSolution",
    "ExpectileFamily",
    "Family",
    "GaussianFamily",
    "HarmonicClassifier",
    "HuberFamily",
    "HubnessWeightedKNeighborsClassifier",
    "KernelRidgeClassifierLOO",
    "KernelRidgeRegressorLOO",
    "L1History",
    "L1LinearClassifier",
    "L1LinearRegressor",
    "L1Path",
    "L1PathClassifierCV",
    "L1PathRegressorCV",
    "LPBoost",
    "LVQClassifier",
    "LaplaceFamily",
    "LinearLearner",
    "Link",
    "LogLogisticFamily",
    "LogNormalFamily",
    "MetaCostClassifier",
    "NaiveBayesText",
    "NegativeBinomialFamily",
    "OVRLinearSVMCommittee",
    "PartialEffect",
    "PoissonFamily",
    "ProperLoss",
    "ProportionalOddsFamily",
    "QuantileFamily",
    "RDAClassifier",
    "RDARegressor",
    "RandomColumnForestClassifier",
    "RandomSeparatorClassifier",
    "RidgePathClassifierCV",
    "RidgePathRegressorCV",
    "RiskCurve",
    "SeparateKMeansClassifier",
    "SigmoidRiskClassifier",
    "SolverComparison",
    "SpatialLearner",
    "SplineLearner",
    "ThresholdStump",
    "ThresholdedLogisticRegression",
    "TreeLearner",
    "WeibullFamily",
    "WeightedLogisticRegression",
    "aic_stop",
    "beta_loss",
    "compare_l1_solvers",
    "cv_risk",
    "dantzig_path",
    "is_calibrated_at",
    "is_noise_robust",
    "l1_path",
    "link_named",
    "penalty_level",
    "proper_loss",
    "reference_link",
    "solve_dantzig",
    "symmetric_from_half",
    "zero_one_regret_bound",
]

__getattr__, __dir__ = lazy_names(__name__)
