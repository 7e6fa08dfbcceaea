"""Sparse linear classification and regression by regularised dual averaging, from rows as they come.

After ``t`` rows, ``w = argmin_w <gbar_t, w> + Psi(w) + (beta_t / t) h(w)``: the penalty ``Psi`` acts on the average of
all gradients so far, not on the last weights, so that the weights are sparse after every step.

Xiao, L. (2010). Dual averaging methods for regularized stochastic learning and online optimization. JMLR 11, 2543-2596.
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from fewer._estimators import (
    LinearClassifierMixin,
    LinearModel,
    StrOptions,
    check_partial_fit_first_call,
    encoded_classes,
    fit_context,
    refuse_other_classes,
    validated,
)
from fewer.catalogue import method
from fewer.learn._linear import OneVsRestProbabilities, one_vs_rest_targets
from fewer.learn.online._online_linear import ACCEPTED, SHARED_CONSTRAINTS, OnlineLinear


@method(
    tasks=["classification"],
    when="Rows that come as a stream, or are too many to hold, and few of very many columns matter: one pass, memory "
    "for the columns only, and weights that are sparse after every step. Where all rows fit into memory, "
    "L1LinearClassifier is more exact.",
    cost="O(entries stored) a pass; O(p) a step with an l1 ball, a p-norm or acceleration. Memory O(p x classes).",
    paper="dual-averaging",
    depends_on_scale="the penalty and the steps have the unit of the columns",
    depends_on_shift="steps go along whole rows, and are alike where columns lie far from zero",
)
class RDAClassifier(OneVsRestProbabilities, LinearClassifierMixin, ClassifierMixin, OnlineLinear):
    """Sparse linear classifier that learns online, by regularised dual averaging.

    Parameters
    ----------
    loss : {"log", "hinge", "squared"}, default="log"
        ``ln(1 + exp(-y z))``, with probabilities, ``max(1 - y z, 0)`` or ``(y - z)^2``, for ``y`` -1 or +1.
    penalty : {"l1", "l1l2", "l2", "l1_ball", "none"}, default="l1"
        ``alpha ||w||_1``, ``alpha ||w||_1 + alpha_l2 ||w||^2 / 2``, ``alpha_l2 ||w||^2 / 2``, or weights with
        ``||w||_1 <= radius``.
    alpha : float, default=0.001
        Strength of the penalty, against the *mean* loss of the rows, as in SGDClassifier; ``1 / (C n)`` of
        L1LinearClassifier. Larger keeps fewer columns.
    alpha_l2 : float, default=0.001
        Strength of the squared penalty, for "l1l2" and "l2".
    radius : float, default=1.0
        Largest sum of absolute weights, for "l1_ball".
    gamma : float or None, default=None
        How slowly weights move: they are ``sqrt(t) / gamma`` times the average gradient, after the threshold. Best is
        ``G / D``, with G the largest length of a gradient and D that of the weights looked for, over ``sqrt(2)``. None
        chooses: G from the first 100 rows, which is safe and slow, and down to 0.003 of it run side by side, each row
        is predicted before it is learnt from, and after 200, 400, 800, ... steps the worst drops out; until one is left
        a row costs several times as much. ``accelerated`` takes G itself. With "l1l2" and "l2" gamma holds the
        intercept only.
    rho : float, default=0.0
        Makes "l1" sparser early on: adds ``gamma rho / sqrt(t)`` to the threshold.
    p_norm : float, default=2.0
        Distances between weights by this norm, above 1; near 1 suits many dense columns of which few matter.
    accelerated : bool, default=False
        The accelerated method, for smooth losses and batches of many rows. With a batch of all rows, in
        ``fit``, it is a fast method for the whole table.
    batch_size : int, default=1
        Rows of a step, which takes their mean gradient.
    n_epochs : int, default=1
        Number of passes of ``fit`` over the rows. The guarantees are for one pass.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows, anew for each pass. ``partial_fit`` never does.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    output : {"last", "average"}, default="last"
        Which weights become ``coef_``: the last, which are sparse, or the mean over all steps, which are not sparse,
        and for which most of the theory is; it takes several times as long. ``support_`` is always of the last.
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
        The gamma in use; of several classes, the largest.
    nnz_history_ : list of (int, int) or None
        Steps made, and coefficients that were not zero then; 20 times a pass, with ``record=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.L1LinearClassifier : The exact minimum, for rows that fit into memory.
    fewer.theory.regret_curve : What learning online costs, against the best fixed weights.

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

    _parameter_constraints = {"loss": [StrOptions({"log", "hinge", "squared"})], **SHARED_CONSTRAINTS}

    def __init__(
        self,
        loss="log",
        penalty="l1",
        alpha=0.001,
        *,
        alpha_l2=0.001,
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
        super().__init__(
            penalty,
            alpha,
            alpha_l2=alpha_l2,
            radius=radius,
            gamma=gamma,
            rho=rho,
            p_norm=p_norm,
            accelerated=accelerated,
            batch_size=batch_size,
            n_epochs=n_epochs,
            shuffle=shuffle,
            fit_intercept=fit_intercept,
            output=output,
            record=record,
            random_state=random_state,
        )

    def _first_targets(self, y: np.ndarray) -> list[np.ndarray]:
        self.classes_, _ = encoded_classes(y, type(self).__name__)
        return self._targets(y)

    @fit_context(prefer_skip_nested_validation=True)
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
        first = check_partial_fit_first_call(self, classes)
        X, y = validated(self, X, y, reset=first, **self._accepted)
        check_classification_targets(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"classes={self.classes_.tolist()} is one class only, and RDAClassifier needs at least two."
            )
        refuse_other_classes(y, self.classes_)
        self._gone_on_with(X, self._targets(y), first)
        return self

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        return one_vs_rest_targets(y, self.classes_)


@method(
    tasks=["regression"],
    when="Rows that come as a stream, or are too many to hold, a number to predict, and few of very many columns "
    "matter. Scale columns and target first. Where all rows fit into memory, L1LinearRegressor is more exact.",
    cost="O(entries stored) a pass; O(p) a step with an l1 ball, a p-norm or acceleration. Memory O(p).",
    paper="dual-averaging",
    depends_on_scale="the penalty and the steps have the unit of the columns",
    depends_on_shift="steps go along whole rows, and are alike where columns lie far from zero",
)
class RDARegressor(RegressorMixin, OnlineLinear, LinearModel):
    """Sparse linear regression that learns online, by regularised dual averaging of ``(y - x'w - b)^2``.

    Parameters
    ----------
    penalty : {"l1", "l1l2", "l2", "l1_ball", "none"}, default="l1"
        ``alpha ||w||_1``, ``alpha ||w||_1 + alpha_l2 ||w||^2 / 2``, ``alpha_l2 ||w||^2 / 2``, or weights with
        ``||w||_1 <= radius``.
    alpha : float, default=0.001
        Strength of the penalty, against the *mean* loss of the rows; twice the ``alpha`` of L1LinearRegressor, whose
        loss is halved. Larger keeps fewer columns.
    alpha_l2 : float, default=0.001
        Strength of the squared penalty, for "l1l2" and "l2".
    radius : float, default=1.0
        Largest sum of absolute weights, for "l1_ball".
    gamma : float or None, default=None
        How slowly weights move: they are ``sqrt(t) / gamma`` times the average gradient, after the threshold. Much too
        small lets them overshoot ever further, with a warning. None chooses: the largest squared length of the first
        100 rows, which never overshoots, and down to 0.003 of it run side by side, each row is predicted before it is
        learnt from, and after 200, 400, 800, ... steps the worst drops out; until one is left a row costs several times
        as much. ``accelerated`` takes the largest itself. With "l1l2" and "l2" gamma holds the intercept only.
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
        Number of passes of ``fit`` over the rows. The guarantees are for one pass.
    shuffle : bool, default=True
        Whether ``fit`` shuffles the rows, anew for each pass. ``partial_fit`` never does.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    output : {"last", "average"}, default="last"
        Which weights become ``coef_``: the last, which are sparse, or the mean over all steps, which are not sparse,
        and for which most of the theory is; it takes several times as long. ``support_`` is always of the last.
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
    feature_names_in_ : ndarray of shape (n_features,)
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

    _parameter_constraints = SHARED_CONSTRAINTS
    _accepted = {**ACCEPTED, "y_numeric": True}

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(y, dtype=np.float64)]

    def _split(self, vectors):
        columns, intercepts = super()._split(vectors)
        return columns[0], float(intercepts[0])
