"""Nonlinear coordinates that follow the target: diffusion over the rows, slowed down where the target changes.

Two rows are similar by

    W_ij = exp(-|x_i - x_j|^2 / sigma1 - change_ij^2 / sigma2),    change_ij = (F(x_i) + F(x_j))'(x_i - x_j) / 2,

and the new coordinates are eigenvectors of ``P = D^{-1} W``, D the sums of the rows: the slow modes of a random walk.
A new row gets the mean coordinates of similar rows, divided by the eigenvalue, so that training rows keep theirs.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer._kernels._numpy_lapack import largest_eigh
from fewer._kernels._row_products import squared_distances
from fewer._kernels._scipy_solvers import eigsh
from fewer.catalogue import method
from fewer.extract._centred_table import median_distance
from fewer.extract._extractor import Extractor, upright
from fewer.extract.gradients._gradient_learner import GradientLearner, holds_numbers, holds_quantity
from fewer.extract.gradients._gradient_outer_product import learnt_gradients

_UNLABELLED = -1


def labelled_rows(y: np.ndarray) -> np.ndarray:
    """Mask of the rows with a target: not None, not NaN, and not -1 among whole numbers that stand for classes.

    If -1 and a single other number are all there is, they are the two classes.
    """
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        known = np.array([value is not None and value == value for value in y])
    elif y.dtype.kind == "f":
        assert_all_finite(y[~np.isnan(y)], input_name="y")
        known = ~np.isnan(y)
    else:
        known = np.ones(len(y), dtype=bool)
    if not known.any():
        raise ValueError("No row of y has a target; at least some rows must have one.")
    if holds_numbers(y[known]) and not holds_quantity(y[known]):
        classes = np.unique(y[known])
        if _UNLABELLED in classes and len(classes) > 2:
            known &= y != _UNLABELLED
    return known


_DENSE_UP_TO = 1000
_SMALLEST_EIGENVALUE = 1e-10


def squared_changes(along: np.ndarray, slopes: np.ndarray, other: np.ndarray, other_slopes: np.ndarray) -> np.ndarray:
    """Squared change of the target from each row to each of the others, added up over functions."""
    total = np.zeros((len(along), len(other)))
    for mine, theirs in zip(slopes, other_slopes, strict=True):
        here = np.einsum("ij,ij->i", mine, along)[:, None] - mine @ other.T
        there = along @ theirs.T - np.einsum("ij,ij->i", theirs, other)
        total += ((here + there) / 2) ** 2
    return total


class Modes(NamedTuple):
    """Eigenvalues of the random walk after the trivial one, decreasing, and eigenvectors as columns."""

    eigenvalues: np.ndarray
    vectors: np.ndarray


def slow_modes(W: Any, n_modes: int) -> Modes:
    """Leading modes of the walk; each vector has unit variance about 0 where the walk is at home."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    scale = 1 / np.sqrt(degrees)
    if sparse.issparse(W):
        symmetric = sparse.diags_array(scale) @ W @ sparse.diags_array(scale)
    else:
        symmetric = scale[:, None] * W * scale
    n_rows = len(degrees)
    if n_rows <= _DENSE_UP_TO or n_modes + 1 >= n_rows // 2:
        dense = symmetric.toarray() if sparse.issparse(symmetric) else symmetric
        values, vectors = largest_eigh(dense, n_modes + 1)
    else:
        start = np.random.default_rng(0).uniform(0.5, 1, size=n_rows)
        values, vectors = eigsh(symmetric, k=n_modes + 1, which="LA", v0=start, tol=1e-10)
    order = np.argsort(-values, kind="stable")[1:]
    order = order[values[order] > _SMALLEST_EIGENVALUE]
    return Modes(values[order], vectors[:, order] * scale[:, None] * np.sqrt(degrees.sum()))


@method(
    tasks=["classification", "regression"],
    when="Rows lie on a curved surface (a Swiss roll, a ring) and the target changes along it; also if only some rows "
    "have a target, and the others help to find the shape. Use a nearest-neighbour estimator after it.",
    cost="O(n^2 p) for similarity and some tens of steps of O(n^2 min(n, p)); O(n^2 + n p) memory",
    paper="learning-gradients",
    depends_on_scale="alpha_grad penalises slopes, whose unit is the inverse of that of the columns",
)
class GradientDiffusionMap(CallbackSupportMixin, Extractor):
    """Diffusion map coordinates that follow the target.

    Rows are similar if they are close and the target, by its learnt gradient, hardly changes between them; the new
    columns are the slow modes of a random walk among such rows.

    Parameters
    ----------
    n_components : int or None, default=2
        Number of new columns; None for as many as there are.
    sigma1 : "median" or float, default="median"
        Width of the kernel of distances, as a squared distance; by default the median squared distance of two rows.
    sigma2 : "median" or float, default="median"
        Width of the kernel of changes of the target, as a squared change; by default the median over pairs.
        ``numpy.inf`` leaves the target out: an ordinary diffusion map.
    t : float, default=1
        Steps of the walk: each new column is multiplied by its eigenvalue to this power.
    estimator : GradientLearner, default=None
        Learns the gradient from rows with a target. By default with the squared loss for numbers and the logistic
        loss for classes.
    change : {"gradient", "function"}, default="gradient"
        How the change of the target between two rows is estimated: by the gradient at both, or by the difference of the
        function's values.
    n_neighbors : int or None, default=None
        If given, a row is compared with this many nearest neighbours only, and with the rows that it is a neighbour of.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The training rows in the new columns.
    eigenvalues_ : ndarray of shape (n_components,)
        How much is left of each column after one step of the walk, decreasing.
    sigma1_ : float
        Width of the kernel of distances.
    sigma2_ : float
        Width of the kernel of changes of the target.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training table.
    estimator_ : GradientLearner or None
        The fitted estimator of the gradient; None if the target is left out.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GradientOuterProduct : Straight directions along which the target changes.
    sklearn.manifold.SpectralEmbedding : Without a target.

    Notes
    -----
    ``sigma2`` weighs changes of the target against distances: choose both widths by the held-out score of the estimator
    that follows.

    With ``n_neighbors``, a training row that is passed to ``transform`` is compared with its own nearest rows, and may
    differ a little from its row of ``embedding_``.

    References
    ----------
    .. [1] Wu, Q., Guinney, J., Maggioni, M. and Mukherjee, S. (2010). Learning gradients: predictive models that infer
       geometry and statistical dependence. Journal of Machine Learning Research 11, 2175-2198.

    Examples
    --------
    A ring: the target is the angle's sine, and half of the rows do not have it.

    >>> import numpy as np
    >>> from fewer.extract import GradientDiffusionMap
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.where(np.arange(200) < 100, np.sin(angle), np.nan)
    >>> first = GradientDiffusionMap(n_components=1).fit_transform(X, y)[:, 0]
    >>> bool(abs(np.corrcoef(first, np.sin(angle))[0, 1]) > 0.95)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "sigma1": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "sigma2": [StrOptions({"median"}), Interval(Real, 0, None, closed="right")],
        "t": [Interval(Real, 0, None, closed="left")],
        "estimator": [GradientLearner, None],
        "change": [StrOptions({"gradient", "function"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components=2,
        *,
        sigma1="median",
        sigma2="median",
        t=1,
        estimator=None,
        change="gradient",
        n_neighbors=None,
    ):
        self.n_components = n_components
        self.sigma1 = sigma1
        self.sigma2 = sigma2
        self.t = t
        self.estimator = estimator
        self.change = change
        self.n_neighbors = n_neighbors

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _follows_target(self) -> bool:
        return self.sigma2 != np.inf

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the new columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers or classes; NaN, None, or -1 among classes that are whole numbers, for rows without one. Not used
            if ``sigma2`` is infinite.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, copy=True)  # kept, so it must not change with the user's
        if not self._follows_target:
            self.estimator_ = None
            with fit_steps(self, X):
                self._embed(X)
            return self
        if y is None:
            raise ValueError(
                "GradientDiffusionMap requires y to be passed, but the target y is None. Let sigma2=numpy.inf for a "
                "map without a target."
            )
        y = np.asarray(y)
        check_consistent_length(X, y)
        known = labelled_rows(y)
        with learnt_gradients(self, X[known], y.ravel()[known]) as learner:
            self.estimator_ = learner
            self._embed(X)
        return self

    def _embed(self, X: Any) -> None:
        self.X_fit_ = X
        distances = squared_distances(X, X)
        self.sigma1_ = median_distance(distances) ** 2 if self.sigma1 == "median" else float(self.sigma1)
        changes = self._squared_changes(X)
        self.sigma2_ = median_distance(changes) ** 2 if self.sigma2 == "median" else float(self.sigma2)
        alike = np.exp(-distances / self.sigma1_ - changes / self.sigma2_)
        if self.n_neighbors is not None:
            alike = self._among_neighbours(alike, distances)
        n_rows = X.shape[0]
        modes = slow_modes(alike, self._number_of_components(n_rows - 1, "one less than there are rows"))
        # Turned here once, for new rows as well.
        self._modes = np.ascontiguousarray(upright(modes.vectors.T).T)
        self.eigenvalues_ = modes.eigenvalues
        self.embedding_ = (self._modes * self.eigenvalues_**self.t).astype(X.dtype, copy=False)
        self.n_components_ = len(self.eigenvalues_)

    def _squared_changes(self, X: Any) -> np.ndarray:
        """Squared change of the target from each row to each training row; 0 if it is left out."""
        learner = self.estimator_
        if learner is None:
            return np.zeros((1, 1))
        if self.change == "function":
            here, there = (np.atleast_2d(learner._function(each).T) for each in (X, self.X_fit_))
            return np.square(here[:, :, None] - there[:, None, :]).sum(axis=0)
        return squared_changes(*learner._along_and_slopes(X), *learner._along_and_slopes(self.X_fit_))

    def _among_neighbours(self, alike: np.ndarray, distances: np.ndarray) -> sparse.csr_array:
        """Similarity between rows one of which is among the nearest of the other; it stays 1 with itself."""
        near = _nearest_of_each(distances, self.n_neighbors + 1)
        graph = sparse.csr_array(np.where(near | near.T, alike, 0.0))
        n_parts = connected_components(graph, directed=False, return_labels=False)
        if n_parts > 1:
            warn_caller(
                f"The graph of nearest neighbours has {n_parts} components, and the first new columns only separate "
                f"these: raise n_neighbors={self.n_neighbors}."
            )
        return graph

    def fit_transform(self, X, y=None):
        """Find the new columns, and give them for the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            The target, as for ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            ``embedding_``.
        """
        return self.fit(X, y).embedding_

    def transform(self, X):
        """New columns of rows: the weighted mean of those of similar rows, by Nyström's formula.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each mode.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        distances = squared_distances(X, self.X_fit_)
        unlike = distances / self.sigma1_ + self._squared_changes(X) / self.sigma2_
        # A row far from all others still goes where the nearest are.
        alike = np.exp(unlike.min(axis=1, keepdims=True) - unlike)
        if self.n_neighbors is not None:
            alike = np.where(_nearest_of_each(distances, self.n_neighbors + 1), alike, 0.0)
        steps = alike / alike.sum(axis=1, keepdims=True)
        return (steps @ (self._modes * self.eigenvalues_ ** (self.t - 1.0))).astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._follows_target
        return tags


def _nearest_of_each(distances: np.ndarray, n_nearest: int) -> np.ndarray:
    """Mask of the nearest training rows of each row, with all that are as far as the last of them."""
    place = min(n_nearest, distances.shape[1]) - 1
    return distances <= np.partition(distances, place, axis=1)[:, place, None]
