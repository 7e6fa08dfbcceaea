"""Columns by their variable importance in projection (VIP); ``fewer.learn.pls`` has the formula."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, target_matrix, validated, warn_caller
from fewer.catalogue import method
from fewer.learn.pls import WHY_NO_MORE, Settings, solution, vip_scores

_USUAL = 10
_USUAL_COMPONENTS = 2
"""Columns kept by default; a table may have fewer."""


@method(
    tasks=["regression", "classification"],
    when="Many columns that go together, and you want to see which of them partial least squares makes most use of. It "
    "keeps columns that say the same together, and those that serve to take something else out rank high, too: where "
    "the mark of the target is weak beside others, as in many spectra, to choose by it may lose the target.",
    cost="O(n p k) time for k components (sparse: stored entries for n p), O(n p) memory",
    paper="pls",
    examples=lambda: [VIPSelector(3), VIPSelector(2, n_components=3, target="auto", scale=False)],
)
class VIPSelector(SelectorMixin, BaseEstimator):
    """Selects the columns with the largest variable importance in projection (VIP).

    Parameters
    ----------
    n_features_to_select : int or None, default=10
        Number of columns to keep, or all if there are fewer; None for those with an importance above 1.
    n_components : int, default=2
        Number of components that the importance is summed over.
    target : {"auto", "classes", "numbers"}, default="auto"
        What y holds; "auto" takes text, and whole numbers of at most 20 values, for classes.
    scale : bool, default=True
        Whether columns are scaled to unit variance; otherwise they count by their spread, too.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        VIP of each column; the mean of the squares is 1.
    ranking_ : ndarray of shape (n_features,)
        1 for the column with the largest.
    n_features_to_select_ : int
        Number of columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.extract.PLSRegressor : Its ``vip_`` are the same.

    References
    ----------
    .. [1] Wold, S., Johansson, E. and Cocchi, M. (1993). PLS: partial least squares projections to latent structures.
       In 3D QSAR in Drug Design, 523-550.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.select import VIPSelector
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> VIPSelector(3).fit(X, y).get_feature_names_out()
    array(['bmi', 's4', 's5'], dtype=object)
    """

    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "target": [StrOptions({"auto", "classes", "numbers"})],
        "scale": ["boolean"],
    }

    def __init__(self, n_features_to_select=_USUAL, n_components=_USUAL_COMPONENTS, target="auto", scale=True):
        self.n_features_to_select = n_features_to_select
        self.n_components = n_components
        self.target = target
        self.scale = scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "VIPSelector":
        """Rank the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; a dense one may have missing values (NaN).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers, or the class of each row.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validated(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            multi_output=True,
            y_numeric=self.target == "numbers",
            ensure_min_samples=2,
            ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
        )
        Y = target_matrix(np.asarray(y), self.target, type(self).__name__, balanced=True).values
        most = min(self.n_components, X.shape[0] - 1, X.shape[1])
        found = solution(X, Y, most, Settings(scale=self.scale)).factors
        if 0 < found.n_components < self.n_components and self.n_components > _USUAL_COMPONENTS:
            warn_caller(
                f"n_components={self.n_components} are asked for, and there are {found.n_components}, {WHY_NO_MORE}; "
                "all of them are used."
            )
        explained = found.squares * np.einsum("mk,mk->k", found.y_loadings, found.y_loadings)
        self.scores_ = vip_scores(found.weights, explained)
        self.ranking_ = np.empty(X.shape[1], dtype=np.intp)
        self.ranking_[np.argsort(-self.scores_, kind="stable")] = np.arange(1, X.shape[1] + 1)
        wanted = self.n_features_to_select
        if wanted is not None and wanted > max(X.shape[1], _USUAL):
            warn_caller(
                f"n_features_to_select={wanted} columns are asked for, and the table has {X.shape[1]}; all of them are "
                "kept."
            )
        # At least one: the largest importance is 1 where all are equal, and 0 where nothing goes with y.
        self.n_features_to_select_ = (
            max(int(np.sum(self.scores_ > 1)), 1) if wanted is None else min(wanted, X.shape[1])
        )
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.ranking_ <= self.n_features_to_select_
