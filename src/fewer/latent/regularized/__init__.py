"""EM that is steered by what is known of the hidden states on average: posterior regularization."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.regularized._chain import PosteriorRegularizedHMM
    from fewer.latent.regularized._constraints import (
        AtMostCount,
        L1LinfSparsity,
        LinearConstraint,
        ProportionConstraint,
        l1linf_score,
    )
    from fewer.latent.regularized._mixture import PosteriorRegularizedMixture
    from fewer.latent.regularized._projection import kl_project

__all__ = [
    "AtMostCount",
    "L1LinfSparsity",
    "LinearConstraint",
    "PosteriorRegularizedHMM",
    "PosteriorRegularizedMixture",
    "ProportionConstraint",
    "kl_project",
    "l1linf_score",
]

__getattr__, __dir__ = lazy_names(__name__)
