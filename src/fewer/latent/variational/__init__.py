"""Variational Bayes by conjugate gradients in the geometry of the posterior: normal mixtures, non-linear factors."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.variational._nonlinear_factor_analysis import NonlinearFactorAnalysis
    from fewer.latent.variational._riemannian_cg import (
        BlockDiagonalMetric,
        DiagonalMetric,
        TridiagonalMetric,
        riemannian_cg,
    )
    from fewer.latent.variational._vb_gaussian_mixture import VBGaussianMixture

__all__ = [
    "BlockDiagonalMetric",
    "DiagonalMetric",
    "NonlinearFactorAnalysis",
    "TridiagonalMetric",
    "VBGaussianMixture",
    "riemannian_cg",
]

__getattr__, __dir__ = lazy_names(__name__)
