"""A linear classifier with any proper loss and link.

    min over theta, b of  (1/N) sum_i l(y_i, x_i'theta + b) + alpha/2 |theta|^2,

with gradient ``x (e - y) rho(e)``, y in {0, 1}. The weight of the loss is divided by its value at 1/2, so that alpha
means the same for every loss. The minimum is found by L-BFGS, or by stochastic gradient descent: steps of a few rows,
divided by the root of the sum of squared gradients (AdaGrad), of which the later ones are averaged.

Reid, M. and Williamson, R. (2010). Composite binary losses. JMLR 11, 2387-2422.
Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
optimization. JMLR 12, 2121-2159.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
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
from fewer.learn.composite._composite_loss import CompositeLoss, Link
from fewer.learn.composite._proper_loss import ProperLoss

_TOLERANCES = {"lbfgs": 1e-9, "sgd": 1e-6}
_PATIENCE = 5
_STEP, _SHORTEST = 0.5, 0.05
_DECAY = 3
"""Steps that an average of the last ones forgets are its age over this."""

Watch = Callable[[np.ndarray], bool]


class _StoppedError(Exception):
    """A callback ended the fit."""


class Problem(NamedTuple):
    """Standardised rows, which of them are positive, weights that sum to 1 over w(1/2), the loss and the penalty."""

    X: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    loss: CompositeLoss
    alpha: float


class CompositePlane(ClassifierMixin, BaseEstimator):
    """A plane whose scores a link takes to probabilities."""

    _mean: np.ndarray

    def _composite(self) -> CompositeLoss:
        """The loss that was minimised."""
        raise NotImplementedError

    def _start(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, whether each is of the second class, and weights; sets the classes."""
        X, y = validated(self, X, y, dtype=np.float64)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported: y has {len(self.classes_)} classes. Use "
                "sklearn.multiclass.OneVsRestClassifier."
            )
        return X, codes == 1, check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _keep(self, v: np.ndarray, spread: np.ndarray) -> None:
        self.coef_, self._centred_intercept = (v[:-1] / spread)[None], float(v[-1])
        self.intercept_ = np.array([v[-1] - self.coef_[0] @ self._mean])

    def decision_function(self, X):
        """Scores: probabilities by the link, moved so that 0 stands for 1/2.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Above 0 for the second class.
        """
        scores = self._scores(X)
        return scores - float(self._composite().link.score(np.array([0.5]))[0])

    def predict_proba(self, X):
        """Probabilities of the classes, by the link.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column for each class.
        """
        scores = self._scores(X)
        second = self._composite().link.probability(scores)
        return np.column_stack([1 - second, second])

    def predict(self, X):
        """The more probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        return (X - self._mean) @ self.coef_[0] + self._centred_intercept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@method(
    tasks=["classification"],
    when="A linear model of probabilities with another loss than the log loss: one that looks most at probabilities "
    "where decisions fall, by a weight function of your own.",
    cost="O(n p) for each step of L-BFGS, or for each pass of stochastic gradient descent",
    paper="composite-losses",
)
class CompositeLossClassifier(CallbackSupportMixin, CompositePlane):
    """A linear classifier that minimises a proper loss of your choice.

    Parameters
    ----------
    loss : str or ProperLoss, default="log"
        A name of :func:`proper_loss`, or a loss of your own.
    link : str or Link, default="canonical"
        A name of :func:`link_named`, or a link of your own. Its scores must have no bounds.
    alpha : float, default=1e-4
        Penalty on the squared coefficients of columns with standard deviation 1, beside the mean loss with w(1/2) = 1.
    solver : {"lbfgs", "sgd"}, default="lbfgs"
        L-BFGS, or stochastic gradient descent, whose passes over many rows need little memory beside the table. It
        comes to within about 1% of the coefficients.
    max_iter : int, default=1000
        Most steps of L-BFGS, or passes over the rows.
    tol : float or None, default=None
        "lbfgs" stops when the largest slope is below this (1e-9 by default), "sgd" shortens its steps when five passes
        lower the objective by less than this share of it (1e-6 by default), and stops when these are short enough.
    batch_size : int, default=32
        Rows of a step of "sgd".
    random_state : int, RandomState or None, default=None
        Random seed of the order of the rows of "sgd".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,)
        Intercept.
    is_convex_ : bool
        Whether the loss is convex in the score; if not, the minimum may be a local one.
    n_iter_ : int
        Steps taken, or passes over the rows.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CompositeLoss : The loss by itself.
    CompositeLossClassifierCV : Chooses the loss.

    Notes
    -----
    Convex proper losses are strictly proper, so that wrong labels bias the probabilities: with a share a of flipped
    labels the fit comes to ``a (1 - eta) + (1 - a) eta``, and not to eta.

    Links with bounded scores, such as "identity", would need projected solvers and are refused.

    References
    ----------
    .. [1] Reid, M. & Williamson, R. (2010). Composite binary losses. Journal of Machine Learning Research 11,
       2387-2422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import CompositeLossClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CompositeLossClassifier("boosting", alpha=0.01).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.95
    True
    """

    _parameter_constraints = {
        "loss": [str, ProperLoss],
        "link": [str, Link],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"lbfgs", "sgd"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss="log",
        link="canonical",
        *,
        alpha=1e-4,
        solver="lbfgs",
        max_iter=1000,
        tol=None,
        batch_size=32,
        random_state=None,
    ):
        self.loss = loss
        self.link = link
        self.alpha = alpha
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Minimise the loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rows, positive, weights = self._start(X, y, sample_weight)
        loss = checked_composite(self.loss, self.link)
        self.is_convex_ = loss.is_convex()
        if not self.is_convex_:
            warn_caller(f"{loss.proper!r} with link={self.link!r} is not convex: the minimum found may be a local one.")
        problem, self._mean, spread = standard_problem(rows, positive, weights, loss, self.alpha)
        tol = _TOLERANCES[self.solver] if self.tol is None else self.tol
        v, self.n_iter_, stopped, converged = np.zeros(rows.shape[1] + 1), 0, False, True
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:

            def watch(current: np.ndarray) -> bool:
                nonlocal v, stopped
                v, self.n_iter_ = current.copy(), self.n_iter_ + 1
                stopped = after_step(f"step {self.n_iter_}")
                return stopped

            if self.solver == "lbfgs":
                v = minimum(problem, v, self.max_iter, tol, watch)
            else:
                random = check_random_state(self.random_state)
                v, converged = descended(problem, v, self.max_iter, tol, self.batch_size, random, watch)
            self._keep(v, spread)
        if stopped:
            return self
        scores = problem.X @ v[:-1] + v[-1] - float(loss.link.score(np.array([0.5]))[0])
        if self.alpha == 0 and (np.where(positive, scores, -scores)[weights > 0] > 0).all():
            warn_caller(
                "A plane separates the classes, so that with alpha=0 there is no minimum: the coefficients grow with "
                "every step and mean nothing; alpha must be above 0.",
                ConvergenceWarning,
            )
            return self
        slope = float(np.abs(objective(v, problem)[1]).max())
        if self.solver == "sgd" and not converged:
            warn_caller(
                f"The objective still falls after max_iter={self.max_iter} passes over the rows, with a gradient of "
                f"{slope:.2g}; raise max_iter or tol={tol:g}.",
                ConvergenceWarning,
            )
        if self.solver == "lbfgs" and self.n_iter_ >= self.max_iter and slope > tol:
            warn_caller(
                f"After max_iter={self.max_iter} steps the largest entry of the gradient is {slope:.2g}, above "
                f"tol={tol:g}.",
                ConvergenceWarning,
            )
        return self

    def _composite(self) -> CompositeLoss:
        return CompositeLoss(self.loss, self.link)


def checked_composite(loss: Any, link: Any) -> CompositeLoss:
    """A loss with slopes, and scores without bounds."""
    composite = CompositeLoss(loss, link)
    if not composite.proper.is_strictly_proper or not np.isfinite(composite.proper.weight(np.array([0.5]))[0]):
        raise ValueError(f"{composite.proper!r} is not strictly proper: its gradient is zero.")
    if composite.link.is_bounded:
        low, high = composite.link.bounds
        raise ValueError(
            f"The scores of link={link!r} with {composite.proper!r} lie between {low:g} and {high:g}, and those of a "
            "linear model are not bounded; use link='logit' or 'cloglog'."
        )
    return composite


def standard_problem(
    X: np.ndarray, positive: np.ndarray, weights: np.ndarray, loss: CompositeLoss, alpha: float
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The problem for columns of mean 0 and standard deviation 1, and these means and deviations."""
    shares = weights / weights.sum()
    table, mean, spread = standardised(X, shares)
    unit = float(loss.proper.weight(np.array([0.5]))[0])
    return Problem(table, positive, shares / unit, loss, alpha), mean, spread


def minimum(problem: Problem, v: np.ndarray, max_iter: int, tol: float, watch: Watch = lambda v: False) -> np.ndarray:
    """Coefficients and intercept of the smallest objective, by L-BFGS; where ``watch`` stopped it, if it did."""
    last = v

    def on_step(current: np.ndarray) -> None:
        nonlocal last
        last = current.copy()
        if watch(last):
            raise _StoppedError

    options = {"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxfun": 15 * max_iter}
    try:
        return minimize(objective, v, (problem,), method="L-BFGS-B", jac=True, callback=on_step, options=options).x
    except _StoppedError:
        return last


def descended(
    problem: Problem,
    v: np.ndarray,
    max_iter: int,
    tol: float,
    batch_size: int,
    random: np.random.RandomState,
    watch: Watch = lambda v: False,
) -> tuple[np.ndarray, bool]:
    """Coefficients and intercept near the smallest objective, by stochastic gradients, and whether it stopped falling.

    Where an average of the last steps does not lower it any more, steps are shortened to a fifth, and again.
    """
    n_rows = len(problem.X)
    weights = n_rows * problem.weights
    v, mean, squares = v.copy(), v.copy(), np.zeros(len(v))
    best, lowest = v.copy(), objective(v, problem)[0]
    step, n_steps, waited = _STEP, 0, 0
    for _ in range(max_iter):
        order = random.permutation(n_rows)
        for start in range(0, n_rows, batch_size):
            rows = order[start : start + batch_size]
            part = Problem(problem.X[rows], problem.positive[rows], weights[rows] / len(rows), *problem[3:])
            gradient = objective_slope(v, part)
            squares += gradient**2
            v -= step * gradient / np.sqrt(np.maximum(squares, 1e-300))
            n_steps += 1
            mean += (v - mean) * min(1.0, (_DECAY + 1) / (n_steps + _DECAY))
        value = objective(mean, problem)[0]
        waited = 0 if value < lowest - tol * abs(lowest) else waited + 1
        if value < lowest:
            best, lowest = mean.copy(), value
        if watch(best):
            return best, True
        if waited == _PATIENCE:
            if step < _SHORTEST:
                return best, True
            step, n_steps, waited, v = step / 5, 0, 0, best.copy()
    return best, False


def objective(v: np.ndarray, problem: Problem) -> tuple[float, np.ndarray]:
    """Weighted loss plus the penalty, and its gradient."""
    scores = problem.X @ v[:-1] + v[-1]
    negative_loss, positive_loss = problem.loss.partial_losses(scores)
    losses = np.where(problem.positive, positive_loss, negative_loss)
    value = float(problem.weights @ losses + problem.alpha / 2 * v[:-1] @ v[:-1])
    return value, _slope_at(scores, v, problem)


def objective_slope(v: np.ndarray, problem: Problem) -> np.ndarray:
    """Its gradient alone, which needs no integral."""
    return _slope_at(problem.X @ v[:-1] + v[-1], v, problem)


def _slope_at(scores: np.ndarray, v: np.ndarray, problem: Problem) -> np.ndarray:
    negative, positive = problem.loss.slopes(scores)
    slopes = problem.weights * np.where(problem.positive, positive, negative)
    return np.append(slopes @ problem.X + problem.alpha * v[:-1], slopes.sum())
