"""How many rows, which penalty and how sparse a design the Lasso needs to find the exact support.

With p columns, k of them true, and a share gamma of entries that are not zero, ``n = (2 + eps) k log(p - k)`` rows are
enough in the limit, as many as with a dense design. All is for entries of variance 1 and noise of variance 1 / gamma
(Omidiran and Wainwright 2010, JMLR 11, 2361-2386).

For correlated normal designs (Raskutti, Wainwright and Yu 2010, JMLR 11, 2241-2259), with probability ``1 - c' exp(-c
n)``, for all v at once,

    ||X v||_2 / sqrt(n) >= ||Sigma^(1/2) v||_2 / 4 - 9 rho sqrt(log p / n) ||v||_1,      rho^2 = max_j Sigma_jj.

The constants make it empty at ordinary sizes: it says how n must grow, not whether a given design is good.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.theory.design._cones import covariance_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _log_of_others(n_features: int, k: int) -> float:
    if not k >= 1 or not n_features - k >= 3:
        raise ValueError(f"n_features={n_features}, k={k}: there must be at least one true column and three others.")
    return log(n_features - k)


def lasso_sample_size(n_features: int, k: int, eps: float = 0.0) -> int:
    """Rows at which the Lasso begins to find the exact support, ``(2 + eps) k log(p - k)``.

    Parameters
    ----------
    n_features : int
        Number of columns, ``p``.
    k : int
        Columns with a coefficient that is not zero.
    eps : float, default=0.0
        What to add for safety; 1 or 2 with few columns (see :func:`support_recovery_curve`).

    Returns
    -------
    n_samples : int
        Number of rows, ``n``.

    Examples
    --------
    >>> from fewer.theory import lasso_sample_size
    >>> lasso_sample_size(512, 23)
    285
    """
    if eps < 0:
        raise ValueError(f"eps={eps} must not be negative.")
    return ceil((2 + eps) * k * _log_of_others(n_features, k))


def lasso_recovery_density(n_features: int, k: int, method: Literal["theorem", "experiment"] = "experiment") -> float:
    """Share of entries of a random design that need not be zero.

    Parameters
    ----------
    n_features : int
        Number of columns, ``p``.
    k : int
        Columns with a coefficient that is not zero.
    method : {"theorem", "experiment"}, default="experiment"
        What the proof allows, or the sparser design of the paper's simulations.

    Returns
    -------
    density : float
        At most 1.

    Examples
    --------
    >>> from fewer.theory import lasso_recovery_density
    >>> round(lasso_recovery_density(512, 51), 3), round(lasso_recovery_density(512, 51, "theorem"), 3)
    (0.143, 0.816)
    """
    others = _log_of_others(n_features, k)
    if method == "theorem":
        return (log(others) / others) ** (1 / 6)
    if method == "experiment":
        return min(0.5 * others / sqrt(n_features - k), 1.0)
    raise ValueError(f"method={method!r} is not known; choose 'theorem' or 'experiment'.")


def lasso_recovery_penalty(n_samples: int, n_features: int, k: int) -> float:
    """Penalty of the Lasso under which the theorem holds, for entries of variance 1 and unit noise.

    Parameters
    ----------
    n_samples : int
        Number of rows, ``n``.
    n_features : int
        Number of columns, ``p``.
    k : int
        Columns with a coefficient that is not zero.

    Returns
    -------
    alpha : float
        ``sqrt(log(p - k) / n * sqrt(log(p - k) / log log(p - k)))``; for noise of another standard deviation, in units
        of an entry that is not zero, multiply by it.

    Examples
    --------
    >>> from fewer.theory import lasso_recovery_penalty
    >>> round(lasso_recovery_penalty(600, 512, 23), 4)
    0.1379
    """
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples}: there must be at least one row.")
    others = _log_of_others(n_features, k)
    return sqrt(others / n_samples * sqrt(others / log(others)))


@dataclass(frozen=True, repr=False)
class RecoveryConditions(Result):
    """The ratios on which exact recovery depends in the limit; made by :func:`recovery_conditions`.

    There is no verdict: the theorem describes the limit in which they grow or vanish, not a threshold.

    Attributes
    ----------
    theta : float
        ``n / (2 k log(p - k))``; above 1 is needed.
    penalty_over_noise : float
        ``n alpha^2 density / log(p - k)``; should be large, so that no other column enters by noise.
    penalty_over_signal : float
        ``(alpha / b_min) max(1, sqrt(k) / density sqrt(log log / log))``; should be small, so that no true one is lost.
    measurements : float
        ``density^3 min(k, log / log log)``; should be large: a denser design.
    signal_in_column : float
        ``density n b_min^2``; if this stays bounded, no method at all can succeed.
    """

    theta: float
    penalty_over_noise: float
    penalty_over_signal: float
    measurements: float
    signal_in_column: float

    def __repr__(self) -> str:
        return (
            f"RecoveryConditions: theta = {self.theta:.3g} (needs more than 1)\n"
            f"  penalty over noise {self.penalty_over_noise:.3g} (large is good)\n"
            f"  penalty over signal {self.penalty_over_signal:.3g} (small is good)\n"
            f"  measurements {self.measurements:.3g} (large is good)\n"
            f"  signal in a column {self.signal_in_column:.3g} (bounded: no method succeeds)"
        )


def recovery_conditions(
    n_samples: int, n_features: int, k: int, density: float, alpha: float, b_min: float
) -> RecoveryConditions:
    """The three ratios of the theorem on sparsified designs, and that of its converse.

    Parameters
    ----------
    n_samples : int
        Number of rows, ``n``.
    n_features : int
        Number of columns, ``p``.
    k : int
        Columns with a coefficient that is not zero.
    density : float
        Share of entries that are not zero.
    alpha : float
        Penalty of the Lasso.
    b_min : float
        Smallest true coefficient in absolute value, in units of the noise's standard deviation.

    Returns
    -------
    conditions : RecoveryConditions
        The ratios.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.theory import recovery_conditions
    >>> recovery_conditions(600, 512, 23, density=0.14, alpha=0.28, b_min=4.0).theta > 1
    True
    """
    others = _log_of_others(n_features, k)
    if not (n_samples > 0 and 0 < density <= 1 and alpha > 0 and b_min > 0):
        raise ValueError("n_samples, alpha and b_min must be above 0, and density above 0 and at most 1.")
    twice = log(others)
    return RecoveryConditions(
        theta=n_samples / (2 * k * others),
        penalty_over_noise=n_samples * alpha**2 * density / others,
        penalty_over_signal=alpha / b_min * max(1.0, sqrt(k) / density * sqrt(twice / others)),
        measurements=density**3 * min(k, others / twice),
        signal_in_column=density * n_samples * b_min**2,
    )


def gaussian_norm_bound(Sigma: "ArrayLike", n_samples: int, v: "ArrayLike") -> np.ndarray:
    """A number that ``||X v||_2 / sqrt(n)`` is likely not to be below, for normal rows ``X``.

    Parameters
    ----------
    Sigma : array-like of shape (n_features, n_features)
        Covariance of the rows.
    n_samples : int
        Number of rows, ``n``.
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
    >>> from fewer.theory import gaussian_norm_bound
    >>> gaussian_norm_bound(np.eye(10), 100_000, [1.0] + [0.0] * 9).round(3)
    np.float64(0.207)
    """
    sigma = covariance_of(Sigma, "gaussian_norm_bound", precomputed=True)
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples}: there must be at least one row.")
    vectors = np.asarray(v, dtype=float)
    if vectors.shape[-1] != len(sigma):
        raise ValueError(f"v has {vectors.shape[-1]} entries, and Sigma {len(sigma)} columns.")
    lengths = np.sqrt(np.maximum(np.einsum("...i,ij,...j->...", vectors, sigma, vectors), 0.0))
    rho = np.sqrt(np.diag(sigma).max())
    return lengths / 4 - 9 * rho * np.sqrt(log(len(sigma)) / n_samples) * np.abs(vectors).sum(axis=-1)


@dataclass(frozen=True, repr=False)
class GaussianNormSlack(Result):
    """How the bound of :func:`gaussian_norm_bound` fares on one design; made by :func:`gaussian_norm_slack`.

    Attributes
    ----------
    worst_slack : float
        Smallest difference between the norm and its bound over the directions tried; below 0 the bound is violated.
    share_empty : float
        Share of the directions on which the bound is not above 0, and so is not informative.
    n_vectors : int
        Directions tried.
    """

    worst_slack: float
    share_empty: float
    n_vectors: int

    def __repr__(self) -> str:
        return (
            f"GaussianNormSlack: worst slack {self.worst_slack:.4g} over {self.n_vectors} directions\n"
            f"  the bound is empty on {self.share_empty:.0%} of them"
        )


def gaussian_norm_slack(
    X: Any, Sigma: "ArrayLike", *, n_vectors: int = 300, random_state: Any = None
) -> GaussianNormSlack:
    """Look for violations of :func:`gaussian_norm_bound` on a design, over sparse, dense and nullspace directions.

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
    slack : GaussianNormSlack
        The smallest difference, and how often the bound is not informative.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian_design
    >>> from fewer.theory import gaussian_norm_slack
    >>> X, _, truth = make_gaussian_design(50, 20, random_state=0)
    >>> gaussian_norm_slack(X, truth["covariance"], random_state=0).share_empty
    1.0
    """
    X = checked_array(X, "gaussian_norm_slack", dtype=np.float64)
    draws = check_random_state(random_state)
    n_rows, p = X.shape
    third = max(n_vectors // 3, 1)
    dense = draws.normal(size=(third, p))
    sparse = draws.normal(size=(third, p)) * (draws.random_sample((third, p)).argsort(axis=1) < min(3, p))
    right = np.linalg.svd(X)[2]
    hidden = draws.normal(size=(third, max(p - n_rows, 1))) @ right[-max(p - n_rows, 1) :]
    vectors = np.vstack([dense, sparse, hidden])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    bounds = gaussian_norm_bound(Sigma, n_rows, vectors)
    slack = np.linalg.norm(vectors @ X.T, axis=1) / np.sqrt(n_rows) - bounds
    return GaussianNormSlack(float(slack.min()), float((bounds <= 0).mean()), len(vectors))


def restricted_eigenvalue_sample_size(
    k: int, n_features: int, a: float = 3.0, gamma: float = 1.0, rho: float = 1.0
) -> int:
    """Rows with which the proof gives restricted eigenvalues; a constant of the proof, not a number to plan with.

    Parameters
    ----------
    k : int
        Columns of a support.
    n_features : int
        Number of columns, ``p``.
    a : float, default=3.0
        Width of the cone.
    gamma : float, default=1.0
        Root of the restricted eigenvalue of the population.
    rho : float, default=1.0
        Largest standard deviation of a column.

    Returns
    -------
    n_samples : int
        ``5184 rho^2 (1 + a)^2 k log p / gamma^2``.

    See Also
    --------
    lasso_sample_size : A number to plan with, for independent columns.

    Examples
    --------
    >>> from fewer.theory import restricted_eigenvalue_sample_size
    >>> restricted_eigenvalue_sample_size(k=5, n_features=200)
    2197319
    """
    if not 1 <= k <= n_features or not a >= 0 or not gamma > 0 or not rho > 0:
        raise ValueError(
            f"k={k}, n_features={n_features}, a={a}, gamma={gamma}, rho={rho}: k must lie from 1 to "
            "n_features, and gamma and rho above 0."
        )
    return ceil(5184 * rho**2 * (1 + a) ** 2 * k * log(n_features) / gamma**2)
