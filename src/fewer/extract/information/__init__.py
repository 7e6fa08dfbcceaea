"""Directions that keep most information about the rows."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.information._compare_to_pca import PCAComparison, compare_to_pca, information_bound
    from fewer.extract.information._variational_infomax import VariationalInfoMax

__all__ = ["PCAComparison", "VariationalInfoMax", "compare_to_pca", "information_bound"]

__getattr__, __dir__ = lazy_names(__name__)
