"""OptSpace: a table of given rank from few noisy entries.

First estimate. Rows and columns with far more observed entries than most dominate the spectrum of the table with zeros
for missing entries. Setting them to zero ("trimming") makes its leading singular vectors those of the complete table,
up to noise [1]_. The gaps between its singular values suggest the rank.

Descent over pairs of subspaces, the row and the column space that leave the least squared error:

    F(U, V) = min over S of ||P_O(X - U S V')||_F^2 / 2,   U and V with orthonormal columns.

F depends on the spaces alone [1]_. Its gradient is that of the factors with what lies in the space itself taken away; a
step goes along it, weighted by ``(S S')^-1`` and ``(S' S)^-1`` so that weak directions move as fast as strong ones, and
ends by a QR decomposition back at orthonormal columns. S is solved anew wherever F is evaluated.

An optional penalty keeps rows of U and V from growing far above the others: ``rho * sum of g(n |U_i|^2 / (3 mu r))``
and the same for V, where ``g(z) = exp((z - 1)^2) - 1`` above 1, and else 0.

.. [1] Keshavan, R., Montanari, A. and Oh, S. (2010). Matrix completion from noisy entries. Journal of Machine Learning
   Research 11, 2057-2078.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, checked_array, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import LowRankCompleter, usable_rank
from fewer.complete._entries import leading_triplets, observed_entries
from fewer.complete._observed import Observed
from fewer.complete.soft_impute._path import best_core

_OVERFULL = 2
"""A row or column is too full with more than this multiple of the mean number of entries."""


class Trimmed(NamedTuple):
    """Values with those of overfull rows and columns taken out, and which these are."""

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def trimmed(entries: Any, how: str, seed: int) -> Trimmed:
    """``how``: "zero" empties overfull rows and columns, "random" drops what they have too many, "none" keeps all."""
    rows, columns = entries.positions()
    n_rows, n_columns = entries.shape
    too_many = [_OVERFULL * entries.n_observed / size for size in (n_rows, n_columns)]
    full_rows = np.bincount(rows, minlength=n_rows) > too_many[0]
    full_columns = np.bincount(columns, minlength=n_columns) > too_many[1]
    if how == "none":
        return Trimmed(entries.values, np.flatnonzero(full_rows), np.flatnonzero(full_columns))
    if how == "zero":
        kept = ~(full_rows[rows] | full_columns[columns])
    else:
        rng = np.random.default_rng(seed)
        kept = _first_few(rows, int(too_many[0]), rng) & _first_few(columns, int(too_many[1]), rng)
    return Trimmed(entries.where(kept), np.flatnonzero(full_rows), np.flatnonzero(full_columns))


def _first_few(groups: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Which entries are among the first ``limit`` of their group, in random order."""
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    ordered = groups[order]
    starts = np.searchsorted(ordered, ordered)
    kept = np.empty(len(groups), dtype=bool)
    kept[order] = np.arange(len(groups)) - starts < max(limit, 1)
    return kept


def suggested_rank(entries: Any, values: np.ndarray, n_values: int, seed: int) -> int:
    """The i at which ``(s_{i+1} + s_1 sqrt(i / eps)) / s_i`` is least."""
    n_values = min(n_values, *entries.shape)
    s = leading_triplets(entries, values, n_values, seed=seed, tol=1e-4)[1].astype(np.float64)
    if not s[0] > 0:
        return 1
    density = entries.n_observed / np.sqrt(entries.shape[0] * entries.shape[1])
    after = np.append(s[1:], 0.0)
    ranks = np.arange(1, len(s) + 1)
    # The last value computed has no next one, unless it is the last that there is.
    usable = (s > 1e-12 * s[0]) & ((ranks < len(s)) | (len(s) == min(entries.shape)))
    ratios = (after + s[0] * np.sqrt(ranks / density)) / np.where(usable, s, 1.0)
    return int(ranks[usable][ratios[usable].argmin()])


def estimate_rank(X: Any, n_sv: int = 100, *, trim: str = "zero") -> int:
    """Rank of a table with missing values, as its singular values suggest.

    A heuristic: right where the rank is small and every direction strong; with weak directions it is too small.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table with missing values (NaN); in a sparse one, what is not stored is missing.
    n_sv : int, default=100
        Leading singular values to look at.
    trim : {"zero", "random", "none"}, default="zero"
        What becomes of rows and columns with more than twice the mean number of entries, as in ``OptSpace``.

    Returns
    -------
    rank : int
        At least 1.

    References
    ----------
    .. [1] Keshavan, R. and Oh, S. (2009). OptSpace: a gradient descent algorithm on the Grassmann manifold for matrix
       completion. arXiv:0910.5260.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import estimate_rank
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 150))
    >>> estimate_rank(np.where(rng.random(table.shape) < 0.5, np.nan, table))
    3
    """
    X = checked_array(
        X,
        "estimate_rank",
        accept_sparse=("csr", "csc"),
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    if trim not in ("zero", "random", "none"):
        raise ValueError(f"trim must be 'zero', 'random' or 'none', not {trim!r}.")
    entries = observed_entries(Observed(X))
    if entries.n_observed == 0:
        raise ValueError("X has no observed entry: every entry is NaN, or (in a sparse table) none is stored.")
    return suggested_rank(entries, trimmed(entries, trim, 0).values, n_sv, 0)


def oracle_rmse(n_rows: int, n_columns: int, rank: int, n_observed: int, sigma: float) -> float:
    """Error that nobody can beat who knows the row and column spaces: what noise costs the numbers that are left.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    n_columns : int
        Columns of the table.
    rank : int
        Its rank.
    n_observed : int
        Observed entries.
    sigma : float
        Standard deviation of the noise.

    Returns
    -------
    rmse : float
        Root mean squared error over all entries.

    Examples
    --------
    >>> from fewer.complete import oracle_rmse
    >>> round(oracle_rmse(600, 600, 2, 72_000, 1.0), 4)
    0.1824
    """
    if not 0 <= rank <= min(n_rows, n_columns):
        raise ValueError(
            f"rank must lie between 0 and {min(n_rows, n_columns)}, the table's smaller side; it is {rank}."
        )
    if n_observed < 1 or sigma < 0:
        raise ValueError(f"n_observed must be at least 1 and sigma at least 0; they are {n_observed} and {sigma:g}.")
    return float(sigma * np.sqrt(((n_rows + n_columns) * rank - rank**2) / n_observed))


_ENOUGH = 0.1
"""Share of the fall that the gradient promises and that a step must reach."""
_SMALLEST_STEP = 1e-12
_RIDGE = 1e-10
_EXACT = 1e-18
"""Of the sum of squares: an error that rounding alone would leave."""


class Incoherence(NamedTuple):
    """Strength of the penalty on uneven rows, and the unevenness that is allowed."""

    rho: float
    mu: float


class Subspaces(NamedTuple):
    """Where the descent stands; ``values`` are the model's at the observed entries."""

    U: np.ndarray
    S: np.ndarray
    V: np.ndarray
    values: np.ndarray
    objective: float


class Descent(NamedTuple):
    """Where it ended, and what each step reached."""

    found: Subspaces
    objectives: list[float]
    gradient_norms: list[float]
    converged: bool
    stopped: bool


def descended(
    entries: Any,
    U: np.ndarray,
    V: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    incoherence: Incoherence,
    on_step: Callable[[Subspaces], bool] = lambda state: False,
) -> Descent:
    """From orthonormal U and V until F falls by no more than ``tol`` of itself in a step."""
    state = _at(entries, U, V, None, incoherence)
    step = entries.shape[0] * entries.shape[1] / entries.n_observed
    objectives, norms = [state.objective], []
    scale = float(np.sum(entries.values.astype(np.float64) ** 2))
    converged, stopped = bool(state.objective <= np.finfo(float).eps ** 2 * scale), on_step(state)
    while not converged and not stopped and len(objectives) <= max_iter:
        slopes = _slopes(entries, state, incoherence)
        directions = _evened(slopes, state.S)
        promised = sum(float(np.sum(a * b)) for a, b in zip(slopes, directions, strict=True))
        norms.append(_norm(slopes))
        found, step = _searched(entries, state, directions, promised, step, incoherence)
        if found is None:
            converged = True
            break
        converged = bool(
            state.objective - found.objective <= tol * state.objective or found.objective <= _EXACT * scale
        )
        state = found
        objectives.append(state.objective)
        stopped = on_step(state)
    norms.append(_norm(_slopes(entries, state, incoherence)))
    return Descent(state, objectives, norms, converged, stopped and not converged)


def _norm(slopes: tuple[np.ndarray, ...]) -> float:
    """Root of the sum of squares, which go with the fourth power of the table's unit and may overflow by themselves."""
    size = max(float(np.abs(slope).max(initial=0)) for slope in slopes) or 1.0
    return size * float(np.sqrt(sum(float(np.sum((slope / size) ** 2)) for slope in slopes)))


def _at(entries: Any, U: np.ndarray, V: np.ndarray, near: np.ndarray | None, incoherence: Incoherence) -> Subspaces:
    S = best_core(entries, U, V, start=near)
    values = entries.low_rank_values(U @ S, V)
    objective = float(np.sum((entries.values - values).astype(np.float64) ** 2)) / 2
    if incoherence.rho:
        objective += incoherence.rho * sum(float(_unevenness(side, incoherence)[0].sum()) for side in (U, V))
    return Subspaces(U, S, V, values, objective)


def _slopes(entries: Any, state: Subspaces, incoherence: Incoherence) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of F, at right angles to the present spaces."""
    residual = state.values - entries.values
    slopes = []
    for side, slope in (
        (state.U, entries.times(residual, state.V) @ state.S.T),
        (state.V, entries.transposed_times(residual, state.U) @ state.S),
    ):
        if incoherence.rho:
            slope = slope + incoherence.rho * _unevenness(side, incoherence)[1]
        slopes.append(slope - side @ (side.T @ slope))
    return slopes[0], slopes[1]


def _evened(slopes: tuple[np.ndarray, np.ndarray], S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients, each direction measured in its own strength."""
    ridge = max(_RIDGE * float(np.sum(S**2)), np.finfo(S.dtype).tiny) * np.eye(len(S), dtype=S.dtype)
    return np.linalg.solve(S @ S.T + ridge, slopes[0].T).T, np.linalg.solve(S.T @ S + ridge, slopes[1].T).T


def _searched(
    entries: Any,
    state: Subspaces,
    directions: tuple[np.ndarray, np.ndarray],
    promised: float,
    step: float,
    incoherence: Incoherence,
) -> tuple[Subspaces | None, float]:
    """The first halving of the step that falls far enough, and the step to try next; None when none does."""
    while step > _SMALLEST_STEP:
        U = np.linalg.qr(state.U - step * directions[0])[0]
        V = np.linalg.qr(state.V - step * directions[1])[0]
        turned = (U.T @ state.U) @ state.S @ (state.V.T @ V)
        found = _at(entries, U, V, turned, incoherence)
        if found.objective <= state.objective - _ENOUGH * step * promised:
            return found, 2 * step
        step /= 2
    return None, step


def _unevenness(side: np.ndarray, incoherence: Incoherence) -> tuple[np.ndarray, np.ndarray]:
    """The penalty of each row, and its gradient."""
    size, rank = side.shape
    unit = size / (3 * incoherence.mu * rank)
    excess = np.clip(unit * np.einsum("ij,ij->i", side, side) - 1, 0, 5)
    growth = np.exp(excess**2)
    return growth - 1, (4 * unit * excess * growth)[:, None] * side


_VALUES_FOR_A_RANK = 100
_ENOUGH_ENTRIES = 1.2


@method(
    tasks=["unsupervised"],
    when="A table of known low rank from few entries with little noise, or with rows observed far more than others.",
    cost="O(m k^2 + (n + p) k^2 + n k^4) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="optspace",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
)
class OptSpace(LowRankCompleter):
    """Impute missing entries by the table of a given rank whose row and column spaces fit what is observed.

    Parameters
    ----------
    rank : int, default=None
        The rank. By default that of ``estimate_rank``, a heuristic.
    method : {"descent", "svd"}, default="descent"
        "svd" stays with the first estimate, leading singular vectors of the trimmed table.
    trim : {"zero", "random", "none"}, default="zero"
        What becomes, in the first estimate, of rows and columns with more than twice the mean number of entries: they
        are set to zero, lose random entries until no more than that are left, or stay.
    tol : float, default=1e-6
        Stop when a step lowers the objective by no more than this share of it.
    max_iter : int, default=50
        Steps at most.
    rho : float, default=0.0
        Strength of a penalty on rows of the singular vectors that are far larger than others; the number of observed
        entries is a sensible one. It rarely makes a difference.
    mu0 : float, default=None
        How large they may be, as a multiple of the mean; by default as large as in the first estimate.
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
        Draws the entries that ``trim="random"`` leaves out, and the first vector in the search for singular vectors.

    Attributes
    ----------
    U_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the fitted table (without offsets, scaled).
    d_ : ndarray of shape (rank,)
        Its singular values, in decreasing order.
    V_ : ndarray of shape (n_features, rank)
        Right singular vectors; the largest entry of each, in absolute value, is positive.
    rank_ : int
        The rank.
    S_ : ndarray of shape (rank, rank)
        The matrix between ``U_`` and ``V_``: diagonal.
    singular_values_ : ndarray of shape (rank,)
        The same as ``d_``.
    initial_ : tuple of ndarray
        The first estimate, as ``(U, d, V)``.
    fit_error_ : ndarray of shape (n_iter + 1,)
        Root mean squared error at the observed entries before the first step and after each.
    gradient_norm_ : ndarray of shape (n_iter + 1,)
        Size of the gradient over pairs of subspaces at the same points.
    trimmed_rows_ : ndarray of int
        Rows with more than twice the mean number of entries.
    trimmed_cols_ : ndarray of int
        Columns likewise.
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
    estimate_rank : The rank that singular values suggest.
    oracle_rmse : The error that nobody can beat.
    HardImpute : The same objective by filling and cutting off.
    SoftImpute : Better with much noise; no rank to be given.

    Notes
    -----
    A new row is filled from V alone: its scores are those of least squares on its observed columns (with a tiny ridge,
    for rows that observe fewer columns than the rank).

    The step along the gradient is measured in the strength of each direction, so that tables with singular values of
    very different size converge as well.

    References
    ----------
    .. [1] Keshavan, R., Montanari, A. and Oh, S. (2010). Matrix completion from noisy entries. Journal of Machine
       Learning Research 11, 2057-2078.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import OptSpace
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 50))
    >>> table = np.where(rng.random(truth.shape) < 0.5, np.nan, truth)
    >>> filled = OptSpace(rank=2, random_state=0).fit_transform(table)
    >>> bool(np.abs(filled - truth).max() < 1e-5)
    True
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"descent", "svd"})],
        "trim": [StrOptions({"zero", "random", "none"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "mu0": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        rank=None,
        method="descent",
        trim="zero",
        tol=1e-6,
        max_iter=50,
        rho=0.0,
        mu0=None,
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
        self.method = method
        self.trim = trim
        self.tol = tol
        self.max_iter = max_iter
        self.rho = rho
        self.mu0 = mu0
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        seed = self._seed()
        start = trimmed(entries, self.trim, seed)
        self.trimmed_rows_, self.trimmed_cols_ = start.rows, start.columns
        if self.rank is None:
            rank = suggested_rank(entries, start.values, _VALUES_FOR_A_RANK, seed)
        else:
            rank = usable_rank(self.rank, entries.shape, "rank")
        self._warn_of_few_entries(entries, rank)
        U, d, V = leading_triplets(entries, start.values, rank, seed=seed)
        d = d * (entries.shape[0] * entries.shape[1] / entries.n_observed)
        d = d.astype(U.dtype)
        self.initial_ = (U, d, V)
        self.rank_ = rank
        with fit_steps(self, X) as after_step:
            if after_step("start") or self.method == "svd":
                self._keep_estimate(entries, U, d, V)
            else:
                self._keep_descent(entries, self._descended(entries, U, V, after_step))

    def _descended(self, entries: Any, U: np.ndarray, V: np.ndarray, after_step: Any) -> Descent:
        return descended(
            entries,
            U,
            V,
            tol=self.tol,
            max_iter=self.max_iter,
            incoherence=Incoherence(self.rho, self.mu0 or max(_largest_row_share(U), _largest_row_share(V))),
            on_step=lambda state: after_step("step"),
        )

    def _keep_estimate(self, entries: Any, U: np.ndarray, d: np.ndarray, V: np.ndarray) -> None:
        residual = (entries.values - entries.low_rank_values(U * d, V)).astype(np.float64)
        self.fit_error_ = np.array([np.sqrt(np.sum(residual**2) / entries.n_observed)])
        self.gradient_norm_ = np.array([np.nan])
        self.n_iter_ = 0
        self._keep(U, d, V, np.zeros(len(d)))

    def _keep_descent(self, entries: Any, descent: Descent) -> None:
        self.fit_error_ = np.sqrt(2 * np.array(descent.objectives) / entries.n_observed)
        self.gradient_norm_ = np.array(descent.gradient_norms)
        self.n_iter_ = len(descent.objectives) - 1
        turn, d, back = np.linalg.svd(descent.found.S)
        self._keep(descent.found.U @ turn, d, descent.found.V @ back.T, np.zeros(len(d)))
        if not (descent.converged or descent.stopped):
            fall = 1 - descent.objectives[-1] / descent.objectives[-2]
            warn_caller(
                f"Step {self.n_iter_} still lowered the objective by {fall:.1e} of it; tol={self.tol:g} was asked for. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )

    def _warn_of_few_entries(self, entries: Any, rank: int) -> None:
        n_rows, n_columns = entries.shape
        free = (n_rows + n_columns) * rank - rank**2
        if entries.n_observed < min(_ENOUGH_ENTRIES * free, n_rows * n_columns):
            warn_caller(
                f"{entries.n_observed:,} entries are observed, and a table of rank {rank} has {free:,} free numbers: "
                "too few entries. Lower the rank, or use SoftImpute, which shrinks what is not determined."
            )
            return
        rows, columns = (np.bincount(at, minlength=n) for at, n in zip(entries.positions(), entries.shape, strict=True))
        thin = [int(((counts > 0) & (counts < rank)).sum()) for counts in (rows, columns)]
        if any(thin):
            warn_caller(
                f"{thin[0]} rows and {thin[1]} columns have fewer observed entries than the rank, {rank}: their part "
                "in the model is not determined."
            )

    @property
    def S_(self) -> np.ndarray:  # noqa: N802  # the paper's name
        return np.diag(self.d_)

    @property
    def singular_values_(self) -> np.ndarray:
        return self.d_


def _largest_row_share(side: np.ndarray) -> float:
    """Largest squared row, as a multiple of the mean."""
    return float(np.einsum("ij,ij->i", side, side).max() * len(side) / side.shape[1])
