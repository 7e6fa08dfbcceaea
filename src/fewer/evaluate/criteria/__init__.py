"""How well a Bayesian model predicts new rows, from posterior draws: WAIC, leave-one-out, DIC, and their warnings."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.criteria._compare_models import (
        ModelComparison,
        SingularDiagnostics,
        compare_models,
        singular_diagnostics,
    )
    from fewer.evaluate.criteria._predictive import (
        BayesLoo,
        Dic,
        FunctionalCumulants,
        PredictiveLoss,
        Waic,
        bayes_loo,
        dic,
        exact_loo,
        functional_cumulants,
        waic,
    )
    from fewer.evaluate.criteria._tempered import FreeEnergy, PosteriorDraws, free_energy, metropolis_draws

__all__ = [
    "BayesLoo",
    "Dic",
    "FreeEnergy",
    "FunctionalCumulants",
    "ModelComparison",
    "PosteriorDraws",
    "PredictiveLoss",
    "SingularDiagnostics",
    "Waic",
    "bayes_loo",
    "compare_models",
    "dic",
    "exact_loo",
    "free_energy",
    "functional_cumulants",
    "metropolis_draws",
    "singular_diagnostics",
    "waic",
]

__getattr__, __dir__ = lazy_names(__name__)
