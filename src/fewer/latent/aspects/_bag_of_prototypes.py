"""Objects as counts of prototypes: local descriptors are quantised by k-means, and counted for each object.

A row is one local vector (a patch of an image, a window of a signal) with the id of its object. The count of a
prototype in an object is the number of its vectors that are nearest to it, as words are counted in a document.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, validated
from fewer._kernels._one_thread import one_thread
from fewer.catalogue import method

_MUCH = 10_000_000


@method(
    tasks=["unsupervised"],
    when="Objects that consist of many local vectors (patches of images, windows of signals), as counts for PLSA or "
    "DiscreteComponentAnalysis.",
    cost="O(n k p) an iteration of k-means, O(n k p) for the counts",
    paper="plsa-visual",
    examples=lambda: [BagOfPrototypes(4, random_state=0)],
    depends_on_scale="with solver='minibatch', whose k-means stops at a change in the unit of the table",
)
class BagOfPrototypes(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Count the prototypes of the local vectors of each object.

    Parameters
    ----------
    n_clusters : int, default=1000
        Number of prototypes; at most one for each vector.
    solver : {"minibatch", "lloyd"}, default="minibatch"
        k-means on batches of rows, or on all rows in every iteration.
    random_state : int, RandomState instance or None, default=None
        Draws the starts of k-means.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSA : Aspects of such counts.

    Notes
    -----
    Prototypes are best found on other objects than those to be counted. Counts are not weighted.

    References
    ----------
    .. [1] Monay, F., Quelhas, P., Gatica-Perez, D. and Odobez, J.-M. (2006). Constructing visual models with a latent
       space approach. In Subspace, Latent Structure and Feature Selection, LNCS 3940, 115-126.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import BagOfPrototypes
    >>> patches = np.array([[0.0], [0.1], [5.0], [5.1], [0.05], [5.05]])
    >>> bag = BagOfPrototypes(2, solver="lloyd", random_state=0).fit(patches)
    >>> sorted(bag.transform(patches, groups=["a", "a", "a", "b", "b", "b"]).tolist())
    [[1.0, 2.0], [2.0, 1.0]]
    """

    _size_parameter = "n_clusters"
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"minibatch", "lloyd"})],
        "random_state": ["random_state"],
    }

    def __init__(self, n_clusters=1000, *, solver="minibatch", random_state=None):
        self.n_clusters = n_clusters
        self.solver = solver
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_vectors, n_features)
            Local vectors of some objects.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X = validated(self, X, dtype=(np.float64, np.float32))
        kind = MiniBatchKMeans if self.solver == "minibatch" else KMeans
        n_clusters = min(self.n_clusters, len(X))
        mean = X.mean(axis=0)
        with one_thread(when=X.size * n_clusters < _MUCH):
            found = kind(n_clusters, n_init=1, random_state=self.random_state).fit(X - mean)
        self.cluster_centers_ = found.cluster_centers_ + mean
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def transform(self, X, groups=None):
        """Counts of the prototypes in each object.

        Parameters
        ----------
        X : array-like of shape (n_vectors, n_features)
            Local vectors.
        groups : array-like of shape (n_vectors,), default=None
            Object of each vector; by default each is an object of its own.

        Returns
        -------
        X_new : ndarray of shape (n_objects, n_clusters)
            Counts; objects are in the order of ``numpy.unique(groups)``.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32))
        nearest = _nearest(X, self.cluster_centers_)
        objects = np.arange(len(X))
        if groups is not None:
            check_consistent_length(X, groups)
            objects = np.unique(np.asarray(groups), return_inverse=True)[1]
        counts = np.zeros((int(objects.max()) + 1, len(self.cluster_centers_)), dtype=X.dtype)
        np.add.at(counts, (objects, nearest), 1)
        return counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _nearest(X: Any, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each row, in blocks of rows."""
    offset = centres.mean(axis=0)
    centres = centres - offset
    squares = np.einsum("ij,ij->i", centres, centres)
    block = max(1, 1 << 22) // len(centres) + 1
    parts = [squares - 2 * ((X[start : start + block] - offset) @ centres.T) for start in range(0, len(X), block)]
    return np.concatenate([part.argmin(axis=1) for part in parts])
