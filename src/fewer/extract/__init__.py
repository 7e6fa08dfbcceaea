"""Fewer, new columns: linear, discriminant, kernel, deep."""

from fewer.extract._kurtosis_ica import KurtosisICA
from fewer.extract._reconstruction_pca import ReconstructionPCA

__all__ = ["KurtosisICA", "ReconstructionPCA"]
