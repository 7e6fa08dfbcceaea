"""Weights for the columns under which classes lie apart and each is narrow, in the manner of Fisher.

With unit columns M (rows are samples), P the projector on the space that the rows span, B the scatter between the
classes and W the scatter within, the weights are the leading eigenvector of

    P o (B - alpha W),    B = sum_c n_c d_c d_c',    W = M'M - B,

where o multiplies entry by entry and d_c is the mean of class c. All three matrices are p x p, and none is made: with
``M = V S U'`` the projector is ``U U'`` and ``M'M = U S^2 U'``, and a product with the whole costs O(n^2 p).

With no more columns than independent rows P is the identity: every column stands by itself, and the eigenvector is a
single column.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, encoded_classes, fit_context, warn_caller
from fewer._kernels._one_thread import one_thread
from fewer.catalogue import method
from fewer.select._selector import ranks_of_order
from fewer.select.weights._unit_columns import (
    ColumnScale,
    Leading,
    blocks,
    correlations,
    is_small,
    leading_eigenvector,
    scaled,
    varying_part,
)
from fewer.select.weights._variance_weights import eigenvector_tolerance
from fewer.select.weights._weight_selector import WeightSelector


class Axes(NamedTuple):
    """Orthonormal directions that the rows span, one in each row, and the variance (squared norm) along each."""

    directions: np.ndarray
    variances: np.ndarray


def spanned_axes(X: np.ndarray, scale: ColumnScale, rank_tol: float) -> Axes:
    """Axes with a singular value above ``rank_tol`` of the largest, or above rounding where that is more."""
    n_rows, n_columns = X.shape
    precision = float(np.finfo(X.dtype).eps)
    if n_rows > n_columns:
        variances, vectors = np.linalg.eigh(correlations(X, scale))
        directions = vectors.T[::-1].astype(X.dtype)
        variances = np.maximum(variances[::-1], 0)
        least = max(rank_tol**2, n_columns * precision)  # inner products square the rounding errors too
    else:
        _, singular, directions = np.linalg.svd(scaled(X, scale), full_matrices=False)
        variances = singular.astype(np.float64) ** 2
        variances[n_rows - 1 :] = 0  # centring took one direction of the rows
        least = max(rank_tol, precision * np.sqrt(n_columns)) ** 2
    spanned = variances > least * variances[0]
    return Axes(directions[spanned], variances[spanned])


def class_offsets(X: np.ndarray, classes: np.ndarray, scale: ColumnScale) -> np.ndarray:
    """Means of the classes in unit columns, times the square root of the class size: F with ``B = F'F``."""
    sizes = np.bincount(classes)
    means = np.stack([X[classes == number].mean(axis=0, dtype=np.float64) for number in range(len(sizes))])
    return np.sqrt(sizes)[:, None] * (means - scale.mean) / scale.norm


def between_shares(offsets: np.ndarray) -> np.ndarray:
    """Share of each column's variance that lies between the classes: the diagonal of B."""
    return np.einsum("ij,ij->j", offsets, offsets)


def criterion_product(
    axes: Axes, offsets: np.ndarray, alpha: float, rank: int | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Products with ``P o (B - alpha W)``; P of the leading ``rank`` axes only, where that is given."""
    projector = axes.directions[:rank]
    offsets = offsets.astype(projector.dtype)
    # B - alpha W = (1 + alpha) B - alpha M'M = F' diag(1 + alpha) F - U diag(alpha S^2) U'
    factor = offsets if alpha == 0 else np.concatenate([offsets, axes.directions])
    signs = np.concatenate([np.full(len(offsets), 1 + alpha), -alpha * axes.variances])[: len(factor)]
    n_columns = factor.shape[1]

    def product(vector: np.ndarray) -> np.ndarray:
        vector = vector.astype(projector.dtype, copy=False)
        crossed = np.zeros((len(projector), len(factor)))
        for columns in blocks(n_columns, len(projector)):
            crossed += (projector[:, columns] * vector[columns]) @ factor[:, columns].T
        crossed = (crossed * signs).astype(projector.dtype)
        image = np.empty(n_columns)
        for columns in blocks(n_columns, len(projector)):
            image[columns] = np.einsum("ij,ij->j", projector[:, columns], crossed @ factor[:, columns])
        return image

    return product


def fisher_weights(axes: Axes, offsets: np.ndarray, alpha: float, rank: int | None = None) -> Leading:
    """Leading eigenvector of the criterion, with its sum positive; it may have negative entries."""
    tol = eigenvector_tolerance(float(np.finfo(axes.directions.dtype).eps))
    start = between_shares(offsets) + 1 / offsets.shape[1]  # not zero where the classes have equal means
    return leading_eigenvector(criterion_product(axes, offsets, alpha, rank), start, tol=tol)


@method(
    tasks=["classification"],
    when="There are more columns than rows, and a discriminant analysis or a linear classifier follows: it favours "
    "columns that separate the classes and are explained together. With fewer columns it has nothing to add to a "
    "ranking of single columns.",
    cost="O(n^2 p) for the axes and for each of some 20 products; memory O(n p).",
    paper="wolf-bileschi",
)
class FisherWeightSelector(WeightSelector):
    """Weight columns so that the classes lie apart and each is narrow.

    Every column is centred and scaled to norm one. The weights, of length one together, maximise the scatter between
    the classes less ``alpha`` times the scatter within, along the directions that the rows span.

    Parameters
    ----------
    alpha : float, default=1.0
        What the scatter within classes costs. With 0 only the distance of the classes counts. Choose it by a
        cross-validation of the classifier that follows.
    rank_tol : float, default=1e-10
        Directions whose singular value is below this share of the largest do not count as spanned.
    projection_rank : int or None, default=None
        Number of directions, those with the most variance. Needed with no more columns than rows, where all
        directions are spanned and the criterion does not depend on the combination of columns.
    n_features_to_select : int or None, default=None
        Number of columns to keep, those with the highest weights; all of them, with a warning, if the table has fewer.
    with_mean : bool, default=True
        Whether ``transform`` takes off the mean.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        Weight of each column, never negative; their squares sum to one.
    scores_ : ndarray of shape (n_features,)
        The same as ``weights_``.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the highest weight. Columns with weight 0 are ranked by ``between_shares_``.
    n_features_to_select_ : int
        Columns kept.
    between_shares_ : ndarray of shape (n_features,)
        Share of each column's variance that lies between the classes.
    objective_ : float
        The criterion that the weights reach, before negative ones are set to zero.
    rank_ : int
        Number of directions that count as spanned.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    norm_ : ndarray of shape (n_features,)
        Norms of its columns about the mean; 0 for constant ones, which are left out.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    VarianceWeightSelector : Weights without labels.
    WeightedFisher : Weights, then a discriminant analysis.

    Notes
    -----
    Where the rows span as many directions as there are columns, the criterion falls apart into single columns, and its
    maximum is the best of them. A warning says so, and the weights are the ``between_shares_`` instead.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019. (The printed formulas of algorithm 3 have slips: the scatter between classes is that
       of the differences of means, and the one within has no extra factor of the class size.)

    Examples
    --------
    >>> from fewer.datasets import make_permuted_clusters
    >>> from fewer.select import FisherWeightSelector
    >>> X, y, truth = make_permuted_clusters(n_samples=60, delta=1.0, random_state=0)
    >>> FisherWeightSelector(n_features_to_select=3).fit(X, y).get_support(indices=True)
    array([0, 1, 2])
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "rank_tol": [Interval(Real, 0, 1, closed="left")],
        "projection_rank": [Interval(Integral, 1, None, closed="left"), None],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "with_mean": ["boolean"],
    }

    def __init__(self, alpha=1.0, *, rank_tol=1e-10, projection_rank=None, n_features_to_select=None, with_mean=True):
        self.alpha = alpha
        self.rank_tol = rank_tol
        self.projection_rank = projection_rank
        self.n_features_to_select = n_features_to_select
        self.with_mean = with_mean

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        self.classes_, codes = encoded_classes(y, "FisherWeightSelector")
        scale = self._scale_of(X)
        varying, varying_scale = varying_part(X, scale)
        offsets = class_offsets(varying, codes, varying_scale)
        shares = between_shares(offsets)
        axes = spanned_axes(varying, varying_scale, self.rank_tol)
        self.rank_ = len(axes.variances)

        if min(self.rank_, self.projection_rank or self.rank_) == varying.shape[1]:
            self._warn_of_single_columns(varying.shape[1])
            weights, self.objective_ = shares, float(((1 + self.alpha) * shares - self.alpha).max())
        else:
            with one_thread("blas", when=is_small(X)):
                found = fisher_weights(axes, offsets, self.alpha, self.projection_rank)
            if not found.converged:
                warn_caller(
                    f"The weights still moved after {len(found.path)} products; several groups of columns may be "
                    "equally good. Another alpha may distinguish them.",
                    ConvergenceWarning,
                )
            weights, self.objective_ = np.maximum(found.vector, 0), found.value
        length = np.linalg.norm(weights)
        self._keep(weights / length if length > 0 else np.full(len(weights), len(weights) ** -0.5), scale)
        self.between_shares_ = np.zeros(X.shape[1])
        self.between_shares_[scale.varies] = shares
        # Ties are many where weights are cut off at zero; constant columns have no share and stay last.
        order = np.lexsort((np.arange(X.shape[1]), ~scale.varies, -self.between_shares_, -self.weights_))
        self.ranking_ = ranks_of_order(order)
        return self

    def _warn_of_single_columns(self, n_columns: int) -> None:
        if n_columns == 1:
            return
        cure = f"Give projection_rank={max(1, n_columns // 2)} or so" if self.projection_rank is None else "Lower it"
        warn_caller(
            f"The rows span all {n_columns} columns, so the criterion is degenerate: it looks at single columns, and "
            f"would put all weight on one. The weights are each column's share of variance between classes instead. "
            f"{cure}, or use a score of single columns."
        )
