"""Soft-Impute: the table of least nuclear norm that is near what is observed.

    minimise ||P_O(X - Z)||_F^2 / 2 + lam * ||Z||_*

The nuclear norm ``||Z||_*`` is the sum of singular values; ``P_O`` keeps the observed entries. For every penalty from
``lam_0 = ||P_O(X)||_2``, where Z is 0, downwards [1]_.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._entries import spectral_norm
from fewer.complete._low_rank_completer import LowRankCompleter
from fewer.complete.soft_impute._path import PathOptions, grid, refitted_core, solutions
from fewer.complete.soft_impute._spectral import Completion, LowRank, inner


@method(
    tasks=["unsupervised"],
    when="A table with holes whose columns go together in a few ways: ratings, sensors, expression; no rank needed.",
    cost="O(m k + (n + p) k^2) time for a step, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    depends_on_scale="with a number for lam it is in the unit of the table",
    depends_on_shift="center=None fits the table as it is, and center='columns' takes away the means",
)
class SoftImpute(LowRankCompleter):
    """Fill holes by the low-rank table with shrunken singular values that fits what is observed.

    Parameters
    ----------
    lam : float, default=None
        The penalty. By default a path of ``n_lambdas`` penalties is followed, and the last is kept; ``SoftImputeCV``
        chooses among them.
    n_lambdas : int, default=50
        Penalties on the path, in equal ratios from ``lambda_max_``, the smallest with nothing but zeros.
    lambda_min_ratio : float, default=0.01
        The last penalty of the path, as a share of ``lambda_max_``.
    rank_max : int, default=None
        Rank at most. By default there is no limit, and the minimum is that of a convex problem.
    tol : float, default=1e-5
        Stop when the objective is proven (by its duality gap) to be within this share of its minimum.
    max_iter : int, default=1000
        Steps at most for one penalty.
    warm_start : bool, default=True
        Start each penalty of the path from the solution before it, not from zero.
    svd : {"auto", "dense", "als"}, default="auto"
        How the minimum is found. "dense" fills the holes and shrinks all singular values, step by step. "als"
        alternates ridge regressions for two factors, which comes to the same minimum. "auto" takes "als" where less
        than a tenth of the table is observed; otherwise it fills and shrinks, with no more singular vectors than it
        needs.
    momentum : bool, default=True
        Take steps from a point ahead, which needs far fewer of them; the objective falls all the same. Without, it is
        the algorithm of the paper.
    post : {"none", "unshrink", "full"}, default="none"
        What becomes of the shrunken singular values in the end. "unshrink" fits them to the observed entries by least
        squares, "full" fits a whole matrix between the singular vectors.
    center : {"columns", "both"}, default=None
        Take away means of the observed entries first: of columns, or of rows and columns. The paper does neither;
        ordinary tables want "columns", ratings "both".
    scale : bool, default=False
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
    lambda_ : float
        Penalty of the fit.
    lambda_max_ : float
        Smallest penalty whose solution is zero.
    path_ : list of dict
        For each penalty: ``lam``, ``rank``, ``nuclear_norm``, ``train_error`` (squared error at observed entries as a
        share of their sum of squares), ``n_iter``, ``objective``, and ``gap``, by how much of itself the objective may
        exceed its minimum.
    objective_history_ : list of ndarray
        The objective after each step, for each penalty.
    n_iter_ : int
        Steps over the whole path.
    loadings_ : ndarray of shape (n_features, n_components)
        ``V_`` in the units of the columns; the model is ``scores_ @ loadings_.T + mean_``. With ``center="both"`` a
        last column of ones belongs to the offsets of rows.
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
    SoftImputeCV : Chooses the penalty by entries held out.
    HardImpute : A rank instead of a penalty.
    PCAMissing : Says how sure it is of what it fills in.

    Notes
    -----
    A new row is filled from V alone: its scores are ``a = (V_o' V_o + lam / d)^-1 V_o' x_o``, over its observed columns
    o (then rescaled where ``post`` fitted the singular values anew). For a training row these are the scores that it
    has in the fit. A row with nothing observed gets the offsets.

    The penalty has the scale of the table: give it as a share of ``lambda_max_`` when speaking of it.

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
    >>> SoftImpute(lambda_min_ratio=1e-4).fit_transform(table).round(2)
    array([[ 2.,  1.,  3.],
           [ 4.,  2.,  6.],
           [ 6.,  3.,  9.],
           [ 8.,  4., 12.]])
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "n_lambdas": [Interval(Integral, 1, None, closed="left")],
        "lambda_min_ratio": [Interval(Real, 0, 1, closed="neither")],
        "rank_max": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "svd": [StrOptions({"auto", "dense", "als"})],
        "momentum": ["boolean"],
        "post": [StrOptions({"none", "unshrink", "full"})],
    }

    def __init__(
        self,
        lam=None,
        n_lambdas=50,
        lambda_min_ratio=0.01,
        rank_max=None,
        tol=1e-5,
        max_iter=1000,
        warm_start=True,
        svd="auto",
        momentum=True,
        post="none",
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
        self.lam = lam
        self.n_lambdas = n_lambdas
        self.lambda_min_ratio = lambda_min_ratio
        self.rank_max = rank_max
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.svd = svd
        self.momentum = momentum
        self.post = post
        self.center = center
        self.scale = scale
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the low-rank table.

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
        self.lambda_max_ = spectral_norm(entries, entries.values)
        lambdas = self._lambdas()
        with fit_steps(self, X) as after_step:
            self._follow(entries, lambdas, lambda state: after_step("step"), self.post)
        return self

    def _lambdas(self) -> np.ndarray:
        if self.lam is None:
            return grid(self.lambda_max_, self.lambda_min_ratio, self.n_lambdas)
        return np.array([self.lam])

    def _options(self, shape: tuple[int, int]) -> PathOptions:
        rank_max = min(shape) if self.rank_max is None else min(self.rank_max, *shape)
        return PathOptions(
            self.tol, self.max_iter, rank_max, self.warm_start, self.svd, self.momentum, seed=self._seed()
        )

    def _follow(self, entries: Any, lambdas: np.ndarray, on_step: Any, post: str, start: LowRank | None = None) -> None:
        """Go down the path and keep its last solution."""
        total = max(inner(entries.values, entries.values), np.finfo(float).tiny)
        self.path_, self.objective_history_, unsettled = [], [], []
        found = solutions(entries, lambdas, self._options(entries.shape), on_step, start)
        for lam, solution in zip(lambdas, found, strict=False):
            self.path_.append(_point(float(lam), solution, total))
            self.objective_history_.append(np.array(solution.objectives))
            if not (solution.converged or solution.stopped):
                unsettled.append(self.path_[-1])
        self.n_iter_ = sum(point["n_iter"] for point in self.path_)
        self.lambda_ = float(lam)
        Z = solution.Z
        self.rank_ = Z.rank
        self._keep(Z.U, Z.d, Z.V, Z.filled / Z.d - 1, refitted_core(entries, Z, post))
        if unsettled:
            worst = max(point["gap"] for point in unsettled)
            warn_caller(
                f"{len(unsettled)} of {len(self.path_)} penalties did not reach tol={self.tol:g} in "
                f"{self.max_iter} steps; their objectives may be {worst:.1e} of themselves above the minimum. Raise "
                "max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )


def _point(lam: float, solution: Completion, total: float) -> dict[str, Any]:
    return {
        "lam": lam,
        "rank": solution.Z.rank,
        "nuclear_norm": float(solution.Z.d.sum()),
        "train_error": inner(solution.residual, solution.residual) / total,
        "n_iter": solution.n_iter,
        "objective": float(solution.objective),
        "gap": float(solution.gap / max(solution.objective, np.finfo(float).tiny)),
    }
