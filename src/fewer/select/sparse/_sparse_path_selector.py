"""Rank columns by the penalty at which they enter a sparse linear model.

The stronger the penalty under which a column already has a coefficient, the better its place. With several classes,
each is told from the rest, and a column's place is the best that it gets.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.preprocessing import StandardScaler

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context
from fewer.catalogue import method
from fewer.learn import l1_path
from fewer.select._ranking import places_of_order
from fewer.select._selector import Selector
from fewer.select.scores._score import holds_numbers


def entry_levels(path) -> np.ndarray:
    """For each column the penalty at which it enters, as a share of the strongest; zero if it never does.

    Columns that enter between the same two points are told apart by their coefficients there, by less than the step.
    """
    entered, n_points = path.entered, len(path.Cs)
    levels = np.zeros(path.coefs.shape[1])
    inside = np.flatnonzero(entered < n_points)
    levels[inside] = path.Cs[0] / path.Cs[entered[inside]]
    step = path.Cs[0] / path.Cs
    for point in np.unique(entered[inside]):
        together = inside[entered[inside] == point]
        sizes = np.abs(path.coefs[[point]].toarray()[0, together])
        room = (step[point - 1] - step[point]) if point > 0 else 0.0
        levels[together] += 0.5 * room * sizes / max(sizes.max(), np.finfo(float).tiny)
    return levels


def signs_against_rest(y: np.ndarray, who: str) -> list[np.ndarray]:
    """A target of -1 and +1 for each class against the rest; one only when there are two classes."""
    classes, codes = encoded_classes(y, who)
    wanted = [1] if len(classes) == 2 else range(len(classes))
    return [np.where(codes == code, 1.0, -1.0) for code in wanted]


@method(
    tasks=["classification", "regression"],
    when="Columns that matter together in a linear model, ranked for a size curve: a column gets no place for what "
    "others before it already tell. Of alike columns one comes early and the rest late; if all of them are wanted, "
    "take a score, or StabilitySelection with redundancy groups.",
    cost="One path for each class: O(n p) a pass, few passes at each of the penalties.",
    examples=lambda: [SparsePathSelector(n_features_to_select=3, n_points=10)],
)
class SparsePathSelector(Selector):
    """Rank columns by where they enter the path of a sparse linear model.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep.
    loss : {"auto", "log", "squared_hinge", "squared"}, default="auto"
        Loss of the linear model; "auto" is "log" for classes and "squared" for numbers.
    n_points : int, default=100
        Penalties on the path.
    eps : float, default=1e-2
        Weakest penalty over strongest; smaller lets more columns in.
    max_features : int or None, default=None
        The path ends after the first model with more columns than this, which saves time where only the first matter;
        those that have not entered by then are ranked by how near they came. None for the whole path.
    standardize : bool, default=True
        Whether columns are divided by their standard deviations first, for they share one penalty.
    tol : float, default=1e-6
        As in :func:`~fewer.learn.l1_path`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The penalty at which a column enters, as a share of the strongest; zero if it does not enter.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the first to enter. Columns that never enter come last, by how near they came.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    StabilitySelection : How often columns come back on parts of the rows.
    fewer.learn.l1_path : The path itself.

    References
    ----------
    .. [1] Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least angle regression. Annals of Statistics
       32, 407-499.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import SparsePathSelector
    >>> cancer = load("breast_cancer")
    >>> select = SparsePathSelector(n_features_to_select=3).fit(cancer.X, cancer.y)
    >>> [cancer.columns[column] for column in select.get_support(indices=True)]
    ['worst radius', 'worst perimeter', 'worst concave points']
    """

    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"auto", "log", "squared_hinge", "squared"})],
        "n_points": [Interval(Integral, 2, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        loss="auto",
        n_points=100,
        eps=1e-2,
        max_features=None,
        standardize=True,
        tol=1e-6,
    ):
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.n_points = n_points
        self.eps = eps
        self.max_features = max_features
        self.standardize = standardize
        self.tol = tol

    @property
    def _takes_sparse(self):
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Follow the path and note where the columns enter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        if self.standardize:
            X = StandardScaler(with_mean=False).fit_transform(X)
        loss = self._loss_for(y)
        targets = [y.astype(float)] if loss == "squared" else signs_against_rest(y, "SparsePathSelector")
        levels, nearness = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        grid = {"n_points": self.n_points, "eps": self.eps, "max_features": self.max_features}
        for target in targets:
            path = l1_path(X, target, loss=loss, tol=self.tol, **grid)
            levels = np.maximum(levels, entry_levels(path))
            nearness = np.maximum(nearness, path.last_slopes)
        self.scores_ = levels
        # Columns that enter first for several classes have one level, but for rounding.
        nearness = np.round(np.where(levels > 0, 0.0, nearness), 6)
        self.ranking_ = places_of_order(np.lexsort((np.arange(len(levels)), -nearness, -np.round(levels, 9))))
        return self

    def _loss_for(self, y) -> str:
        if self.loss != "auto":
            return self.loss
        return "squared" if holds_numbers(y) else "log"
