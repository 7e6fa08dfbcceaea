"""Sparse linear models: losses x weighted absolute values x solvers, and paths over the strength of the penalty."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.sparse._compare_l1_solvers import SolverComparison, compare_l1_solvers
    from fewer.learn.sparse._l1_linear import L1LinearClassifier, L1LinearRegressor
    from fewer.learn.sparse._l1_path import L1Path, l1_path
    from fewer.learn.sparse._l1_path_cv import L1PathClassifierCV, L1PathRegressorCV
    from fewer.learn.sparse._solvers import L1History

__all__ = [
    "L1History",
    "L1LinearClassifier",
    "L1LinearRegressor",
    "L1Path",
    "L1PathClassifierCV",
    "L1PathRegressorCV",
    "SolverComparison",
    "compare_l1_solvers",
    "l1_path",
]

__getattr__, __dir__ = lazy_names(__name__)
