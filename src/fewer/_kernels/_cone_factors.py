"""How strongly a design reacts to errors of sparse coefficients: cone invertibility factors of a support.

    CIF_inf(xi, J) = inf { ||Sigma u||_inf / ||u||_inf :  ||u_{J^c}||_1 <= xi ||u_J||_1 },

and ``CIF_1`` with ``||u_J||_1 / k`` below. The cone is a union over the signs of ``u_J``; a binary variable for each
sign makes the exact value a small mixed-integer program. Ye and Zhang (2010), JMLR 11, 3519-3540.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

# Exact numbers try every sign pattern of the support: 2^(k - 1) of them.
MOST_PATTERNS = 12
# HiGHS solves programs to about 1e-6, so a smaller factor cannot be distinguished from zero.
SMALLEST_FACTOR = 1e-5
# Beyond this many columns the exact value, a program for each column, takes minutes.
_MANY_COLUMNS = 60


def certified_sup_factor(sigma: np.ndarray, support: np.ndarray, xi: float = 1.0) -> float:
    """``CIF_inf``, exact for small designs; else a number that it is certainly not below, 0 if none is known."""
    if not is_small(sigma, support):
        return coherence_bound(sigma, support, xi)
    value = exact_sup_factor(sigma, support, xi)[0]
    return value if value > SMALLEST_FACTOR else 0.0


def is_small(sigma: np.ndarray, support: np.ndarray) -> bool:
    """Whether an exact factor takes seconds."""
    return support.size <= MOST_PATTERNS and len(sigma) <= _MANY_COLUMNS


def coherence(sigma: np.ndarray) -> float:
    """Largest entry off the diagonal, in absolute value."""
    return float(np.abs(sigma - np.diag(np.diag(sigma))).max(initial=0.0))


def coherence_bound(sigma: np.ndarray, support: np.ndarray, xi: float) -> float:
    """What ``CIF_inf`` is certainly not below, by the coherence alone; not below 0."""
    k = support.size
    return max(float(np.diag(sigma).min()) - (k - 1 + xi * k) * coherence(sigma), 0.0)


def exact_sup_factor(sigma: np.ndarray, support: np.ndarray, xi: float, n_outside: int | str = "all"):
    """``CIF_inf`` and its direction: the least ``||Sigma u||_inf`` with each column in turn the largest.

    Without whole signs the programs are linear and give bounds from below, by which most columns need no second look.
    """
    programs = [_Reaction(sigma, support, xi, int(j)) for j in (support if n_outside == 0 else np.arange(len(sigma)))]
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
