"""How far sparse coefficients can be from the truth, and when a threshold finds exactly the right columns.

Dantzig selector, when no column's product with the noise, ``z``, exceeds alpha:

    ||b - beta||_q <= k^(1/q) (alpha + z) / CIF_q(1, J) <= 2 k^(1/q) alpha / CIF_q(1, J);

Lasso, when ``z <= alpha (xi - 1) / (xi + 1)``: ``||b - beta||_q <= (2 xi / (xi + 1)) k^(1/q) alpha / CIF_q(xi, J)``.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog

from fewer._figures import Result
from fewer.learn.dantzig._column_positions import sorted_positions
from fewer.learn.dantzig._cone_invertibility import ConeInvertibility, cone_invertibility
from fewer.learn.dantzig._design_covariance import covariance_of
from fewer.learn.dantzig._penalty_level import coverage

_ESTIMATORS = {"dantzig": "Dantzig selector", "lasso": "Lasso"}


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBound(Result):
    """What the error of the coefficients is certainly not above; made by :func:`lq_error_bound`.

    Attributes
    ----------
    bound : float
        Of ``||b - beta||_q``, for columns of mean square 1; infinite when nothing is certified.
    factor : ConeInvertibility
        The factor that it rests on.
    estimator : {"dantzig", "lasso"}
        For which it holds.
    noise_allowed : float
        It holds when no column's mean product with the noise is above this.
    holds : bool or None
        Whether that is so, where the noise was given; None where it is not known.
    """

    bound: float
    factor: ConeInvertibility
    estimator: str
    noise_allowed: float
    holds: bool | None

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if not np.isfinite(self.bound):
            return "Unknown: no bound is certified for this support. That is no failure of the estimator."
        if self.holds is False:
            return "The noise is larger than the bound allows, so it says nothing here."
        condition = "" if self.holds else f", if no mean product with the noise exceeds {self.noise_allowed:.3g}"
        return f"Certified: the l_{self.factor.q:g} error is at most {self.bound:.3g}{condition}."

    def __repr__(self) -> str:
        return (
            f"ErrorBound: l_{self.factor.q:g} error of the {_ESTIMATORS[self.estimator]} at most {self.bound:.4g}\n"
            f"  if no mean product with the noise exceeds {self.noise_allowed:.4g}"
        )


def lq_error_bound(
    X: Any,
    J: Any,
    alpha: float,
    *,
    estimator: Literal["dantzig", "lasso"] = "dantzig",
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
    J : array-like of int, str or bool
        Columns with a true coefficient (or the large ones, see ``rest``): their positions, names or a mask.
    alpha : float
        Penalty.
    estimator : {"dantzig", "lasso"}, default="dantzig"
        Whose error.
    q : float, default=2.0
        Norm, 1 or more.
    xi : float or None, default=None
        Width of the cone; by default 1 for the Dantzig selector and 3 for the Lasso, and 3 and 6 where ``rest`` is not
        0.
    noise_product : float or None, default=None
        ``||X'(y - X beta) / n||_inf``, where the truth is known, as in simulations; the bound then is for that noise.
    rest : float, default=0.0
        Sum of the absolute true coefficients outside of ``J``.
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
    >>> from fewer.learn import lq_error_bound
    >>> lq_error_bound(np.eye(10), [0, 1, 2, 3], alpha=0.1, q=np.inf, precomputed=True)
    ErrorBound: l_inf error of the Dantzig selector at most 0.2
      if no mean product with the noise exceeds 0.1
    """
    if estimator not in ("dantzig", "lasso"):
        raise ValueError(f"estimator={estimator!r} is not known; choose 'dantzig' or 'lasso'.")
    if not alpha >= 0 or not rest >= 0:
        raise ValueError(f"alpha={alpha}, rest={rest}: neither may be negative.")
    sigma = covariance_of(X, "lq_error_bound", precomputed)
    support = sorted_positions(J, X, "lq_error_bound")
    lasso = estimator == "lasso"
    if xi is None:
        xi = (6.0 if lasso else 3.0) if rest else (3.0 if lasso else 1.0)
    # With coefficients outside of J the cone is wider than the noise asks for: xi_0 = 3 is what the noise asks.
    inner = (3.0 if rest else xi) if lasso else 1.0
    if (lasso and not inner > 1) or (rest and not xi > inner) or (not lasso and not rest and xi < 1):
        raise ValueError(f"xi={xi} is too narrow: the {estimator} needs more than {inner if rest else 1:g} here.")
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
    return ErrorBound(float(bound), factor, estimator, float(allowed), holds)


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
        True coefficients above this can be told from zero.
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
        """What it means, in words."""
        if self.certified:
            return (
                f"Certified: any threshold from {self.threshold[0]:.3g} to below {self.threshold[1]:.3g} gives exactly "
                f"the right signs, and least squares on these columns, with probability {self.probability:.3g} or more."
            )
        if not np.isfinite(self.smallest_coefficient):
            return "Unknown: no threshold is certified for this support. That is no failure of the estimator."
        return f"Not certified: the smallest true coefficient would have to be above {self.smallest_coefficient:.3g}."

    def __repr__(self) -> str:
        verdict = "certified" if self.certified else "not certified"
        low, high = self.threshold
        return f"SelectionCertificate: {verdict}\n  threshold from {low:.4g} to below {high:.4g}"


def selection_certificate(
    X: Any, J: Any, alpha: float, b_min: float, *, precomputed: bool = False
) -> SelectionCertificate:
    """Whether thresholding the Dantzig selector at the universal penalty finds exactly the true columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    J : array-like of int, str or bool
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
    >>> from fewer.learn import selection_certificate
    >>> selection_certificate(np.eye(20), [0, 1], alpha=0.2, b_min=1.0, precomputed=True)
    SelectionCertificate: certified
      threshold from 0.4 to below 0.5
    """
    if not alpha >= 0 or not b_min > 0:
        raise ValueError(f"alpha={alpha}, b_min={b_min}: alpha must not be negative, and b_min be above 0.")
    sigma = covariance_of(X, "selection_certificate", precomputed)
    factor = cone_invertibility(sigma, sorted_positions(J, X, "selection_certificate"), precomputed=True)
    low = 2 * alpha / factor.value if factor.value > 0 else np.inf
    return SelectionCertificate(bool(low < b_min / 2), (low, b_min / 2), 2 * low, coverage(len(sigma)), factor)
