"""Sparse linear models that learn online, from rows as they come, by regularised dual averaging."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.online._rda import RDAClassifier, RDARegressor

__all__ = ["RDAClassifier", "RDARegressor"]

__getattr__, __dir__ = lazy_names(__name__)
