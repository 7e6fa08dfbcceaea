"""Normal mixtures of rows with classes or counts: sub-classes, shared components, aspects with covariates."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.mixtures._mixture_discriminant import MixtureDiscriminantAnalysis
    from fewer.latent.mixtures._shared_mixture import AspectModelWithCovariates, SharedMixtureDiscriminant

__all__ = ["AspectModelWithCovariates", "MixtureDiscriminantAnalysis", "SharedMixtureDiscriminant"]

__getattr__, __dir__ = lazy_names(__name__)
