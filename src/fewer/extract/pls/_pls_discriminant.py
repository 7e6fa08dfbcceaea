"""New columns that separate classes: partial least squares on indicators of the classes.

Y has a column for every class but the last, centred. Orthonormalised, ``Y (Y'Y)^{-1/2}``, the first weights are the
leading directions of the scatter between classes, ``sum_i n_i (m_i - m)(m_i - m)'``.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context
from fewer.catalogue import method
from fewer.extract.pls._pls_regressor import PLSExtractor
from fewer.learn.pls import CentredTable, Factors, Settings, largest_signs, solution


def class_targets(codes: np.ndarray, n_classes: int, orthonormalised: bool) -> np.ndarray:
    """Centred indicators of all classes but the last, (rows, classes - 1)."""
    Y = (codes[:, None] == np.arange(n_classes - 1)).astype(np.float64)
    Y -= Y.mean(axis=0)
    if not orthonormalised:
        return Y
    values, vectors = np.linalg.eigh(Y.T @ Y)
    return Y @ (vectors / np.sqrt(values)) @ vectors.T


def sb_factors(table: CentredTable, Y: np.ndarray, n_components: int) -> Factors:
    """All directions at once: singular vectors of X'Y; scores are not orthogonal."""
    left, values, _ = np.linalg.svd(table.back(Y), full_matrices=False)
    n_kept = min(n_components, int(np.sum(values > 1e-12 * table.size * np.linalg.norm(Y))))
    weights = left[:, :n_kept]
    weights = weights * largest_signs(weights)
    scores = table.times(weights)
    squares = np.einsum("nk,nk->k", scores, scores)
    return Factors(weights, weights, table.back(scores) / squares, Y.T @ scores / squares, scores, squares)


def _classifier_has(name: str):
    """Whether the classifier on the new columns can do it."""

    def check(self) -> bool:
        classifier = getattr(self, "estimator_", self.estimator)
        return classifier is None or hasattr(classifier, name)

    return check


@method(
    tasks=["classification"],
    when="Classes and many columns that go together, more of them than rows or not: new columns that both vary and "
    "separate the classes, for any classifier. With few columns and many rows LDA does as well.",
    cost="O(n p k) time for k components (sparse: stored entries for n p), O(n p) memory",
    paper="pls",
    examples=lambda: [PLSDiscriminant(), PLSDiscriminant(4, orthonormalised=False), PLSDiscriminant(deflation="sb")],
)
class PLSDiscriminant(ClassifierMixin, PLSExtractor):
    """Partial least squares for classes: new columns by covariance with the classes, and a classifier on them.

    Parameters
    ----------
    n_components : int, default=None
        Number of new columns; by default one less than classes.
    orthonormalised : bool, default=True
        Whether the indicators of the classes are made orthonormal, so that classes count by the distance of their means
        alone; otherwise large classes count more.
    deflation : {"pls2", "sb"}, default="pls2"
        "pls2" takes one component after the other, each without what the earlier ones explain, as many as the table has
        directions; the table may have missing values (NaN). "sb" takes all at once, at most one less than classes.
    estimator : classifier or None, default=None
        Classifier on the new columns; linear discriminant analysis by default.
    scale : bool, default=False
        Whether the columns are scaled to unit variance.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of length 1; the largest entry of each is positive.
    x_loadings_ : ndarray of shape (n_features, n_components)
        How the columns go with the scores.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows.
    components_ : ndarray of shape (n_components, n_features)
        The rotations as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means.
    estimator_ : classifier
        Fitted to the scores.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_components_ : int
        Number of components found.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    RegularizedFisher : Directions that also count the spread within classes.
    PLSRegressor : For numbers.
    fewer.select.VIPSelector : Columns by their importance here.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from fewer.extract import PLSDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PLSDiscriminant(scale=True)
    >>> model.fit(X, y).transform(X).shape
    (178, 2)
    >>> bool(cross_val_score(model, X, y).mean() > 0.96)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "orthonormalised": ["boolean"],
        "deflation": [StrOptions({"pls2", "sb"})],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "scale": ["boolean"],
    }

    def __init__(self, n_components=None, orthonormalised=True, deflation="pls2", estimator=None, scale=False):
        self.n_components = n_components
        self.orthonormalised = orthonormalised
        self.deflation = deflation
        self.estimator = estimator
        self.scale = scale

    _for_missing = 'deflation="pls2"'

    @property
    def _takes_missing(self) -> bool:
        return self.deflation == "pls2"

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> "PLSDiscriminant":
        """Find the components, and fit the classifier to the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; with ``deflation="pls2"`` it may have missing values (NaN), unless it is sparse.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        X, y = self._with_missing(X, y)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        n_classes = len(self.classes_)
        if self.estimator is None and len(codes) <= n_classes:
            raise ValueError(
                f"{len(codes)} rows and {n_classes} classes: PLSDiscriminant needs more rows than classes for its "
                "default classifier; set estimator to another one, or use more rows."
            )
        Y = class_targets(codes, n_classes, self.orthonormalised)
        possible = min(X.shape[0] - 1, X.shape[1], n_classes - 1 if self.deflation == "sb" else X.shape[1])
        wanted = min(n_classes - 1 if self.n_components is None else self.n_components, possible)
        if self.deflation == "sb":
            table = CentredTable(X, scale=self.scale)
            factors, mean, scale = sb_factors(table, Y, wanted), table.mean, table.scale
        else:
            found = solution(X, Y, wanted, Settings(scale=self.scale))
            factors, mean, scale = found.factors, found.x_mean, found.x_scale
        if not factors.n_components:
            raise ValueError(
                "The means of all classes are the same in every column, so no direction separates them; check y, or "
                "use a method for other differences than means, such as HDDA or a kernel (KernelRegularizedFisher)."
            )
        if self.n_components is not None:
            self._number_of_components(
                factors.n_components, "because the rest of the table does not separate the classes"
            )
        self.mean_, self._x_scale = mean.astype(X.dtype), scale
        self.components_ = np.ascontiguousarray((factors.rotations / scale[:, None]).T, dtype=X.dtype)
        self.x_weights_ = factors.weights.astype(X.dtype)
        self.x_loadings_ = factors.x_loadings.astype(X.dtype)
        self.x_rotations_ = factors.rotations.astype(X.dtype)
        self.x_scores_ = factors.scores.astype(X.dtype)
        chosen = LinearDiscriminantAnalysis() if self.estimator is None else clone(self.estimator)
        self.estimator_ = chosen.fit(self.x_scores_, y)
        self._codes = codes
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        scores = self._scores(X)
        return self.estimator_.predict(scores)

    def predict_path(self, X: Any) -> np.ndarray:
        """Class of each row by 1, 2, ... components; the classifier is fitted to each number of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_components, n_samples)
            One of ``classes_`` for each row.
        """
        scores = self._scores(X)
        y = self.classes_[self._codes]
        numbers = range(1, self.n_components_ + 1)
        return np.array([clone(self.estimator_).fit(self.x_scores_[:, :k], y).predict(scores[:, :k]) for k in numbers])

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, where the classifier gives it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``.
        """
        scores = self._scores(X)
        return self.estimator_.predict_proba(scores)

    @available_if(_classifier_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision function of the classifier, where it has one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Larger for the second of two classes; for more, one column for each.
        """
        scores = self._scores(X)
        return self.estimator_.decision_function(scores)
