"""Columns by the width of their range.

The score of column j is ``max_i x_ij - min_i x_ij``; the k columns with the highest scores are kept.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer.catalogue import method


def ranges(X: np.ndarray) -> np.ndarray:
    """Width of each column's range."""
    return X.max(axis=0) - X.min(axis=0)


@method(
    room="select",
    tasks=["unsupervised"],
    when="All columns are in the same units, and those that hardly move are of no use.",
    cost="O(n p)",
)
class RangeSelector(SelectorMixin, BaseEstimator):
    """Keep the columns with the widest range.

    Parameters
    ----------
    n_features_to_select : int, default=5
        How many columns to keep.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Width of each column's range.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the widest.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    Examples
    --------
    >>> import numpy as np
    >>> RangeSelector(n_features_to_select=1).fit_transform(np.array([[0.0, 5.0], [1.0, 9.0]]))
    array([[5.], [9.]])
    """

    _parameter_constraints = {"n_features_to_select": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_features_to_select=5):
        self.n_features_to_select = n_features_to_select

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Score and rank the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.scores_ = ranges(X)
        self.ranking_ = np.argsort(np.argsort(-self.scores_, kind="stable")) + 1
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ <= self.n_features_to_select

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
