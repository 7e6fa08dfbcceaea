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
    from fewer.latent.aspects._aspect_model import AspectModel
    from fewer.latent.aspects._aspect_report import aspect_report
    from fewer.latent.aspects._bag_of_prototypes import BagOfPrototypes
    from fewer.latent.aspects._plsa import PLSA
    from fewer.latent.chains._hidden_markov import HiddenMarkov
    from fewer.latent.chains._state_figure import plot_states
    from fewer.latent.classes._latent_class import LatentClass
    from fewer.latent.classes._latent_profile import LatentProfile
    from fewer.latent.classes._three_step import three_step_covariates, three_step_outcome
    from fewer.latent.counts._component_features import ComponentClassifier, ComponentFeatures
    from fewer.latent.counts._discrete_components import DiscreteComponentAnalysis
    from fewer.latent.experts._iqgme_classifier import IQGMEClassifier
    from fewer.latent.experts._iqgme_multi_task import IQGMEMultiTask
    from fewer.latent.factors._cooperative_vq import CooperativeVQ
    from fewer.latent.factors._factor_analysis import FactorAnalysis
    from fewer.latent.factors._mixture_of_factor_analyzers import MixtureOfFactorAnalyzers
    from fewer.latent.lattices._hidden_ising import HiddenIsing
    from fewer.latent.mixtures._mixture_discriminant import MixtureDiscriminantAnalysis
    from fewer.latent.mixtures._shared_mixture import AspectModelWithCovariates, SharedMixtureDiscriminant
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
    from fewer.latent.traits._latent_trait import LatentTrait
    from fewer.latent.variational._nonlinear_factor_analysis import NonlinearFactorAnalysis
    from fewer.latent.variational._riemannian_cg import (
        BlockDiagonalMetric,
        DiagonalMetric,
        TridiagonalMetric,
        riemannian_cg,
    )
    from fewer.latent.variational._vb_gaussian_mixture import VBGaussianMixture

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.latent._bayesian_solvers import DIC as DIC
    from fewer.latent._bootstrap_test import BootstrapTest as BootstrapTest
    from fewer.latent._choice_of_size import SizeChoice as SizeChoice
    from fewer.latent._components import ComponentStability as ComponentStability
    from fewer.latent._components import Match as Match
    from fewer.latent._components import TopFeatures as TopFeatures
    from fewer.latent.aspects._aspect_base import TopicPrecision as TopicPrecision
    from fewer.latent.aspects._aspect_report import AspectReport as AspectReport
    from fewer.latent.chains._hidden_markov import ChainDraws as ChainDraws
    from fewer.latent.classes._class_profile import ClassProfile as ClassProfile
    from fewer.latent.classes._class_profile import ProfileTable as ProfileTable
    from fewer.latent.classes._latent_class import ClassDraws as ClassDraws
    from fewer.latent.classes._latent_profile import ProfileDraws as ProfileDraws
    from fewer.latent.classes._three_step import ThreeStepCovariates as ThreeStepCovariates
    from fewer.latent.classes._three_step import ThreeStepOutcome as ThreeStepOutcome
    from fewer.latent.factors._cooperative_vq import CauseDraws as CauseDraws
    from fewer.latent.factors._factor_analysis import FactorDraws as FactorDraws
    from fewer.latent.factors._loadings import LoadingsTable as LoadingsTable
    from fewer.latent.factors._mixture_of_factor_analyzers import MixtureDraws as MixtureDraws
    from fewer.latent.regularized._projection import Projection as Projection
    from fewer.latent.traits._item_table import ItemTable as ItemTable
    from fewer.latent.variational._riemannian_cg import Minimum as Minimum

__all__ = [
    "PLSA",
    "AspectModel",
    "AspectModelWithCovariates",
    "AtMostCount",
    "BagOfPrototypes",
    "BlockDiagonalMetric",
    "ComponentClassifier",
    "ComponentFeatures",
    "CooperativeVQ",
    "DiagonalMetric",
    "DiscreteComponentAnalysis",
    "FactorAnalysis",
    "HiddenIsing",
    "HiddenMarkov",
    "IQGMEClassifier",
    "IQGMEMultiTask",
    "L1LinfSparsity",
    "LatentClass",
    "LatentProfile",
    "LatentTrait",
    "LinearConstraint",
    "MixtureDiscriminantAnalysis",
    "MixtureOfFactorAnalyzers",
    "NonlinearFactorAnalysis",
    "PosteriorRegularizedHMM",
    "PosteriorRegularizedMixture",
    "ProportionConstraint",
    "SharedMixtureDiscriminant",
    "TridiagonalMetric",
    "VBGaussianMixture",
    "aspect_report",
    "component_coherence",
    "component_stability",
    "kl_project",
    "l1linf_score",
    "match_components",
    "plot_rows",
    "plot_states",
    "riemannian_cg",
    "select_n_components",
    "three_step_covariates",
    "three_step_outcome",
    "top_features",
]

__getattr__, __dir__ = lazy_names(__name__)
