"""Latent-variable models of rows: components of counts, aspects, mixtures; how many there are, and which are real."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent._choice_of_size import select_n_components
    from fewer.latent._components import (
        component_coherence,
        component_stability,
        match_components,
        plot_rows,
        top_features,
    )
    from fewer.latent.aspects._aspect_report import aspect_report
    from fewer.latent.aspects._bag_of_prototypes import BagOfPrototypes
    from fewer.latent.aspects._plsa import PLSA, AspectModel
    from fewer.latent.chains._hidden_markov import HiddenMarkov
    from fewer.latent.chains._state_figure import plot_states
    from fewer.latent.counts._component_features import ComponentClassifier, ComponentFeatures
    from fewer.latent.counts._discrete_components import DiscreteComponentAnalysis
    from fewer.latent.mixtures._mixture_discriminant import MixtureDiscriminantAnalysis
    from fewer.latent.mixtures._shared_mixture import AspectModelWithCovariates, SharedMixtureDiscriminant
    from fewer.latent.regularized._constraints import (
        AtMostCount,
        L1LinfSparsity,
        LinearConstraint,
        ProportionConstraint,
        l1linf_score,
    )
    from fewer.latent.regularized._models import PosteriorRegularizedHMM, PosteriorRegularizedMixture
    from fewer.latent.regularized._projection import kl_project

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.latent._choice_of_size import SizeChoice as SizeChoice
    from fewer.latent._components import ComponentStability as ComponentStability
    from fewer.latent._components import Match as Match
    from fewer.latent._components import TopFeatures as TopFeatures
    from fewer.latent.aspects._aspect_report import AspectReport as AspectReport
    from fewer.latent.aspects._plsa import TopicPrecision as TopicPrecision
    from fewer.latent.regularized._projection import Projection as Projection

__all__ = [
    "PLSA",
    "AspectModel",
    "AspectModelWithCovariates",
    "AtMostCount",
    "BagOfPrototypes",
    "ComponentClassifier",
    "ComponentFeatures",
    "DiscreteComponentAnalysis",
    "HiddenMarkov",
    "L1LinfSparsity",
    "LinearConstraint",
    "MixtureDiscriminantAnalysis",
    "PosteriorRegularizedHMM",
    "PosteriorRegularizedMixture",
    "ProportionConstraint",
    "SharedMixtureDiscriminant",
    "aspect_report",
    "component_coherence",
    "component_stability",
    "kl_project",
    "l1linf_score",
    "match_components",
    "plot_rows",
    "plot_states",
    "select_n_components",
    "top_features",
]

__getattr__, __dir__ = lazy_names(__name__)
