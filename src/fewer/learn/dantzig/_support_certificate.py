"""Whether the Lasso finds the signed support of a known vector, without solving the Lasso (primal-dual witness).

For ``y = X beta + w`` and ``min (1/2n)||y - Xb||^2 + rho ||b||_1``; ``S`` is the support of ``beta``, ``s`` its signs:

    U = Sigma_SS^-1 (X_S'w / n - rho s),    z_N = X_N' [X_S Sigma_SS^-1 s / n + (I - P_S) w / (n rho)].

If every ``|z_j| < 1`` and no sign changes, ``beta_S + U`` is the one and only Lasso solution.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.learn.dantzig._column_positions import column_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Below this ratio of the smallest to the largest pivot the columns of the support count as dependent.
_DEPENDENT = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class SupportCertificate(Result):
    """Whether the Lasso recovers a signed support; made by :func:`lasso_support_certificate`.

    Attributes
    ----------
    recovers : bool
        Whether the Lasso solution is unique and has exactly the signs of the true coefficients.
    reason : {"recovered", "sign", "other columns", "singular"}
        What decides: a sign of the support is lost, columns outside of it enter, or those inside depend on each other.
    strict_recovers : bool
        The sufficient form of the paper: no coefficient moves by more than the smallest true one.
    coef : ndarray of shape (n_features,)
        The Lasso solution if it recovers; otherwise the solution with all other columns kept out. NaN when singular.
    dual : ndarray of shape (n_features,)
        Sub-gradient that goes with it: the signs on the support, below 1 in absolute value elsewhere if it recovers.
    irrepresentable : float
        Largest part of the dual that is there without noise; at 1 or above, no amount of data like these helps.
    noise_part : float
        Largest part of the dual that the noise adds.
    slack : float
        ``1 - max |dual|`` over the other columns.
    """

    recovers: bool
    reason: str
    strict_recovers: bool
    coef: np.ndarray
    dual: np.ndarray
    irrepresentable: float
    noise_part: float
    slack: float

    @property
    def reading(self) -> str:
        """What it means, in words."""
        return {
            "recovered": "Certified: at this penalty the Lasso has one solution, with exactly the true signed support.",
            "sign": "The Lasso misses: a true coefficient is shrunk to zero or past it. A smaller penalty may help.",
            "other columns": "The Lasso misses: columns outside of the true support enter. A larger penalty may help "
            "unless `irrepresentable` is 1 or more.",
            "singular": "Impossible: columns of the true support depend on each other on these rows.",
        }[self.reason]

    def __repr__(self) -> str:
        verdict = "recovers" if self.recovers else f"does not recover ({self.reason})"
        return (
            f"SupportCertificate: the Lasso {verdict} the signed support\n"
            f"  slack {self.slack:.3g}; without noise {1 - self.irrepresentable:.3g}, noise takes {self.noise_part:.3g}"
        )


def lasso_support_certificate(X: Any, noise: "ArrayLike", beta: "ArrayLike", rho: float) -> SupportCertificate:
    """Tell whether the Lasso finds the signed support of a known vector, by one small system of equations.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design.
    noise : array-like of shape (n_samples,)
        The noise, ``y - X beta``.
    beta : array-like of shape (n_features,)
        The true coefficients.
    rho : float
        Penalty of the Lasso, ``alpha`` in scikit-learn and in :class:`L1LinearRegressor`; there is no intercept.

    Returns
    -------
    certificate : SupportCertificate
        The verdict, the solution and its dual, and how far the nearest other column is from entering.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.datasets import make_sparsified_gaussian
    >>> from fewer.learn import lasso_support_certificate
    >>> X, y, truth = make_sparsified_gaussian(600, random_state=0)
    >>> lasso_support_certificate(X, truth["noise"], truth["coef"], rho=0.3)
    SupportCertificate: the Lasso recovers the signed support
      slack 0.214; without noise 0.251, noise takes 0.238
    """
    X = checked_array(X, "lasso_support_certificate", accept_sparse=("csr", "csc"), dtype=np.float64)
    noise, beta = np.asarray(noise, dtype=float), np.asarray(beta, dtype=float)
    if noise.shape != (X.shape[0],) or beta.shape != (X.shape[1],):
        raise ValueError(
            f"X has shape {X.shape}, so noise needs {X.shape[0]} entries and beta {X.shape[1]}; they have shapes "
            f"{noise.shape} and {beta.shape}."
        )
    if not rho > 0:
        raise ValueError(f"rho={rho}: the penalty must be above 0.")
    support = np.flatnonzero(beta)
    signs = np.sign(beta[support])
    inside = columns_as_array(X, support)
    solve = _solver(inside)
    if solve is None:
        missing = np.full(X.shape[1], np.nan)
        return SupportCertificate(False, "singular", False, missing, missing.copy(), np.nan, np.nan, np.nan)
    n_rows = X.shape[0]
    products = inside.T @ noise / n_rows
    moved = solve(products - rho * signs)
    # Both parts of the dual by one product with the table, which is all of the cost.
    without_noise = inside @ solve(signs) / n_rows
    by_noise = (noise - inside @ solve(products)) / (n_rows * rho)
    parts = np.asarray(X.T @ np.column_stack([without_noise, by_noise]))
    outside = np.ones(X.shape[1], dtype=bool)
    outside[support] = False
    dual, coef = parts.sum(axis=1), np.zeros(X.shape[1])
    dual[support], coef[support] = signs, beta[support] + moved
    slack = 1 - float(np.abs(dual[outside]).max(initial=0.0))
    signs_hold = bool((np.sign(coef[support]) == signs).all())
    reason = "other columns" if slack <= 0 else "recovered" if signs_hold else "sign"
    small_moves = np.abs(moved).max(initial=0.0) <= np.abs(beta[support]).min(initial=np.inf)
    return SupportCertificate(
        recovers=reason == "recovered",
        reason=reason,
        strict_recovers=bool(slack > 0 and small_moves),
        coef=coef,
        dual=dual,
        irrepresentable=float(np.abs(parts[outside, 0]).max(initial=0.0)),
        noise_part=float(np.abs(parts[outside, 1]).max(initial=0.0)),
        slack=slack,
    )


def irrepresentability(X: Any, support: "ArrayLike", signs: "ArrayLike") -> np.ndarray:
    """How strongly each column looks like those of a support: ``|x_j'X_S (X_S'X_S)^-1 s|``.

    With 1 or more anywhere, the Lasso cannot find this support with these signs, however little noise there is and
    whatever the penalty; with less everywhere, it can if the noise is small enough.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design.
    support : array-like of shape (k,) of int, str or bool
        Columns: their positions, names or a mask.
    signs : array-like of shape (k,)
        Signs of their coefficients, -1 or 1.

    Returns
    -------
    values : ndarray of shape (n_features,)
        One for each column, NaN for those of the support.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import irrepresentability
    >>> X = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.6], [0.0, 0.0, 0.1]])
    >>> irrepresentability(X, [0, 1], [1, 1])
    array([nan, nan, 1.4])
    """
    names = X
    X = checked_array(X, "irrepresentability", accept_sparse=("csr", "csc"), dtype=np.float64)
    support = column_positions(support, names, "irrepresentability")
    signs = np.asarray(signs, dtype=float)
    if support.shape != signs.shape or not np.isin(signs, (-1, 1)).all():
        raise ValueError("signs must hold -1 or 1 for each column of the support.")
    inside = columns_as_array(X, support)
    solve = _solver(inside)
    if solve is None:
        raise ValueError("The columns of the support depend on each other, so no model with all of them is unique.")
    values = np.abs(np.asarray(X.T @ (inside @ solve(signs)))) / X.shape[0]
    values[support] = np.nan
    return values


def columns_as_array(X: Any, columns: np.ndarray) -> np.ndarray:
    """Some columns of a table, dense."""
    return X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]


def _solver(inside: np.ndarray):
    """``v -> (inside'inside / n)^-1 v``, or None when its columns depend on each other."""
    n_rows, n_columns = inside.shape
    if n_columns == 0:
        return lambda right: right
    if n_columns > n_rows:
        return None
    try:
        factor = linalg.cho_factor(inside.T @ inside / n_rows, lower=True)
    except linalg.LinAlgError:
        return None
    pivots = np.diag(factor[0])
    if pivots.min() <= _DEPENDENT * pivots.max():
        return None
    return lambda right: linalg.cho_solve(factor, right)
