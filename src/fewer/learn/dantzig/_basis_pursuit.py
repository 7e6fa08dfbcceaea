"""The smallest coefficients that fit exactly: ``min ||b||_1  subject to  X b = y``.

As a linear program in ``b = u - v``. Its dual, ``max y'v subject to ||X'v||_inf <= 1``, gives the certificate.
"""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, RegressorMixin

from fewer._estimators import Interval, LinearModel, fit_context, validated, warn_caller
from fewer.catalogue import method
from fewer.learn.dantzig._dantzig_problem import NEGLIGIBLE


class Pursuit(NamedTuple):
    """Coefficients that fit the reachable part of a target, the dual certificate, and what cannot be reached."""

    coef: np.ndarray
    certificate: np.ndarray
    residual: float


def smallest_exact_fit(X: np.ndarray, y: np.ndarray) -> Pursuit:
    """``min ||b||_1`` among the least-squares solutions, which fit exactly where an exact fit exists."""
    left, sizes, right = np.linalg.svd(X, full_matrices=False)
    rank = int((sizes > 1e-10 * sizes.max(initial=0.0)).sum())
    n_columns = X.shape[1]
    # The equations in an orthonormal basis of the rows: as many as the rank, none of them redundant.
    equations, wanted = right[:rank], (left[:, :rank].T @ y) / sizes[:rank]
    residual = float(np.linalg.norm(y - left[:, :rank] @ (left[:, :rank].T @ y)))
    scale = float(np.abs(wanted).max(initial=0.0))
    if scale == 0:
        return Pursuit(np.zeros(n_columns), np.zeros(X.shape[0]), residual)
    if rank == n_columns:
        coef = equations.T @ wanted
        certificate = left[:, :rank] @ ((equations @ np.sign(coef)) / sizes[:rank])
        return Pursuit(coef, certificate, residual)
    found = linprog(
        np.ones(2 * n_columns),
        A_eq=np.hstack([equations, -equations]),
        b_eq=wanted / scale,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of basis pursuit: {found.message}")
    coef = scale * (found.x[:n_columns] - found.x[n_columns:])
    coef = _polished(equations, wanted, np.where(np.abs(coef) > NEGLIGIBLE * np.abs(coef).max(), coef, 0.0))
    certificate = left[:, :rank] @ (found.eqlin.marginals / sizes[:rank])
    return Pursuit(coef, certificate, residual)


def _polished(equations: np.ndarray, wanted: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The equations solved anew for the columns found, where that is as good."""
    columns = np.flatnonzero(coef)
    exact = np.zeros_like(coef)
    exact[columns] = np.linalg.lstsq(equations[:, columns], wanted, rcond=None)[0]
    before, after = (np.abs(equations @ values - wanted).max() for values in (coef, exact))
    same_signs = np.array_equal(np.sign(exact), np.sign(coef))
    return exact if same_signs and after <= before else coef


@method(
    tasks=["regression"],
    when="The target is an exact linear combination of few columns, without noise, and there are fewer rows than "
    "columns: compressed measurements. With noise use DantzigSelector or L1LinearRegressor.",
    cost="O(n^2 p) for the equations, and a linear program with n rows and 2p columns",
    paper="restricted-eigenvalue",
    depends_on_shift="there is no constant unless fit_intercept=True",
)
class BasisPursuit(RegressorMixin, LinearModel, BaseEstimator):
    """Sparse solution of linear equations, ``min ||b||_1`` subject to ``X b = y``.

    Where no coefficients fit exactly, those closest in squares take the place of ``y``, with a warning.

    Parameters
    ----------
    tol : float, default=1e-9
        Share of the target's size up to which a fit counts as exact.
    fit_intercept : bool, default=False
        Whether to centre the columns and the target.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Constant.
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero.
    certificate_ : ndarray of shape (n_samples,)
        Dual vector: ``X'v`` is the sign of every coefficient that is not zero, and nowhere above 1 in absolute value,
        which proves that no smaller coefficients fit.
    residual_ : float
        Share of the target's size that no coefficients can fit; 0 for an exact fit.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.theory.restricted_nullspace : Whether it finds every vector with a given support.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.
    .. [2] Chen, S. S., Donoho, D. L. and Saunders, M. A. (1998). Atomic decomposition by basis pursuit. SIAM Journal
       on Scientific Computing 20, 33-61.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import BasisPursuit
    >>> X = np.random.default_rng(0).normal(size=(20, 60))
    >>> BasisPursuit().fit(X, 3 * X[:, 5] - X[:, 40]).support_
    array([ 5, 40])
    """

    _parameter_constraints = {
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, tol=1e-9, *, fit_intercept=False):
        self.tol = tol
        self.fit_intercept = fit_intercept

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers to fit exactly.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validated(self, X, y, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=float)
        means = X.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1])
        target_mean = float(y.mean()) if self.fit_intercept else 0.0
        found = smallest_exact_fit(X - means, y - target_mean)
        self.residual_ = found.residual / max(float(np.linalg.norm(y - target_mean)), np.finfo(float).tiny)
        if self.residual_ > self.tol:
            warn_caller(
                f"No coefficients fit y exactly: {self.residual_:.2g} of its size is out of reach, so those with the "
                "least squares were fitted. With noise, DantzigSelector and L1LinearRegressor do better."
            )
        self.coef_, self.certificate_ = found.coef, found.certificate
        self.intercept_ = float(target_mean - means @ self.coef_)
        self.support_ = np.flatnonzero(self.coef_)
        return self
