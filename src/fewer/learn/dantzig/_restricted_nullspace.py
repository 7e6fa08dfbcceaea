"""Whether basis pursuit finds every vector with a given support: the restricted nullspace property.

It does exactly when no vector of the nullspace has as much on ``S`` as off it, that is, when

    r(S) = max ||v_S||_1  subject to  X v = 0,  ||v_{S^c}||_1 <= 1

is below 1 (below ``1 / a`` for the wider cone ``||v_{S^c}||_1 <= a ||v_S||_1``).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.utils import check_random_state

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.learn.dantzig._column_positions import sorted_positions
from fewer.learn.dantzig._design_covariance import (
    refuse_many_patterns,
    sign_patterns,
)

# A certificate of order k takes a linear program for each column.
_MANY_COLUMNS = 300
# Linear programs are solved to about this; a share this near to the bound counts as reaching it.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class RestrictedNullspace(Result):
    """Whether the nullspace of a design stays away from sparse vectors; made by :func:`restricted_nullspace`.

    Attributes
    ----------
    value : float
        Largest ``||v_S||_1 / ||v_{S^c}||_1`` found in the nullspace: of the support, or of any k columns. Infinite if a
        vector of the nullspace has nothing else.
    verdict : {"holds", "fails", "unknown"}
        "holds" and "fails" are proved.
    certified : bool
        Whether the property is proved to hold.
    worst : ndarray of shape (n_features,) or None
        The vector of the nullspace that has the value; where the property fails, it is the proof.
    columns : ndarray or None
        The support, or the k columns that are worst.
    k : int
        Number of columns.
    a : float
        Width of the cone.
    """

    value: float
    verdict: str
    certified: bool
    worst: np.ndarray | None
    columns: np.ndarray | None
    k: int
    a: float

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if self.verdict == "unknown":
            return (
                f"Unknown for all supports of {self.k} columns: the search met no violation, which is evidence, not "
                "proof."
            )
        if self.certified:
            return "Certified: basis pursuit finds every vector with such a support, from data without noise."
        shown = [] if self.columns is None else self.columns.tolist()
        return f"Refuted: basis pursuit misses some vector on the columns {shown}."

    def __repr__(self) -> str:
        return f"RestrictedNullspace: {self.verdict} for {self.k} columns\n  r = {self.value:.4g}, a = {self.a:g}"


def restricted_nullspace(
    X: Any,
    S: Any = None,
    *,
    k: int | None = None,
    a: float = 1.0,
    n_starts: int = 20,
    random_state: Any = None,
) -> RestrictedNullspace:
    """Tell whether basis pursuit finds every vector with a support, or with any support of k columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design, as it is: :class:`BasisPursuit` does not scale columns either, and scaling them changes the answer.
    S : array-like of int, str or bool, or None, default=None
        Columns of one support, up to 12, by their positions, names or a mask: the answer is exact.
    k : int or None, default=None
        Or a number of columns, for all supports of that size: a proof, a counterexample, or neither.
    a : float, default=1.0
        Width of the cone.
    n_starts : int, default=20
        Starts of the search for a counterexample, with ``k``.
    random_state : int, RandomState instance or None, default=None
        Draws these starts.

    Returns
    -------
    result : RestrictedNullspace
        The verdict and what proves it.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import restricted_nullspace
    >>> X = np.random.default_rng(0).normal(size=(20, 40))
    >>> restricted_nullspace(X, [0, 5]).verdict
    'holds'
    >>> restricted_nullspace(X, k=15, random_state=0).verdict
    'fails'
    """
    if (S is None) == (k is None):
        raise ValueError("Give either S, the columns of one support, or k, for all supports of k columns.")
    if not a > 0 or n_starts < 1:
        raise ValueError(f"a={a}, n_starts={n_starts}: a must be above 0, and n_starts be 1 or more.")
    table = checked_array(X, "restricted_nullspace", accept_sparse=("csr", "csc"), dtype=np.float64)
    equations = row_basis(table.toarray() if sparse.issparse(table) else table)
    p = table.shape[1]
    if S is not None:
        support = sorted_positions(S, X, "restricted_nullspace")
        refuse_many_patterns(support.size, "restricted_nullspace")
        value, worst = largest_share(equations, support)
        holds = value < (1 - _ROUNDING) / a
        return RestrictedNullspace(value, "holds" if holds else "fails", holds, worst, support, support.size, a)
    assert k is not None
    if not 1 <= k <= p:
        raise ValueError(f"k={k} must lie from 1 to the {p} columns.")
    return _of_order(equations, k, a, n_starts, check_random_state(random_state))


def row_basis(X: np.ndarray) -> np.ndarray:
    """Orthonormal rows with the same nullspace."""
    _, sizes, right = np.linalg.svd(X, full_matrices=False)
    return right[sizes > 1e-10 * sizes.max(initial=0.0)]


def largest_share(equations: np.ndarray, support: np.ndarray) -> tuple[float, np.ndarray | None]:
    """``r(S)`` and the vector that has it, over all sign patterns."""
    if len(equations) == equations.shape[1]:
        return 0.0, None
    found = (share_with_signs(equations, support, signs) for signs in sign_patterns(support.size))
    return max(found, key=lambda pair: pair[0])


def share_with_signs(equations: np.ndarray, support: np.ndarray, signs: np.ndarray) -> tuple[float, np.ndarray | None]:
    """``max s'v_S`` over the nullspace with ``||v_{S^c}||_1 <= 1``, and the vector that has it."""
    p = equations.shape[1]
    inside = np.zeros(p, dtype=bool)
    inside[support] = True
    cost = np.zeros(2 * p)
    cost[support], cost[p + support] = -signs, signs
    found = linprog(
        cost,
        A_ub=np.tile(np.where(inside, 0.0, 1.0), 2)[None, :],
        b_ub=[1.0],
        A_eq=np.hstack([equations, -equations]),
        b_eq=np.zeros(len(equations)),
        method="highs",
    )
    if found.status == 3:
        return np.inf, _inside_null_vector(equations, support)
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of the restricted nullspace: {found.message}")
    return -float(found.fun), found.x[:p] - found.x[p:]


def _inside_null_vector(equations: np.ndarray, support: np.ndarray) -> np.ndarray:
    """A vector of the nullspace that is zero off the support."""
    vector = np.zeros(equations.shape[1])
    vector[support] = np.linalg.svd(equations[:, support])[2][-1]
    return vector


def _of_order(equations: np.ndarray, k: int, a: float, n_starts: int, draws) -> RestrictedNullspace:
    """All supports of k columns: refuted by a vector, proved by the shares of single columns, or unknown."""
    rank, p = equations.shape
    if rank == p:
        return RestrictedNullspace(0.0, "holds", True, None, None, k, a)
    singles: list[tuple[float, np.ndarray | None]] = []
    if p <= _MANY_COLUMNS:
        singles = [share_with_signs(equations, np.array([j]), np.ones(1)) for j in range(p)]
        # No vector of the nullspace has more than r_j / (1 + r_j) of its sum in column j.
        most = np.sort([1.0 if np.isinf(value) else value / (1 + value) for value, _ in singles])[-k:].sum()
        if most < (1 - _ROUNDING) / (1 + a):
            return RestrictedNullspace(float(most / (1 - most)), "holds", True, None, None, k, a)
    null = np.eye(p) - equations.T @ equations
    by_share = [vector for _, vector in sorted(singles, key=lambda pair: -pair[0]) if vector is not None]
    starts = by_share[:n_starts] + [null @ draws.normal(size=p) for _ in range(n_starts)]
    best, worst = -np.inf, starts[0]
    for start in starts:
        value, vector = _climbed(equations, k, start)
        if value > best:
            best, worst = value, vector
        if best * a >= 1 - 1e-9:
            return RestrictedNullspace(best, "fails", False, worst, _largest(worst, k), k, a)
    return RestrictedNullspace(best, "unknown", False, worst, _largest(worst, k), k, a)


def _largest(vector: np.ndarray, k: int) -> np.ndarray:
    return np.sort(np.argsort(-np.abs(vector), kind="stable")[:k])


def _climbed(equations: np.ndarray, k: int, vector: np.ndarray) -> tuple[float, np.ndarray]:
    """The share of the k largest entries, raised by moving the vector and its k columns in turn."""
    value = _share(vector, k)
    while np.isfinite(value):
        support = _largest(vector, k)
        _, following = share_with_signs(equations, support, np.where(vector[support] < 0, -1.0, 1.0))
        if following is None:
            break
        higher = _share(following, k)
        if not higher > value * (1 + 1e-6):
            break
        value, vector = higher, following
    return value, vector


def _share(vector: np.ndarray, k: int) -> float:
    sizes = np.sort(np.abs(vector))[::-1]
    inside, outside = float(sizes[:k].sum()), float(sizes[k:].sum())
    return np.inf if outside <= 1e-9 * inside else inside / outside
