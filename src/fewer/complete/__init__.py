"""Tables with holes: low-rank completion, PCA with missing values."""

from fewer.complete.pca_missing import PCAMissing

__all__ = ["PCAMissing"]
