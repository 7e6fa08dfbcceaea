"""Projection on random directions: ``x' = x A / sqrt(d)``, which keeps lengths and distances.

``_dimensions`` tells how many are enough, ``_directions`` how they are drawn.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, warn_caller
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract.random_projection._dimensions import distortion_dim
from fewer.extract.random_projection._directions import AllColumns, drawn_directions


@method(
    tasks=["unsupervised"],
    when="Very many columns, and what follows (neighbours, clusters, kernels, linear models with a wide margin) needs "
    "distances or angles only: no fit, no labels, a guarantee, and rows can come one by one.",
    cost='O(n p d) time for d new columns, O(n p) for "sparse"; O(p d) memory, a bit for each entry of "sign"',
    paper="random-projection",
    examples=lambda: [
        RandomProjection(n_components=3),
        RandomProjection(n_components=3, kind="sign"),
        RandomProjection(n_components=3, kind="orthogonal"),
        RandomProjection(n_components=3, kind="sparse"),
        RandomProjection(),
    ],
)
class RandomProjection(Extractor):
    """Projection on random directions, as many as keep all distances.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions; "auto" for as many as keep the squared distances between all training rows within
        ``1 - eps`` and ``1 + eps``, see :func:`distortion_dim`. If that is no fewer than columns, these are kept as
        they are, with a warning. To keep classes apart rather than distances, give :func:`margin_dim`.
    kind : {"gaussian", "sign", "orthogonal", "sparse"}, default="gaussian"
        Directions with normal entries; with entries of one size and random sign, which take a bit each; at right
        angles, which takes longest to draw; or of few entries, by which a table is projected about as fast as it can
        be read from memory.
    eps : float, default=0.1
        Distortion that "auto" allows, below 1.
    delta : float, default=0.05
        Chance that it is exceeded for some pair of rows.
    spread : int, default=2
        To how many new columns each old one goes, for "sparse". Raise it for rows in which a few entries outweigh all
        others.
    random_state : int, RandomState instance or None, default=None
        Draws the directions.

    Attributes
    ----------
    components_ : {ndarray, csr_array} of shape (n_components, n_features)
        The directions; sparse for "sparse", and where the columns are kept as they are.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LandmarkFeatures : The same in the space of a kernel.
    margin_report : How many directions keep the classes of a linear model apart.
    SparsifiedRandomProjection : Sparse directions with normal entries, for recovery by the Lasso.

    Notes
    -----
    ``fit`` looks at the shape of the table only, and ``transform`` at one row after the other: a table that comes in
    blocks is projected block by block after a fit on the first one. Give ``n_components`` then, for instance
    ``distortion_dim`` of all rows to come.

    The guarantee is for "gaussian", "sign" and "orthogonal". Squared distances by "sparse" have the variance of those
    by "sign", but tails that depend on the rows. It holds for rows that do not depend on the directions, not for some
    that were chosen by looking at them.

    Directions are drawn in no order: a smaller ``n_components`` gives others, not the first ones.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.
    .. [2] Kane, D. M. and Nelson, J. (2014). Sparser Johnson-Lindenstrauss transforms. Journal of the ACM 61(1), 4.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import pdist
    >>> from fewer.extract import RandomProjection
    >>> X = np.random.default_rng(0).normal(size=(50, 10_000))
    >>> shorter = RandomProjection(eps=0.2, random_state=0).fit_transform(X)
    >>> shorter.shape
    (50, 1350)
    >>> bool(np.abs(pdist(shorter, "sqeuclidean") / pdist(X, "sqeuclidean") - 1).max() < 0.2)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "kind": [StrOptions({"gaussian", "sign", "orthogonal", "sparse"})],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "spread": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    _nested = False  # entries are scaled by the number of directions
    _takes_sparse = True

    def __init__(self, n_components="auto", *, kind="gaussian", eps=0.1, delta=0.05, spread=2, random_state=None):
        self.n_components = n_components
        self.kind = kind
        self.eps = eps
        self.delta = delta
        self.spread = spread
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "RandomProjection":
        """Draw the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table; only its shape and its precision are used.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, accept_sparse="csr", ensure_min_samples=1)
        n_components = self._enough_directions(*X.shape)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._directions = (
            AllColumns(X.shape[1], X.dtype.name)
            if n_components is None
            else drawn_directions(self.kind, X.shape[1], n_components, self.spread, X.dtype, rng)
        )
        return self

    def _enough_directions(self, n_rows: int, n_columns: int) -> int | None:
        """How many directions to draw; None where that would save no columns."""
        if self.n_components != "auto":
            return self._number_of_components(n_columns, "as many as columns")
        enough = distortion_dim(n_rows, self.eps, self.delta)
        if enough < n_columns:
            return enough
        warn_caller(
            f"To keep distances between {n_rows:,} rows within eps={self.eps:g} takes {enough:,} random directions, "
            f"and there are {n_columns:,} columns; they are kept as they are. Raise eps, or give n_components."
        )
        return None

    def transform(self, X: Any) -> Any:
        """The table along the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction. Sparse only if the columns of a sparse table are kept as they are.
        """
        check_is_fitted(self)
        options = {"reset": False, "accept_sparse": "csr"}
        # A product with NaN or infinity is none of a number, so that the few new columns tell of them: looking for them
        # in the table would take as long as projecting it.
        table = self._validated(X, ensure_all_finite=False, **options)
        with np.errstate(invalid="ignore", over="ignore"):
            projected, finite = self._directions.project(table)
        if not finite:
            self._validated(X, **options)
        return projected

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about the directions rather than one more to set
        """Number of directions."""
        return self._directions.n_components

    @property
    def components_(self) -> Any:
        """The directions."""
        return self._directions.matrix()
