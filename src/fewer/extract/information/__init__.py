"""Directions that keep most information about the rows."""

from fewer.extract.information._compare_to_pca import PCAComparison, compare_to_pca, im_bound
from fewer.extract.information._variational_infomax import VariationalInfoMax

__all__ = ["PCAComparison", "VariationalInfoMax", "compare_to_pca", "im_bound"]
