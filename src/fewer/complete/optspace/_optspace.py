"""OptSpace: a table of given rank from few noisy entries.

A first estimate from the singular vectors of the trimmed table, then descent over pairs of subspaces [1]_; see
``_trimmed.py`` and ``_descent.py``.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import usable_rank
from fewer.complete._entries import leading_triplets
from fewer.complete._low_rank_completer import LowRankCompleter
from fewer.complete.optspace._descent import Descent, Incoherence, descended
from fewer.complete.optspace._trimmed import suggested_rank, trimmed

_VALUES_FOR_A_RANK = 100
_ENOUGH_ENTRIES = 1.2


@method(
    tasks=["unsupervised"],
    when="A table of known low rank from few entries with little noise, or with rows observed far more than others.",
    cost="O(m k^2 + (n + p) k^2 + n k^4) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="optspace",
    depends_on_shift="center=None fits the table as it is, and center='columns' takes away the means",
)
class OptSpace(LowRankCompleter):
    """Fill holes by the table of a given rank whose row and column spaces fit what is observed.

    Parameters
    ----------
    rank : int, default=None
        The rank. By default ``estimate_rank`` tells, which is a heuristic.
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
    center : {"columns", "both"}, default=None
        Take away means of the observed entries first: of columns, or of rows and columns.
    scale : bool, default=False
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
        Offsets of columns; zero without ``center``.
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
        center=None,
        scale=False,
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
        self.center = center
        self.scale = scale
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the row and the column space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with holes: NaN; in a sparse one, what is not stored.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
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
        return self

    def _descended(self, entries: Any, U: np.ndarray, V: np.ndarray, after_step: Any) -> Descent:
        return descended(
            entries,
            U,
            V,
            tol=self.tol,
            max_iter=self.max_iter,
            incoherence=Incoherence(self.rho, self.mu0 or max(_unevenness(U), _unevenness(V))),
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
                "too few to tell it. Lower the rank, or use SoftImpute, which shrinks what it cannot tell."
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


def _unevenness(side: np.ndarray) -> float:
    """Largest squared row, as a multiple of the mean."""
    return float(np.einsum("ij,ij->i", side, side).max() * len(side) / side.shape[1])
