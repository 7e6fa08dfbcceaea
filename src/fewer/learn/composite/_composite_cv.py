"""The surrogate loss chosen for a target loss: which weight makes a linear model best on held-out rows.

A model that is wrong somewhere must be right where decisions fall. The loss that it minimises is chosen from a family
of weights, all convex with the link, by another loss on held-out rows, such as that of a cost:

    min over losses w of the family, alpha of  mean over folds of target(y, probabilities of the fit with w, alpha).

By default the family has the weights ``c^(low - 1) (1 - c)^(high - 1)`` for powers 0, -1/4 and -1/2 at both ends.

Reid, M. and Williamson, R. (2010). Composite binary losses. JMLR 11, 2387-2422.
"""

from collections.abc import Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from fewer._estimators import Interval, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.learn.composite._composite_classifier import (
    CompositePlane,
    checked_composite,
    minimum,
    standard_problem,
)
from fewer.learn.composite._composite_loss import CompositeLoss, Link
from fewer.learn.composite._proper_loss import ProperLoss, beta_loss, proper_loss

_POWERS = (0.0, -0.25, -0.5)


@method(
    tasks=["classification"],
    when="A linear model of probabilities that is judged by another loss than the log loss, such as the cost of "
    "decisions at a threshold, and that may be wrong elsewhere.",
    cost="O(n p) for each step of L-BFGS, once for each loss, penalty and fold",
    paper="composite-losses",
    examples=lambda: [CompositeLossClassifierCV(["log", "boosting"], cv=2)],
)
class CompositeLossClassifierCV(CallbackSupportMixin, CompositePlane):
    """A linear classifier whose loss is chosen by another loss on held-out rows.

    Parameters
    ----------
    losses : sequence of str or ProperLoss, default=None
        Losses to choose from; those that are not convex with the link are left out. By default nine of the beta family,
        with the log loss and boosting among them.
    link : str or Link, default="logit"
        A name of :func:`link_named`, or a link of your own. Its scores must have no bounds.
    target_loss : str or ProperLoss, default="log"
        Loss on held-out rows that chooses, such as ``proper_loss("cost", threshold=0.1)``.
    alphas : sequence of float, default=(1e-4,)
        Penalties to choose from.
    cv : int, splitter or iterable, default=5
        Folds, with the classes in proportion.
    max_iter : int, default=1000
        Most steps of L-BFGS for a fit.
    tol : float, default=1e-6
        Largest slope at which to stop in the folds; the last fit takes 1e-9, if that is less.

    Attributes
    ----------
    losses_ : list of ProperLoss
        Losses that were tried.
    scores_ : ndarray of shape (n_losses, n_alphas, n_folds)
        Target loss on the held-out rows of each fold.
    loss_ : ProperLoss
        The loss that was chosen.
    alpha_ : float
        Its penalty.
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the fit to all rows.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_iter_ : int
        Steps of the last fit.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CompositeLossClassifier : With one loss.

    Notes
    -----
    The chosen loss has the lowest score of several, which is too good: for the loss on new rows, cross-validate this
    estimator itself (nested cross-validation).

    References
    ----------
    .. [1] Reid, M. & Williamson, R. (2010). Composite binary losses. Journal of Machine Learning Research 11,
       2387-2422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.learn import CompositeLossClassifierCV, proper_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CompositeLossClassifierCV(["log", "boosting"], target_loss=proper_loss("cost", 0.1), alphas=[0.01, 0.1])
    >>> model.fit(X, y).scores_.shape
    (2, 2, 5)
    """

    _parameter_constraints = {
        "losses": [list, tuple, None],
        "link": [str, Link],
        "target_loss": [str, ProperLoss],
        "alphas": [list, tuple, np.ndarray],
        "cv": ["cv_object"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, losses=None, link="logit", *, target_loss="log", alphas=(1e-4,), cv=5, max_iter=1000, tol=1e-6):
        self.losses = losses
        self.link = link
        self.target_loss = target_loss
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose the loss and the penalty on held-out rows, and fit to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in fits and on held-out rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rows, positive, weights = self._start(X, y, sample_weight)
        alphas = np.asarray(self.alphas, dtype=float)
        if alphas.ndim != 1 or not len(alphas) or not (alphas >= 0).all():
            raise ValueError(f"alphas={self.alphas!r} must hold penalties from 0 on.")
        composites, self._places = self._convex_ones()
        target = proper_loss(self.target_loss) if isinstance(self.target_loss, str) else self.target_loss
        folds = list(check_cv(self.cv, positive, classifier=True).split(rows, positive))
        scores = []
        with fit_steps(self, X, y, n_steps=len(folds)) as after_step:
            for number, (train, test) in enumerate(folds, start=1):
                train, test = train[weights[train] > 0], test[weights[test] > 0]
                if len(np.unique(positive[train])) < 2 or not len(test):
                    raise ValueError(f"Fold {number} of cv leaves rows of one class only to fit; give fewer folds.")
                scores.append(np.empty((len(composites), len(alphas))))
                for (place, loss), (penalty, alpha) in product(enumerate(composites), enumerate(alphas)):
                    coef, intercept = self._plane(rows[train], positive[train], weights[train], loss, float(alpha))
                    shares = loss.link.probability((rows[test] - self._mean) @ coef + intercept)
                    score = target.loss(positive[test], shares, pos_label=True, sample_weight=weights[test])
                    scores[-1][place, penalty] = score
                if after_step(f"fold {number}"):
                    break
            self.scores_ = np.stack(scores, axis=2)
            means = self.scores_.mean(axis=2)
            self._best, penalty = (int(each) for each in np.unravel_index(np.argmin(means), means.shape))
            self.alpha_ = float(alphas[penalty])
            problem, self._mean, spread = standard_problem(rows, positive, weights, composites[self._best], self.alpha_)
            self.n_iter_ = 0

            def count(v: np.ndarray) -> bool:
                self.n_iter_ += 1
                return False

            start = np.zeros(rows.shape[1] + 1)
            self._keep(minimum(problem, start, self.max_iter, min(self.tol, 1e-9), count), spread)
        if self.n_iter_ >= self.max_iter:
            warn_caller(f"The last fit took max_iter={self.max_iter} steps and did not converge.", ConvergenceWarning)
        return self

    def _plane(
        self, X: np.ndarray, positive: np.ndarray, weights: np.ndarray, loss: CompositeLoss, alpha: float
    ) -> tuple[np.ndarray, float]:
        """Coefficients about the means of these rows, which are kept, and the intercept."""
        problem, self._mean, spread = standard_problem(X, positive, weights, loss, alpha)
        v = minimum(problem, np.zeros(X.shape[1] + 1), self.max_iter, self.tol)
        return v[:-1] / spread, float(v[-1])

    def _candidates(self) -> Sequence[Any]:
        if self.losses is None:
            return [beta_loss(low, high) for low, high in product(_POWERS, _POWERS)]
        if not len(self.losses):
            raise ValueError("losses is empty; name at least one, or give None for the beta family.")
        return self.losses

    def _convex_ones(self) -> tuple[list[CompositeLoss], list[int]]:
        """The losses that are convex with the link, and their places among those given."""
        found = [checked_composite(loss, self.link) for loss in self._candidates()]
        places = [place for place, each in enumerate(found) if each.is_convex()]
        if not places:
            raise ValueError(
                f"None of the losses is convex with link={self.link!r}; link='canonical' makes every loss convex."
            )
        return [found[place] for place in places], places

    @property
    def losses_(self) -> list[ProperLoss]:
        """Losses that were tried."""
        candidates = self._candidates()
        return [CompositeLoss(candidates[place], self.link).proper for place in self._places]

    @property
    def loss_(self) -> ProperLoss:
        """The loss that was chosen."""
        return self.losses_[self._best]

    def _composite(self) -> CompositeLoss:
        return CompositeLoss(self.loss_, self.link)
