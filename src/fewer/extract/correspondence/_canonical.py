"""Canonical correspondence analysis: axes of a table of counts that are combinations of columns describing the rows.

Row scores are ``z = X a``, with X centred by the totals of the rows. In coordinates Z of X that are uncorrelated and of
unit variance under these weights, the axes are the singular vectors of

    M = B^{-1/2} Y'Z / sqrt(N),    B = diag(c),

with the totals c of the columns of Y and N of all counts. The same axes are those of linear discriminant analysis on
the table with one row for each occurrence, labelled by its column; eigenvalues mu there are ``mu / (1 + mu)`` here
[1]_."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fewer._estimators import (
    Interval,
    StrOptions,
    encoded_classes,
    fit_context,
    fit_steps,
    get_feature_names,
    refuse_negative,
    warn_caller,
)
from fewer.catalogue import method
from fewer.extract._centred_table import Coordinates, uncorrelated
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.correspondence._counts import Axis, axes_by_averaging, axes_by_svd
from fewer.extract.correspondence._optimal_scoring import NormalClasses, normal_classes


class Occurrences(NamedTuple):
    """Counts of each row in each class, as a sparse or dense table."""

    classes: np.ndarray
    counts: Any


def occurrences_of(y: Any, names: Any, who: str) -> Occurrences:
    """Labels as counts of one, or the counts as they are."""
    if not sparse.issparse(y) and (np.ndim(y) == 1 or y.shape[1] == 1):
        classes, codes = encoded_classes(column_or_1d(y, warn=True), who)
        ones = np.ones(len(codes))
        return Occurrences(classes, sparse.csr_array((ones, (np.arange(len(codes)), codes))))
    counts = y.astype(np.float64) if sparse.issparse(y) else np.asarray(y, dtype=np.float64)
    refuse_negative(counts, who, names)
    classes = np.arange(counts.shape[1]) if names is None else np.asarray(names)
    if np.count_nonzero(np.asarray(counts.sum(axis=0))) < 2:
        raise ValueError(f"{who} separates classes, and all counts are in one column of y, or y has none.")
    return Occurrences(classes, counts)


@method(
    tasks=["classification"],
    when="Counts of rows (sites, customers, documents) are to be explained by other columns, which new rows have too.",
    cost="O(n p^2 + n p k) time, O(n^2 p) with more columns than rows; O(min(n, p) (n + p)) memory",
    paper="zhu-cca-lda",
)
class CanonicalCorrespondenceAnalysis(CallbackSupportMixin, ClassifierMixin, LinearExtractor):
    """Axes of a table of counts that are combinations of columns describing its rows; with labels, LDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; by default as many as there are: one less than classes, or as many as columns.
    solver : {"eig", "iterative"}, default="eig"
        "iterative" averages back and forth between rows and classes, with a regression in each round.
    alpha : float, default=0.0
        Added to the weighted squares of the columns, in their units; for columns that are nearly collinear, or more
        than rows.
    tol : float, default=1e-10
        For "iterative": an axis is found when a round changes it by less.
    max_iter : int, default=1000
        For "iterative": maximum number of rounds for each axis.

    Attributes
    ----------
    axes_ : ndarray of shape (n_features, n_components)
        Coefficients of the columns; row scores have unit variance, every row weighted by its total of counts.
    components_ : ndarray of shape (n_components, n_features)
        The same, transposed.
    row_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows.
    column_scores_ : ndarray of shape (n_classes, n_components)
        Scores of the classes, of unit variance too; NaN for classes without counts.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of the variance along each axis that lies between the classes.
    biplot_scores_ : ndarray of shape (n_features, n_components)
        Correlation of each column with each axis, rows weighted by their totals: arrows of the biplot.
    classes_ : ndarray of shape (n_classes,)
        The labels; or the names, else the numbers, of the columns of counts.
    mean_ : ndarray of shape (n_features,)
        Column means, rows weighted by their totals.
    n_iter_ : int
        Rounds that the slowest axis took; 1 for "eig".
    n_components_ : int
        Number of axes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CorrespondenceAnalysis : Without columns that describe the rows.
    cooccurrence_to_labeled : The table with one row for each occurrence.
    plot_biplot : Rows, classes and columns in one figure.

    Notes
    -----
    ``predict_proba`` gives the probability of each class for a row with these columns, as if rows of each occurrence
    were normal around its class: what LDA gives on the table of occurrences, with covariances divided by N.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapter 2.
    .. [2] ter Braak, C. J. F. (1986). Canonical correspondence analysis: a new eigenvector technique for multivariate
       direct gradient analysis. Ecology 67, 1167-1179.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.extract import CanonicalCorrespondenceAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CanonicalCorrespondenceAnalysis().fit(X, y)
    >>> model.eigenvalues_.round(4)
    array([0.9699, 0.222 ])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"eig", "iterative"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components=None, solver="eig", alpha=0.0, tol=1e-10, max_iter=1000):
        self.n_components = n_components
        self.solver = solver
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the axes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Columns that describe the rows.
        y : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Label of each row, or how often each class occurred in it.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        names = get_feature_names(y)
        X, y = self._validated(X, y, multi_output=True)
        self.classes_, counts = occurrences_of(y, names, type(self).__name__)
        row_totals, class_totals = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
        self._warn_of_the_empty(row_totals, class_totals)
        total = row_totals.sum()
        coordinates = uncorrelated(X, row_weights=row_totals / total, ridge=self.alpha / total)
        n_dims, n_classes = coordinates.to.shape[1], np.count_nonzero(class_totals)
        wanted = self._number_of_components(
            min(n_dims, n_classes - 1), f"for {n_classes} classes in {n_dims} dimensions"
        )
        centroids = _centroids(X, counts, class_totals, coordinates)
        with fit_steps(self, X, y, n_steps=wanted) as after_step:
            axes = self._axes(centroids * np.sqrt(class_totals / total)[:, None], wanted, after_step)
            directions = np.column_stack([axis.right for axis in axes])
            self.components_ = upright((coordinates.to @ directions).T).astype(X.dtype)
            self.mean_ = coordinates.mean.astype(X.dtype)
            self.eigenvalues_ = np.minimum([axis.size**2 for axis in axes], 1.0)
            self.n_iter_ = max(axis.n_iter for axis in axes)
            self.row_scores_ = X @ self.components_.T - self.mean_ @ self.components_.T
            self._keep_classes(X, counts, row_totals / total, class_totals)
        self._warn_of_the_fit(axes, n_dims, int(np.count_nonzero(row_totals)))
        return self

    def _axes(self, M: np.ndarray, wanted: int, after_step: Any) -> list[Axis]:
        if self.solver == "eig":
            search = axes_by_svd(M, wanted)
        else:
            search = axes_by_averaging(M, wanted, self.tol, self.max_iter)
        axes = []
        for axis in search:
            axes.append(axis)
            if after_step(f"axis {len(axes) - 1}"):
                break
        if not axes:
            raise ValueError("The columns do not separate the classes: all classes have the same means.")
        return axes

    def _keep_classes(self, X: Any, counts: Any, shares: np.ndarray, class_totals: np.ndarray) -> None:
        """Where the classes are among the row scores, and how the columns go with these."""
        scores = self.row_scores_.astype(np.float64)
        filled = np.maximum(class_totals, np.finfo(float).tiny)[:, None]
        centroids = np.asarray(counts.T @ scores) / filled
        priors = class_totals / class_totals.sum()
        covariance = (scores.T * shares) @ scores
        within = covariance - (centroids.T * priors) @ centroids
        self._classes_along_axes: NormalClasses = normal_classes(priors, centroids, within)
        strength = np.sqrt(np.maximum(priors @ centroids**2, np.finfo(float).tiny))
        self.column_scores_ = np.where(class_totals[:, None] > 0, centroids / strength, np.nan).astype(X.dtype)
        weighted = scores * shares[:, None]
        products = np.asarray(X.T @ weighted) - np.outer(self.mean_, weighted.sum(axis=0))
        squares = X.multiply(X) if sparse.issparse(X) else X**2
        variances = np.maximum(np.asarray(squares.T @ shares).ravel() - self.mean_.astype(np.float64) ** 2, 0)
        scale = np.sqrt(np.outer(variances, np.diag(covariance)))
        self.biplot_scores_ = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
        np.clip(self.biplot_scores_, -1, 1, out=self.biplot_scores_)

    def _warn_of_the_empty(self, row_totals: np.ndarray, class_totals: np.ndarray) -> None:
        n_rows, n_classes = (int(np.sum(totals == 0)) for totals in (row_totals, class_totals))
        if n_rows or n_classes:
            warn_caller(
                f"{n_rows} rows and {n_classes} columns of y hold no counts: such rows take no part in the fit, and "
                "the scores of such columns are NaN."
            )

    def _warn_of_the_fit(self, axes: list[Axis], n_dims: int, n_rows: int) -> None:
        if n_dims >= n_rows - 1 and not self.alpha:
            warn_caller(
                f"{n_rows} rows in {n_dims} dimensions: the columns can give any scores to the rows, so that this is "
                "correspondence analysis without them. Have more rows or fewer columns, or set alpha."
            )
        worst = max(axes, key=lambda axis: axis.change)
        if worst.change >= self.tol:
            warn_caller(
                f"Round {worst.n_iter} still changed an axis by {worst.change:.1e}; tol={self.tol:g} was asked for. "
                "Raise max_iter, or use solver='eig'.",
                ConvergenceWarning,
            )

    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Columns that describe the rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        scores = X @ self.components_.T - self.mean_ @ self.components_.T
        return self._classes_along_axes.probabilities(scores.astype(np.float64))

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Columns that describe the rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X, y, sample_weight=None):
        """Share of the rows, or of all occurrences, whose class is the most probable one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Columns that describe the rows.
        y : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Label of each row, or how often each class occurred in it, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        score : float
            Accuracy; of counts, as if every occurrence were a row of its own.
        """
        y = y if sparse.issparse(y) or hasattr(y, "shape") else np.asarray(y)
        if len(y.shape) < 2 or y.shape[1] == 1:
            return super().score(X, y, sample_weight)
        counts = np.asarray(y.toarray() if sparse.issparse(y) else y, dtype=np.float64)
        best = self.predict_proba(X).argmax(axis=1)
        if counts.shape != (len(best), len(self.classes_)):
            raise ValueError(
                f"y has shape {counts.shape}, and counts of {len(best)} rows in the {len(self.classes_)} classes of "
                "fit are needed, or one label for each row."
            )
        refuse_negative(counts, type(self).__name__)
        weights = counts if sample_weight is None else counts * np.asarray(sample_weight, dtype=float)[:, None]
        if not weights.sum():
            raise ValueError("y holds no counts, so there is nothing to score.")
        return float(weights[np.arange(len(best)), best].sum() / weights.sum())

    @property
    def axes_(self) -> np.ndarray:
        return self.components_.T

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _centroids(X: Any, counts: Any, class_totals: np.ndarray, coordinates: Coordinates) -> np.ndarray:
    """Means of the classes in the coordinates, every row counted as often as the class occurs in it."""
    sums = counts.T @ X
    sums = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)
    sums -= np.outer(class_totals, coordinates.mean)
    filled = np.maximum(class_totals, np.finfo(float).tiny)
    return (sums / filled[:, None]) @ coordinates.to
