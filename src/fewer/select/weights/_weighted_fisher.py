"""Linear discriminant analysis after weighting the columns and a PCA (Fisherfaces, with weights before).

Columns -> weights -> the first m principal components -> ``max |v'Bv| / |v'Wv|``. With more columns than rows the
scatter W within classes is singular, and the PCA in between is what makes the last step possible.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import HasMethods, Interval, encoded_classes, fit_context, validated
from fewer.catalogue import method
from fewer.select.weights._weighted_pca import WeightedPCA


@method(
    tasks=["classification"],
    when="Classes, far more columns than rows, and most columns noise: few directions that tell the classes apart, or "
    "a linear classifier. With more rows than columns a plain discriminant analysis will do.",
    cost="That of the selector, O(n^2 p) for the components, and O(n m^2) for the discriminant with m of them.",
    paper="wolf-bileschi",
)
class WeightedFisher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Discriminant analysis on the principal components of weighted columns.

    Parameters
    ----------
    n_pca_components : int or None, default=None
        Principal components that the discriminant analysis sees. By default the number of rows less the number of
        classes (or fewer, if the table has no more), with which the scatter within classes is just not singular.
    n_components : int or None, default=None
        Discriminant directions that ``transform`` gives; by default the number of classes less one.
    selector : selector or None, default=None
        What weights the columns: by default ``VarianceWeightSelector()``. Any selector will do; see
        :class:`WeightedPCA`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    weights_ : ndarray of shape (n_features,)
        Weight of each column.
    loadings_ : ndarray of shape (n_features, n_components)
        What the centred columns are multiplied by to give the discriminant directions, up to a shift.
    pca_ : WeightedPCA
        The fitted weights and components.
    discriminant_ : sklearn.discriminant_analysis.LinearDiscriminantAnalysis
        The fitted discriminant analysis on the components.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    WeightedPCA : The first two steps.
    FisherWeightSelector : Weights that look at the classes, for the first step.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019.
    .. [2] Belhumeur, P. N., Hespanha, J. P. and Kriegman, D. J. (1997). Eigenfaces vs. Fisherfaces: recognition using
       class specific linear projection. IEEE Transactions on Pattern Analysis and Machine Intelligence 19, 711-720.

    Examples
    --------
    >>> from fewer.datasets import make_permuted_clusters
    >>> from fewer.select import WeightedFisher
    >>> X, y, _ = make_permuted_clusters(n_samples=200, n_relevant=10, delta=1.0, random_state=0)
    >>> model = WeightedFisher(n_pca_components=5).fit(X[::2], y[::2])
    >>> float(model.score(X[1::2], y[1::2]))
    0.99
    """

    _parameter_constraints = {
        "n_pca_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "selector": [HasMethods(["fit", "get_support"]), None],
    }

    def __init__(self, n_pca_components=None, *, n_components=None, selector=None):
        self.n_pca_components = n_pca_components
        self.n_components = n_components
        self.selector = selector

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Find weights, components and discriminant directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse if the selector takes it.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        table, y = validated(
            self,
            X,
            y,
            accept_sparse=("csr", "csc") if get_tags(self).input_tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        self.classes_ = encoded_classes(y, "WeightedFisher").classes
        n_rows, n_columns = table.shape
        size = self.n_pca_components or max(1, min(n_rows - len(self.classes_), n_columns))
        pca = WeightedPCA(size if self.n_pca_components else None, selector=self.selector)
        self.pca_ = pca.fit(X, y)  # as it came, so that messages can name columns
        coordinates = pca.transform(X)[:, :size]
        self.discriminant_ = LinearDiscriminantAnalysis(n_components=self.n_components).fit(coordinates, y)
        self.weights_ = pca.weights_
        scalings = self.discriminant_.scalings_[:, : self._n_features_out]
        self.loadings_ = (pca.loadings_[:, :size] @ scalings).astype(table.dtype)
        return self

    def _coordinates(self, X):
        check_is_fitted(self)
        return self.pca_.transform(X)[:, : self.discriminant_.n_features_in_]

    def transform(self, X):
        """Coordinates of the rows along the discriminant directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The coordinates.
        """
        coordinates = self._coordinates(X)
        return self.discriminant_.transform(coordinates).astype(coordinates.dtype, copy=False)

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        coordinates = self._coordinates(X)
        return self.discriminant_.predict(coordinates)

    def predict_proba(self, X):
        """Probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        coordinates = self._coordinates(X)
        return self.discriminant_.predict_proba(coordinates)

    def decision_function(self, X):
        """Scores of the classes for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log of the ratio of the second class to the first, or one column for each class.
        """
        coordinates = self._coordinates(X)
        return self.discriminant_.decision_function(coordinates)

    @property
    def _n_features_out(self):
        return self.discriminant_._max_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_pca = get_tags(WeightedPCA(selector=self.selector))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = of_pca.input_tags.sparse
        return tags
