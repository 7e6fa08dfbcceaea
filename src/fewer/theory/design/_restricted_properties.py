"""Properties of a design that sparse methods need: the restricted eigenvalue and the restricted nullspace.

The restricted eigenvalue is the least variance in directions that are nearly sparse, in a bracket:

    gamma^2(S) = min u'Sigma u / ||u||_2^2  over  ||u_{S^c}||_1 <= a ||u_S||_1.

Finding it is hard in general. Any direction of the cone is an upper bound, a certificate is a lower one; the truth lies
between, and only what is certified is said to hold.

Basis pursuit finds every vector with a given support exactly when no vector of the nullspace has as much on ``S`` as
off it, that is, when

    r(S) = max ||v_S||_1  subject to  X v = 0,  ||v_{S^c}||_1 <= 1

is below 1 (below ``1 / a`` for the wider cone ``||v_{S^c}||_1 <= a ||v_S||_1``).
Raskutti, Wainwright and Yu (2010), JMLR 11, 2241-2259.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.utils import check_random_state

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.theory.design._cones import (
    compatible_direction,
    cone_generators,
    covariance_of,
    eigenvalue_lower_bound,
    lowered_quotient,
    refuse_many_patterns,
    root_of,
    sign_patterns,
    sorted_positions,
)

_NOTHING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RestrictedEigenvalue(Result):
    """A bracket around a restricted eigenvalue; made by :func:`restricted_eigenvalue`.

    Attributes
    ----------
    lower : float
        ``gamma^2`` is certainly not below this.
    upper : float
        Nor above this: ``argmin`` has it.
    compatibility : float
        ``phi^2``: exact for a support; for all supports of k columns the smallest one found.
    argmin : ndarray of shape (n_features,)
        The direction with the upper bound.
    certified : bool
        Whether ``gamma^2`` is proved to be above 0.
    refuted : bool
        Whether it is proved to be 0: ``argmin`` has no variance.
    columns : ndarray
        The support, or the worst one found.
    k : int
        Number of columns.
    a : float
        Width of the cone.
    of_order : bool
        Whether the bracket is for all supports of k columns.
    """

    lower: float
    upper: float
    compatibility: float
    argmin: np.ndarray
    certified: bool
    refuted: bool
    columns: np.ndarray
    k: int
    a: float
    of_order: bool

    @property
    def reading(self) -> str:
        """What the result means, in words."""
        which = f"every support of {self.k} columns" if self.of_order else f"the columns {self.columns.tolist()}"
        if self.certified:
            return f"Certified for {which}: the restricted eigenvalue is {self.lower:.3g} or more."
        if self.refuted:
            return f"Refuted for {which}: some direction of the cone has no variance at all."
        return f"Unknown for {which}: it is at most {self.upper:.3g}, and nothing above 0 is certified."

    def __repr__(self) -> str:
        which = f"any {self.k} columns" if self.of_order else f"{self.k} columns"
        return (
            f"RestrictedEigenvalue: gamma^2 from {self.lower:.4g} to {self.upper:.4g} for {which}, a = {self.a:g}\n"
            f"  compatibility phi^2 {'at most' if self.of_order else '='} {self.compatibility:.4g}"
        )


def restricted_eigenvalue(
    X: Any,
    support: Any = None,
    *,
    k: int | None = None,
    a: float = 3.0,
    n_init: int = 5,
    precomputed: bool = False,
    population: Any = None,
    random_state: Any = None,
) -> RestrictedEigenvalue:
    """Bracket the restricted eigenvalue of a support, or of all supports of k columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    support : array-like of int, str or bool, or None, default=None
        Columns of one support, up to 12: their positions, names or a mask.
    k : int or None, default=None
        Or a number of columns, for all supports of that size.
    a : float, default=3.0
        Width of the cone: 3 is for the Lasso, 1 for the Dantzig selector and basis pursuit.
    n_init : int, default=5
        Starts of the search for a direction with little variance, for each sign pattern; with ``k``, random supports
        that are tried beside those that look worst.
    precomputed : bool, default=False
        Whether ``X`` is ``Sigma``.
    population : array-like of shape (n_features, n_features) or None, default=None
        Covariance of the distribution of the rows, where it is known and ``X`` is not scaled: another certificate.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Returns
    -------
    bracket : RestrictedEigenvalue
        Bounds, and what proves them.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import restricted_eigenvalue
    >>> equicorrelated = 0.5 * np.eye(6) + 0.5
    >>> restricted_eigenvalue(equicorrelated, [0, 1], precomputed=True, random_state=0)
    RestrictedEigenvalue: gamma^2 from 0.5 to 0.5 for 2 columns, a = 3
      compatibility phi^2 = 0.5
    """
    if (support is None) == (k is None):
        raise ValueError("Give either support, the columns of one support, or k, for all supports of k columns.")
    if not a >= 0 or n_init < 1:
        raise ValueError(f"a={a}, n_init={n_init}: a must not be negative, and n_init be 1 or more.")
    sigma = covariance_of(X, "restricted_eigenvalue", precomputed)
    draws = check_random_state(random_state)
    root = root_of(sigma)
    of_order = support is None
    if not of_order:
        support = sorted_positions(support, X, "restricted_eigenvalue")
        refuse_many_patterns(support.size, "restricted_eigenvalue")
        upper, u, phi2, proved_phi2 = lowest_of_support(root, support, sign_patterns(support.size), a, n_init, draws)
        lower = eigenvalue_lower_bound(sigma, support, None, a, proved_phi2)
        size = support.size
    else:
        assert k is not None
        if not 1 <= k <= len(sigma):
            raise ValueError(f"k={k} must lie from 1 to the {len(sigma)} columns.")
        found = [
            (*lowest_of_support(root, columns, _some_patterns(k, draws), a, 1, draws), columns)
            for columns in likely_supports(sigma, k, n_init, draws)
        ]
        upper, u, _, _, support = min(found, key=lambda entry: entry[0])
        phi2 = min(entry[2] for entry in found)
        lower = eigenvalue_lower_bound(sigma, None, k, a)
        size = k
    if population is not None:
        lower = max(
            lower, _from_population(sigma, np.asarray(population, dtype=float), None if of_order else support, size, a)
        )
    lower = min(lower, upper)
    proved = lower > _NOTHING
    refuted = not proved and upper <= _NOTHING
    return RestrictedEigenvalue(lower, upper, phi2, u, proved, refuted, support, size, a, of_order)


def lowest_of_support(
    root: np.ndarray, support: np.ndarray, patterns: Iterable[np.ndarray], a: float, n_init: int, draws
):
    """The smallest quotient found over the cone of a support, its direction, and the compatibility constant twice:

    as found, and what it is certainly not below.
    """
    p = root.shape[1]
    best, direction, phi2, proved = np.inf, np.zeros(p), np.inf, np.inf
    for signs in patterns:
        generators = cone_generators(p, support, signs, a)
        compatible = compatible_direction(root, support, signs, generators)
        phi2, proved = min(phi2, compatible.phi2), min(proved, compatible.certified)
        n_more = max(n_init - 1, 0)
        weights = draws.exponential(size=(n_more, generators.shape[1])) * (draws.random_sample((n_more, 1)) < 0.5)
        weights[:, : support.size] += draws.exponential(size=(n_more, support.size))
        for begin in [compatible.direction, *(weights @ generators.T)]:
            u = lowered_quotient(root, generators, begin)
            value = float(((root @ u) ** 2).sum())
            if value < best:
                best, direction = value, u
    return best, direction, phi2, proved


def _some_patterns(k: int, draws, n_most: int = 8) -> Iterable[np.ndarray]:
    """All sign patterns of few columns, some of many: each gives an upper bound."""
    if 2 ** (k - 1) <= n_most:
        return sign_patterns(k)
    return [draws.choice([-1.0, 1.0], k) for _ in range(n_most)]


def likely_supports(sigma: np.ndarray, k: int, n_random: int, draws) -> list[np.ndarray]:
    """Supports in which little variance is likely: where small eigenvalues live, nearly dependent ones, and others."""
    p = len(sigma)
    if comb(p, k) <= 2 * n_random:
        return [np.array(columns) for columns in combinations(range(p), k)]
    vectors = np.linalg.eigh(sigma)[1]
    chosen = [np.argsort(-np.abs(vectors[:, at]), kind="stable")[:k] for at in range(min(2, p))]
    chosen.append(nearly_dependent(sigma, k))
    chosen += [draws.permutation(p)[:k] for _ in range(n_random)]
    return [np.array(columns) for columns in sorted({tuple(sorted(columns.tolist())) for columns in chosen})]


def nearly_dependent(sigma: np.ndarray, k: int) -> np.ndarray:
    """k columns, added one by one so that the smallest eigenvalue among them is as small as can be."""
    off = np.abs(sigma - np.diag(np.diag(sigma)))
    columns = [int(j) for j in np.unravel_index(int(np.argmax(off)), off.shape)][:k]
    while len(columns) < k:
        others = [j for j in range(len(sigma)) if j not in columns]
        smallest = [np.linalg.eigvalsh(sigma[np.ix_([*columns, j], [*columns, j])])[0] for j in others]
        columns.append(others[int(np.argmin(smallest))])
    return np.array(columns, dtype=int)


def _from_population(sigma: np.ndarray, population: np.ndarray, support: np.ndarray | None, k: int, a: float) -> float:
    """The population's bound, less what the sample can differ from it over the cone."""
    if population.shape != sigma.shape:
        raise ValueError(f"population has shape {population.shape}, and the design has {len(sigma)} columns.")
    bound = eigenvalue_lower_bound(population, support, k, a)
    return bound - (1 + a) ** 2 * k * float(np.abs(sigma - population).max())


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
        """What the result means, in words."""
        if self.verdict == "unknown":
            return (
                f"Unknown for all supports of {self.k} columns: the search found no violation, which is evidence, not "
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
    support: Any = None,
    *,
    k: int | None = None,
    a: float = 1.0,
    n_init: int = 20,
    random_state: Any = None,
) -> RestrictedNullspace:
    """Whether basis pursuit finds every vector with a support, or with any support of k columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design, as it is: :class:`~fewer.learn.BasisPursuit` does not scale columns either, and scaling them changes the
        answer.
    support : array-like of int, str or bool, or None, default=None
        Columns of one support, up to 12, by their positions, names or a mask: the answer is exact.
    k : int or None, default=None
        Or a number of columns, for all supports of that size: a proof, a counterexample, or neither.
    a : float, default=1.0
        Width of the cone.
    n_init : int, default=20
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
    >>> from fewer.theory import restricted_nullspace
    >>> X = np.random.default_rng(0).normal(size=(20, 40))
    >>> restricted_nullspace(X, [0, 5]).verdict
    'holds'
    >>> restricted_nullspace(X, k=15, random_state=0).verdict
    'fails'
    """
    if (support is None) == (k is None):
        raise ValueError("Give either support, the columns of one support, or k, for all supports of k columns.")
    if not a > 0 or n_init < 1:
        raise ValueError(f"a={a}, n_init={n_init}: a must be above 0, and n_init be 1 or more.")
    table = checked_array(X, "restricted_nullspace", accept_sparse=("csr", "csc"), dtype=np.float64)
    equations = row_basis(table.toarray() if sparse.issparse(table) else table)
    p = table.shape[1]
    if support is not None:
        support = sorted_positions(support, X, "restricted_nullspace")
        refuse_many_patterns(support.size, "restricted_nullspace")
        value, worst = largest_share(equations, support)
        holds = value < (1 - _ROUNDING) / a
        return RestrictedNullspace(value, "holds" if holds else "fails", holds, worst, support, support.size, a)
    assert k is not None
    if not 1 <= k <= p:
        raise ValueError(f"k={k} must lie from 1 to the {p} columns.")
    return _of_order(equations, k, a, n_init, check_random_state(random_state))


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


def _of_order(equations: np.ndarray, k: int, a: float, n_init: int, draws) -> RestrictedNullspace:
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
    starts = by_share[:n_init] + [null @ draws.normal(size=p) for _ in range(n_init)]
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
