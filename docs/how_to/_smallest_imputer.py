"""Missing values below a detection limit: the smallest known value of the column, halved.

A missing ``x_ij`` becomes ``min_k x_kj / 2``, as laboratories report values that are too small to be measured.
"""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer.catalogue import method


@method(
    room="complete",
    tasks=["unsupervised"],
    when="Values are missing because they lie below a detection limit.",
    cost="O(n p)",
    says="half of the smallest value of the column",
)
class SmallestImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Impute half of the smallest known value of a column."""

    def fit(self, X, y=None):
        """Find the smallest known values."""
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        known = np.where(np.isnan(X), np.inf, X).min(axis=0)
        self.statistics_ = np.where(np.isinf(known), 0.0, known / 2)
        return self

    def transform(self, X):
        """Impute missing values."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan", reset=False)
        return np.where(np.isnan(X), self.statistics_, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
