"""Measurements as levels, cut where that tells most about the classes.

A column is cut in two where the class entropy of the parts is least, and the parts again, as long as a cut shortens the
description of the classes; `fewer._kernels._cuts` has the criterion.

Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for classification
learning. IJCAI, 1022-1027.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import check_feature_names_in, encoded_classes, fit_context, validated, warn_caller
from fewer._kernels._cuts import column_cuts, levels_of
from fewer.catalogue import method


@method(
    tasks=["classification"],
    when="A method needs columns of few levels, and the classes should decide where and how often they are cut. "
    "Columns that tell nothing about the classes by themselves are left out.",
    cost="O(n log n p) for each round of cuts",
    paper="instance-specific",
)
class MDLDiscretizer(TransformerMixin, BaseEstimator):
    """Cut columns into levels by description length.

    Parameters
    ----------
    keep_uncut : bool, default=False
        Whether columns without a cut are kept, as a constant 0.

    Attributes
    ----------
    cuts_ : list of ndarray
        Cuts of each column, in ascending order; the level of an entry is how many of them are below it.
    n_levels_ : ndarray of int of shape (n_features,)
        Number of levels of each column.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.preprocessing.KBinsDiscretizer : Cuts that do not look at the classes.

    Notes
    -----
    Cuts look at the classes, so that they must be found inside each fold: put this into a pipeline. The classifiers of
    ``fewer.graph`` cut columns in the same way by themselves.

    References
    ----------
    .. [1] Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.extract import MDLDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDLDiscretizer().fit(X, y)
    >>> [cuts.round(2).tolist() for cuts in model.cuts_]
    [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    >>> model.transform(X[:1])
    array([[0., 2., 0., 0.]])
    """

    _parameter_constraints = {"keep_uncut": ["boolean"]}

    def __init__(self, keep_uncut=False):
        self.keep_uncut = keep_uncut

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "MDLDiscretizer":
        """Find the cuts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X, y = validated(self, X, y, dtype=(np.float64, np.float32))
        self.classes_, classes = encoded_classes(y, "MDLDiscretizer")
        self.cuts_ = column_cuts(X, classes)
        self.n_levels_ = np.array([len(own) + 1 for own in self.cuts_])
        if not self._kept().any():
            warn_caller("No cut of any column shortens the description of the classes, so that no column is left.")
        return self

    def _kept(self) -> np.ndarray:
        return (self.n_levels_ > 1) | self.keep_uncut

    def transform(self, X: Any) -> np.ndarray:
        """Levels of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_columns_kept)
            Levels 0, 1, ... as numbers of the type of ``X``.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), reset=False)
        return levels_of(X, self.cuts_)[:, self._kept()].astype(X.dtype)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that are kept.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns; those seen in ``fit`` by default.

        Returns
        -------
        names : ndarray of str objects
            A name for each column.
        """
        check_is_fitted(self)
        return check_feature_names_in(self, input_features)[self._kept()]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
