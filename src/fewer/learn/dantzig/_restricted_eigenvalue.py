"""How little variance a design has in directions that are nearly sparse: the restricted eigenvalue, in a bracket.

    gamma^2(S) = min u'Sigma u / ||u||_2^2  over  ||u_{S^c}||_1 <= a ||u_S||_1.

Finding it is hard in general. Any direction of the cone is an upper bound, a certificate is a lower one; the truth lies
between, and only what is certified is said to hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._figures import Result
from fewer.learn.dantzig._column_positions import sorted_positions
from fewer.learn.dantzig._compatibility import (
    compatible_direction,
    cone_generators,
    lowered_quotient,
)
from fewer.learn.dantzig._design_covariance import (
    covariance_of,
    refuse_many_patterns,
    root_of,
    sign_patterns,
)
from fewer.learn.dantzig._eigenvalue_bounds import eigenvalue_lower_bound

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
        ``phi^2``: exact for a support; for all supports of k columns the smallest one met.
    argmin : ndarray of shape (n_features,)
        The direction with the upper bound.
    certified : bool
        Whether ``gamma^2`` is proved to be above 0.
    refuted : bool
        Whether it is proved to be 0: ``argmin`` has no variance.
    columns : ndarray
        The support, or the worst one met.
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
        """What it means, in words."""
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
    S: Any = None,
    *,
    k: int | None = None,
    a: float = 3.0,
    n_starts: int = 5,
    precomputed: bool = False,
    population: Any = None,
    random_state: Any = None,
) -> RestrictedEigenvalue:
    """Bracket the restricted eigenvalue of a support, or of all supports of k columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design; its columns are scaled to mean square 1. Or ``Sigma``, with ``precomputed``.
    S : array-like of int, str or bool, or None, default=None
        Columns of one support, up to 12: their positions, names or a mask.
    k : int or None, default=None
        Or a number of columns, for all supports of that size.
    a : float, default=3.0
        Width of the cone: 3 is for the Lasso, 1 for the Dantzig selector and basis pursuit.
    n_starts : int, default=5
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
    >>> from fewer.learn import restricted_eigenvalue
    >>> equicorrelated = 0.5 * np.eye(6) + 0.5
    >>> restricted_eigenvalue(equicorrelated, [0, 1], precomputed=True, random_state=0)
    RestrictedEigenvalue: gamma^2 from 0.5 to 0.5 for 2 columns, a = 3
      compatibility phi^2 = 0.5
    """
    if (S is None) == (k is None):
        raise ValueError("Give either S, the columns of one support, or k, for all supports of k columns.")
    if not a >= 0 or n_starts < 1:
        raise ValueError(f"a={a}, n_starts={n_starts}: a must not be negative, and n_starts be 1 or more.")
    sigma = covariance_of(X, "restricted_eigenvalue", precomputed)
    draws = check_random_state(random_state)
    root = root_of(sigma)
    if S is not None:
        support = sorted_positions(S, X, "restricted_eigenvalue")
        refuse_many_patterns(support.size, "restricted_eigenvalue")
        upper, u, phi2, proved_phi2 = lowest_of_support(root, support, sign_patterns(support.size), a, n_starts, draws)
        lower = eigenvalue_lower_bound(sigma, support, None, a, proved_phi2)
        size = support.size
    else:
        assert k is not None
        if not 1 <= k <= len(sigma):
            raise ValueError(f"k={k} must lie from 1 to the {len(sigma)} columns.")
        found = [
            (*lowest_of_support(root, columns, _some_patterns(k, draws), a, 1, draws), columns)
            for columns in likely_supports(sigma, k, n_starts, draws)
        ]
        upper, u, _, _, support = min(found, key=lambda entry: entry[0])
        phi2 = min(entry[2] for entry in found)
        lower = eigenvalue_lower_bound(sigma, None, k, a)
        size = k
    if population is not None:
        lower = max(
            lower, _from_population(sigma, np.asarray(population, dtype=float), None if S is None else support, size, a)
        )
    lower = min(lower, upper)
    proved = lower > _NOTHING
    refuted = not proved and upper <= _NOTHING
    return RestrictedEigenvalue(lower, upper, phi2, u, proved, refuted, support, size, a, S is None)


def lowest_of_support(
    root: np.ndarray, support: np.ndarray, patterns: Iterable[np.ndarray], a: float, n_starts: int, draws
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
        n_more = max(n_starts - 1, 0)
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
