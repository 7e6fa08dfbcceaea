"""Random projection by a matrix of which most entries are zero and the others normal: ``X R' / sqrt(m)``."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.random_projection import johnson_lindenstrauss_min_dim
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.datasets import make_sparsified_gaussian
from fewer.extract._extractor import Extractor


@method(
    tasks=["unsupervised"],
    when="Very many columns, and distances between rows are all that is needed of them: measurements that each touch "
    "few columns, with entries that can be normal, from which the Lasso can still find a sparse signal again.",
    cost="O(d n p m) time for m components of density d; O(d p m) memory",
    paper="sparse-random-projections",
    examples=lambda: [SparsifiedRandomProjection(n_components=3, density=0.5)],
)
class SparsifiedRandomProjection(Extractor):
    """Projection on random directions with few entries that are not zero.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions; "auto" for as many as keep all distances within ``eps`` by the Johnson-Lindenstrauss
        bound.
    density : float or "auto", default="auto"
        Share of entries that are not zero; "auto" for ``1 / sqrt(n_features)``.
    distribution : {"normal", "sign"}, default="normal"
        What these entries are. With "sign" this is scikit-learn's SparseRandomProjection.
    eps : float, default=0.1
        Distortion of distances that "auto" allows.
    random_state : int, RandomState instance or None, default=None
        Draws the directions.

    Attributes
    ----------
    components_ : csr_array of shape (n_components, n_features)
        The directions: entries of variance ``1 / n_components``.
    density_ : float
        Share of entries that may differ from zero.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.theory.support_recovery_curve : How few measurements still give the exact support.
    sklearn.random_projection.SparseRandomProjection : Entries of two values.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import SparsifiedRandomProjection
    >>> X = np.random.default_rng(0).normal(size=(20, 2000))
    >>> project = SparsifiedRandomProjection(n_components=500, density=0.1, random_state=0)
    >>> shorter = project.fit_transform(X)
    >>> lengths = np.linalg.norm(shorter, axis=1) / np.linalg.norm(X, axis=1)
    >>> bool(np.abs(lengths - 1).max() < 0.1)
    True
    """

    n_components: Any  # or "auto"

    _nested = False  # entries shrink with the number of directions

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "density": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
        "distribution": [StrOptions({"normal", "sign"})],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_components="auto", *, density="auto", distribution="normal", eps=0.1, random_state=None):
        self.n_components = n_components
        self.density = density
        self.distribution = distribution
        self.eps = eps
        self.random_state = random_state

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Draw the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table; only its shape is used.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, ensure_min_samples=1)
        n_samples, n_features = X.shape
        if self.n_components != "auto":
            self.n_components_ = int(self.n_components)
        else:
            self.n_components_ = int(johnson_lindenstrauss_min_dim(n_samples, eps=self.eps))
            if self.n_components_ > n_features:
                raise ValueError(
                    f"Distances between {n_samples:,} rows are kept within eps={self.eps:g} by {self.n_components_:,} "
                    f"directions, more than the {n_features:,} columns there are; raise eps or give n_components."
                )
        self.density_ = float(1 / np.sqrt(n_features) if self.density == "auto" else self.density)
        drawn = make_sparsified_gaussian(
            self.n_components_,
            n_features,
            self.density_,
            distribution=self.distribution,
            random_state=self.random_state,
        )
        entries = (drawn.X.data / np.sqrt(self.n_components_)).astype(X.dtype)
        # Plain arrays, because skops does not trust a sparse matrix that it is to load.
        self._stored = (entries, drawn.X.indices, drawn.X.indptr)
        return self

    def transform(self, X):
        """Project rows on the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_components)
            Coordinates; sparse for a sparse table.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return X @ self.components_.T

    @property
    def components_(self):
        """The directions."""
        return sparse.csr_array(self._stored, shape=(self.n_components_, self.n_features_in_))
