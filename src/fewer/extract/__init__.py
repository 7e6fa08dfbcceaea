"""Fewer, new columns: linear, discriminant, kernel, deep."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract._extractor import with_components
    from fewer.extract._haar_features import HaarFeatures
    from fewer.extract._kurtosis_ica import KurtosisICA
    from fewer.extract._mdl_discretizer import MDLDiscretizer
    from fewer.extract._plots import loadings, plot_correlation_circle, plot_loadings, plot_projection
    from fewer.extract._reconstruction_pca import ReconstructionPCA
    from fewer.extract._word_clusters import WordClusters
    from fewer.extract.correspondence import (
        CanonicalCorrespondenceAnalysis,
        CorrespondenceAnalysis,
        GaussianResponseModel,
        OptimalScoringLDA,
        cooccurrence_to_labeled,
        plot_biplot,
    )
    from fewer.extract.fisher import (
        GeneralizedEigenProjector,
        KernelRegularizedFisher,
        PenalizedKernelCCA,
        RegularizedFisher,
        RegularizedFisherCV,
        discriminant_scores_matrix,
    )
    from fewer.extract.gaussian_directions import (
        PHD,
        SAVE,
        SIR,
        CPCDiscriminant,
        CriterionCurve,
        GaussianLRDiscriminant,
        criterion_curve,
    )
    from fewer.extract.gradients import GradientDiffusionMap, GradientGraph, GradientLearner, GradientOuterProduct
    from fewer.extract.hdda import HDDA, HDDC
    from fewer.extract.hyperbolic import HyperbolicPCA, normalized_rbf, one_shot_error
    from fewer.extract.information import PCAComparison, VariationalInfoMax, compare_to_pca, information_bound
    from fewer.extract.pls import (
        PLSSB,
        CanonicalRidge,
        KernelPLS,
        PLSCanonical,
        PLSDiscriminant,
        PLSRegressor,
        PLSShrinkage,
        PolynomialPLSRegressor,
        pls_shrinkage,
    )
    from fewer.extract.projection_pursuit import (
        BackwardProjectionPursuitDensity,
        ExploratoryProjectionPursuit,
        ForwardProjectionPursuitDensity,
        LikelihoodRatioDiscriminant,
        ProjectionPursuitDiscriminant,
    )
    from fewer.extract.random_projection import (
        LandmarkFeatures,
        MarginReport,
        RandomProjection,
        distortion_dim,
        landmark_dim,
        margin_dim,
        margin_report,
        perceptron_mistake_bound,
    )
    from fewer.extract.subspace_clusters import FastProjectiveClustering, SubspaceDistanceFeatures, cluster_coverage

__all__ = [
    "HDDA",
    "HDDC",
    "PHD",
    "PLSSB",
    "SAVE",
    "SIR",
    "BackwardProjectionPursuitDensity",
    "CPCDiscriminant",
    "CanonicalCorrespondenceAnalysis",
    "CanonicalRidge",
    "CorrespondenceAnalysis",
    "CriterionCurve",
    "ExploratoryProjectionPursuit",
    "FastProjectiveClustering",
    "ForwardProjectionPursuitDensity",
    "GaussianLRDiscriminant",
    "GaussianResponseModel",
    "GeneralizedEigenProjector",
    "GradientDiffusionMap",
    "GradientGraph",
    "GradientLearner",
    "GradientOuterProduct",
    "HaarFeatures",
    "HyperbolicPCA",
    "KernelPLS",
    "KernelRegularizedFisher",
    "KurtosisICA",
    "LandmarkFeatures",
    "LikelihoodRatioDiscriminant",
    "MDLDiscretizer",
    "MarginReport",
    "OptimalScoringLDA",
    "PCAComparison",
    "PLSCanonical",
    "PLSDiscriminant",
    "PLSRegressor",
    "PLSShrinkage",
    "PenalizedKernelCCA",
    "PolynomialPLSRegressor",
    "ProjectionPursuitDiscriminant",
    "RandomProjection",
    "ReconstructionPCA",
    "RegularizedFisher",
    "RegularizedFisherCV",
    "SubspaceDistanceFeatures",
    "VariationalInfoMax",
    "WordClusters",
    "cluster_coverage",
    "compare_to_pca",
    "cooccurrence_to_labeled",
    "criterion_curve",
    "discriminant_scores_matrix",
    "distortion_dim",
    "information_bound",
    "landmark_dim",
    "loadings",
    "margin_dim",
    "margin_report",
    "normalized_rbf",
    "one_shot_error",
    "perceptron_mistake_bound",
    "plot_biplot",
    "plot_correlation_circle",
    "plot_loadings",
    "plot_projection",
    "pls_shrinkage",
    "with_components",
]

__getattr__, __dir__ = lazy_names(__name__)
