"""Soft-Impute: the table of least nuclear norm that is near what is observed.

    minimise ||P_O(X - Z)||_F^2 / 2 + alpha * ||Z||_*

The nuclear norm ``||Z||_*`` is the sum of singular values; ``P_O`` keeps the observed entries. For every penalty from
``alpha_0 = ||P_O(X)||_2``, where Z is 0, downwards [1]_. ``SoftImputeCV`` chooses the penalty by observed entries that
are held out.

.. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
   incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import LowRankCompleter, Offsets, fitted_offsets, standardised
from fewer.complete._entries import SparseEntries, observed_entries, spectral_norm
from fewer.complete._observed import Observed
from fewer.complete.soft_impute._path import PathOptions, grid, refitted_core, solutions
from fewer.complete.soft_impute._spectral import Completion, LowRank, inner


@method(
    tasks=["unsupervised"],
    when="A table with missing values and correlated columns, such as ratings, sensors, expression; no rank needed.",
    cost="O(m k + (n + p) k^2) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    depends_on_scale="with a number for alpha it is in the unit of the table",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
)
class SoftImpute(LowRankCompleter):
    """Impute missing entries by the low-rank table with shrunken singular values that fits what is observed.

    Parameters
    ----------
    alpha : float, default=None
        The penalty. By default a path of ``n_alphas`` penalties is followed, and the last is kept; ``SoftImputeCV``
        chooses among them.
    n_alphas : int, default=50
        Penalties on the path, in equal ratios from ``alpha_max_``, the smallest with nothing but zeros.
    eps : float, default=0.01
        The last penalty of the path, as a share of ``alpha_max_``.
    max_rank : int, default=None
        Rank at most. By default there is no limit, and the minimum is that of a convex problem.
    tol : float, default=1e-5
        Stop when the objective is proven (by its duality gap) to be within this share of its minimum.
    max_iter : int, default=1000
        Steps at most for one penalty.
    warm_start : bool, default=True
        Start each penalty of the path from the solution before it, not from zero.
    solver : {"auto", "dense", "als"}, default="auto"
        How the minimum is found. "dense" imputes missing entries and shrinks all singular values, step by step. "als"
        alternates ridge regressions for two factors, which comes to the same minimum. "auto" takes "als" where less
        than a tenth of the table is observed; otherwise it imputes and shrinks, with no more singular vectors than it
        needs.
    momentum : bool, default=True
        Take steps from a point ahead, which needs far fewer of them; the objective falls all the same. Without, it is
        the algorithm of the paper.
    post : {"none", "unshrink", "full"}, default="none"
        What becomes of the shrunken singular values in the end. "unshrink" fits them to the observed entries by least
        squares, "full" fits a whole matrix between the singular vectors.
    with_mean : bool or "both", default=False
        Take away means of the observed entries first: of columns, or of rows and columns. The paper does neither;
        ordinary tables want "columns", ratings "both".
    with_std : bool, default=False
        Divide columns by the standard deviation of what is observed. For tables with columns in different units.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws directions in which to search first. The minimum does not depend on it.

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
        Smallest penalty whose solution is zero.
    path_ : list of dict
        For each penalty: ``alpha``, ``rank``, ``nuclear_norm``, ``train_error`` (squared error at observed entries as a
        share of their sum of squares), ``n_iter``, ``objective``, and ``gap``, the bound of the relative gap of
        the objective to its minimum.
    objective_history_ : list of ndarray
        The objective after each step, for each penalty.
    n_iter_ : int
        Steps over the whole path.
    loadings_ : ndarray of shape (n_features, n_components)
        ``V_`` in the units of the columns; the model is ``scores_ @ loadings_.T + mean_``. With ``with_mean="both"`` a
        last column of ones belongs to the offsets of rows.
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
    SoftImputeCV : Chooses the penalty by entries held out.
    HardImpute : A rank instead of a penalty.
    PCAMissing : Gives standard deviations of imputed values.

    Notes
    -----
    A new row is imputed from V alone: its scores are ``a = (V_o' V_o + alpha / d)^-1 V_o' x_o``, over its observed
    columns o (then rescaled where ``post`` fitted the singular values anew). For a training row these are the scores
    that it has in the fit. A row with nothing observed gets the offsets.

    The penalty has the scale of the table: report it as a share of ``alpha_max_``.

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import SoftImpute
    >>> table = np.outer([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0])
    >>> table[1, 2] = np.nan
    >>> SoftImpute(eps=1e-4).fit_transform(table).round(2)
    array([[ 2.,  1.,  3.],
           [ 4.,  2.,  6.],
           [ 6.,  3.,  9.],
           [ 8.,  4., 12.]])
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "solver": [StrOptions({"auto", "dense", "als"})],
        "momentum": ["boolean"],
        "post": [StrOptions({"none", "unshrink", "full"})],
    }

    def __init__(
        self,
        alpha=None,
        n_alphas=50,
        eps=0.01,
        max_rank=None,
        tol=1e-5,
        max_iter=1000,
        warm_start=True,
        solver="auto",
        momentum=True,
        post="none",
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
        self.alpha = alpha
        self.n_alphas = n_alphas
        self.eps = eps
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.solver = solver
        self.momentum = momentum
        self.post = post
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        self.alpha_max_ = spectral_norm(entries, entries.values)
        alphas = self._alphas()
        with fit_steps(self, X) as after_step:
            self._follow(entries, alphas, lambda state: after_step("step"), self.post)

    def _alphas(self) -> np.ndarray:
        if self.alpha is None:
            return grid(self.alpha_max_, self.eps, self.n_alphas)
        return np.array([self.alpha])

    def _options(self, shape: tuple[int, int]) -> PathOptions:
        max_rank = min(shape) if self.max_rank is None else min(self.max_rank, *shape)
        return PathOptions(
            self.tol, self.max_iter, max_rank, self.warm_start, self.solver, self.momentum, seed=self._seed()
        )

    def _follow(self, entries: Any, alphas: np.ndarray, on_step: Any, post: str, start: LowRank | None = None) -> None:
        """Go down the path and keep its last solution."""
        total = max(inner(entries.values, entries.values), np.finfo(float).tiny)
        self.path_, self.objective_history_, unsettled = [], [], []
        found = solutions(entries, alphas, self._options(entries.shape), on_step, start)
        for alpha, solution in zip(alphas, found, strict=False):
            self.path_.append(_point(float(alpha), solution, total))
            self.objective_history_.append(np.array(solution.objectives))
            if not (solution.converged or solution.stopped):
                unsettled.append(self.path_[-1])
        self.n_iter_ = sum(point["n_iter"] for point in self.path_)
        self.alpha_ = float(alpha)
        Z = solution.Z
        self.rank_ = Z.rank
        self._keep(Z.U, Z.d, Z.V, Z.filled / Z.d - 1, refitted_core(entries, Z, post))
        if unsettled:
            worst = max(point["gap"] for point in unsettled)
            warn_caller(
                f"{len(unsettled)} of {len(self.path_)} penalties did not reach tol={self.tol:g} in "
                f"{self.max_iter} steps; the relative gap of their objectives is up to {worst:.1e}. Raise "
                "max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )


def _point(alpha: float, solution: Completion, total: float) -> dict[str, Any]:
    return {
        "alpha": alpha,
        "rank": solution.Z.rank,
        "nuclear_norm": float(solution.Z.d.sum()),
        "train_error": inner(solution.residual, solution.residual) / total,
        "n_iter": solution.n_iter,
        "objective": float(solution.objective),
        "gap": float(solution.gap / max(solution.objective, np.finfo(float).tiny)),
    }


_PATIENCE = 2
_WORSE = 1.001
_MUCH_WORSE = 1.03
"""The path ends when this many errors in a row exceed the best by the first factor, or one by the second: then it only
overfits further, at growing cost."""
_NEAR_ENOUGH = 1e-3
"""Duality gap to which the path is solved: what is chosen does not depend on more."""
_SINGLE_SUFFICES = 1e-3
"""As long as no penalty is a smaller share of the largest, 32 bits resolve all that can change a solution of the
path."""


class HeldOut(NamedTuple):
    """Errors along the path (infinite where it was not followed), for each ``post``; the solution with the least."""

    errors: np.ndarray
    best: LowRank | None


@method(
    tasks=["unsupervised"],
    when="A table with missing values to be imputed without guessing a penalty or a rank: held-out entries choose.",
    cost="O(m k + (n + p) k^2) for each of some hundred steps, m observed entries, rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
    says="low-rank completion (SoftImputeCV)",
)
class SoftImputeCV(SoftImpute):
    """Impute missing entries by Soft-Impute, with the penalty that imputes held-out entries best.

    Parameters
    ----------
    n_alphas : int, default=30
        Penalties on the path, in equal ratios from ``alpha_max_``, the smallest with nothing but zeros.
    eps : float, default=0.01
        The last penalty of the path, as a share of ``alpha_max_``. The path ends earlier when errors only rise.
    fraction : float, default=0.2
        Share of the observed entries that is held out.
    n_repeats : int, default=1
        How often entries are held out; errors are averaged.
    max_rank : int, default=None
        Rank at most.
    tol : float, default=1e-4
        Stop when the objective is proven (by its duality gap) to be within this share of its minimum.
    max_iter : int, default=1000
        Steps at most for one penalty.
    solver : {"auto", "dense", "als"}, default="auto"
        How the minimum is found, as in ``SoftImpute``.
    momentum : bool, default=True
        Take steps from a point ahead, as in ``SoftImpute``.
    post : {"auto", "none", "unshrink", "full"}, default="auto"
        What becomes of the shrunken singular values, as in ``SoftImpute``; the penalty is chosen for what results.
        "auto" takes "unshrink" or "none", whichever imputes held-out entries better.
    with_mean : bool or "both", default=False
        Take away means of the observed entries first: of columns, or of rows and columns.
    with_std : bool, default=False
        Divide columns by the standard deviation of what is observed; errors are in these units then.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws the entries that are held out.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,)
        The penalties tried.
    errors_ : ndarray of shape (n_repeats, n_alphas)
        Squared error at the held-out entries as a share of their sum of squares (offsets taken away); infinite where
        the path had ended.
    alpha_ : float
        The penalty chosen.
    post_ : {"none", "unshrink", "full"}
        What became of the shrunken singular values.
    alpha_max_ : float
        Smallest penalty whose solution is zero.
    U_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the fitted table (without offsets, scaled).
    d_ : ndarray of shape (rank,)
        Its singular values, in decreasing order.
    V_ : ndarray of shape (n_features, rank)
        Right singular vectors; the largest entry of each, in absolute value, is positive.
    rank_ : int
        Number of singular values above 0.
    path_ : list of dict
        The fit of all entries at the chosen penalty, as in ``SoftImpute``.
    objective_history_ : list of ndarray
        The objective after each step of it.
    n_iter_ : int
        Steps of it.
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
    SoftImpute : With a given penalty; see its notes on new rows.
    completion_score : Honest error of any completer.

    Notes
    -----
    The least of ``errors_`` chose the penalty, so it is a little too good as an estimate of the error;
    ``completion_score`` holds out entries that nobody chose by.

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import SoftImputeCV
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 40))
    >>> table = np.where(rng.random(truth.shape) < 0.3, np.nan, truth + 0.5 * rng.normal(size=truth.shape))
    >>> filled = SoftImputeCV(random_state=0).fit_transform(table)
    >>> float(np.std((filled - truth)[np.isnan(table)]).round(2)) < 0.4
    True
    """

    _parameter_constraints = {
        **{
            name: rule
            for name, rule in SoftImpute._parameter_constraints.items()
            if name not in ("alpha", "warm_start")
        },
        "post": [StrOptions({"auto", "none", "unshrink", "full"})],
        "fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
    }

    warm_start = True

    def __init__(
        self,
        n_alphas=30,
        eps=0.01,
        fraction=0.2,
        n_repeats=1,
        max_rank=None,
        tol=1e-4,
        max_iter=1000,
        solver="auto",
        momentum=True,
        post="auto",
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
        self.n_alphas = n_alphas
        self.eps = eps
        self.fraction = fraction
        self.n_repeats = n_repeats
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.momentum = momentum
        self.post = post
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        table = self._table
        del self._table
        self.alpha_max_ = spectral_norm(entries, entries.values)
        self.alphas_ = grid(self.alpha_max_, self.eps, self.n_alphas)
        rng = np.random.default_rng(self._seed())
        n_held_out = min(max(1, round(self.fraction * table.n_observed)), table.n_observed - 1)
        with fit_steps(self, X) as after_step:
            stopped = False
            errors, start = [], None

            def on_step(state: Completion) -> bool:
                nonlocal stopped
                stopped = stopped or after_step("step")
                return stopped

            for _ in range(self.n_repeats):
                chosen = np.sort(rng.choice(table.n_observed, n_held_out, replace=False))
                held_out = self._held_out(table, chosen, on_step)
                errors.append(held_out.errors)
                start = held_out.best if start is None else start
                if stopped:
                    break
            means = np.mean(errors, axis=0)
            post, best = np.unravel_index(means.argmin(), means.shape)
            self.post_ = self._posts()[post]
            self.errors_ = np.array(errors)[:, post]
            self._follow(entries, self.alphas_[best : best + 1], on_step, self.post_, start)

    def _held_out(self, table: Observed, chosen: np.ndarray, on_step: Callable[[Completion], bool]) -> HeldOut:
        """Errors at the chosen entries along a path that is fitted without them."""
        others = table.hidden(chosen)
        offsets = fitted_offsets(others, self.with_mean, self.with_std)
        # In a unit in which no penalty is beyond single precision; powers of 2 cost no digits.
        unit = 2.0 ** np.floor(np.log2(self.alpha_max_)) if self.alpha_max_ > 0 else 1.0
        offsets = offsets._replace(scales=unit * offsets.scales)
        others = standardised(others, offsets)
        if self.eps >= _SINGLE_SUFFICES:
            others = others.astype(np.float32)
        entries = observed_entries(others)
        unseen = _entries_at(table, chosen, offsets)
        total = max(inner(unseen.values, unseen.values), np.finfo(float).tiny)
        posts = self._posts()
        errors = np.full((len(posts), len(self.alphas_)), np.inf)
        best, rising = None, 0
        options = self._options(table.shape)
        options = options._replace(tol=max(options.tol, _NEAR_ENOUGH))
        for at, solution in enumerate(solutions(entries, self.alphas_ / unit, options, on_step)):
            Z = solution.Z
            for post, name in enumerate(posts):
                core = refitted_core(entries, Z, name)
                wrong = unseen.residual(Z.U * Z.d if core is None else Z.U @ core, Z.V)
                errors[post, at] = inner(wrong, wrong) / total
            least, reached = errors.min(), errors[:, at].min()
            if reached <= least:
                best = Z._replace(d=unit * Z.d.astype(np.float64), filled=unit * Z.filled.astype(np.float64))
            rising = rising + 1 if reached > _WORSE * least else 0
            if rising == _PATIENCE or reached > _MUCH_WORSE * least:
                break
        return HeldOut(errors, best)

    def _posts(self) -> tuple[str, ...]:
        return ("unshrink", "none") if self.post == "auto" else (self.post,)

    def _training_table(self, X: Any) -> Observed:
        self._table = super()._training_table(X)
        return self._table


def _entries_at(table: Observed, chosen: np.ndarray, offsets: Offsets) -> SparseEntries:
    """Some of the observed entries, with the offsets that the others give."""
    stored = table.by_rows
    indptr = np.searchsorted(chosen, stored.indptr).astype(stored.indptr.dtype)
    some = sparse.csr_array((stored.data[chosen], stored.indices[chosen], indptr), shape=stored.shape)
    shifted = standardised(Observed(some), offsets).by_rows
    return SparseEntries(shifted.data, shifted.indices, shifted.indptr, table.shape)
