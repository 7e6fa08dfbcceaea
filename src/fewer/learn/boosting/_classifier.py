"""Component-wise boosting for classes."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from fewer._estimators import StrOptions, encoded_classes, fit_context
from fewer.catalogue import method
from fewer.learn.boosting._componentwise_boosting import SHARED_CONSTRAINTS, ComponentwiseBoosting
from fewer.learn.boosting.families import CLASSIFICATION, Family, ProportionalOddsFamily, family_of


@method(
    tasks=["classification"],
    when="Classes from many columns of which few matter, with effects that can be read and drawn: lines, smooth "
    "curves, small trees. Stopping early chooses the columns and the shape of their effects. Ordered classes too.",
    cost="O(n p) for each step and class of 'linear'; with splines 4 to 20 times as much",
    paper="mboost",
    examples=lambda: [ComponentwiseBoostingClassifier(n_iter=30)],
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
    n_iter : int, default=100
        Number of steps. :func:`cv_risk` tells how many; fewer steps take fewer terms.
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
    n_iter_ : int
        Steps of the model as it stands.
    offset_ : float or ndarray of shape (n_classes,)
        Where f starts; with more than two classes without order, for each class against the rest.
    selected_ : ndarray of shape (n_iter,) or (n_classes, n_iter)
        The learner of each step, likewise.
    risk_ : ndarray of shape (n_iter + 1,)
        Mean loss on the training rows, before the first step and after each; the mean over the classes.
    selection_frequency_ : ndarray of shape (n_learners,)
        Share of the steps that each learner had.
    risk_reduction_ : ndarray of shape (n_learners,)
        By how much the steps of each learner lowered the risk: its importance.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Slopes of the linear learners, by column; zero for other learners.
    intercept_ : float or ndarray of shape (n_classes,)
        The offset with the constants of the linear learners.
    coef_path_ : ndarray of shape (n_iter + 1, n_features) or (n_classes, n_iter + 1, n_features)
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
    f is half the log-odds, so slopes are half those of ordinary logistic regression. More than two classes are each
    told from the rest, with the same number of steps, and the probabilities are made to sum to one; with
    "proportional_odds" there is one f for all.

    The model keeps the training rows, so that ``set_n_iter`` can go on.

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
        family = family_of(self.family, CLASSIFICATION)
        if family.task not in ("classification", "ordinal"):
            raise ValueError(f"{family!r} is not for classes; use ComponentwiseBoostingRegressor.")
        return family

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Make the steps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse ones unless there are trees.
        y : array-like of shape (n_samples,)
            Classes.
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
        return self._decision(self._margins(X), self.n_iter_)

    def _decision(self, margins: list[np.ndarray], n_iter: int) -> np.ndarray:
        if self._family().task == "ordinal":
            probabilities = self._probabilities(margins, n_iter)
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
        return self._probabilities(self._margins(X), self.n_iter_)

    def _probabilities(self, margins: list[np.ndarray], n_iter: int) -> np.ndarray:
        family = self._family()
        if isinstance(family, ProportionalOddsFamily):
            nuisances = self._steps[0].nuisances
            return family.probabilities(margins[0], nuisances[min(n_iter, len(nuisances) - 1)])
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
