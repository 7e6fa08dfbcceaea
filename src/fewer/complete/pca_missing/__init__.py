"""PCA fitted to what is observed of a table, by seven methods."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete.pca_missing._pca_missing import PCAMissing

__all__ = ["PCAMissing"]

__getattr__, __dir__ = lazy_names(__name__)
