"""What theory promises of correlated normal designs, with the constants of the proof.

With probability ``1 - c' exp(-c n)``, for all v at once,

    ||X v||_2 / sqrt(n) >= ||Sigma^(1/2) v||_2 / 4 - 9 rho sqrt(log p / n) ||v||_1,      rho^2 = max_j Sigma_jj.

The constants make it empty at ordinary sizes: it says how n must grow, not whether a given design is good.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.learn.dantzig._design_covariance import covariance_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def theorem1_lower_bound(Sigma: "ArrayLike", n: int, v: "ArrayLike") -> np.ndarray:
    """The right-hand side of the theorem: what ``||X v||_2 / sqrt(n)`` is likely not to be below.

    Parameters
    ----------
    Sigma : array-like of shape (n_features, n_features)
        Covariance of the rows.
    n : int
        Rows.
    v : array-like of shape (n_features,) or (n_vectors, n_features)
        Directions.

    Returns
    -------
    bound : ndarray of shape () or (n_vectors,)
        Often below 0: even a single column needs ``n > 1296 log p``.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import theorem1_lower_bound
    >>> theorem1_lower_bound(np.eye(10), 100_000, [1.0] + [0.0] * 9).round(3)
    np.float64(0.207)
    """
    sigma = covariance_of(Sigma, "theorem1_lower_bound", precomputed=True)
    if n < 1:
        raise ValueError(f"n={n}: there must be at least one row.")
    vectors = np.asarray(v, dtype=float)
    if vectors.shape[-1] != len(sigma):
        raise ValueError(f"v has {vectors.shape[-1]} entries, and Sigma {len(sigma)} columns.")
    lengths = np.sqrt(np.maximum(np.einsum("...i,ij,...j->...", vectors, sigma, vectors), 0.0))
    rho = np.sqrt(np.diag(sigma).max())
    return lengths / 4 - 9 * rho * np.sqrt(log(len(sigma)) / n) * np.abs(vectors).sum(axis=-1)


@dataclass(frozen=True, repr=False)
class TheoremCheck(Result):
    """The theorem on one design; made by :func:`check_theorem1`.

    Attributes
    ----------
    worst_slack : float
        Smallest difference between the two sides over the directions tried; below 0 it is violated.
    share_empty : float
        Share of the directions on which the theorem says nothing, for its right-hand side is not above 0.
    n_vectors : int
        Directions tried.
    """

    worst_slack: float
    share_empty: float
    n_vectors: int

    def __repr__(self) -> str:
        return (
            f"TheoremCheck: worst slack {self.worst_slack:.4g} over {self.n_vectors} directions\n"
            f"  the bound is empty on {self.share_empty:.0%} of them"
        )


def check_theorem1(X: Any, Sigma: "ArrayLike", *, n_vectors: int = 300, random_state: Any = None) -> TheoremCheck:
    """Look for violations of the theorem on a design, over sparse, dense and nullspace directions.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Normal rows with covariance ``Sigma``; not scaled.
    Sigma : array-like of shape (n_features, n_features)
        Covariance of the rows.
    n_vectors : int, default=300
        Directions to try.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    check : TheoremCheck
        The smallest slack, and how often the theorem says anything at all.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian_design
    >>> from fewer.learn import check_theorem1
    >>> X, _, truth = make_gaussian_design(50, 20, random_state=0)
    >>> check_theorem1(X, truth["covariance"], random_state=0).share_empty
    1.0
    """
    X = checked_array(X, "check_theorem1", dtype=np.float64)
    draws = check_random_state(random_state)
    n_rows, p = X.shape
    third = max(n_vectors // 3, 1)
    dense = draws.normal(size=(third, p))
    sparse = draws.normal(size=(third, p)) * (draws.random_sample((third, p)).argsort(axis=1) < min(3, p))
    right = np.linalg.svd(X)[2]
    hidden = draws.normal(size=(third, max(p - n_rows, 1))) @ right[-max(p - n_rows, 1) :]
    vectors = np.vstack([dense, sparse, hidden])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    bounds = theorem1_lower_bound(Sigma, n_rows, vectors)
    slack = np.linalg.norm(vectors @ X.T, axis=1) / np.sqrt(n_rows) - bounds
    return TheoremCheck(float(slack.min()), float((bounds <= 0).mean()), len(vectors))


def re_sample_size(k: int, p: int, a: float = 3.0, gamma: float = 1.0, rho: float = 1.0) -> int:
    """Rows with which the proof gives restricted eigenvalues; a constant of the proof, not a number to plan with.

    Parameters
    ----------
    k : int
        Columns of a support.
    p : int
        Columns.
    a : float, default=3.0
        Width of the cone.
    gamma : float, default=1.0
        Root of the restricted eigenvalue of the population.
    rho : float, default=1.0
        Largest standard deviation of a column.

    Returns
    -------
    n : int
        ``5184 rho^2 (1 + a)^2 k log p / gamma^2``.

    See Also
    --------
    lasso_sample_size : A number to plan with, for independent columns.

    Examples
    --------
    >>> from fewer.learn import re_sample_size
    >>> re_sample_size(k=5, p=200)
    2197319
    """
    if not 1 <= k <= p or not a >= 0 or not gamma > 0 or not rho > 0:
        raise ValueError(f"k={k}, p={p}, a={a}, gamma={gamma}, rho={rho}: k from 1 to p; gamma and rho above 0.")
    return ceil(5184 * rho**2 * (1 + a) ** 2 * k * log(p) / gamma**2)
