"""Gradients of the target by the columns, and what follows from them: directions, coordinates, a graph of columns."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.gradients._gradient_diffusion_map import GradientDiffusionMap
    from fewer.extract.gradients._gradient_graph import GradientGraph
    from fewer.extract.gradients._gradient_learner import GradientLearner
    from fewer.extract.gradients._gradient_outer_product import GradientOuterProduct

__all__ = ["GradientDiffusionMap", "GradientGraph", "GradientLearner", "GradientOuterProduct"]

__getattr__, __dir__ = lazy_names(__name__)
