"""The Dantzig selector: the smallest coefficients that leave no column correlated with the residuals.

``min ||b||_1  subject to  ||X'(y - Xb) / n||_inf <= alpha``, for columns of mean square 1.

An unknown standard deviation of the noise, sigma, is estimated: the universal penalty at ``sigma`` leaves residuals of
root mean square ``sigma``, and that fixed point is found from above. Shrunken coefficients leave too much, so the
columns found are fitted again by least squares.

Penalties follow from the number of rows and columns and the noise. With ``s = sigma / sqrt(n)`` and columns of mean
square 1: universal ``s sqrt(2 log p)``; minimax for k columns ``s sqrt(2 log(p / k))``; for coefficients in an l_r ball
of radius R ``s sqrt(2 log(s^r p / R^r))``. Candes and Tao (2007), Annals of Statistics 35, 2313-2351; Ye and Zhang
(2010), JMLR 11, 3519-3540.
"""

from collections.abc import Callable
from math import log, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import (
    Interval,
    LinearModel,
    StrOptions,
    checked_array,
    fit_context,
    fit_steps,
    validated,
    warn_caller,
)
from fewer._kernels._cone_factors import certified_sup_factor
from fewer.catalogue import method
from fewer.learn.dantzig._dantzig_problem import (
    DantzigProblem,
    DantzigSolution,
    DantzigWalk,
    Moments,
    StuckError,
    moments,
    solve_problem,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@method(
    tasks=["regression"],
    when="Many columns of which few matter, and you want the penalty to come from theory, not from cross-validation, "
    "with bounds on the error of the coefficients and a check of the columns found.",
    cost="O(n p) for each of the few breakpoints on the way to the penalty, in the memory of the table; tables longer "
    "than wide: O(n p^2) for the inner products, then O(p k) for a breakpoint",
    paper="lasso-dantzig",
)
class DantzigSelector(CallbackSupportMixin, RegressorMixin, LinearModel, BaseEstimator):
    """Sparse linear regression by linear programming, with a penalty that theory fixes.

    Parameters
    ----------
    alpha : "universal" or float, default="universal"
        Largest mean product of a column with the residuals that is allowed; "universal" for
        ``sigma sqrt(2 log(p) / n)``, which noise alone rarely exceeds. See :func:`penalty_level` for others.
    sigma : float or None, default=None
        Standard deviation of the noise, for "universal"; estimated when None.
    fit_intercept : bool, default=True
        Whether to centre the columns and the target.
    with_std : bool, default=True
        Whether to scale columns to mean square 1, which the theory is about. ``coef_`` is for the columns as given.
    threshold : float, "theory" or None, default=None
        Set coefficients (of scaled columns) up to this to zero. "theory" for ``2 alpha / CIF`` with the cone
        invertibility factor of the columns found, taken as the true ones.
    thresholding : {"hard", "soft"}, default="hard"
        Leave the others as they are, or shrink them by the threshold.
    refit : bool, default=False
        Fit the columns that are left by least squares (Gauss-Dantzig).
    solver : {"auto", "path", "cg", "highs"}, default="auto"
        A walk down the penalties ("path"), linear programs over growing sets of rows and columns ("cg"), or one whole
        program ("highs"). "auto" walks, and solves a program where ties between columns stop it. The whole program
        (also at ``alpha=0``) holds all pairs of columns and is refused where that takes too much memory.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Constant.
    alpha_ : float
        The penalty.
    sigma_ : float or None
        Standard deviation of the noise, given or estimated; None where ``alpha`` is a number and ``sigma`` None.
    threshold_ : float
        The threshold; 0 for none.
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero.
    dual_ : ndarray of shape (n_features,)
        Dual solution for the scaled columns, before any threshold: it proves that no smaller coefficients are allowed.
    dual_gap_ : float
        The sum of absolute coefficients, before any threshold, is above the minimum by this at most.
    n_iter_ : int
        Breakpoints passed, or programs solved.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    dantzig_path : All penalties at once.
    L1LinearRegressor : The Lasso.
    fewer.theory.lq_error_bound : How far the coefficients can be from the truth.

    Notes
    -----
    The universal penalty shrinks much; for predictions set ``refit=True``.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.
    .. [2] Candes, E. and Tao, T. (2007). The Dantzig selector: statistical estimation when p is much larger than n.
       Annals of Statistics 35, 2313-2351.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import DantzigSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 300))
    >>> y = 2 * X[:, 3] - X[:, 7] + 0.5 * rng.normal(size=100)
    >>> model = DantzigSelector(refit=True).fit(X, y)
    >>> model.support_, model.coef_[model.support_].round(1), round(model.sigma_, 1)
    (array([3, 7]), array([ 1.9, -1.1]), 0.5)
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"universal"})],
        "sigma": [Interval(Real, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "with_std": ["boolean"],
        "threshold": [Interval(Real, 0, None, closed="left"), StrOptions({"theory"}), None],
        "thresholding": [StrOptions({"hard", "soft"})],
        "refit": ["boolean"],
        "solver": [StrOptions({"auto", "path", "cg", "highs"})],
    }

    def __init__(
        self,
        alpha="universal",
        *,
        sigma=None,
        fit_intercept=True,
        with_std=True,
        threshold=None,
        thresholding="hard",
        refit=False,
        solver="auto",
    ):
        self.alpha = alpha
        self.sigma = sigma
        self.fit_intercept = fit_intercept
        self.with_std = with_std
        self.threshold = threshold
        self.thresholding = thresholding
        self.refit = refit
        self.solver = solver

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers to predict.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validated(self, X, y, y_numeric=True, accept_sparse=("csr", "csc"), dtype=np.float64)
        table = moments(X, np.asarray(y, dtype=float), self.fit_intercept, self.with_std)
        if table.kept.size < X.shape[1]:
            constant = np.setdiff1d(np.arange(X.shape[1]), table.kept)
            first = getattr(self, "feature_names_in_", np.arange(X.shape[1])).tolist()[constant[0]]
            more = "" if constant.size == 1 else f", and {constant.size - 1:,} more"
            warn_caller(f"Column {first!r} is constant and cannot be scaled{more}: no coefficient.")
        with fit_steps(self, X, y) as after_step:
            solution = self._solution(table, X.shape[0], lambda: after_step("breakpoint"))
            self.alpha_, self.n_iter_ = float(solution.alpha), solution.n_iter
            self.dual_ = np.zeros(X.shape[1])
            self.dual_[table.kept] = solution.dual
            self.dual_gap_ = table.problem.gap(solution.coef, solution.dual, solution.alpha)
            coef = self._thresholded(solution.coef, table.problem)
            self.coef_, self.intercept_ = table.original_coef(coef)
            self.support_ = np.flatnonzero(self.coef_)
        return self

    def _solution(self, table: Moments, n_rows: int, after_step) -> DantzigSolution:
        problem = table.problem
        walk = _walk_of(problem) if self.solver in ("auto", "path") else None
        self.sigma_, alpha = self.sigma, self.alpha
        stopped = False

        def after() -> bool:
            nonlocal stopped
            stopped = stopped or bool(after_step())
            return stopped

        def solve(level: float) -> DantzigSolution:
            return solve_problem(problem, level, self.solver, after, walk)

        if alpha == "universal":
            if self.sigma is None:
                self.sigma_ = noise_level(lambda level: solve(level).coef, table, n_rows, self.fit_intercept)
            alpha = penalty_level("universal", n_rows, max(problem.products.size, 1), self.sigma_)
        if walk is not None and walk.alpha < alpha < problem.largest_alpha:
            walk = _walk_of(problem)  # the estimate of the noise went further down than its own penalty
        return solve(alpha)

    def _thresholded(self, coef: np.ndarray, problem: DantzigProblem) -> np.ndarray:
        found = np.flatnonzero(coef)
        self.threshold_ = 0.0
        if self.threshold == "theory" and found.size:
            gram = problem.whole_gram(32, "threshold='theory'")
            factor = certified_sup_factor(gram, found)
            if factor > 0:
                self.threshold_ = 2 * self.alpha_ / factor
            else:
                warn_caller(
                    f"No threshold is certified for the {found.size} columns found (their cone invertibility factor is "
                    "not known to be above 0), so none is used. Give threshold= a number."
                )
        elif isinstance(self.threshold, Real):
            self.threshold_ = float(self.threshold)
        left = np.abs(coef) > self.threshold_
        if self.refit:
            columns, coef = np.flatnonzero(left), np.zeros_like(coef)
            coef[columns] = np.linalg.lstsq(problem.block(columns, columns), problem.products[columns], rcond=None)[0]
            return coef
        shrunk = coef if self.thresholding == "hard" else np.sign(coef) * (np.abs(coef) - self.threshold_)
        return np.where(left, shrunk, 0.0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _walk_of(problem: DantzigProblem) -> DantzigWalk | None:
    try:
        return DantzigWalk(problem)
    except StuckError:
        return None


def solve_dantzig(gram: "ArrayLike", products: "ArrayLike", alpha: float, *, solver: str = "auto") -> DantzigSolution:
    """Minimise ``||b||_1`` subject to ``||products - gram b||_inf <= alpha``, from inner products alone.

    Parameters
    ----------
    gram : array-like of shape (n_features, n_features)
        ``X'X / n``, or any covariance.
    products : array-like of shape (n_features,)
        ``X'y / n``.
    alpha : float
        Largest difference allowed.
    solver : {"auto", "path", "cg", "highs"}, default="auto"
        As in :class:`DantzigSelector`.

    Returns
    -------
    solution : DantzigSolution
        ``coef``, ``dual``, ``alpha`` and ``n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import solve_dantzig
    >>> solve_dantzig(np.eye(3), [3.0, -0.5, -2.0], alpha=1.0).coef
    array([ 2.,  0., -1.])
    """
    sigma = checked_array(gram, "solve_dantzig", dtype=np.float64)
    products = np.asarray(products, dtype=float)
    if sigma.shape != (products.size, products.size) or not np.allclose(sigma, sigma.T):
        raise ValueError(f"gram must be symmetric, {products.size} x {products.size} as products has entries.")
    if not alpha >= 0:
        raise ValueError(f"alpha={alpha} must not be negative.")
    return solve_problem(DantzigProblem(sigma, products), float(alpha), solver)


def noise_level(solve: Callable[[float], np.ndarray], table: Moments, n_rows: int, intercept: bool) -> float:
    """Standard deviation of the noise; ``solve`` gives the coefficients at a penalty."""
    problem, products = table.problem, table.problem.products
    unit = penalty_level("universal", n_rows, max(products.size, 1), 1.0)
    sigma = np.sqrt(table.target_square)
    coef = np.zeros(products.size)
    for _ in range(50):
        coef = solve(unit * sigma)
        square = table.target_square - 2 * products @ coef + coef @ problem.times(coef)
        before, sigma = sigma, np.sqrt(max(square, 0.0))
        if sigma >= before * (1 - 1e-4):
            break
    columns = np.flatnonzero(coef)
    freedom = n_rows - columns.size - intercept
    if columns.size == 0 or freedom < 1:
        return float(sigma)
    refitted = np.linalg.lstsq(problem.block(columns, columns), products[columns], rcond=None)[0]
    left = max(table.target_square - products[columns] @ refitted, 0.0)
    return float(np.sqrt(left * n_rows / freedom))


PenaltyMethod = Literal["universal", "minimax_l0", "minimax_lr"]


def penalty_level(
    method: PenaltyMethod,
    n_samples: int,
    n_features: int,
    sigma: float,
    *,
    k: int | None = None,
    r: float | None = None,
    R: float | None = None,
    eps: float | None = None,
    xi: float | None = None,
) -> float:
    """Penalty for the Dantzig selector or the Lasso, for columns of mean square 1.

    Parameters
    ----------
    method : {"universal", "minimax_l0", "minimax_lr"}
        The level: for any coefficients, for at most ``k`` that are not zero, or for ``sum |b_j|^r <= R^r``.
    n_samples : int
        Number of rows, ``n``.
    n_features : int
        Number of columns, ``p``.
    sigma : float
        Standard deviation of the noise.
    k : int or None, default=None
        Columns with a coefficient, for "minimax_l0".
    r : float or None, default=None
        Power, above 0 and at most 1, for "minimax_lr".
    R : float or None, default=None
        Radius, for "minimax_lr".
    eps : float or None, default=None
        With "universal": ``sigma sqrt((2 / n) log(p / eps))`` instead, which no noise exceeds with probability
        ``1 - eps / sqrt(pi log(p / eps))`` at least.
    xi : float or None, default=None
        Above 1: multiply by ``(xi + 1) / (xi - 1)``, which theory asks for the Lasso; 3 gives the factor 2.

    Returns
    -------
    alpha : float
        The penalty, as in ``alpha`` of :class:`DantzigSelector` and :class:`L1LinearRegressor`.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.

    Examples
    --------
    >>> from fewer.learn import penalty_level
    >>> round(penalty_level("universal", n_samples=200, n_features=400, sigma=1.0), 4)
    0.2448
    >>> round(penalty_level("universal", n_samples=200, n_features=400, sigma=1.0, xi=3), 4)  # for the Lasso
    0.4895
    """
    if n_samples < 1 or n_features < 1 or not sigma >= 0:
        raise ValueError(
            f"n_samples={n_samples}, n_features={n_features}, sigma={sigma}: the first two must be at "
            "least 1, and sigma not negative."
        )
    if eps is not None and method != "universal":
        raise ValueError("eps goes with method='universal' only.")
    if eps is not None and not 0 < eps <= 1:
        raise ValueError(f"eps={eps} must lie above 0 and at most at 1.")
    if xi is not None and not xi > 1:
        raise ValueError(f"xi={xi} must be above 1.")
    noise = sigma / sqrt(n_samples)
    if method == "universal":
        level = noise * sqrt(2 * log(n_features / (eps or 1.0)))
    elif method == "minimax_l0":
        level = noise * sqrt(2 * log(n_features / _checked_k(k, n_features)))
    elif method == "minimax_lr":
        level = noise * sqrt(2 * max(log(_ball_share(noise, n_features, r, R)), 0.0))
    else:
        raise ValueError(f"method={method!r} is not known; choose 'universal', 'minimax_l0' or 'minimax_lr'.")
    return level if xi is None else level * (xi + 1) / (xi - 1)


def _checked_k(k: int | None, n_features: int) -> int:
    if k is None or not 1 <= k <= n_features:
        raise ValueError(f"k={k}: give the number of columns with a coefficient, from 1 to n_features={n_features}.")
    return k


def _ball_share(noise: float, p: int, r: float | None, R: float | None) -> float:
    """``s^r p / R^r``: columns for each coefficient of the noise's size that the ball has room for."""
    if r is None or R is None or not 0 < r <= 1 or not R > 0:
        raise ValueError(f"r={r}, R={R}: give a power above 0 and at most 1, and a radius above 0.")
    if noise == 0:
        raise ValueError("sigma=0: the level of an l_r ball needs noise.")
    return p * (noise / R) ** r
