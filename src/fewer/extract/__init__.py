"""Fewer, new columns: linear, discriminant, kernel, deep."""

from fewer.extract._kurtosis_ica import KurtosisICA
from fewer.extract._plot_loadings import plot_loadings
from fewer.extract._plot_projection import plot_projection
from fewer.extract._reconstruction_pca import ReconstructionPCA
from fewer.extract._sparsified_random_projection import SparsifiedRandomProjection
from fewer.extract.gaussian_directions import (
    PHD,
    SAVE,
    SIR,
    CPCDiscriminant,
    CriterionCurve,
    GaussianLRDiscriminant,
    criterion_curve,
)

__all__ = [
    "PHD",
    "SAVE",
    "SIR",
    "CPCDiscriminant",
    "CriterionCurve",
    "GaussianLRDiscriminant",
    "KurtosisICA",
    "ReconstructionPCA",
    "SparsifiedRandomProjection",
    "criterion_curve",
    "plot_loadings",
    "plot_projection",
]
