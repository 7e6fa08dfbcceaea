"""Maximum-margin matrix factorisation: two ridge-penalised factors of a given width.

    minimise ||P_O(X - A B')||_F^2 / 2 + alpha / 2 (||A||_F^2 + ||B||_F^2),   A and B with ``rank`` columns.

See ``_path.py`` for how it is related to the nuclear norm.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import LowRankCompleter, usable_rank
from fewer.complete._entries import spectral_norm
from fewer.complete.soft_impute._path import factorised, starting_factors

_SHARE = 0.1


@method(
    tasks=["unsupervised"],
    when="A large table with missing values, such as ratings, and a given rank: a few sweeps of ridge regressions do.",
    cost="O(m k^2 + (n + p) k^3) time for a sweep, with m entries observed and rank k; O(m + (n + p) k) memory",
    paper="soft-impute",
    depends_on_scale="with a number for alpha it is in the unit of the table",
    depends_on_shift="with_mean=False fits the table as it is, and with_mean=True takes away the means",
)
class MMMF(LowRankCompleter):
    """Impute missing entries by the product of two factors, each found in turn by ridge regressions.

    Parameters
    ----------
    rank : int, default=5
        Columns of the factors.
    alpha : float, default=None
        Ridge penalty of both factors. By default a tenth of ``alpha_max_``.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by no more than this share of it.
    max_iter : int, default=500
        Sweeps at most.
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
        Draws the first vector in the search for leading directions.

    Attributes
    ----------
    U_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the fitted table (without offsets, scaled). The factors are ``U_ * sqrt(d_)`` and
        ``V_ * sqrt(d_)``.
    d_ : ndarray of shape (rank,)
        Its singular values, in decreasing order.
    V_ : ndarray of shape (n_features, rank)
        Right singular vectors; the largest entry of each, in absolute value, is positive.
    rank_ : int
        Number of singular values above 0; less than ``rank`` where the penalty leaves nothing for more.
    alpha_ : float
        Penalty of the fit.
    alpha_max_ : float
        Smallest penalty whose solution is zero, to about a hundredth.
    objective_history_ : ndarray of shape (n_iter,)
        The objective after each sweep.
    n_iter_ : int
        Sweeps taken.
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
    SoftImpute : The same minimum whenever its rank is no higher than ``rank``, and without a rank to be given.

    Notes
    -----
    A new row is filled from V alone, by the ridge regression that a sweep does for training rows.

    References
    ----------
    .. [1] Srebro, N., Rennie, J. and Jaakkola, T. (2005). Maximum-margin matrix factorization. Advances in Neural
       Information Processing Systems 17, 1329-1336.
    .. [2] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import MMMF
    >>> table = np.outer([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0])
    >>> table[1, 2] = np.nan
    >>> MMMF(rank=1, alpha=1e-3).fit_transform(table)[1].round(2)
    array([4., 2., 6.])
    """

    _parameter_constraints = {
        **LowRankCompleter._parameter_constraints,
        "rank": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        rank=5,
        alpha=None,
        tol=1e-5,
        max_iter=500,
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
        self.tol = tol
        self.max_iter = max_iter
        self.with_mean = with_mean
        self.with_std = with_std
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        entries = self._training_entries(X)
        rank = usable_rank(self.rank, entries.shape, "rank")
        self.alpha_max_ = spectral_norm(entries, entries.values, tol=1e-2)
        # A table of zeros has no penalty of its own; any will do.
        self.alpha_ = self.alpha or _SHARE * self.alpha_max_ or 1.0
        seed = self._seed()
        with fit_steps(self, X) as after_step:
            left, right = starting_factors(entries, rank, self.alpha_, seed)
            found = factorised(
                entries,
                self.alpha_,
                left,
                right,
                tol=self.tol,
                max_iter=0 if after_step("start") else self.max_iter,
                seed=seed,
                certified=False,
                on_step=lambda state: after_step("sweep"),
            )
        if not (found.converged or found.stopped) and found.n_iter > 1:
            fall = 1 - found.objectives[-1] / found.objectives[-2]
            warn_caller(
                f"Sweep {found.n_iter} still lowered the objective by {fall:.1e} of it; tol={self.tol:g} was asked. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )
        Z = found.Z
        # Columns that the penalty does not let live fall off geometrically, and never quite to zero.
        kept = Z.d > 1e-6 * self.alpha_
        self.rank_ = int(kept.sum())
        self.n_iter_ = found.n_iter
        self.objective_history_ = np.array(found.objectives)
        self._keep(Z.U[:, kept], Z.d[kept], Z.V[:, kept], self.alpha_ / Z.d[kept])
