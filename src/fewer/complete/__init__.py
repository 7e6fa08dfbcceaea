"""Missing values: low-rank completion, PCA with missing values."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete._completion_score import completion_score
    from fewer.complete._missing_pattern import missing_pattern, plot_missing
    from fewer.complete._optspace import OptSpace, estimate_rank, oracle_rmse
    from fewer.complete.factorization._subspace_segmentation import SubspaceSegmentation
    from fewer.complete.factorization._weighted_factorization import WeightedFactorization, metric_upgrade
    from fewer.complete.pca_missing._pca_missing import PCAMissing
    from fewer.complete.soft_impute._mmmf import MMMF
    from fewer.complete.soft_impute._soft_impute import SoftImpute, SoftImputeCV
    from fewer.complete.soft_impute._spectral import soft_threshold_svd
    from fewer.complete.soft_impute._spectral_impute import HardImpute, SpectralImpute

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.complete._completion_score import CompletionScore as CompletionScore
    from fewer.complete._missing_pattern import MissingPattern as MissingPattern
    from fewer.complete.factorization._weighted_factorization import MetricUpgrade as MetricUpgrade

__all__ = [
    "MMMF",
    "HardImpute",
    "OptSpace",
    "PCAMissing",
    "SoftImpute",
    "SoftImputeCV",
    "SpectralImpute",
    "SubspaceSegmentation",
    "WeightedFactorization",
    "completion_score",
    "estimate_rank",
    "metric_upgrade",
    "missing_pattern",
    "oracle_rmse",
    "plot_missing",
    "soft_threshold_svd",
]

__getattr__, __dir__ = lazy_names(__name__)
