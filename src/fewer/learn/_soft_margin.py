"""The vote of given rules with the largest soft margin, and weights of the rows: near the middle, or at a corner.

With ``A_ti = y_i h_t(x_i) / n``, rows in units of 1 / n and ``C = 1 / nu``, the program over weights of the rows is

    min beta,   s = beta - A u >= 0,   sum(u) = n,   0 <= u <= C,

and its dual variables ``a`` of the rules, which sum to 1, are their votes. Newton steps towards
``a s = z u = w (C - u) = mu`` need one matrix of rules by rules, ``A diag(1 / theta) A' + diag(s / a)`` with
``theta = z / u + w / (C - u)``. Half way to the optimum, weights are spread over many rows, and ask for better rules
than those of a corner would, which rest on a few; a corner has few votes. Where the program is large, a corner is
told from the inside, too: close to the optimum, the votes that are zero at the corner have all but vanished.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import linprog

# There is nothing to simplify in these programs, and looking for it takes half of the time.
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
_MOST_STEPS = 80
_TOWARDS_THE_MIDDLE = 0.15
# To find the corner of a program with more entries, HiGHS takes seconds and then minutes.
_LARGE = 200_000
_SHORT_OF = 1e-7
_VANISHING = 1e-4
_ABOUT = 1.1


class Program(NamedTuple):
    """Weights of the rows, which sum to 1; votes of the rules, which sum to 1; and the soft margin of these votes."""

    row_weights: np.ndarray
    votes: np.ndarray
    margin: float


def is_large(n_rules: int, n_rows: int) -> bool:
    """Whether a program is better solved from the inside than at a corner."""
    return n_rules * n_rows > _LARGE


def soft_margin(margins: np.ndarray, nu: float) -> float:
    """``max_rho rho - sum(max(rho - margins, 0)) / (nu n)``, which one of the margins attains."""
    ordered = np.sort(margins)
    shortfall = np.arange(1, len(ordered) + 1) * ordered - np.cumsum(ordered)
    return float(np.max(ordered - shortfall / (nu * len(ordered))))


def corner(margins: np.ndarray, nu: float) -> Program:
    """The optimum for some rules, from ``y_i h_t(x_i)`` of shape (rules, rows): a corner, with few votes."""
    n_rules, n_rows = margins.shape
    # Weights are counted in units of 1 / n, so that tolerances mean the same for any number of rows.
    found = linprog(
        np.append(np.zeros(n_rows), 1.0),
        A_ub=np.column_stack([margins / n_rows, -np.ones(n_rules)]),
        b_ub=np.zeros(n_rules),
        A_eq=np.append(np.full(n_rows, 1 / n_rows), 0.0)[None],
        b_eq=[1.0],
        bounds=np.vstack([np.tile([0, 1 / nu], (n_rows, 1)), [[-np.inf, np.inf]]]),
        method="highs-ds",
        options=_OPTIONS,
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of LPBoost: {found.message}")
    votes = np.maximum(-found.ineqlin.marginals, 0)
    return Program(found.x[:-1] / n_rows, votes / votes.sum(), float(found.x[-1]))


def near_optimum(margins: np.ndarray, nu: float, gap: float) -> Program:
    """Weights and votes within about ``gap`` of the optimum, from the inside, which there is for nu below 1."""
    A = margins / margins.shape[1]
    n_rules, n_rows = A.shape
    # The matrix of a large program takes nearly all of the time. Steps need not be exact, as each mends the one before.
    short = A.astype(np.float32) if is_large(*A.shape) and gap > _SHORT_OF else A
    u, a = np.ones(n_rows), np.full(n_rules, 1 / n_rules)
    beta, rho = float((A @ u).max()) + 0.1, 0.0
    s, z, w = beta - A @ u, np.full(n_rows, 0.1 / n_rows), np.full(n_rows, 0.1 / n_rows)
    for _ in range(_MOST_STEPS):
        v = 1 / nu - u
        between = float(a @ s + z @ u + w @ v)
        if between <= gap:
            break
        mu = _TOWARDS_THE_MIDDLE * between / (n_rules + 2 * n_rows)
        inverse = 1 / (z / u + w / v)
        half = short * np.sqrt(inverse).astype(short.dtype)
        K = (half @ half.T).astype(float)  # a matrix times its own transpose takes half of the products
        K.flat[:: n_rules + 1] += s / a
        off = rho / n_rows + mu / u - mu / v - A.T @ a
        sums = A @ inverse
        right = np.column_stack([A @ u - beta + A @ (inverse * off) + mu / a, np.ones(n_rules), -sums / n_rows])
        try:
            factor = linalg.cho_factor(K, check_finite=False)
        except linalg.LinAlgError:
            if short is A:  # as near as rounding lets it come
                break
            short = A
            continue
        alone, by_beta, by_rho = linalg.cho_solve(factor, right, check_finite=False).T
        # The two equations left: votes sum to 1, weights to n.
        d_beta, d_rho = np.linalg.solve(
            [[-by_beta.sum(), -by_rho.sum()], [sums @ by_beta, sums @ by_rho + inverse.sum() / n_rows]],
            [1 - a.sum() - alone.sum(), n_rows - u.sum() - inverse @ off + sums @ alone],
        )
        d_a = alone - d_beta * by_beta - d_rho * by_rho
        d_u = inverse * (off - A.T @ d_a + d_rho / n_rows)
        d_s = mu / a - s - s / a * d_a
        d_z, d_w = mu / u - z - z / u * d_u, mu / v - w + w / v * d_u
        along = min(_longest_step(u, d_u), _longest_step(v, -d_u), _longest_step(s, d_s))
        u, s, beta = u + along * d_u, s + along * d_s, beta + along * d_beta
        along = min(_longest_step(a, d_a), _longest_step(z, d_z), _longest_step(w, d_w))
        a, z, w, rho = a + along * d_a, z + along * d_z, w + along * d_w, rho + along * d_rho
    votes = a / a.sum()
    return Program(u / u.sum(), votes, soft_margin(votes @ margins, nu))


def counting(inside: Program) -> np.ndarray:
    """Mask of the rules that count near the optimum; those that hardly do so count for nothing at a corner."""
    return inside.votes > _VANISHING * inside.votes.max()


def as_few_as_at_a_corner(inside: Program, nu: float) -> bool:
    """Whether about as few rules count as at a corner, where each but one needs a row of middling weight."""
    shares = nu * len(inside.row_weights) * inside.row_weights
    n_middling = np.count_nonzero((shares > _VANISHING) & (shares < 1 - _VANISHING))
    return bool(np.count_nonzero(counting(inside)) <= 1 + _ABOUT * n_middling)


def _longest_step(values: np.ndarray, step: np.ndarray) -> float:
    """How far along a step all values stay positive, 1 at most."""
    shrinking = step < 0
    return min(1.0, 0.99 * float(np.min(-values[shrinking] / step[shrinking], initial=np.inf)))
