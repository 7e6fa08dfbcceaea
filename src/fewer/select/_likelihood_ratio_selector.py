"""The likelihood ratio of densities as a selector: the k columns in whose distribution the classes differ most."""

from numbers import Integral, Real

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.select._selector import Selector, places
from fewer.select.scores import likelihood_ratio_feature_score


@method(
    tasks=["classification"],
    when="Classes may differ in spread, shape or number of modes rather than in their means, and columns are "
    "measurements with many different values and no gross outliers. Each column is judged by itself, so columns that "
    "repeat each other are all kept.",
    cost="O(p n log n): each column is sorted, and its densities are read off a grid.",
)
class LikelihoodRatioSelector(Selector):
    """Keep the columns in whose distribution the classes differ most, in whatever way.

    A column's score is the mean over the rows of ``ln f_c(x) - ln f(x)``: the kernel density of the row's own class
    against that of all rows together, each without the row itself.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    oversmooth : float, default=1.3
        Kernel width over ``s n^(-1/5)``, with s the standard deviation of the column and n the rows of the class (or
        all); 1.06 is best for a normal density.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each column, in nats for a row.
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
    likelihood_ratio_feature_score : The scores alone.

    References
    ----------
    .. [1] Zhu, M. and Hastie, T. (2003). Feature extraction for nonparametric discriminant analysis. Journal of
       Computational and Graphical Statistics 12, 101-120.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import LikelihoodRatioSelector
    >>> X = np.random.default_rng(0).uniform(size=(200, 4))
    >>> y = abs(X[:, 2] - 0.5) < 1 / 6
    >>> LikelihoodRatioSelector(1).fit(X, y).get_support()
    array([False, False,  True, False])
    """

    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_features_to_select=10, *, oversmooth=1.3):
        self.n_features_to_select = n_features_to_select
        self.oversmooth = oversmooth

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Score and rank the columns.

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
        self.scores_ = likelihood_ratio_feature_score(X, y, oversmooth=self.oversmooth)
        self.ranking_ = places(self.scores_)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        return self
