"""Component-wise boosting for numbers, counts and survival times."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_consistent_length

from fewer._estimators import StrOptions, fit_context
from fewer.catalogue import method
from fewer.learn.boosting._componentwise_boosting import SHARED_CONSTRAINTS, ComponentwiseBoosting
from fewer.learn.boosting.families import REGRESSION, Family, family_of
from fewer.learn.boosting.families._survival import concordance


@method(
    tasks=["regression"],
    when="A model that can be read, from many columns of which few matter: each step adds to one term only (a line, a "
    "smooth curve, a tree), so stopping early chooses columns and the shape of their effects. For means, medians, "
    "quantiles, counts and survival times.",
    cost="O(n p) for each step of 'linear', O(p) where the column was taken before and the loss is squared; with "
    "splines 4 to 20 times as much",
    paper="mboost",
    examples=lambda: [
        ComponentwiseBoostingRegressor(),
        ComponentwiseBoostingRegressor("smooth", family="huber", n_iter=20),
    ],
)
class ComponentwiseBoostingRegressor(RegressorMixin, ComponentwiseBoosting):
    """Additive model built by small steps, each of which improves the one term that helps most.

    Parameters
    ----------
    base_learners : {"linear", "smooth", "tree"} or list of base-learners, default="linear"
        The terms that compete. "linear" is a :class:`LinearLearner` for each column, "smooth" a :class:`SplineLearner`
        for each column, "tree" one :class:`TreeLearner` on all columns.
    family : str or Family, default="gaussian"
        What is predicted: "gaussian" (mean), "laplace" (median), "huber", "quantile", "expectile", "poisson",
        "negative_binomial", "cox", "weibull", "log_logistic", "log_normal"; or an object such as
        ``QuantileFamily(0.9)``.
    n_iter : int, default=100
        Number of steps. :func:`cv_risk` tells how many; fewer steps take fewer terms.
    learning_rate : float, default=0.1
        Share of each fit that is added. Smaller is slower, and hardly ever worse.
    offset : float or None, default=None
        Where predictions start, on the scale of f; None takes the family's, such as the mean.
    random_state : int, RandomState instance or None, default=None
        For ties between splits of trees.

    Attributes
    ----------
    learner_names_ : list of str
        The learners, by kind and columns.
    n_iter_ : int
        Steps of the model as it stands.
    offset_ : float
        Where predictions start.
    selected_ : ndarray of shape (n_iter,)
        The learner of each step.
    risk_ : ndarray of shape (n_iter + 1,)
        Mean loss on the training rows, before the first step and after each.
    selection_frequency_ : ndarray of shape (n_learners,)
        Share of the steps that each learner had.
    risk_reduction_ : ndarray of shape (n_learners,)
        By how much the steps of each learner lowered the risk: its importance.
    coef_ : ndarray of shape (n_features,)
        Slopes of the linear learners, by column; zero for other learners.
    intercept_ : float
        The offset with the constants of the linear learners.
    coef_path_ : ndarray of shape (n_iter + 1, n_features)
        The slopes before the first step and after each.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    cv_risk : How many steps to make.
    ComponentwiseBoostingClassifier : For classes.
    L1LinearRegressor : With "linear" and small steps, nearly the same path.

    Notes
    -----
    For survival families y has two columns, time and event (1 if it happened, 0 if watching ended before), or is a
    structured array with one field of truth values and one of times. "cox" predicts logarithms of relative hazards,
    the others times; ``score`` is then the concordance.

    The model keeps the training rows, so that ``set_n_iter`` can go on.

    References
    ----------
    .. [1] Hothorn, T., Buehlmann, P., Kneib, T., Schmid, M. & Hofner, B. (2010). Model-based boosting 2.0. Journal of
       Machine Learning Research 11, 2109-2113.
    .. [2] Buehlmann, P. & Hothorn, T. (2007). Boosting algorithms: regularization, prediction and model fitting.
       Statistical Science 22, 477-505.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ComponentwiseBoostingRegressor(n_iter=30).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([2, 3, 6, 8])
    >>> model.set_n_iter(100).n_iter_, len(np.flatnonzero(model.coef_))
    (100, 7)
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {"family": [StrOptions(set(REGRESSION)), Family]}

    def __init__(
        self,
        base_learners="linear",
        family="gaussian",
        n_iter=100,
        learning_rate=0.1,
        offset=None,
        random_state=None,
    ):
        self.base_learners = base_learners
        self.family = family
        self.n_iter = n_iter
        self.learning_rate = learning_rate
        self.offset = offset
        self.random_state = random_state

    def _family(self) -> Family:
        family = family_of(self.family, REGRESSION)
        if family.task not in ("regression", "survival"):
            raise ValueError(f"{family!r} is for classes; use ComponentwiseBoostingClassifier.")
        return family

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Make the steps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse ones unless there are trees.
        y : array-like of shape (n_samples,) or (n_samples, 2)
            Numbers, counts, or times and events.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows' losses; a row of weight zero is as if it were not there.

        Returns
        -------
        self : object
            The fitted model.
        """
        X, y = self._table_and_target(X, y)
        self._fitted_to(self._training(X, y, sample_weight), X, y)
        return self

    def _table_and_target(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        family = self._family()
        if family.task == "survival":
            X = self._checked_table(X, copy=True, ensure_min_samples=2)
            target = family.checked(y)
            check_consistent_length(X, target)
        else:
            X, target = self._checked_table(X, y=y, y_numeric=True, copy=True, ensure_min_samples=2)
            target = family.checked(np.asarray(target, dtype=np.float64))
        return X, target

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        return [y]

    def predict(self, X):
        """Predictions, on the scale of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Means, quantiles, rates, times; for "cox" logarithms of relative hazards.
        """
        return self._family().response(self._margins(X)[0])

    def staged_predict(self, X):
        """Predictions before the first step and after each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        for margins in self._staged_margins(self._checked_new(X)):
            yield self._family().response(margins[0].copy())

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination; for survival families, the concordance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,) or (n_samples, 2)
            Target.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        score : float
            1 is best.
        """
        family = self._family()
        if family.task != "survival":
            return super().score(X, y, sample_weight)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return concordance(family.checked(y), family.risk_sign * self._margins(X)[0], weights)
