"""The columns that a model uses: those in the nodes of its trees, or with a weight that is not too small.

Any learner can follow on these columns, also one that cannot choose by itself, such as nearest neighbours.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state, get_tags

from fewer._estimators import HasMethods, Interval, boosting_gains, encoded_classes, fit_context, warn_caller
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order, sampled_rows


def columns_in_nodes(model: Any, n_columns: int) -> np.ndarray | None:
    """Mask of the columns that a tree splits on, or any tree of an ensemble; None for a model without trees."""
    if hasattr(model, "tree_"):
        used = np.zeros(n_columns, dtype=bool)
        nodes = model.tree_.feature
        used[nodes[nodes >= 0]] = True
        return used
    members = getattr(model, "estimators_", None)
    if members is None or hasattr(model, "coef_"):
        return None
    masks = [columns_in_nodes(member, n_columns) for member in np.ravel(np.asarray(members, dtype=object))]
    known = [mask for mask in masks if mask is not None]
    return np.any(known, axis=0) if known and len(known) == len(masks) else None


def model_scores(model: Any, n_columns: int) -> np.ndarray:
    """How much a fitted model makes of each column: importance, or the size of its weights over all classes."""
    last = model[-1] if hasattr(model, "steps") else model
    found = getattr(last, "feature_importances_", None)
    if found is None:
        found = boosting_gains(last)
    if found is None:
        weights = getattr(last, "coef_", None)
        if weights is None:
            raise TypeError(
                f"{type(last).__name__} has no importances: after fit it has neither "
                "feature_importances_ nor coef_. Take a tree, a forest, boosting, or a linear model."
            )
        weights = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
        found = np.abs(np.atleast_2d(weights)).sum(axis=0)
    found = np.asarray(found, dtype=float)
    if found.shape != (n_columns,):
        raise ValueError(
            f"{type(last).__name__} has {found.shape[0]} importances or weights for {n_columns} columns; a step before "
            "it in its pipeline must not change the columns."
        )
    return found


@method(
    tasks=["classification", "regression"],
    when="A model that chooses by itself (a tree, a forest, a sparse linear model) should choose for another that does "
    "not, such as nearest neighbours; or a choice made on a sample of the rows should serve the whole table.",
    cost="One fit of the model: O(n p log n) for a tree, O(n p) for a linear model and iteration.",
    paper="mladenic-text-fs",
    examples=lambda: [EmbeddedSelector(LinearSVC(random_state=0), max_features=3, refit=True)],
    depends_on_scale="the estimator inside may do so",
    depends_on_shift="the estimator inside may do so",
)
class EmbeddedSelector(MetaEstimatorMixin, Selector):
    """Keep the columns that a model uses.

    Parameters
    ----------
    estimator : estimator
        The model that chooses: a tree, a forest, gradient boosting (also HistGradientBoostingClassifier and
        HistGradientBoostingRegressor, which have no importances in scikit-learn), or a linear model such as LinearSVC,
        alone or as the last step of a pipeline that keeps the columns.
    threshold : float or None, default=None
        Keep columns whose score is above this. None keeps every column that the model uses: in a node of a tree, or
        with a weight that is not zero.
    max_features : int or None, default=None
        Largest number of columns to keep, the best ones.
    max_samples : int, float or None, default=None
        Rows to fit the model on: a number, or a share (a float up to 1.0); classes keep their shares. None for all.
    refit : bool or estimator, default=False
        What to fit on the columns kept, with all rows: another copy of ``estimator`` (True) or another learner, which
        then is ``learner_``. In a pipeline, leave it out and put the learner after the selector.
    random_state : int, RandomState instance or None, default=None
        Draws the rows; ``estimator`` has its own.

    Attributes
    ----------
    estimator_ : estimator
        The model that chose, fitted on all columns.
    learner_ : estimator or None
        What was fitted on the columns kept, if anything was.
    scores_ : ndarray of shape (n_features,)
        Importance of each column, or the sum of its absolute weights over the classes. For histogram boosting, the
        share of the gain of all splits.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: columns that are used come first, then by score; of equals, the one with
        the lowest index comes first.
    support_ : ndarray of bool of shape (n_features,)
        Which columns are kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.feature_selection.SelectFromModel : Importances above a threshold, without an order.
    SequentialSearch : Judges columns by the learner that will use them.

    Notes
    -----
    A tree may split on a column without any gain at that node, because the gain comes further down (parity). Such a
    column has little or no importance, but it is used, and is kept.

    A linear model with a ridge penalty, as LinearSVC has by default, uses all columns a little: give
    ``max_features`` or ``threshold``, or take ``penalty="l1"``.

    References
    ----------
    .. [1] Cardie, C. (1993). Using decision trees to improve case-based learning. ICML, 25-32.
    .. [2] Brank, J., Grobelnik, M., Milic-Frayling, N. and Mladenic, D. (2002). Feature selection using support vector
       machines. In Data Mining III, WIT Press, 261-273.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fewer.datasets import load
    >>> from fewer.select import EmbeddedSelector
    >>> wine = load("wine")
    >>> tree, nearest = DecisionTreeClassifier(max_depth=2, random_state=0), KNeighborsClassifier(1)
    >>> select = EmbeddedSelector(tree, refit=nearest).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'od280/od315_of_diluted_wines', 'proline']
    >>> select.learner_.score(select.transform(wine.X), wine.y)
    1.0
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "refit": ["boolean", HasMethods(["fit"])],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator, *, threshold=None, max_features=None, max_samples=None, refit=False, random_state=None
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.max_features = max_features
        self.max_samples = max_samples
        self.refit = refit
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Fit the model, see which columns it uses, and fit the learner on them if there is one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y, accept_sparse=("csr", "csc"), dtype="numeric")
        classes = is_classifier(self.estimator)
        if classes:
            encoded_classes(y, "EmbeddedSelector")
        model = clone(self.estimator)
        if self.max_samples is None:
            self.estimator_ = model.fit(X, y)
        else:
            rng = check_random_state(self.random_state)
            rows = sampled_rows(X.shape[0], self.max_samples, y, classes=classes, rng=rng)
            self.estimator_ = model.fit(X[rows], y[rows])
        self.scores_ = model_scores(self.estimator_, X.shape[1])
        self._choose(self._used(X.shape[1]))
        learner = self._learner()
        self.learner_ = None if learner is None else clone(learner).fit(X[:, np.flatnonzero(self.support_)], y)
        return self

    def _learner(self) -> Any:
        """What to fit on the columns kept, not fitted; None for nothing."""
        if isinstance(self.refit, bool):
            return self.estimator if self.refit else None
        return self.refit

    def _used(self, n_columns: int) -> np.ndarray:
        """Mask of the columns that the model uses."""
        in_nodes = columns_in_nodes(self.estimator_, n_columns)
        return self.scores_ > 0 if in_nodes is None else in_nodes

    def _choose(self, used: np.ndarray) -> None:
        """Set ranks and the columns kept."""
        self.ranking_ = ranks_of_order(np.lexsort((np.arange(len(used)), -self.scores_, ~used)))
        kept = used if self.threshold is None else self.scores_ > self.threshold
        n_kept = int(kept.sum())
        if n_kept == 0:
            warn_caller(
                "The model uses no column"
                + ("" if self.threshold is None else f" with a score above threshold={self.threshold}")
                + f" (the largest score is {self.scores_.max():.3g}); the best one is kept."
            )
        # Columns that a tree uses with no gain come after those with one, so a threshold cuts the order in two.
        n_kept = min(max(n_kept, 1), self.max_features or n_kept or 1)
        self.support_ = self.ranking_ <= n_kept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        parts = [get_tags(part) for part in (self.estimator, self._learner()) if part is not None]
        tags.input_tags.sparse = all(part.input_tags.sparse for part in parts)
        tags.input_tags.positive_only = any(part.input_tags.positive_only for part in parts)
        return tags
