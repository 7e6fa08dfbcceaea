"""Sparse linear models that learn online, from rows as they come, by regularised dual averaging."""

from fewer.learn.online._rda_classifier import RDAClassifier
from fewer.learn.online._rda_regressor import RDARegressor
from fewer.learn.online._regret import RegretCurve, regret_monitor

__all__ = ["RDAClassifier", "RDARegressor", "RegretCurve", "regret_monitor"]
