"""Completion by other thresholds of the singular values: rank constraints (Hard-Impute) and concave penalties.

    minimise ||P_O(X - Z)||_F^2 / 2   over Z with rank(Z) <= q,   or with ``alpha * rank(Z)`` added,
    minimise ||P_O(X - Z)||_F^2 / 2 + sum of penalty(d_i(Z)).

With a concave penalty, large singular values shrink less than small ones, or not at all [1]_. Neither is convex: where
it starts decides where it ends. Hard-Impute starts from Soft-Impute of the same rank with its shrinkage undone, which
is better and far quicker than from zero; a concave penalty starts from the nuclear norm's solution.

.. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
   incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.
"""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import LowRankCompleter, usable_rank
from fewer.complete._entries import spectral_norm
from fewer.complete.soft_impute._path import PathOptions, grid, refitted_core, solutions
from fewer.complete.soft_impute._soft_impute import SoftImputeCV
from fewer.complete.soft_impute._spectral import (
    Completion,
    LowRank,
    Rules,
    Threshold,
    completed,
    continued,
    hard,
    mc_plus,
    soft,
    top,
    zero_completion,
)

_PATH = 20
_LEAST_RATIO = 1e-3
_START = PathOptions(tol=1e-3, max_iter=100, max_rank=0)


@method(
    tasks=["unsupervised"],
    when="A table with missing values of known low rank and little noise; with much noise, SoftImpute is better.",
    cost="O(m k + (n + p) k^2) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    examples=lambda: [HardImpute(max_iter=200)],
    depends_on_scale="with a number for alpha it is in the unit of the table",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
)
class HardImpute(LowRankCompleter):
    """Impute missing entries by the table of a given rank that fits what is observed best.

    Parameters
    ----------
    rank : int, default=2
        Rank at most.
    alpha : float, default=None
        In place of a rank: price of one more. Singular values d of the filled table are kept if ``d**2 / 2 > alpha``.
    init : {"soft+", "zero"}, default="soft+"
        Where to start: Soft-Impute of the same rank with its shrinkage undone, or zeros for missing entries.
    tol : float, default=1e-9
        Stop when a step changes the table by no more than this share, squared. Much larger values end far from the
        minimum.
    max_iter : int, default=5000
        Steps at most.
    with_mean : bool or "both", default=False
        Take away means of the observed entries first: of columns, or of rows and columns.
    with_std : bool, default=False
        Divide columns by the standard deviation of what is observed.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws directions in which to search first.

    Attributes
    ----------
    U_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the fitted table (without offsets, scaled).
    d_ : ndarray of shape (rank,)
        Its singular values, in decreasing order.
    V_ : ndarray of shape (n_features, rank)
        Right singular vectors; the largest entry of each, in absolute value, is positive.
    rank_ : int
        Rank of the fitted table.
    objective_history_ : ndarray of shape (n_iter,)
        The objective after each step.
    n_iter_ : int
        Steps taken.
    loadings_ : ndarray of shape (n_features, n_components)
        ``V_`` in the units of the columns; the model is ``scores_ @ loadings_.T + mean_``.
    scores_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    mean_ : ndarray of shape (n_features,)
        Offsets of columns; zero without ``with_mean``.
    n_observed_ : ndarray of int of shape (n_features,)
        Observed entries of each column.
    indicator_ : MissingIndicator or None
        The columns that ``add_indicator`` appends an indicator of; None without it.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SoftImpute : Shrinks instead of cutting off; convex.
    OptSpace : The same objective by another way.

    Notes
    -----
    A new row is filled from V alone: its scores are those of least squares on its observed columns (with a tiny ridge,
    for rows that observe fewer columns than there are dimensions).

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import HardImpute
    >>> table = np.outer([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0])
    >>> table[1, 2] = np.nan
    >>> HardImpute(rank=1).fit_transform(table)[1].round(3)
    array([4., 2., 6.])
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "rank": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "init": [StrOptions({"soft+", "zero"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        rank=2,
        alpha=None,
        init="soft+",
        tol=1e-9,
        max_iter=5000,
        with_mean=False,
        with_std=False,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
    ):
        super().__init__(
            missing_values=missing_values, add_indicator=add_indicator, keep_empty_features=keep_empty_features
        )
        self.rank = rank
        self.alpha = alpha
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        rank = min(entries.shape) if self.alpha is not None else usable_rank(self.rank, entries.shape, "rank")
        rules = Rules(self.tol, self.max_iter, rank, seed=self._seed())
        threshold = top(rank) if self.alpha is None else hard(self.alpha)
        with fit_steps(self, X) as after_step:
            found = self._start(entries, rules, threshold.floor)
            found.stopped = after_step("start")
            if not found.stopped:
                found = completed(entries, threshold, found, rules, lambda state: after_step("step"))
        warn_if_unsettled(found, self.tol, self.max_iter)
        Z = found.Z
        self.rank_ = Z.rank
        self.n_iter_ = found.n_iter
        self.objective_history_ = np.array(found.objectives)
        self._keep(Z.U, Z.d, Z.V, np.zeros_like(Z.d))

    def _start(self, entries: Any, rules: Rules, floor: float) -> Completion:
        if self.init == "zero":
            return zero_completion(entries, rules)
        return continued(entries, unshrunk_start(entries, rules.max_rank, floor, rules.seed), rules)


def unshrunk_start(entries: Any, rank: int, floor: float, seed: int) -> LowRank:
    """Soft-Impute down to this rank, or to a penalty of ``floor``, with its shrinkage undone."""
    alpha_0 = spectral_norm(entries, entries.values)
    alphas = grid(alpha_0, _LEAST_RATIO, _PATH)[1:]
    if floor > 0:
        alphas = np.append(alphas[alphas > floor], floor)
    options = _START._replace(max_rank=min(entries.shape), seed=seed)
    Z = zero_completion(entries, Rules(0.0, 0, 1, whole=True)).Z
    if alpha_0 == 0:
        return Z
    for solution in solutions(entries, alphas, options):
        Z = solution.Z
        if floor == 0 and Z.rank >= rank:
            break
    Z = LowRank(Z.U[:, :rank], Z.d[:rank], Z.V[:, :rank], Z.filled[:rank])
    core = refitted_core(entries, Z, "unshrink")
    if core is None:
        return Z
    turn, weights, back = np.linalg.svd(core)
    return LowRank(Z.U @ turn, weights, Z.V @ back.T, weights)


def warn_if_unsettled(found: Completion, tol: float, max_iter: int) -> None:
    """Say how much the table still moves after the last step."""
    if found.converged or found.stopped:
        return
    moved = found.step_lengths[-1] ** 2 / max(float(found.Z.d @ found.Z.d), np.finfo(float).tiny)
    warn_caller(
        f"The table still changed by {moved:.1e} (squared, of its size) in step {max_iter}; tol={tol:g} was asked for. "
        "Raise max_iter, or tol if that is near enough.",
        ConvergenceWarning,
    )


_SHARE = 0.1
"""Of the largest penalty: where the search starts for a function whose zeros are not known in advance."""


@method(
    tasks=["unsupervised"],
    when="SoftImpute shrinks the strong directions of a table too much, and HardImpute keeps too many weak ones.",
    cost="O(m k + (n + p) k^2) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    depends_on_scale="with a number for alpha it is in the unit of the table",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
)
class SpectralImpute(LowRankCompleter):
    """Impute missing entries by a low-rank table whose singular values pass a threshold of your choice.

    Parameters
    ----------
    threshold : {"mc+", "soft", "hard"} or callable, default="mc+"
        What becomes of singular values. "mc+" bridges the others: values up to ``alpha`` become 0, those above ``mu *
        alpha`` stay as they are. A function gets the singular values in decreasing order and ``alpha``, and gives the
        new ones.
    alpha : float, default=None
        The penalty. By default that which ``SoftImputeCV`` chooses by held-out entries, with the shrinkage undone
        ("hard": the price whose cut-off lies there).
    mu : float, default=3.0
        Of "mc+": near 1 is like "hard", large is like "soft".
    max_rank : int, default=None
        Rank at most.
    tol : float, default=1e-9
        Stop when a step changes the table by no more than this share, squared.
    max_iter : int, default=2000
        Steps at most.
    with_mean : bool or "both", default=False
        Take away means of the observed entries first: of columns, or of rows and columns.
    with_std : bool, default=False
        Divide columns by the standard deviation of what is observed.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws directions in which to search first, and entries to hold out where ``alpha`` is None.

    Attributes
    ----------
    U_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the fitted table (without offsets, scaled).
    d_ : ndarray of shape (rank,)
        Its singular values, in decreasing order.
    V_ : ndarray of shape (n_features, rank)
        Right singular vectors; the largest entry of each, in absolute value, is positive.
    rank_ : int
        Number of singular values above 0.
    alpha_ : float
        Penalty of the fit.
    alpha_max_ : float
        Largest singular value of the observed entries: with "soft" and "mc+" the smallest penalty whose solution is
        zero.
    objective_history_ : ndarray of shape (n_iter,)
        The objective after each step; without its penalty for a function, whose penalty is not known.
    n_iter_ : int
        Steps taken.
    loadings_ : ndarray of shape (n_features, n_components)
        ``V_`` in the units of the columns; the model is ``scores_ @ loadings_.T + mean_``.
    scores_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    mean_ : ndarray of shape (n_features,)
        Offsets of columns; zero without ``with_mean``.
    n_observed_ : ndarray of int of shape (n_features,)
        Observed entries of each column.
    indicator_ : MissingIndicator or None
        The columns that ``add_indicator`` appends an indicator of; None without it.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SoftImpute : The convex one, with its path.
    HardImpute : With a rank in place of a penalty.

    Notes
    -----
    A new row is filled from V alone. With s the singular value of the filled table that became d, its scores are
    ``a = (V_o' V_o + s / d - 1)^-1 V_o' x_o`` over its observed columns o: for a training row, those that it has in the
    fit.

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import SpectralImpute
    >>> table = np.outer([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0])
    >>> table[1, 2] = np.nan
    >>> SpectralImpute().fit_transform(table)[1].round(2)
    array([4., 2., 6.])
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "threshold": [StrOptions({"mc+", "soft", "hard"}), callable],
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "mu": [Interval(Real, 1, None, closed="neither")],
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        threshold="mc+",
        alpha=None,
        mu=3.0,
        max_rank=None,
        tol=1e-9,
        max_iter=2000,
        with_mean=False,
        with_std=False,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
    ):
        super().__init__(
            missing_values=missing_values, add_indicator=add_indicator, keep_empty_features=keep_empty_features
        )
        self.threshold = threshold
        self.alpha = alpha
        self.mu = mu
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        self.alpha_max_ = spectral_norm(entries, entries.values)
        default = self._held_out_penalty(X) if self.alpha is None else _SHARE * self.alpha_max_
        self.alpha_ = self.alpha or (default**2 / 2 if self.threshold == "hard" else default) or 1.0
        threshold = _threshold(self.threshold, self.alpha_, self.mu)
        max_rank = min(entries.shape) if self.max_rank is None else min(self.max_rank, *entries.shape)
        rules = Rules(self.tol, self.max_iter, max_rank, seed=self._seed())
        floor = threshold.floor or default or 1.0
        with fit_steps(self, X) as after_step:
            convex = rules._replace(tol=1e-3, max_iter=100, alpha=floor)
            start = completed(entries, soft(floor), zero_completion(entries, convex), convex)
            found = completed(entries, threshold, start, rules, lambda state: after_step("step"))
        warn_if_unsettled(found, self.tol, self.max_iter)
        Z = found.Z
        self.rank_ = Z.rank
        self.n_iter_ = found.n_iter
        self.objective_history_ = np.array(found.objectives)
        self._keep(Z.U, Z.d, Z.V, Z.filled / Z.d - 1)

    def _held_out_penalty(self, X: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the table the user has been warned already
            chosen = SoftImputeCV(
                post="unshrink",
                max_rank=self.max_rank,
                with_mean=self.with_mean,
                with_std=self.with_std,
                missing_values=self.missing_values,
                random_state=self.random_state,
            )
            return chosen.fit(X).alpha_


def _threshold(kind: str | Callable, alpha: float, mu: float) -> Threshold:
    if callable(kind):
        return Threshold(lambda s: np.asarray(kind(s, alpha), dtype=s.dtype), cost=None)
    return {"soft": lambda: soft(alpha), "hard": lambda: hard(alpha), "mc+": lambda: mc_plus(alpha, mu)}[kind]()
