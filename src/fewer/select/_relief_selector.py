"""Relief as a selector: the k columns with the highest weights of :func:`~fewer.select.relief_score`."""

from numbers import Integral

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.select._selector import Selector, places
from fewer.select.scores import relief_score


@method(
    tasks=["classification"],
    when="Columns may be useful only together, as in parities, and there are too many for a search. It keeps columns "
    "that repeat each other, and many noisy columns drown the neighbourhoods that it relies on.",
    cost="O(n^2 p), or O(n n_iter p) with n_iter rows drawn.",
    paper="mladenic-text-fs",
)
class Relief(Selector):
    """Keep the columns that differ between near rows of different classes, and not between near rows of one.

    For each row drawn, its nearest rows of the same class (hits) and of other classes (misses) are found, all columns
    scaled to 0..1. A column gains by its difference from the misses, and loses by that from the hits.

    Parameters
    ----------
    n_iter : int or None, default=None
        Rows drawn to look around; by default each row once.
    n_neighbors : int, default=1
        Hits, and misses, whose differences are averaged.
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and decides between equally near ones.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Weight of each column, between -1 and 1.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best; of equals, the one with the lowest index comes first.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    relief_score : The weights alone.
    relieff_score : Several neighbours from every class, or a target of numbers; ``SelectTop("relieff")``.

    References
    ----------
    .. [1] Kira, K. and Rendell, L. A. (1992). A practical approach to feature selection. Proceedings of the ninth
       international workshop on machine learning, 249-256.
    .. [2] Mladenic, D. (2006). Feature selection for dimensionality reduction. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 84-102.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import Relief
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 5))
    >>> y = X[:, 1] ^ X[:, 3]
    >>> Relief(n_features_to_select=2, random_state=0).fit(X, y).get_support()
    array([False,  True, False,  True, False])
    """

    _parameter_constraints = {
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_iter=None, n_neighbors=1, *, n_features_to_select=10, random_state=None):
        self.n_iter = n_iter
        self.n_neighbors = n_neighbors
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Weigh and rank the columns.

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
        self.scores_ = relief_score(
            X, y, n_iter=self.n_iter, n_neighbors=self.n_neighbors, random_state=self.random_state
        )
        self.ranking_ = places(self.scores_)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        return self
