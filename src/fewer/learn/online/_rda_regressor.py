"""Sparse linear regression by regularised dual averaging, from rows as they come.

After ``t`` rows, ``w = argmin_w <gbar_t, w> + Psi(w) + (beta_t / t) h(w)``: the penalty ``Psi`` meets the average of
all gradients so far, not the last weights, and so the weights are truly sparse at every moment.
"""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks

from fewer._estimators import LinearModel, fit_context, validated
from fewer.catalogue import method
from fewer.learn.online._online_linear import ACCEPTED, SHARED_CONSTRAINTS, OnlineLinear


@method(
    tasks=["regression"],
    when="Rows that come as a stream, or are too many to hold, a number to predict, and few of very many columns "
    "matter. Scale columns and target first. Where all rows fit into memory, L1LinearRegressor is more exact.",
    cost="O(entries stored) a pass; O(p) a step with an l1 ball, a p-norm or acceleration. Memory O(p).",
    paper="dual-averaging",
    depends_on_scale="the penalty and the steps have the unit of the columns",
    depends_on_shift="steps go along whole rows, and are alike where columns lie far from zero",
)
class RDARegressor(RegressorMixin, LinearModel, OnlineLinear):
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
        small lets them overshoot ever further, which is told. None chooses: the largest squared length of the first 100
        rows, which never overshoots, and down to 0.003 of it run side by side, each row is predicted before it is
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
    @fit_context(prefer_skip_nested_validation=True)
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
        X, y = validated(self, X, y, y_numeric=True, **ACCEPTED)
        self._fitted_to(X, [np.asarray(y, dtype=np.float64)], y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
        X, y = validated(self, X, y, y_numeric=True, reset=first, **ACCEPTED)
        if first:
            self._start(1, X)
        self._gone_on_with(X, [np.asarray(y, dtype=np.float64)])
        return self

    def _split(self, vectors):
        columns, intercepts = super()._split(vectors)
        return columns[0], float(intercepts[0])
