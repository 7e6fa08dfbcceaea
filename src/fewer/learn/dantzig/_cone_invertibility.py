"""How strongly a design reacts to any error that a sparse estimator can make: the cone invertibility factor.

    CIF_q(xi, J) = inf { k^(1/q) ||Sigma u||_inf / ||u||_q :  ||u_{J^c}||_1 <= xi ||u_J||_1 }.

The error of the Dantzig selector in the l_q norm is at most ``2 k^(1/q) alpha / CIF_q(1, J)``. The cone is a union over
the signs of ``u_J``; a binary variable for each sign makes the exact value a small mixed-integer program.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fewer._figures import Result
from fewer.learn.dantzig._column_positions import sorted_positions
from fewer.learn.dantzig._compatibility import compatibility
from fewer.learn.dantzig._design_covariance import (
    MOST_PATTERNS,
    coherence,
    covariance_of,
    refuse_many_patterns,
    root_of,
)
from fewer.learn.dantzig._eigenvalue_bounds import eigenvalue_lower_bound

# Beyond this many columns the exact value, a program for each column, takes minutes.
_MANY_COLUMNS = 60
# HiGHS solves programs to about 1e-6, so a smaller factor cannot be told from zero.
_NOTHING = 1e-5


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
        """What it means, in words."""
        if self.value <= 0:
            if self.exact:
                return "The factor is 0: some error on this cone is invisible, and no bound of this kind holds."
            return "Unknown: the bounds certify nothing. That is no failure of the estimator."
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
    J: Any,
    *,
    xi: float = 1.0,
    q: float = np.inf,
    l: int | Literal["all"] = "all",  # noqa: E741  # the paper's letter
    method: Literal["auto", "exact", "bound"] = "auto",
    precomputed: bool = False,
) -> ConeInvertibility:
    """The cone invertibility factor of a support, or a certified lower bound.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    J : array-like of int, str or bool
        Columns of the support: their positions, names or a mask.
    xi : float, default=1.0
        Width of the cone: 1 for the Dantzig selector, 3 is usual for the Lasso.
    q : float, default=inf
        Norm of the error, 1 or more.
    l : int or "all", default="all"
        How many columns outside of the support the norm of the error counts: 0 for none of them.
    method : {"auto", "exact", "bound"}, default="auto"
        Exact is possible with ``q=inf``, and with ``q=1`` and ``l=0``, for up to 12 columns in the support. "auto" is
        exact there, if the table has up to 60 columns, and a bound elsewhere.
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
    >>> from fewer.learn import cone_invertibility
    >>> equicorrelated = 0.7 * np.eye(8) + 0.3
    >>> cone_invertibility(equicorrelated, [0, 1], precomputed=True)
    ConeInvertibility: CIF = 0.478947
      2 columns, xi = 1, l_inf norm
    """
    sigma = covariance_of(X, "cone_invertibility", precomputed)
    support = sorted_positions(J, X, "cone_invertibility")
    if not xi >= 0 or not q >= 1:
        raise ValueError(f"xi={xi}, q={q}: xi must not be negative, and q be 1 or more.")
    possible = q == np.inf or (q == 1 and l == 0)
    if method == "exact":
        if not possible:
            raise ValueError("An exact factor exists for q=inf, and for q=1 with l=0; use method='bound'.")
        refuse_many_patterns(support.size, "cone_invertibility")
    elif method not in ("auto", "bound"):
        raise ValueError(f"method={method!r} is not known; choose 'auto', 'exact' or 'bound'.")
    small = support.size <= MOST_PATTERNS and len(sigma) <= _MANY_COLUMNS
    if possible and (method == "exact" or (method == "auto" and small)):
        value, u = exact_sup_factor(sigma, support, xi, l) if q == np.inf else exact_sum_factor(sigma, support, xi)
        return ConeInvertibility(value if value > _NOTHING else 0.0, True, u, support, xi, q)
    return ConeInvertibility(_lower_bound(sigma, support, xi, q, small), False, None, support, xi, q)


def exact_sup_factor(sigma: np.ndarray, support: np.ndarray, xi: float, l: int | str = "all"):  # noqa: E741
    """``CIF_inf`` and its direction: the least ``||Sigma u||_inf`` with each column in turn the largest.

    Without whole signs the programs are linear and give bounds from below, by which most columns need no second look.
    """
    programs = [_Reaction(sigma, support, xi, int(j)) for j in (support if l == 0 else np.arange(len(sigma)))]
    bounds = np.array([program.bound() for program in programs])
    best: tuple[float, np.ndarray | None] = (np.inf, None)
    for place in np.argsort(bounds, kind="stable"):
        if bounds[place] >= best[0]:
            break
        best = min(best, programs[place].least(), key=lambda pair: pair[0])
    return best


def exact_sum_factor(sigma: np.ndarray, support: np.ndarray, xi: float):
    """``CIF_{1,0}`` and its direction: the least ``k ||Sigma u||_inf`` with ``||u_J||_1 = 1``."""
    value, u = _Reaction(sigma, support, xi, None).least()
    return support.size * value, u


class _Reaction:
    """The program for the least ``||Sigma u||_inf`` over the cone with ``u_largest = 1``, or with ``||u_J||_1 = 1``.

    Variables: the positive and negative parts of ``u`` (support first), a sign for each column of the support, and the
    bound on ``|Sigma u|``.
    """

    def __init__(self, sigma: np.ndarray, support: np.ndarray, xi: float, largest: int | None):
        self.sigma = sigma
        p, k = len(sigma), support.size
        n = 2 * p + k + 1
        self.order = np.concatenate([support, np.setdiff1d(np.arange(p), support)])
        self.signs = slice(2 * p, 2 * p + k)
        inside = np.r_[0:k, p : p + k]
        turned = sigma[:, self.order]
        rest = np.hstack([np.zeros((p, k)), -np.ones((p, 1))])
        cone = np.append(-np.ones(2 * p), np.zeros(k + 1))
        cone[inside] = xi
        one_sign = np.zeros((2 * k, n))
        one_sign[np.arange(2 * k), inside] = 1.0
        one_sign[:k, self.signs], one_sign[k:, self.signs] = -np.eye(k), np.eye(k)
        self.constraints = [
            LinearConstraint(np.block([[turned, -turned, rest], [-turned, turned, rest]]), -np.inf, 0.0),
            LinearConstraint(cone[None, :], 0.0, np.inf),
            LinearConstraint(one_sign, -np.inf, np.repeat([0.0, 1.0], k)),
        ]
        self.cost = np.append(np.zeros(n - 1), 1.0)
        self.lower, self.upper = np.zeros(n), np.ones(n)
        self.upper[-1] = np.inf
        if largest is None:
            self.upper[k:p] = self.upper[p + k : 2 * p] = xi
            total = np.zeros((1, n))
            total[0, inside] = 1.0
            self.constraints.append(LinearConstraint(total, 1.0, 1.0))
        else:
            place = int(np.flatnonzero(self.order == largest)[0])
            self.lower[place], self.upper[p + place] = 1.0, 0.0

    def _solved(self, whole: bool, signs: np.ndarray | None = None):
        lower, upper = self.lower.copy(), self.upper.copy()
        if signs is not None:
            lower[self.signs] = upper[self.signs] = signs
        integrality = np.zeros(self.cost.size)
        integrality[self.signs] = whole
        return milp(
            self.cost,
            integrality=integrality,
            bounds=Bounds(lower, upper),
            constraints=self.constraints,
            options={"mip_rel_gap": 0.0},
        )

    def bound(self) -> float:
        """What the value is not below; infinite when the cone has no such direction."""
        found = self._solved(whole=False)
        return np.inf if found.x is None else float(found.fun)

    def least(self) -> tuple[float, np.ndarray | None]:
        """The value and the direction that has it."""
        found = self._solved(whole=True)
        if found.x is None:
            return np.inf, None
        # Once more with the signs held, which a linear program solves to rounding.
        exact = self._solved(whole=False, signs=np.round(found.x[self.signs]))
        x = found.x if exact.x is None else exact.x
        p = len(self.sigma)
        u = np.zeros(p)
        u[self.order] = x[:p] - x[p : 2 * p]
        return float(np.abs(self.sigma @ u).max()), u


def _lower_bound(sigma: np.ndarray, support: np.ndarray, xi: float, q: float, small: bool) -> float:
    """The best of the bounds that can be had; not below 0."""
    k = support.size
    by_coherence = float(np.diag(sigma).min()) - (k - 1 + xi * k) * coherence(sigma)
    sup = max(by_coherence, 0.0)
    if q == np.inf:
        return sup
    # ||u||_q^q is at most ||u||_1 ||u||_inf^(q - 1), and ||u||_1 at most (1 + xi) ||u_J||_1 <= (1 + xi) k ||u||_inf.
    total = sup / (1 + xi)
    if small:
        sup = max(sup, exact_sup_factor(sigma, support, xi)[0] - _NOTHING)
        total = max(exact_sum_factor(sigma, support, xi)[0] - support.size * _NOTHING, 0.0) / (1 + xi)
    bounds = [total ** (1 / q) * sup ** (1 - 1 / q)]
    if q == 2 and small:
        phi = compatibility(root_of(sigma), support, xi).certified
        bounds.append(np.sqrt(phi * eigenvalue_lower_bound(sigma, support, None, xi, phi)) / (1 + xi))
    return float(max(bounds))
