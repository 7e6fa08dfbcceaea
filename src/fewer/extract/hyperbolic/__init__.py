"""Projections from pairs that are the same or different, good for classes not seen before."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract._kernel_functions import normalized_rbf
    from fewer.extract.hyperbolic._hyperbolic_pca import HyperbolicPCA, one_shot_error

__all__ = ["HyperbolicPCA", "normalized_rbf", "one_shot_error"]

__getattr__, __dir__ = lazy_names(__name__)
