"""Discriminant directions by ridge regression: linear, with kernels, and what else solves such an eigenproblem."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.fisher._eigenproblem import discriminant_scores_matrix
    from fewer.extract.fisher._generalized_eigen_projector import GeneralizedEigenProjector
    from fewer.extract.fisher._kernel_regularized_fisher import KernelRegularizedFisher
    from fewer.extract.fisher._penalized_kernel_cca import PenalizedKernelCCA
    from fewer.extract.fisher._regularized_fisher import RegularizedFisher
    from fewer.extract.fisher._regularized_fisher_cv import RegularizedFisherCV

__all__ = [
    "GeneralizedEigenProjector",
    "KernelRegularizedFisher",
    "PenalizedKernelCCA",
    "RegularizedFisher",
    "RegularizedFisherCV",
    "discriminant_scores_matrix",
]

__getattr__, __dir__ = lazy_names(__name__)
