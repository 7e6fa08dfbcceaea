"""Sparse linear models by regularised dual averaging, from rows as they come.

After ``t`` rows, ``w = argmin_w <gbar_t, w> + Psi(w) + (beta_t / t) h(w)``: the penalty ``Psi`` meets the average of
all gradients so far, not the last weights, and so the weights are truly sparse at every moment.
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel, SparseCoefMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets

from fewer._estimators import encoded_classes, fit_steps, validated
from fewer.catalogue import method
from fewer.learn.online._dense_learners import AcceleratedLearner, DenseLearner
from fewer.learn.online._lazy_learner import LazyLearner
from fewer.learn.online._recipe import Learner, Recipe

_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "penalty": [StrOptions({"l1", "l1l2", "l2", "l1_ball", "none"})],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l2": [Interval(Real, 0, None, closed="neither")],
    "radius": [Interval(Real, 0, None, closed="neither")],
    "gamma": [Interval(Real, 0, None, closed="left"), None],
    "rho": [Interval(Real, 0, None, closed="left")],
    "p_norm": [Interval(Real, 1, 2, closed="right")],
    "accelerated": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "n_epochs": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "fit_intercept": ["boolean"],
    "output": [StrOptions({"last", "average"})],
    "record": ["boolean"],
    "random_state": ["random_state"],
}
_ACCEPTED = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
_BLOCKS_OF_A_PASS = 20


class _RDA(CallbackSupportMixin, SparseCoefMixin, BaseEstimator):
    """What the classifier and the regressor share: a learner for each target, and the order in which it meets rows."""

    def _learners_for(self, n_targets: int, X: Any, *, whole_table: bool = False) -> list[Learner]:
        self._refuse_combinations()
        names = Recipe.__dataclass_fields__.keys() - {"loss"}
        recipe = Recipe(loss=getattr(self, "loss", "squared"), **{name: getattr(self, name) for name in names})
        size = X.shape[1] + self.fit_intercept
        if self.accelerated:
            return [AcceleratedLearner(recipe, size, whole_table=whole_table) for _ in range(n_targets)]
        together = self.penalty == "l1_ball" or self.p_norm != 2
        return [DenseLearner(recipe, size) if together else LazyLearner(recipe, size) for _ in range(n_targets)]

    def _refuse_combinations(self) -> None:
        """Say which parameters have no meaning together."""
        if self.accelerated and getattr(self, "loss", None) == "hinge":
            raise ValueError("accelerated=True is for losses without a kink, and the hinge has one; use loss='log'.")
        if self.gamma == 0 and not self.accelerated:
            raise ValueError("gamma=0 is for accelerated=True with the whole table as a batch; here it must be above.")
        for name, plain in (("rho", 0), ("p_norm", 2)):
            if getattr(self, name) != plain and (self.accelerated or self.penalty not in ("l1", "none")):
                raise ValueError(
                    f"{name}={getattr(self, name)} is for penalty='l1' or 'none' without acceleration; leave it at "
                    f"{plain} with penalty={self.penalty!r} and accelerated={self.accelerated}."
                )

    def _fitted_to(self, X: Any, targets: list[np.ndarray], y: Any) -> None:
        """Start anew, and meet the rows ``n_epochs`` times."""
        n_rows = X.shape[0]
        self._learners = self._learners_for(len(targets), X, whole_table=self.batch_size >= n_rows)
        self.nnz_history_: list[tuple[int, int]] | None = [] if self.record else None
        rng = check_random_state(self.random_state)
        blocks_of_a_pass = len(list(_blocks(np.arange(n_rows), self.batch_size)))
        with fit_steps(self, X, y, n_steps=self.n_epochs * blocks_of_a_pass) as after_step:
            for _ in range(self.n_epochs):
                order = rng.permutation(n_rows) if self.shuffle else np.arange(n_rows)
                if self._learn(X, targets, order, lambda: after_step("block of rows", self._attributes)):
                    break
            self._keep()

    def _gone_on_with(self, X: Any, targets: list[np.ndarray]) -> None:
        """Meet more rows, once, in the order in which they come."""
        self._learn(X, targets, np.arange(X.shape[0]), lambda: False)
        self._keep()

    def _learn(self, X: Any, targets: list[np.ndarray], order: np.ndarray, stopped: Callable[[], bool]) -> bool:
        """Meet the rows in this order; returns whether a callback said stop."""
        for block in _blocks(order, self.batch_size):
            for learner, target in zip(self._learners, targets, strict=True):
                learner.learn(X, target, block)
            if self.nnz_history_ is not None:
                n_columns = X.shape[1]
                n_nonzero = sum(np.count_nonzero(learner.weights[:n_columns]) for learner in self._learners)
                self.nnz_history_.append((self._learners[0].t, n_nonzero))
            if stopped():
                return True
        return False

    def _keep(self) -> None:
        for name, value in self._attributes().items():
            setattr(self, name, value)

    def _attributes(self) -> dict[str, Any]:
        """What the estimator has after the rows so far."""
        # Of the first call, for the average cannot be had afterwards.
        averaged = self._learners[0].recipe.output == "average"
        coef, intercept = self._split([learner.average if averaged else learner.weights for learner in self._learners])
        return {
            "coef_": coef,
            "intercept_": intercept,
            "gbar_": self._split([learner.mean_gradient for learner in self._learners])[0],
            "t_": self._learners[0].t,
            "gamma_": max(learner.gamma for learner in self._learners),
        }

    def _split(self, vectors: list[np.ndarray]) -> tuple[Any, Any]:
        """Columns and intercepts, a row for each target."""
        stacked = np.array(vectors)
        if not self.fit_intercept:
            return stacked, np.zeros(len(stacked))
        return np.ascontiguousarray(stacked[:, :-1]), stacked[:, -1].copy()

    @property
    def support_(self) -> np.ndarray:
        """Columns whose last weight is not zero, for any class."""
        n_columns = self.n_features_in_
        return np.flatnonzero(np.any([learner.weights[:n_columns] != 0 for learner in self._learners], axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _blocks(order: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Parts of a pass, of whole batches, after which callbacks are asked."""
    n_batches = -(-len(order) // batch_size)
    size = batch_size * -(-n_batches // _BLOCKS_OF_A_PASS)
    for start in range(0, len(order), size):
        yield order[start : start + size]


@method(
    tasks=["classification"],
    when="Rows that come as a stream, or are too many to hold, and few of very many columns matter: one pass, memory "
    "for the columns only, and weights that are truly sparse at every moment. Where all rows fit into memory, "
    "L1LinearClassifier is more exact.",
    cost="O(entries stored) a pass; O(p) a step with an l1 ball, a p-norm or acceleration. Memory O(p x classes).",
    paper="dual-averaging",
)
class RDAClassifier(LinearClassifierMixin, ClassifierMixin, _RDA):
    """Sparse linear classifier that learns online, by regularised dual averaging.

    Parameters
    ----------
    loss : {"log", "hinge", "squared"}, default="log"
        ``ln(1 + exp(-y z))``, with probabilities, ``max(1 - y z, 0)`` or ``(y - z)^2``, for ``y`` -1 or +1.
    penalty : {"l1", "l1l2", "l2", "l1_ball", "none"}, default="l1"
        ``alpha ||w||_1``, ``alpha ||w||_1 + l2 ||w||^2 / 2``, ``l2 ||w||^2 / 2``, or weights with
        ``||w||_1 <= radius``.
    alpha : float, default=0.001
        Price of the weights against the *mean* loss of the rows, as in SGDClassifier; ``1 / (C n)`` of
        L1LinearClassifier. Larger keeps fewer columns.
    l2 : float, default=0.001
        Price of the squared weights, for "l1l2" and "l2".
    radius : float, default=1.0
        Largest sum of absolute weights, for "l1_ball".
    gamma : float or None, default=None
        How slowly weights move: they are ``sqrt(t) / gamma`` times the average gradient, after the threshold. Best is
        ``G / D``, with G the largest length of a gradient and D that of the weights looked for, over ``sqrt(2)``. None
        takes D as 1, and G from the first 100 rows; so scale columns, or try several. With "l1l2" and "l2" it holds
        the intercept only.
    rho : float, default=0.0
        Makes "l1" sparser early on: adds ``gamma rho / sqrt(t)`` to the threshold.
    p_norm : float, default=2.0
        Distances between weights by this norm, above 1; near 1 suits many dense columns of which few matter.
    accelerated : bool, default=False
        The accelerated method, for losses without a kink and batches of many rows. With a batch of all rows, in
        ``fit``, it is a fast method for the whole table.
    batch_size : int, default=1
        Rows of a step, which takes their mean gradient.
    n_epochs : int, default=1
        How often ``fit`` meets all rows. The guarantees are for one pass.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows, anew for each pass. ``partial_fit`` never does.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    output : {"last", "average"}, default="last"
        Which weights become ``coef_``: the last, which are sparse, or the mean over all steps, which are not, and for
        which most of the theory is; it takes several times as long. ``support_`` is always of the last.
    record : bool, default=False
        Whether to keep ``nnz_history_``.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; with more than two classes, one row for each class against the rest.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants.
    support_ : ndarray of shape (n_selected,)
        Columns whose last weight is not zero, for any class.
    gbar_ : ndarray of the shape of ``coef_``
        Average gradient over all steps.
    t_ : int
        Steps made.
    gamma_ : float
        The gamma in use.
    nnz_history_ : list of (int, int) or None
        Steps made, and coefficients that were not zero then; 20 times a pass, with ``record=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.L1LinearClassifier : The exact minimum, for rows that fit into memory.
    fewer.learn.regret_monitor : What learning online costs, against the best fixed weights.

    Notes
    -----
    Learning goes on from the average gradient, never from ``coef_``; parameters are those of the first call of
    ``partial_fit``. Rows in pieces give what all rows at once give, if ``shuffle=False`` and the pieces are of whole
    batches.

    References
    ----------
    .. [1] Xiao, L. (2010). Dual averaging methods for regularized stochastic learning and online optimization. JMLR 11,
       2543-2596.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import RDAClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RDAClassifier(alpha=0.1, gamma=3.0, random_state=0).fit(scale(X), y)
    >>> len(model.support_), round(model.score(scale(X), y), 2)
    (13, 0.95)
    """

    _parameter_constraints = {"loss": [StrOptions({"log", "hinge", "squared"})], **_SHARED_CONSTRAINTS}

    def __init__(
        self,
        loss="log",
        penalty="l1",
        alpha=0.001,
        *,
        l2=0.001,
        radius=1.0,
        gamma=None,
        rho=0.0,
        p_norm=2.0,
        accelerated=False,
        batch_size=1,
        n_epochs=1,
        shuffle=True,
        fit_intercept=True,
        output="last",
        record=False,
        random_state=None,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l2 = l2
        self.radius = radius
        self.gamma = gamma
        self.rho = rho
        self.p_norm = p_norm
        self.accelerated = accelerated
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.output = output
        self.record = record
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Start anew, and learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table. Columns should be on comparable scales, for they share one penalty.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validated(self, X, y, **_ACCEPTED)
        self.classes_, _ = encoded_classes(y, type(self).__name__)
        self._fitted_to(X, self._targets(y), y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Learn from more rows, once each, in the order in which they come.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed in the first call.

        Returns
        -------
        self : object
            The classifier.
        """
        first = _check_partial_fit_first_call(self, classes)
        X, y = validated(self, X, y, reset=first, **_ACCEPTED)
        check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"classes={self.classes_.tolist()} is one class only, and RDAClassifier tells classes apart."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown) > 0:
            raise ValueError(
                f"y holds the class {unknown.tolist()[0]!r}, which is not one of classes={self.classes_.tolist()}; "
                "name all classes in the first call of partial_fit."
            )
        targets = self._targets(y)
        if first:
            self._learners = self._learners_for(len(targets), X)
            self.nnz_history_ = [] if self.record else None
        self._gone_on_with(X, targets)
        return self

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        """+1 for a class and -1 for the rest, for each class; only for the second if there are two."""
        told_apart = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == label, 1.0, -1.0) for label in told_apart]

    @available_if(lambda self: self.loss == "log")
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            With more than two classes, those of each against the rest, made to sum to one.
        """
        scores = expit(self.decision_function(X))
        if scores.ndim == 1:
            return np.column_stack([1 - scores, scores])
        return scores / np.maximum(scores.sum(axis=1, keepdims=True), np.finfo(float).tiny)


@method(
    tasks=["regression"],
    when="Rows that come as a stream, or are too many to hold, a number to predict, and few of very many columns "
    "matter. Scale columns and target first. Where all rows fit into memory, L1LinearRegressor is more exact.",
    cost="O(entries stored) a pass; O(p) a step with an l1 ball, a p-norm or acceleration. Memory O(p).",
    paper="dual-averaging",
)
class RDARegressor(RegressorMixin, LinearModel, _RDA):
    """Sparse linear regression that learns online, by regularised dual averaging of ``(y - x'w - b)^2``.

    Parameters
    ----------
    penalty : {"l1", "l1l2", "l2", "l1_ball", "none"}, default="l1"
        ``alpha ||w||_1``, ``alpha ||w||_1 + l2 ||w||^2 / 2``, ``l2 ||w||^2 / 2``, or weights with
        ``||w||_1 <= radius``.
    alpha : float, default=0.001
        Price of the weights against the *mean* loss of the rows; twice the ``alpha`` of L1LinearRegressor, whose loss
        is halved. Larger keeps fewer columns.
    l2 : float, default=0.001
        Price of the squared weights, for "l1l2" and "l2".
    radius : float, default=1.0
        Largest sum of absolute weights, for "l1_ball".
    gamma : float or None, default=None
        How slowly weights move: they are ``sqrt(t) / gamma`` times the average gradient, after the threshold. Much too
        small lets them overshoot ever further. None takes the largest squared length of the first 100 rows, which
        never does, and is slow where columns are many; then try a tenth of ``gamma_``. With "l1l2" and "l2" it holds
        the intercept only.
    rho : float, default=0.0
        Makes "l1" sparser early on: adds ``gamma rho / sqrt(t)`` to the threshold.
    p_norm : float, default=2.0
        Distances between weights by this norm, above 1; near 1 suits many dense columns of which few matter.
    accelerated : bool, default=False
        The accelerated method, for batches of many rows. With a batch of all rows, in ``fit``, it is a fast method for
        the whole table.
    batch_size : int, default=1
        Rows of a step, which takes their mean gradient.
    n_epochs : int, default=1
        How often ``fit`` meets all rows. The guarantees are for one pass.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows, anew for each pass. ``partial_fit`` never does.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    output : {"last", "average"}, default="last"
        Which weights become ``coef_``: the last, which are sparse, or the mean over all steps, which are not, and for
        which most of the theory is; it takes several times as long. ``support_`` is always of the last.
    record : bool, default=False
        Whether to keep ``nnz_history_``.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Constant.
    support_ : ndarray of shape (n_selected,)
        Columns whose last weight is not zero.
    gbar_ : ndarray of shape (n_features,)
        Average gradient over all steps.
    t_ : int
        Steps made.
    gamma_ : float
        The gamma in use.
    nnz_history_ : list of (int, int) or None
        Steps made, and coefficients that were not zero then; 20 times a pass, with ``record=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.L1LinearRegressor : The exact minimum, for rows that fit into memory.
    fewer.learn.RDAClassifier : The same for classes, with notes that hold here too.

    References
    ----------
    .. [1] Xiao, L. (2010). Dual averaging methods for regularized stochastic learning and online optimization. JMLR 11,
       2543-2596.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import RDARegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RDARegressor(alpha=0.3, n_epochs=20, random_state=0).fit(scale(X), scale(y))
    >>> model.support_
    array([2, 3, 6, 8])
    """

    _parameter_constraints = _SHARED_CONSTRAINTS

    def __init__(
        self,
        penalty="l1",
        alpha=0.001,
        *,
        l2=0.001,
        radius=1.0,
        gamma=None,
        rho=0.0,
        p_norm=2.0,
        accelerated=False,
        batch_size=1,
        n_epochs=1,
        shuffle=True,
        fit_intercept=True,
        output="last",
        record=False,
        random_state=None,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l2 = l2
        self.radius = radius
        self.gamma = gamma
        self.rho = rho
        self.p_norm = p_norm
        self.accelerated = accelerated
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.output = output
        self.record = record
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Start anew, and learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table. Columns should be on comparable scales, for they share one penalty.
        y : array-like of shape (n_samples,)
            Numbers to predict.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validated(self, X, y, y_numeric=True, **_ACCEPTED)
        self._fitted_to(X, [np.asarray(y, dtype=np.float64)], y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y):
        """Learn from more rows, once each, in the order in which they come.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,)
            Their numbers.

        Returns
        -------
        self : object
            The regressor.
        """
        first = not hasattr(self, "_learners")
        X, y = validated(self, X, y, y_numeric=True, reset=first, **_ACCEPTED)
        if first:
            self._learners = self._learners_for(1, X)
            self.nnz_history_ = [] if self.record else None
        self._gone_on_with(X, [np.asarray(y, dtype=np.float64)])
        return self

    def _split(self, vectors):
        columns, intercepts = super()._split(vectors)
        return columns[0], float(intercepts[0])
