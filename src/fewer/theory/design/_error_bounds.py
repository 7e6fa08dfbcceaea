"""Bounds of the error of sparse coefficients, thresholds that find exactly the right columns, and minimax errors.

The bounds rest on the cone invertibility factor, how strongly a design reacts to the errors of a sparse estimator:

    CIF_q(xi, J) = inf { k^(1/q) ||Sigma u||_inf / ||u||_q :  ||u_{J^c}||_1 <= xi ||u_J||_1 }.

Dantzig selector, when no column's product with the noise, ``z``, exceeds alpha:

    ||b - beta||_q <= k^(1/q) (alpha + z) / CIF_q(1, J) <= 2 k^(1/q) alpha / CIF_q(1, J);

Lasso, when ``z <= alpha (xi - 1) / (xi + 1)``: ``||b - beta||_q <= (2 xi / (xi + 1)) k^(1/q) alpha / CIF_q(xi, J)``.
Ye and Zhang (2010), JMLR 11, 3519-3540.
"""

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog

from fewer._figures import Result
from fewer._kernels._cone_factors import SMALLEST_FACTOR, coherence_bound, exact_sum_factor, exact_sup_factor, is_small
from fewer.learn import penalty_level
from fewer.theory.design._cones import (
    compatibility,
    covariance_of,
    eigenvalue_lower_bound,
    refuse_many_patterns,
    root_of,
    sorted_positions,
)


@dataclass(frozen=True, eq=False, repr=False)
class ConeInvertibility(Result):
    """A cone invertibility factor; made by :func:`cone_invertibility`.

    Attributes
    ----------
    value : float
        The factor, or a number that it is certainly not below; 0 when nothing is known.
    exact : bool
        Whether it is the factor itself.
    minimiser : ndarray of shape (n_features,) or None
        The direction to which the design reacts least, where the value is exact.
    columns : ndarray of shape (k,)
        The support.
    xi, q : float
        Width of the cone, and the norm.
    """

    value: float
    exact: bool
    minimiser: np.ndarray | None
    columns: np.ndarray
    xi: float
    q: float

    @property
    def reading(self) -> str:
        """What the result means, in words."""
        if self.value <= 0:
            if self.exact:
                return "The factor is 0: some error on this cone is invisible, and no bound of this kind holds."
            return "Unknown: the bounds certify nothing. The estimator may still work well."
        return (
            f"Certified: errors in the l_{self.q:g} norm are bounded by {2 / self.value:.3g} k^(1/q) alpha (Dantzig)."
        )

    def __repr__(self) -> str:
        kind = "=" if self.exact else ">="
        return (
            f"ConeInvertibility: CIF {kind} {self.value:.6g}\n"
            f"  {self.columns.size} columns, xi = {self.xi:g}, l_{self.q:g} norm"
        )


def cone_invertibility(
    X: Any,
    support: Any,
    *,
    xi: float = 1.0,
    q: float = np.inf,
    n_outside: int | Literal["all"] = "all",
    method: Literal["auto", "exact", "bound"] = "auto",
    precomputed: bool = False,
) -> ConeInvertibility:
    """The cone invertibility factor of a support, or a certified lower bound.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    support : array-like of int, str or bool
        Columns of the support: their positions, names or a mask.
    xi : float, default=1.0
        Width of the cone: 1 for the Dantzig selector, 3 is usual for the Lasso.
    q : float, default=inf
        Norm of the error, 1 or more.
    n_outside : int or "all", default="all"
        Number of columns outside of the support that the norm of the error includes, ``l`` in the paper: 0 for none.
    method : {"auto", "exact", "bound"}, default="auto"
        Exact is possible with ``q=inf``, and with ``q=1`` and ``n_outside=0``, for up to 12 columns in the support.
        "auto" is exact there, if the table has up to 60 columns, and a bound elsewhere.
    precomputed : bool, default=False
        Whether ``X`` is ``Sigma``.

    Returns
    -------
    factor : ConeInvertibility
        The value, and whether it is exact.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import cone_invertibility
    >>> equicorrelated = 0.7 * np.eye(8) + 0.3
    >>> cone_invertibility(equicorrelated, [0, 1], precomputed=True)
    ConeInvertibility: CIF = 0.478947
      2 columns, xi = 1, l_inf norm
    """
    sigma = covariance_of(X, "cone_invertibility", precomputed)
    support = sorted_positions(support, X, "cone_invertibility")
    if not xi >= 0 or not q >= 1:
        raise ValueError(f"xi={xi}, q={q}: xi must not be negative, and q be 1 or more.")
    possible = q == np.inf or (q == 1 and n_outside == 0)
    if method == "exact":
        if not possible:
            raise ValueError("An exact factor exists for q=inf, and for q=1 with n_outside=0; use method='bound'.")
        refuse_many_patterns(support.size, "cone_invertibility")
    elif method not in ("auto", "bound"):
        raise ValueError(f"method={method!r} is not known; choose 'auto', 'exact' or 'bound'.")
    small = is_small(sigma, support)
    if possible and (method == "exact" or (method == "auto" and small)):
        value, u = (
            exact_sup_factor(sigma, support, xi, n_outside) if q == np.inf else exact_sum_factor(sigma, support, xi)
        )
        return ConeInvertibility(value if value > SMALLEST_FACTOR else 0.0, True, u, support, xi, q)
    return ConeInvertibility(_lower_bound(sigma, support, xi, q, small), False, None, support, xi, q)


def _lower_bound(sigma: np.ndarray, support: np.ndarray, xi: float, q: float, small: bool) -> float:
    """The best of the bounds that can be had; not below 0."""
    sup = coherence_bound(sigma, support, xi)
    if q == np.inf:
        return sup
    # ||u||_q^q is at most ||u||_1 ||u||_inf^(q - 1), and ||u||_1 at most (1 + xi) ||u_J||_1 <= (1 + xi) k ||u||_inf.
    total = sup / (1 + xi)
    if small:
        sup = max(sup, exact_sup_factor(sigma, support, xi)[0] - SMALLEST_FACTOR)
        total = max(exact_sum_factor(sigma, support, xi)[0] - support.size * SMALLEST_FACTOR, 0.0) / (1 + xi)
    bounds = [total ** (1 / q) * sup ** (1 - 1 / q)]
    if q == 2 and small:
        phi = compatibility(root_of(sigma), support, xi).certified
        bounds.append(np.sqrt(phi * eigenvalue_lower_bound(sigma, support, None, xi, phi)) / (1 + xi))
    return float(max(bounds))


_METHODS = {"dantzig": "Dantzig selector", "lasso": "Lasso"}


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBound(Result):
    """What the error of the coefficients is certainly not above; made by :func:`lq_error_bound`.

    Attributes
    ----------
    bound : float
        Of ``||b - beta||_q``, for columns of mean square 1; infinite when nothing is certified.
    factor : ConeInvertibility
        The factor that it rests on.
    method : {"dantzig", "lasso"}
        For which it holds.
    noise_allowed : float
        It holds when no column's mean product with the noise is above this.
    holds : bool or None
        Whether that is so, where the noise was given; None where it is not known.
    """

    bound: float
    factor: ConeInvertibility
    method: str
    noise_allowed: float
    holds: bool | None

    @property
    def reading(self) -> str:
        """What the result means, in words."""
        if not np.isfinite(self.bound):
            return "Unknown: no bound is certified for this support. The estimator may still work well."
        if self.holds is False:
            return "The noise is larger than the bound allows, so it does not apply here."
        condition = "" if self.holds else f", if no mean product with the noise exceeds {self.noise_allowed:.3g}"
        return f"Certified: the l_{self.factor.q:g} error is at most {self.bound:.3g}{condition}."

    def __repr__(self) -> str:
        return (
            f"ErrorBound: l_{self.factor.q:g} error of the {_METHODS[self.method]} at most {self.bound:.4g}\n"
            f"  if no mean product with the noise exceeds {self.noise_allowed:.4g}"
        )


def lq_error_bound(
    X: Any,
    support: Any,
    alpha: float,
    *,
    method: Literal["dantzig", "lasso"] = "dantzig",
    q: float = 2.0,
    xi: float | None = None,
    noise_product: float | None = None,
    rest: float = 0.0,
    sparse_eigenvalues: tuple[float, float] | None = None,
    precomputed: bool = False,
) -> ErrorBound:
    """Bound the error of the Dantzig selector or the Lasso in an l_q norm.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    support : array-like of int, str or bool
        Columns with a true coefficient (or the large ones, see ``rest``): their positions, names or a mask.
    alpha : float
        Penalty.
    method : {"dantzig", "lasso"}, default="dantzig"
        Estimator of the coefficients.
    q : float, default=2.0
        Norm, 1 or more.
    xi : float or None, default=None
        Width of the cone; by default 1 for the Dantzig selector and 3 for the Lasso, and 3 and 6 where ``rest`` is not
        0.
    noise_product : float or None, default=None
        ``||X'(y - X beta) / n||_inf``, where the truth is known, as in simulations; the bound then is for that noise.
    rest : float, default=0.0
        Sum of the absolute true coefficients outside of ``support``.
    sparse_eigenvalues : tuple of two floats or None, default=None
        ``delta`` of 1.25 k columns and ``theta`` of k and 1.25 k columns, where they are known: another bound for the
        Dantzig selector with ``q=2``; the smaller of both is returned.
    precomputed : bool, default=False
        Whether ``X`` is ``Sigma``.

    Returns
    -------
    bound : ErrorBound
        The bound, what it rests on and under which condition it holds.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import lq_error_bound
    >>> lq_error_bound(np.eye(10), [0, 1, 2, 3], alpha=0.1, q=np.inf, precomputed=True)
    ErrorBound: l_inf error of the Dantzig selector at most 0.2
      if no mean product with the noise exceeds 0.1
    """
    if method not in ("dantzig", "lasso"):
        raise ValueError(f"method={method!r} is not known; choose 'dantzig' or 'lasso'.")
    if not alpha >= 0 or not rest >= 0:
        raise ValueError(f"alpha={alpha}, rest={rest}: neither may be negative.")
    sigma = covariance_of(X, "lq_error_bound", precomputed)
    support = sorted_positions(support, X, "lq_error_bound")
    lasso = method == "lasso"
    if xi is None:
        xi = (6.0 if lasso else 3.0) if rest else (3.0 if lasso else 1.0)
    # With coefficients outside of J the cone is wider than the noise asks for: xi_0 = 3 is what the noise asks.
    inner = (3.0 if rest else xi) if lasso else 1.0
    if (lasso and not inner > 1) or (rest and not xi > inner) or (not lasso and not rest and xi < 1):
        raise ValueError(
            f"xi={xi} is too narrow: the {_METHODS[method]} needs more than {inner if rest else 1:g} here."
        )
    factor = cone_invertibility(sigma, support, xi=xi, q=q, precomputed=True)
    allowed = alpha * (inner - 1) / (inner + 1) if lasso else alpha
    holds = None if noise_product is None else bool(noise_product <= allowed)
    weight = 2 * inner / (inner + 1) * alpha if lasso else 2 * alpha
    if not lasso and not rest and noise_product is not None:
        weight = alpha + noise_product
    bound = weight * support.size ** (1 / q) / factor.value if factor.value > 0 else np.inf
    if rest:
        bound = max(bound, _rest_term(sigma, alpha, rest, q, xi, inner, lasso))
    if sparse_eigenvalues is not None and not lasso and not rest and q == 2:
        left = 1 - sum(sparse_eigenvalues)
        bound = min(bound, np.sqrt(10 * support.size) * alpha / left if left > 0 else np.inf)
    return ErrorBound(float(bound), factor, method, float(allowed), holds)


def _rest_term(sigma: np.ndarray, alpha: float, rest: float, q: float, xi: float, inner: float, lasso: bool) -> float:
    """What coefficients outside of the support add."""
    if lasso:
        return largest_error(sigma, 2 * inner / (inner + 1) * alpha, (1 + inner) * (1 + xi) / (xi - inner) * rest, q)
    return 2 * largest_error(sigma, alpha, rest * (xi + 1) / (xi - 1), q)


def largest_error(sigma: np.ndarray, alpha: float, rho: float, q: float) -> float:
    """``sup ||u||_q`` with ``||Sigma u||_inf <= alpha`` and ``||u||_1 <= rho``; exact for ``q=inf``, else not below."""
    if q == 1:
        return rho
    p = len(sigma)
    both = np.block([[sigma, -sigma], [-sigma, sigma], [np.ones((1, 2 * p))]])
    right = np.append(np.full(2 * p, alpha), rho)
    largest = 0.0
    for column in range(p):
        cost = np.zeros(2 * p)
        cost[[column, p + column]] = -1.0, 1.0
        found = linprog(cost, A_ub=both, b_ub=right, method="highs")
        if found.status != 0:
            return rho
        largest = max(largest, -float(found.fun))
    return largest if q == np.inf else rho ** (1 / q) * largest ** (1 - 1 / q)


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCertificate(Result):
    """When a thresholded Dantzig selector has exactly the right columns; made by :func:`selection_certificate`.

    Attributes
    ----------
    certified : bool
        Whether a threshold is certified for coefficients as large as the smallest given.
    threshold : tuple of two floats
        Thresholds from the first to below the second are; empty when the first is not below the second.
    smallest_coefficient : float
        True coefficients above this can be distinguished from zero.
    probability : float
        With at least this probability, over the noise, at the universal penalty.
    factor : ConeInvertibility
        The factor that it rests on.
    """

    certified: bool
    threshold: tuple[float, float]
    smallest_coefficient: float
    probability: float
    factor: ConeInvertibility

    @property
    def reading(self) -> str:
        """What the result means, in words."""
        if self.certified:
            return (
                f"Certified: any threshold from {self.threshold[0]:.3g} to below {self.threshold[1]:.3g} gives exactly "
                f"the right signs, and least squares on these columns, with probability {self.probability:.3g} or more."
            )
        if not np.isfinite(self.smallest_coefficient):
            return "Unknown: no threshold is certified for this support. The estimator may still work well."
        return f"Not certified: the smallest true coefficient would have to be above {self.smallest_coefficient:.3g}."

    def __repr__(self) -> str:
        verdict = "certified" if self.certified else "not certified"
        low, high = self.threshold
        return f"SelectionCertificate: {verdict}\n  threshold from {low:.4g} to below {high:.4g}"


def selection_certificate(
    X: Any, support: Any, alpha: float, b_min: float, *, precomputed: bool = False
) -> SelectionCertificate:
    """Whether thresholding the Dantzig selector at the universal penalty finds exactly the true columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    support : array-like of int, str or bool
        Columns with a true coefficient: their positions, names or a mask.
    alpha : float
        The universal penalty, ``penalty_level("universal", ...)``.
    b_min : float
        Smallest true coefficient in absolute value, for columns of mean square 1.
    precomputed : bool, default=False
        Whether ``X`` is ``Sigma``.

    Returns
    -------
    certificate : SelectionCertificate
        The thresholds for which it does, and with which probability.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import selection_certificate
    >>> selection_certificate(np.eye(20), [0, 1], alpha=0.2, b_min=1.0, precomputed=True)
    SelectionCertificate: certified
      threshold from 0.4 to below 0.5
    """
    if not alpha >= 0 or not b_min > 0:
        raise ValueError(f"alpha={alpha}, b_min={b_min}: alpha must not be negative, and b_min be above 0.")
    sigma = covariance_of(X, "selection_certificate", precomputed)
    factor = cone_invertibility(sigma, sorted_positions(support, X, "selection_certificate"), precomputed=True)
    low = 2 * alpha / factor.value if factor.value > 0 else np.inf
    return SelectionCertificate(bool(low < b_min / 2), (low, b_min / 2), 2 * low, coverage(len(sigma)), factor)


def minimax_error(
    n_samples: int,
    n_features: int,
    sigma: float,
    *,
    q: float = 2.0,
    k: int | None = None,
    r: float | None = None,
    R: float | None = None,
) -> float:
    """The expected error ``E sum |b_j - beta_j|^q`` that no method can be below for all sparse coefficients.

    Parameters
    ----------
    n_samples : int
        Number of rows, ``n``.
    n_features : int
        Number of columns, ``p``, of mean square 1.
    sigma : float
        Standard deviation of the noise.
    q : float, default=2.0
        Power of the error, 1 or more.
    k : int or None, default=None
        At most this many coefficients are not zero.
    r : float or None, default=None
        Or, with ``R``: ``sum |beta_j|^r <= R^r``.
    R : float or None, default=None
        Radius of that ball.

    Returns
    -------
    error : float
        ``k alpha^q`` or ``R^r alpha^(q - r)``, with the minimax level alpha; a limit for many columns, for any design.

    Examples
    --------
    >>> from fewer.theory import minimax_error
    >>> round(minimax_error(n_samples=200, n_features=400, sigma=1.0, k=5), 4)
    0.2191
    """
    if not q >= 1:
        raise ValueError(f"q={q} must be 1 or more.")
    if (k is None) == (r is None):
        raise ValueError("Give either k, or r and R.")
    if k is not None:
        return k * penalty_level("minimax_l0", n_samples, n_features, sigma, k=k) ** q
    level = penalty_level("minimax_lr", n_samples, n_features, sigma, r=r, R=R)
    assert r is not None
    assert R is not None
    return R**r * level ** (q - r)


def coverage(p: int, eps: float = 1.0) -> float:
    """Probability, at least, that no column's product with the noise exceeds the universal level."""
    inside = log(p / eps)
    return max(1 - eps / sqrt(pi * inside), 0.0) if inside > 0 else 0.0
