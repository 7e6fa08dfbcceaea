"""Terms of an additive model, each fitted by least squares on columns of its own."""

from fewer.learn.boosting.base_learners._base_learner import BaseLearner
from fewer.learn.boosting.base_learners._categorical_learner import CategoricalLearner
from fewer.learn.boosting.base_learners._linear_learner import LinearLearner
from fewer.learn.boosting.base_learners._spatial_learner import SpatialLearner
from fewer.learn.boosting.base_learners._spline_learner import SplineLearner
from fewer.learn.boosting.base_learners._tree_learner import TreeLearner

__all__ = ["BaseLearner", "CategoricalLearner", "LinearLearner", "SpatialLearner", "SplineLearner", "TreeLearner"]
