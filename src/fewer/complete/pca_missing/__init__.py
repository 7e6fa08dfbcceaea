"""PCA fitted to what is observed of a table, by seven methods."""

from fewer.complete.pca_missing._pca_missing import PCAMissing

__all__ = ["PCAMissing"]
