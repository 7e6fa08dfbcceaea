"""Sparse linear models: losses x weighted absolute values x solvers, and paths over the strength of the penalty."""

from fewer.learn.sparse._fit import L1History
from fewer.learn.sparse._l1_linear import L1LinearClassifier, L1LinearRegressor
from fewer.learn.sparse._l1_path import L1Path, l1_path

__all__ = ["L1History", "L1LinearClassifier", "L1LinearRegressor", "L1Path", "l1_path"]
