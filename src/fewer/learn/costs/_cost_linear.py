"""Linear classifiers for errors of unequal cost: a moved threshold, weighted likelihood, sigmoid risk.

When the log odds are not linear, a plane that is fitted with equal weights is wrong in another place than where costs
cut it. So weigh the likelihood by cost rather than move the threshold alone; the sigmoid risk comes closer still to the
plane of the smallest cost, at the price of many local minima.

Dmochowski, J., Sajda, P. and Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model specification,
approximations, and upper bounds. JMLR 11, 3313-3332.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_sample_weight,
    encoded_classes,
    fit_context,
    fit_steps,
    validated,
    warn_caller,
)
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method
from fewer.learn._linear import standardised
from fewer.learn.costs._costs import (
    Plane,
    cheapest_plane,
    cost_of_errors,
    log_cost_ratio,
    polished,
    row_costs,
    sigmoid_risk,
    weighted_logistic,
)

COST = [Interval(Real, 0, 1, closed="neither"), tuple, list, np.ndarray, None]


class CostClassifier(ClassifierMixin, BaseEstimator):
    """Two classes, their costs, and what a decision costs."""

    cost: Any
    _class_costs: Any

    def _start(self, X: Any, y: Any, cost: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Table, signs and weights by cost of the rows; sets what all of these classifiers have."""
        X, y = validated(self, X, y, dtype=np.float64)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported: costs are of two kinds of errors, and y has "
                f"{len(self.classes_)} classes. Use sklearn.multiclass.OneVsRestClassifier."
            )
        signs = np.where(codes == 1, 1.0, -1.0)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._positive_share = float(weights[codes == 1].sum() / weights.sum())
        if not 0 < self._positive_share < 1:
            raise ValueError("All rows with a weight above 0 are of one class; at least two classes are needed.")
        costs, self._class_costs = row_costs(self.cost if cost is None else cost, signs, self._positive_share)
        self._weights = weights
        return X, signs, costs

    def _needs_class_costs(self, otherwise: str) -> None:
        if self._class_costs is None:
            raise ValueError(f"{type(self).__name__} is fitted with costs of the two classes; {otherwise}.")

    def _two_costs(self, cost: Any, signs: np.ndarray) -> np.ndarray:
        given = self._class_costs if cost is None else cost
        if given is None:
            raise ValueError("The rows had costs of their own in fit; give the cost of these rows.")
        return row_costs(given, signs, self._positive_share)[0]

    def expected_cost(self, X, y, cost=None):
        """Mean cost of the decisions on rows with known classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        cost : pair, float or array-like, default=None
            As in ``fit``; by default that of ``fit``.

        Returns
        -------
        cost : float
            Mean over rows.
        """
        check_is_fitted(self)
        labels = np.asarray(y)
        strange = [label for label in labels.tolist() if label not in set(self.classes_.tolist())]
        if strange:
            raise ValueError(f"y holds {strange[0]!r}, which is not one of the classes {self.classes_.tolist()}.")
        signs = np.where(labels == self.classes_[1], 1.0, -1.0)
        predicted = np.where(self.predict(X) == self.classes_[1], 1.0, -1.0)
        if signs.shape != predicted.shape:
            raise ValueError(f"X has {len(predicted)} rows, and y has the shape {signs.shape}.")
        return float(cost_of_errors(signs, predicted, self._two_costs(cost, signs)).mean())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class _CostPlane(CostClassifier):
    """A plane that was fitted to columns of mean 0 and standard deviation 1."""

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        table, self._mean, self._spread = standardised(X, self._weights / self._weights.sum())
        return table

    def _keep(self, coef: np.ndarray, intercept: float) -> None:
        self.coef_ = (coef / self._spread)[None]
        self.intercept_ = np.array([intercept - self.coef_[0] @ self._mean])
        # About the means, where large numbers do not cancel.
        self._centred_intercept = intercept

    def decision_function(self, X):
        """Log odds that the plane stands for, without the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            Above ``threshold_`` for the second class.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        return (X - self._mean) @ self.coef_[0] + self._centred_intercept

    def predict(self, X):
        """The class whose expected cost of an error is larger.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        decisions = self.decision_function(X)
        return self.classes_[(decisions > self.threshold_).astype(int)]

    def _warn_unless_converged(self, found: Plane) -> None:
        if not found.converged and found.n_iter >= self.max_iter:
            warn_caller(
                f"After max_iter={self.max_iter} steps of Newton's method the largest entry of the gradient is "
                f"{found.slope:.2g}, above tol={self.tol:g}; raise max_iter or alpha.",
                ConvergenceWarning,
            )


class _LogisticPlane(CallbackSupportMixin, _CostPlane):
    """Penalised logistic regression with a weight for each row."""

    _parameter_constraints = {
        "cost": COST,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, cost=None, *, alpha=1e-4, max_iter=100, tol=1e-8):
        self.cost = cost
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def _fit_plane(self, X: Any, y: Any, table: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> None:
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:

            def watch(n_iter: int, v: np.ndarray) -> bool:
                return after_step(f"step {n_iter}")

            found = weighted_logistic(table, signs, weights, self.alpha, self.max_iter, self.tol, watch)
            self._keep(found.coef, found.intercept)
            self.n_iter_ = found.n_iter
        if self.alpha == 0 and (signs * (table @ found.coef + found.intercept))[weights > 0].min() > 0:
            warn_caller(
                "A plane separates the classes, so that with alpha=0 there is no minimum: the coefficients grow with "
                "every step and mean nothing; alpha must be above 0.",
                ConvergenceWarning,
            )
        else:
            self._warn_unless_converged(found)


def _probabilities(log_odds: np.ndarray) -> np.ndarray:
    return np.column_stack([expit(-log_odds), expit(log_odds)])


@method(
    tasks=["classification"],
    when="Errors of unequal cost, costs that change without a new fit or differ from row to row, and log odds that are "
    "about linear.",
    cost="O(n p^2) for each of a few steps",
    paper="cost-sensitive",
)
class ThresholdedLogisticRegression(_LogisticPlane):
    """Logistic regression that decides by expected cost: the threshold of the log odds is ln(c(-) / c(+)).

    Parameters
    ----------
    cost : tuple of two float, float or None, default=None
        Costs of errors on rows of the first and of the second class; or the share of the second class in the cost of
        always being wrong (pcf), between 0 and 1. None for equal costs.
    alpha : float, default=1e-4
        Penalty on the squared coefficients of columns with standard deviation 1, beside the mean loss of a row.
    max_iter : int, default=100
        Maximum number of steps of Newton's method.
    tol : float, default=1e-8
        Stop when the largest entry of the gradient, as a share of the mean cost, is below this.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns as they are.
    intercept_ : ndarray of shape (1,)
        Intercept.
    threshold_ : float
        Log odds above which the second class is predicted.
    n_iter_ : int
        Steps taken.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    WeightedLogisticRegression : Better where the log odds are not linear.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.learn import ThresholdedLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ThresholdedLogisticRegression(alpha=0.01).fit(X, y)
    >>> [int((model.predict(X, cost=cost) == 0).sum()) for cost in ((1, 1), (10, 1), (1, 10))]
    [208, 263, 174]
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, cost=None, sample_weight=None):
        """Fit with equal costs, and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        cost : pair or float, default=None
            Instead of that of the constructor. Costs of single rows are given to ``predict``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        table, signs, _ = self._start(X, y, cost, sample_weight)
        self._needs_class_costs("give those of single rows to predict")
        self.threshold_ = float(np.log(self._class_costs[0] / self._class_costs[1]))
        self._fit_plane(X, y, self._standardised(table), signs, self._weights / self._weights.sum())
        return self

    def predict(self, X, cost=None):
        """The class whose expected cost of an error is larger.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : pair, float or array-like of shape (n_samples, 2), default=None
            Other costs than those of the constructor, also for each row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        decisions = self.decision_function(X)
        threshold = self.threshold_ if cost is None else log_cost_ratio(cost, len(decisions), self._positive_share)
        return self.classes_[(decisions > threshold).astype(int)]

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column for each class.
        """
        return _probabilities(self.decision_function(X))


@method(
    tasks=["classification"],
    when="Errors of unequal cost and log odds that may not be linear: the likelihood of each row counts by its cost. "
    "The recommended one of the cost-sensitive planes: convex, fast, also with a cost for each row.",
    cost="O(n p^2) for each of a few steps",
    paper="cost-sensitive",
)
class WeightedLogisticRegression(_LogisticPlane):
    """Logistic regression in which the likelihood of each row is weighed by the cost of an error on it.

    Parameters
    ----------
    cost : tuple of two float, float or None, default=None
        Costs of errors on rows of the first and of the second class; or the share of the second class in the cost of
        always being wrong (pcf), between 0 and 1. None for equal costs.
    alpha : float, default=1e-4
        Penalty on the squared coefficients of columns with standard deviation 1, beside the mean weighted loss.
    max_iter : int, default=100
        Maximum number of steps of Newton's method.
    tol : float, default=1e-8
        Stop when the largest entry of the gradient, as a share of the mean cost, is below this.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns as they are.
    intercept_ : ndarray of shape (1,)
        Intercept.
    threshold_ : float
        0: the costs are in the weights, and must not count twice.
    n_iter_ : int
        Steps taken.
    effective_sample_size_ : float
        (sum of weights)^2 / sum of squared weights: how many rows of equal cost would be as many.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SigmoidRiskClassifier : Closer to the cost itself, and not convex.

    Notes
    -----
    The decision function estimates log odds tilted by cost. ``predict_proba`` takes the tilt back, which is only
    possible where costs depend on the class alone.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.learn import WeightedLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = WeightedLogisticRegression(cost=(10, 1), alpha=0.01).fit(X, y)
    >>> int((model.predict(X) == 0).sum()), round(model.effective_sample_size_)
    (238, 285)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, cost=None, sample_weight=None):
        """Fit with rows weighed by cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        cost : pair, float or array-like of shape (n_samples,), default=None
            Instead of that of the constructor; an array has the cost of an error on each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows beside their costs.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        table, signs, costs = self._start(X, y, cost, sample_weight)
        weights = self._weights * costs
        self.threshold_ = 0.0
        self.effective_sample_size_ = float(weights.sum() ** 2 / (weights @ weights))
        self._fit_plane(X, y, self._standardised(table), signs, weights / self._weights.sum())
        return self

    @available_if(lambda self: getattr(self, "_class_costs", True) is not None)
    def predict_proba(self, X):
        """Probabilities of the classes, with the tilt by cost taken back.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column for each class.
        """
        check_is_fitted(self)
        return _probabilities(self.decision_function(X) + np.log(self._class_costs[0] / self._class_costs[1]))


@method(
    tasks=["classification"],
    when="Errors of unequal cost, few columns and many rows, and a linear rule that should cost as little as possible "
    "even though the model is wrong.",
    cost="O(n p) for each step of BFGS, from n_init starts",
    paper="cost-sensitive",
    examples=lambda: [SigmoidRiskClassifier(n_init=2)],
)
class SigmoidRiskClassifier(CallbackSupportMixin, _CostPlane):
    """The plane of the smallest cost, with a sigmoid in the place of the step from right to wrong, or by the step.

    Parameters
    ----------
    cost : tuple of two float, float or None, default=None
        Costs of errors on rows of the first and of the second class; or the share of the second class in the cost of
        always being wrong (pcf), between 0 and 1. None for equal costs.
    alpha : float, default=1e-4
        Penalty on the squared coefficients of columns with standard deviation 1, beside the mean risk.
    n_init : int, default=20
        Random starts, of which the lowest training value is kept.
    risk : {"sigmoid", "step"}, default="sigmoid"
        "step" goes on from each minimum of the sigmoid risk to one of the mean cost itself, by exact searches along
        coefficients and random directions: the maximum utility estimator of [2]_. ``alpha`` has no part in that.
    init : {"random", "weighted"}, default="random"
        "weighted" takes the plane of `WeightedLogisticRegression` as one more start; alone it may end in the rule that
        always predicts one class.
    random_state : int, RandomState or None, default=None
        Random seed of the starts, and of the directions of "step".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns as they are.
    intercept_ : ndarray of shape (1,)
        Intercept.
    threshold_ : float
        0.
    risk_ : float
        Sigmoid risk on the training rows, with the penalty; with ``risk="step"``, their mean cost.
    effective_sample_size_ : float
        (sum of weights)^2 / sum of squared weights: how many rows of equal cost would be as many.
    n_iter_ : int
        Steps of BFGS, from all starts.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    WeightedLogisticRegression : A convex upper bound of the same.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.
    .. [2] Elliott, G. & Lieli, R. P. (2013). Predicting binary outcomes. Journal of Econometrics 174, 15-26.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import SigmoidRiskClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> X = rng.normal(size=(1000, 2)) * np.where(y == 1, 1.0, 0.7)[:, None] + y[:, None]
    >>> model = SigmoidRiskClassifier(cost=(1, 3), n_init=5, random_state=0).fit(X, y)
    >>> model.expected_cost(X, y) < 0.4
    True
    """

    _parameter_constraints = {
        "cost": COST,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "risk": [StrOptions({"sigmoid", "step"})],
        "init": [StrOptions({"random", "weighted"})],
        "random_state": ["random_state"],
    }

    def __init__(self, cost=None, *, alpha=1e-4, n_init=20, risk="sigmoid", init="random", random_state=None):
        self.cost = cost
        self.alpha = alpha
        self.n_init = n_init
        self.risk = risk
        self.init = init
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, cost=None, sample_weight=None):
        """Minimise the sigmoid risk from several starts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        cost : pair, float or array-like of shape (n_samples,), default=None
            Instead of that of the constructor; an array has the cost of an error on each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows beside their costs.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        table, signs, costs = self._start(X, y, cost, sample_weight)
        table = self._standardised(table)
        weights = self._weights * costs / self._weights.sum()
        self.effective_sample_size_ = float(weights.sum() ** 2 / (weights @ weights))
        rng = check_random_state(self.random_state)
        starts = [rng.normal(size=table.shape[1] + 1) for _ in range(self.n_init)]
        if self.init == "weighted":
            found = weighted_logistic(table, signs, weights, max(self.alpha, 1e-6), 100, 1e-6, lambda *_: False)
            starts.append(np.append(found.coef, found.intercept))
        self.threshold_, self.risk_, self.n_iter_ = 0.0, np.inf, 0
        arguments = (table, signs, weights, self.alpha)
        solver = "BFGS" if table.shape[1] <= 200 else "L-BFGS-B"
        with fit_steps(self, X, y, n_steps=len(starts)) as after_step:
            for number, start in enumerate(starts):
                result = minimize(sigmoid_risk, start, arguments, method=solver, jac=True, options={"gtol": 1e-9})
                self.n_iter_ += int(result.nit)
                v, value = result.x, float(result.fun)
                if self.risk == "step":
                    v, value = cheapest_plane(v, table, signs, weights, rng)
                if value < self.risk_ - 1e-12 * abs(value):
                    self.risk_ = value
                    v = polished(v, *arguments) if self.risk == "sigmoid" and len(v) <= 200 else v
                    self._keep(v[:-1], float(v[-1]))
                if after_step(f"start {number + 1}"):
                    break
        return self
