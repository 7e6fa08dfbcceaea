"""Rank columns by how much their splits lower the impurity in a forest of extremely randomised trees.

    importance of a column = mean over trees of  sum over its splits of  (n_node / n) x (decrease of impurity),

the impurity being Gini's index of the classes or the variance of the numbers. With elimination, the columns with the
smallest importances are dropped, and a new forest is grown on those left.

Geurts, P., Ernst, D. and Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63, 3-42.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import check_random_state, gen_batches

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fitted, forest_importances
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import numbers, task_of
from fewer.select.embedded._elimination import elimination

# Columns tried at each node of a tree for numbers: a third of 20,000 would take 10 s.
_MOST_TRIED = 500
# Columns are scaled in blocks of so many cells.
_CELLS = 4_000_000


@method(
    tasks=["classification", "regression"],
    when="A ranking that sees curves and interactions, for classes or numbers, from one forest. Columns that repeat "
    "each other share their importance, and columns with few distinct values are rated too low. With step=0.5, a new "
    "forest is grown on the better half again and again, which finds more of the columns that act together.",
    cost="O(T m log(m) sqrt(p)) for T trees on m = min(n, max_samples) rows; log2(p) forests with step=0.5; O(n p) "
    "memory.",
    examples=lambda: [
        ForestImportanceSelector(3, n_estimators=20),
        ForestImportanceSelector(3, n_estimators=5, step=0.5),
    ],
    aliases=["random forest importance"],
)
class ForestImportanceSelector(Selector):
    """Keep the columns whose splits lower the impurity most in a forest of extremely randomised trees.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    n_estimators : int, default=200
        Trees of a forest.
    step : float, int or None, default=None
        With None, one forest ranks all columns. Otherwise columns are eliminated: those with the smallest importances
        are dropped, and a new forest is grown on the others, until one is left. A share of those left if it is below
        1, else a number.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds; "auto" takes numbers with fractions, and whole numbers of very many kinds, for a regression,
        anything else for classes.
    max_features : int, float, "sqrt" or None, default=None
        Columns that are tried at each node: a number, a share, or their square root. None is the square root for
        classes, and a third, at most 500, for numbers.
    min_samples_leaf : int, default=1
        Rows that a leaf must have.
    max_samples : int or None, default=5000
        Rows for each tree, at most: of longer tables, each tree draws this many, with replacement. None for all.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives all classes the same weight in total.
    n_jobs : int or None, default=None
        Threads that grow trees.
    random_state : int, RandomState instance or None, default=None
        Draws columns, cuts and rows.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Importance of each column, in the last forest that had it; those of one forest add up to 1.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the most important, or for the last one left.
    n_forests_ : int
        Forests grown.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ForestRelevanceSelector : Tests whether a column gains more than chance.
    ShadowRelevanceSelector : All columns that beat shuffled copies.
    EmbeddedSelector : The importances of any model.

    Notes
    -----
    Importances come from the rows that the trees were grown on. They favour columns with many distinct values, also
    irrelevant ones: how many columns to keep is for held-out rows to say.

    References
    ----------
    .. [1] Geurts, P., Ernst, D. and Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63, 3-42.
    .. [2] Diaz-Uriarte, R. and Alvarez de Andres, S. (2006). Gene selection and classification of microarray data using
       random forest. BMC Bioinformatics 7, 3.

    Examples
    --------
    >>> from fewer.datasets import make_friedman_classes
    >>> from fewer.select import ForestImportanceSelector
    >>> X, y, truth = make_friedman_classes(n_samples=1000, random_state=0)
    >>> ForestImportanceSelector(5, random_state=0).fit(X, y).get_support(indices=True)
    array([0, 1, 2, 3, 4])
    """

    _takes_sparse = True
    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left"), None],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"sqrt"}),
            None,
        ],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        n_estimators=200,
        step=None,
        task="auto",
        max_features=None,
        min_samples_leaf=1,
        max_samples=5000,
        class_weight=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.step = step
        self.task = task
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the forest, or several on fewer and fewer columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        task = task_of(y, self.task)
        X, y, weights = self._weighted(X, y, sample_weight)
        X = _in_unit_range(X)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        forest, target = self._forest_and_target(y, task)

        def importances(left: np.ndarray) -> np.ndarray:
            if self.max_features is None and isinstance(forest, ExtraTreesRegressor):
                forest.set_params(max_features=min(1 / 3, _MOST_TRIED / len(left)))
            rows = X if len(left) == X.shape[1] else X[:, left]
            grown = fitted(forest, rows, target) if weights is None else forest.fit(rows, target, weights)
            return forest_importances(grown)

        found = elimination(importances, X.shape[1], self.step or 1, on_round=lambda n_left: self.step is None)
        self.scores_, self.ranking_, self.n_forests_ = found.weights, ranks_of_order(found.order), found.n_rounds
        return self

    def _forest_and_target(self, y: np.ndarray, task: str) -> tuple[Any, np.ndarray]:
        options: dict[str, Any] = {
            "n_estimators": self.n_estimators,
            "max_features": "sqrt" if self.max_features is None else self.max_features,
            "min_samples_leaf": self.min_samples_leaf,
            "n_jobs": self.n_jobs,
            # An instance, so that the forests of an elimination differ.
            "random_state": check_random_state(self.random_state),
        }
        if self.max_samples is not None and self.max_samples < len(y):
            options |= {"bootstrap": True, "max_samples": self.max_samples}
        if task == "regression":
            return ExtraTreesRegressor(**options), numbers(y, "ForestImportanceSelector")
        encoded_classes(y, "ForestImportanceSelector")
        return ExtraTreesClassifier(class_weight=self.class_weight, **options), y


def _in_unit_range(X: Any) -> Any:
    """The columns between 0 and 1, or, if sparse, scaled by their largest entry.

    scikit-learn's trees take values closer than 1e-7 for equal: a column in tiny units would count as constant.
    """
    if sparse.issparse(X):
        return MaxAbsScaler().fit_transform(X)
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1)
    scaled = np.empty_like(X, dtype=np.float32)  # what trees take: no copy of all cells in double precision
    for columns in gen_batches(X.shape[1], max(1, _CELLS // max(1, len(X)))):
        scaled[:, columns] = (X[:, columns] - low[columns]) / width[columns]
    return scaled
