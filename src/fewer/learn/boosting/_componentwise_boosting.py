"""Component-wise boosting for classes, numbers, counts and survival times: the estimators.

Each of many small steps fits every base-learner to the negative gradient of the loss, and adds a share of the one that
fits best; see ``_boost``. Buehlmann and Hothorn (2007), Statistical Science 22, 477-505.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length

from fewer._estimators import StrOptions, encoded_classes
from fewer.catalogue import method
from fewer.learn.boosting._boosted_model import SHARED_CONSTRAINTS, ComponentwiseBoosting
from fewer.learn.boosting._families import (
    AdaExpFamily,
    BinomialFamily,
    ExpectileFamily,
    Family,
    GaussianFamily,
    HuberFamily,
    LaplaceFamily,
    NegativeBinomialFamily,
    PoissonFamily,
    ProportionalOddsFamily,
    QuantileFamily,
)
from fewer.learn.boosting._survival_families import (
    CoxFamily,
    LogLogisticFamily,
    LogNormalFamily,
    WeibullFamily,
    concordance,
)

REGRESSION: dict[str, type[Family]] = {
    "gaussian": GaussianFamily,
    "laplace": LaplaceFamily,
    "huber": HuberFamily,
    "quantile": QuantileFamily,
    "expectile": ExpectileFamily,
    "poisson": PoissonFamily,
    "negative_binomial": NegativeBinomialFamily,
    "cox": CoxFamily,
    "weibull": WeibullFamily,
    "log_logistic": LogLogisticFamily,
    "log_normal": LogNormalFamily,
}
CLASSIFICATION: dict[str, type[Family]] = {
    "binomial": BinomialFamily,
    "adaexp": AdaExpFamily,
    "proportional_odds": ProportionalOddsFamily,
}


def family_of(family: Any, among: dict[str, type[Family]]) -> Family:
    """The family of this name, or the one given."""
    return among[family]() if isinstance(family, str) else family


@method(
    tasks=["classification"],
    when="Classes from many columns of which few matter, with effects that can be read and drawn: lines, smooth "
    "curves, small trees. Stopping early chooses the columns and the shape of their effects. Ordered classes too.",
    cost="O(n p) for each step and class of 'linear'; with splines 4 to 20 times as much",
    paper="mboost",
    examples=lambda: [ComponentwiseBoostingClassifier(n_estimators=30)],
    aliases=["mboost", "glmboost"],
)
class ComponentwiseBoostingClassifier(ClassifierMixin, ComponentwiseBoosting):
    """Additive classifier built by small steps, each of which improves the one term that helps most.

    Parameters
    ----------
    base_learners : {"linear", "smooth", "tree"} or list of base-learners, default="linear"
        The terms that compete. "linear" is a :class:`LinearLearner` for each column, "smooth" a :class:`SplineLearner`
        for each column, "tree" one :class:`TreeLearner` on all columns.
    family : {"binomial", "adaexp", "proportional_odds"} or Family, default="binomial"
        The loss: logistic, exponential, or a model of classes that have an order (the sorted one).
    n_estimators : int, default=100
        Number of steps. :func:`cv_risk` chooses it; fewer steps take fewer terms.
    learning_rate : float, default=0.1
        Share of each fit that is added. Smaller is slower, and hardly ever worse.
    offset : float or None, default=None
        Where f starts; None takes half the log-odds of the classes.
    random_state : int, RandomState instance or None, default=None
        For ties between splits of trees.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    learner_names_ : list of str
        The learners, by kind and columns.
    n_estimators_ : int
        Steps of the model as it stands.
    offset_ : float or ndarray of shape (n_classes,)
        Where f starts; with more than two classes without order, for each class against the rest.
    selected_ : ndarray of shape (n_estimators,) or (n_classes, n_estimators)
        The learner of each step, likewise.
    risk_ : ndarray of shape (n_estimators + 1,)
        Mean loss on the training rows, before the first step and after each; the mean over the classes.
    selection_frequency_ : ndarray of shape (n_learners,)
        Share of the steps that each learner had.
    risk_reduction_ : ndarray of shape (n_learners,)
        By how much the steps of each learner lowered the risk: its importance.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Slopes of the linear learners, by column; zero for other learners.
    intercept_ : float or ndarray of shape (n_classes,)
        The offset with the constants of the linear learners.
    coef_path_ : ndarray of shape (n_estimators + 1, n_features) or (n_classes, n_estimators + 1, n_features)
        The slopes before the first step and after each.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    cv_risk : How many steps to make.
    ComponentwiseBoostingRegressor : For numbers, counts and survival times.

    Notes
    -----
    f is half the log-odds, so slopes are half those of ordinary logistic regression. More than two classes have a model
    each against the rest, with the same number of steps, and the probabilities are made to sum to one; with
    "proportional_odds" there is one f for all.

    The model keeps the training rows, so that ``set_n_estimators`` can go on.

    References
    ----------
    .. [1] Hothorn, T., Buehlmann, P., Kneib, T., Schmid, M. & Hofner, B. (2010). Model-based boosting 2.0. Journal of
       Machine Learning Research 11, 2109-2113.
    .. [2] Buehlmann, P. & Hothorn, T. (2007). Boosting algorithms: regularization, prediction and model fitting.
       Statistical Science 22, 477-505.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import ComponentwiseBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ComponentwiseBoostingClassifier().fit(scale(X), y)
    >>> len(np.flatnonzero(model.coef_)), round(model.score(scale(X), y), 2)
    (8, 0.97)
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {"family": [StrOptions(set(CLASSIFICATION)), Family]}

    def __init__(
        self,
        base_learners="linear",
        family="binomial",
        n_estimators=100,
        learning_rate=0.1,
        offset=None,
        random_state=None,
    ):
        self.base_learners = base_learners
        self.family = family
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.offset = offset
        self.random_state = random_state

    def _family(self) -> Family:
        family = family_of(self.family, CLASSIFICATION)
        if family.task not in ("classification", "ordinal"):
            raise ValueError(f"{family!r} is not for classes; use ComponentwiseBoostingRegressor.")
        return family

    def _table_and_target(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        return self._checked_table(X, y=y, copy=True, ensure_min_samples=2)

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if self._family().task == "ordinal":
            return [codes]
        told = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(codes == code, 1.0, -1.0) for code in told]

    def decision_function(self, X):
        """The additive predictor f.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive where the second is likelier. With more, one column for each; for ordered
            classes, logarithms of their probabilities.
        """
        return self._decision(self._margins(X), self.n_estimators_)

    def _decision(self, margins: list[np.ndarray], n_estimators: int) -> np.ndarray:
        if self._family().task == "ordinal":
            probabilities = self._probabilities(margins, n_estimators)
            logs = np.log(np.maximum(probabilities, 1e-300))
            return logs if len(self.classes_) > 2 else logs[:, 1] - logs[:, 0]
        return margins[0] if len(margins) == 1 else np.column_stack(margins)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They sum to one.
        """
        return self._probabilities(self._margins(X), self.n_estimators_)

    def _probabilities(self, margins: list[np.ndarray], n_estimators: int) -> np.ndarray:
        family = self._family()
        if isinstance(family, ProportionalOddsFamily):
            nuisances = self._steps[0].nuisances
            return family.probabilities(margins[0], nuisances[min(n_estimators, len(nuisances) - 1)])
        shares = np.column_stack([family.response(margin) for margin in margins])
        if len(margins) == 1:
            return np.column_stack([1 - shares, shares])
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def predict(self, X):
        """The likeliest class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        return self._named(self.decision_function(X))

    def staged_predict(self, X):
        """The likeliest class of each row, before the first step and after each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        for step, margins in enumerate(self._staged_margins(self._checked_new(X))):
            yield self._named(self._decision(margins, step))

    def _named(self, decision: np.ndarray) -> np.ndarray:
        places = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[places]


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
        ComponentwiseBoostingRegressor("smooth", family="huber", n_estimators=20),
    ],
    aliases=["mboost", "glmboost"],
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
    n_estimators : int, default=100
        Number of steps. :func:`cv_risk` chooses it; fewer steps take fewer terms.
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
    n_estimators_ : int
        Steps of the model as it stands.
    offset_ : float
        Where predictions start.
    selected_ : ndarray of shape (n_estimators,)
        The learner of each step.
    risk_ : ndarray of shape (n_estimators + 1,)
        Mean loss on the training rows, before the first step and after each.
    selection_frequency_ : ndarray of shape (n_learners,)
        Share of the steps that each learner had.
    risk_reduction_ : ndarray of shape (n_learners,)
        By how much the steps of each learner lowered the risk: its importance.
    coef_ : ndarray of shape (n_features,)
        Slopes of the linear learners, by column; zero for other learners.
    intercept_ : float
        The offset with the constants of the linear learners.
    coef_path_ : ndarray of shape (n_estimators + 1, n_features)
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
    For survival families y has two columns, time and event (1 if it happened, 0 if censored), or is a
    structured array with one boolean field and one of times. "cox" predicts logarithms of relative hazards,
    the others times; ``score`` is then the concordance.

    The model keeps the training rows, so that ``set_n_estimators`` can go on.

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
    >>> model = ComponentwiseBoostingRegressor(n_estimators=30).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([2, 3, 6, 8])
    >>> model.set_n_estimators(100).n_estimators_, len(np.flatnonzero(model.coef_))
    (100, 7)
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {"family": [StrOptions(set(REGRESSION)), Family]}

    def __init__(
        self,
        base_learners="linear",
        family="gaussian",
        n_estimators=100,
        learning_rate=0.1,
        offset=None,
        random_state=None,
    ):
        self.base_learners = base_learners
        self.family = family
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.offset = offset
        self.random_state = random_state

    def _family(self) -> Family:
        family = family_of(self.family, REGRESSION)
        if family.task not in ("regression", "survival"):
            raise ValueError(f"{family!r} is for classes; use ComponentwiseBoostingClassifier.")
        return family

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
