"""Linear models with a squared penalty, whose strength inner cross-validation chooses: the tuned linear baseline."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.ridge._ridge_path_cv import RidgePathClassifierCV, RidgePathRegressorCV

__all__ = ["RidgePathClassifierCV", "RidgePathRegressorCV"]

__getattr__, __dir__ = lazy_names(__name__)
