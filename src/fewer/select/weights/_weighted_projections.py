"""Projections of a weighted table: principal components, and discriminant directions on these.

*Principal components*: with weights a and unit columns M, the directions are those of ``M diag(sqrt(a))``. They come
from the matrix ``M diag(a) M'`` over the rows, so that a wide table, or a sparse one, is not weighted first.

*Discriminant analysis* after a weighted PCA (Fisherfaces, with weights before): columns -> weights -> the first m
principal components -> ``max |v'Bv| / |v'Wv|``. With more columns than rows the scatter W within classes is singular,
and the PCA in between is what makes the last step possible.
"""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted

from fewer._estimators import HasMethods, Interval, encoded_classes, fit_context, validated, warn_caller
from fewer._kernels._one_thread import one_thread
from fewer.catalogue import method
from fewer.select.weights._unit_columns import ColumnScale, UnitColumns, column_scale, is_small, unit_columns
from fewer.select.weights._variance_weights import VarianceWeightSelector, principal_directions


def weighted_components(table: UnitColumns, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to k directions of the weighted table as rows, and the squared singular value of each.

    A direction whose variance is lost in rounding errors is left out.
    """
    variances, rows = principal_directions(table, weights, k)
    # Inner products square the condition number, so directions with little variance are inexact.
    sound = variances > table.precision**0.6 * variances[0]
    variances, rows = variances[sound].astype(np.float64), rows[:, sound]
    components = (np.sqrt(weights)[:, None] * table.along(rows) / np.sqrt(variances)).T
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1, keepdims=True), axis=1)
    return components * np.sign(largest), variances


def selected_weights(selector: BaseEstimator) -> np.ndarray:
    """Weights of a fitted selector's columns: its own, or 1 if it has none; 0 for columns that it drops."""
    kept = selector.get_support()
    return np.where(kept, np.maximum(getattr(selector, "weights_", 1.0), 0), 0.0)


@method(
    tasks=["unsupervised"],
    when="Plain PCA is spoilt by many columns that have nothing to do with the others. Not when every column matters, "
    "or when columns in the same units should keep their sizes: all are scaled to the same variance first.",
    cost="That of the selector, and O(n^2 p) for the components.",
    paper="wolf-bileschi",
)
class WeightedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components after weighting the columns.

    Every column is centred, scaled to norm one, and multiplied by the square root of its weight.

    Parameters
    ----------
    n_components : int or None, default=None
        Components to keep; all by default.
    selector : selector or None, default=None
        What weights the columns: by default ``VarianceWeightSelector()``, which is parameter-free. Any selector will
        do; one without ``weights_`` gives each column that it keeps the same weight.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions in the weighted columns, orthonormal, by decreasing variance.
    loadings_ : ndarray of shape (n_features, n_components)
        What the centred columns are multiplied by, as they come: directions, weights and norms in one.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each direction of the weighted table, with divisor ``n_samples - 1``.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as shares of the total.
    weights_ : ndarray of shape (n_features,)
        Weight of each column; 0 for those that the selector dropped.
    selector_ : selector
        The fitted selector.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    norm_ : ndarray of shape (n_features,)
        Norms of its columns about the mean; 0 for constant ones.
    n_components_ : int
        Number of components: fewer than asked if the weighted table has no more.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    VarianceWeightSelector : The weights alone.
    WeightedFisher : With a discriminant analysis on top.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from fewer.datasets import make_permuted_clusters
    >>> from fewer.select import VarianceWeightSelector, WeightedPCA
    >>> X, y, _ = make_permuted_clusters(random_state=0)
    >>> pca = WeightedPCA(n_components=1, selector=VarianceWeightSelector("iterative"))
    >>> bool(abs(np.corrcoef(pca.fit_transform(X)[:, 0], y)[0, 1]) > 0.93)
    True
    >>> bool(abs(np.corrcoef(PCA(1).fit_transform(X)[:, 0], y)[0, 1]) > 0.7)
    False
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "selector": [HasMethods(["fit", "get_support"]), None],
    }

    def __init__(self, n_components=None, *, selector=None):
        self.n_components = n_components
        self.selector = selector

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Find weights and components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse if the selector takes it.
        y : array-like of shape (n_samples,), default=None
            Target, for a selector that needs one.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        table = validated(self, X, ensure_min_samples=2, **self._taken())
        n_rows, n_columns = table.shape
        most = min(n_rows - 1, n_columns)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} directions were asked of a table with n_samples={n_rows} rows and "
                f"n_features={n_columns} columns, which has at most {most} (centring costs one of the rows)."
            )
        # The selector sees the table as it came, so that it knows the names of the columns.
        self.selector_ = clone(self._selector()).fit(X, y)
        self.weights_ = selected_weights(self.selector_)
        scale = column_scale(table)
        used = (self.weights_ > 0) & scale.varies
        if not used.any():
            raise ValueError(f"{type(self.selector_).__name__} has kept no column that varies. Let it keep more.")
        weights = self.weights_[used]
        used_scale = ColumnScale(*(part[used] for part in scale))
        columns = unit_columns(table if used.all() else table[:, used], used_scale)
        k = min(self.n_components or most, n_rows - 1, int(used.sum()))
        with one_thread("blas", when=is_small(table)):
            components, squares = weighted_components(columns, weights, k)

        self.n_components_ = len(squares)
        if self.n_components is not None and self.n_components_ < self.n_components:
            warn_caller(
                f"The weighted table has {self.n_components_} directions that vary, fewer than "
                f"n_components={self.n_components}: these are all."
            )
        self.mean_, self.norm_ = scale.mean, scale.norm
        self.components_ = np.zeros((self.n_components_, n_columns), dtype=table.dtype)
        self.components_[:, used] = components
        self.loadings_ = np.zeros((n_columns, self.n_components_), dtype=table.dtype)
        self.loadings_[used] = (components * np.sqrt(weights) / used_scale.norm).T
        self.explained_variance_ = squares / (n_rows - 1)
        self.explained_variance_ratio_ = squares / weights.sum()  # every unit column has variance one
        return self

    def _selector(self):
        return VarianceWeightSelector() if self.selector is None else self.selector

    def _taken(self):
        takes_sparse = get_tags(self._selector()).input_tags.sparse
        return {"accept_sparse": ("csr", "csc") if takes_sparse else False, "dtype": [np.float64, np.float32]}

    def transform(self, X):
        """Coordinates of the rows along the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The coordinates.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **self._taken())
        loadings = self.loadings_.astype(X.dtype, copy=False)
        if sparse.issparse(X):  # the mean comes off afterwards, so that the table stays sparse
            return X @ loadings - (self.mean_ @ loadings).astype(X.dtype)
        return (X - self.mean_.astype(X.dtype)) @ loadings

    def inverse_transform(self, X):
        """Rows rebuilt from their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        X_rebuilt : ndarray of shape (n_samples, n_features)
            Rows in the columns of the training table; columns with weight 0 are at their mean.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        used = (self.weights_ > 0) & (self.norm_ > 0)
        rebuilt = np.tile(self.mean_.astype(X.dtype), (len(X), 1))
        backwards = self.components_[:, used] * (self.norm_[used] / np.sqrt(self.weights_[used]))
        rebuilt[:, used] += X @ backwards.astype(X.dtype)
        return rebuilt

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_selector = get_tags(self._selector())
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = of_selector.input_tags.sparse
        tags.target_tags.required = of_selector.target_tags.required
        return tags


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
