"""A linear classifier with any proper loss and link.

    min over theta, b of  (1/N) sum_i l(y_i, x_i'theta + b) + alpha/2 |theta|^2,

with gradient ``x (e - y) rho(e)``, y in {0, 1}. The weight of the loss is divided by its value at 1/2, so that alpha
means the same for every loss.

Reid, M. and Williamson, R. (2010). Composite binary losses. JMLR 11, 2387-2422.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    check_sample_weight,
    encoded_classes,
    fit_context,
    fit_steps,
    validated,
    warn_caller,
)
from fewer.catalogue import method
from fewer.learn._linear import standardised
from fewer.learn.composite._composite_loss import CompositeLoss, Link
from fewer.learn.composite._proper_loss import ProperLoss


class _StoppedError(Exception):
    """A callback ended the fit."""


@method(
    tasks=["classification"],
    when="A linear model of probabilities with another loss than the log loss: one that looks most at probabilities "
    "where decisions fall, by a weight function of your own.",
    cost="O(n p) for each step of L-BFGS",
    paper="composite-losses",
)
class CompositeLossClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A linear classifier that minimises a proper loss of your choice.

    Parameters
    ----------
    loss : str or ProperLoss, default="log"
        A name of :func:`proper_loss`, or a loss of your own.
    link : str or Link, default="canonical"
        A name of :func:`link_named`, or a link of your own. Its scores must have no bounds.
    alpha : float, default=1e-4
        Penalty on the squared coefficients of columns with standard deviation 1, beside the mean loss with w(1/2) = 1.
    max_iter : int, default=1000
        Most steps of L-BFGS.
    tol : float, default=1e-9
        Largest slope at which to stop.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,)
        Intercept.
    is_convex_ : bool
        Whether the loss is convex in the score; if not, the minimum may be a local one.
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
    CompositeLoss : The loss by itself.

    Notes
    -----
    Convex proper losses are strictly proper, so that wrong labels bias the probabilities: with a share a of flipped
    labels the fit comes to ``a (1 - eta) + (1 - a) eta``, and not to eta.

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
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, loss="log", link="canonical", *, alpha=1e-4, max_iter=1000, tol=1e-9):
        self.loss = loss
        self.link = link
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

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
        X, y = validated(self, X, y, dtype=np.float64)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported: y has {len(self.classes_)} classes. Use "
                "sklearn.multiclass.OneVsRestClassifier."
            )
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        loss = self._checked_loss()
        unit = float(loss.proper.weight(np.array([0.5]))[0])
        weights = weights / weights.sum()
        table, self._mean, spread = standardised(X, weights)
        v = np.zeros(X.shape[1] + 1)
        n_steps = 0
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:

            def watch(current: np.ndarray) -> None:
                nonlocal v, n_steps
                v, n_steps = current.copy(), n_steps + 1
                if after_step(f"step {n_steps}"):
                    raise _StoppedError

            message = ""
            try:
                options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxfun": 15 * self.max_iter}
                arguments = (table, codes == 1, weights / unit, loss, self.alpha)
                found = minimize(objective, v, arguments, method="L-BFGS-B", jac=True, callback=watch, options=options)
                v, message = found.x, "" if found.nit < self.max_iter else f"after max_iter={self.max_iter} steps"
            except _StoppedError:
                pass
            self.coef_, self._centred_intercept = (v[:-1] / spread)[None], float(v[-1])
            self.intercept_ = np.array([v[-1] - self.coef_[0] @ self._mean])
            self.n_iter_ = n_steps
        if message:
            slope = np.abs(objective(v, *arguments)[1]).max()
            warn_caller(f"The slope is {slope:.2g} {message}, above tol={self.tol:g}.", ConvergenceWarning)
        return self

    def _checked_loss(self) -> CompositeLoss:
        loss = CompositeLoss(self.loss, self.link)
        if not loss.proper.is_strictly_proper or not np.isfinite(loss.proper.weight(np.array([0.5]))[0]):
            raise ValueError(f"{loss.proper!r} is not strictly proper: it has no slope to follow.")
        if loss.link.is_bounded:
            raise ValueError(
                f"The scores of link={self.link!r} with {loss.proper!r} lie between {loss.link.bounds[0]:g} and "
                f"{loss.link.bounds[1]:g}, and those of a linear model anywhere; use link='logit' or 'cloglog'."
            )
        self.is_convex_ = loss.is_convex()
        if not self.is_convex_:
            warn_caller(f"{loss.proper!r} with link={self.link!r} is not convex: the minimum found may be a local one.")
        return loss

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
        return scores - float(CompositeLoss(self.loss, self.link).link.score(np.array([0.5]))[0])

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
        second = CompositeLoss(self.loss, self.link).link.probability(scores)
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


def objective(
    v: np.ndarray, X: np.ndarray, positive: np.ndarray, weights: np.ndarray, loss: CompositeLoss, alpha: float
) -> tuple[float, np.ndarray]:
    """Weighted loss plus the penalty, and its gradient."""
    scores = X @ v[:-1] + v[-1]
    negative_loss, positive_loss = loss.partial_losses(scores)
    negative_slope, positive_slope = loss.slopes(scores)
    slopes = weights * np.where(positive, positive_slope, negative_slope)
    value = float(weights @ np.where(positive, positive_loss, negative_loss) + alpha / 2 * v[:-1] @ v[:-1])
    return value, np.append(slopes @ X + alpha * v[:-1], slopes.sum())
