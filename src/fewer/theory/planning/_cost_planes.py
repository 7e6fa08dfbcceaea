"""The cheapest plane between two normal classes, an exact yardstick for linear classifiers with costs.

For classes N(mu+, S+) and N(mu-, S-), the rule ``theta'x > b`` and costs that add up to 1 with the priors,

    R = pcf Phi((b - theta'mu+) / sqrt(theta'S+ theta)) + (1 - pcf) (1 - Phi((b - theta'mu-) / sqrt(theta'S- theta))).

Dmochowski, J., Sajda, P. and Parra, L. (2010). Maximum likelihood in cost-sensitive learning. JMLR 11, 3313-3332.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.utils import check_random_state

from fewer._figures import Result


@dataclass(frozen=True, eq=False, repr=False)
class CostPlane(Result):
    """A plane between two normal classes; made by :func:`min_risk_plane`.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Its normal, of length 1.
    threshold : float
        Rows with ``coef @ x > threshold`` are taken for positive.
    risk : float
        Expected cost, where always being wrong costs 1.
    normalized_risk : float
        The same over the cost of the better constant decision.
    """

    coef: np.ndarray
    threshold: float
    risk: float
    normalized_risk: float

    def __repr__(self) -> str:
        return f"CostPlane: risk {self.risk:.4f}\n  {self.normalized_risk:.4f} of that of the better constant decision"


def gaussian_plane_risk(
    coef: Any, threshold: float, means: tuple[Any, Any], covariances: tuple[Any, Any], pcf: float
) -> float:
    """Expected cost of a plane between two normal classes.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        Normal of the plane.
    threshold : float
        Rows with ``coef @ x > threshold`` are taken for positive.
    means : pair of array-like of shape (n_features,)
        Means of the negative and of the positive class.
    covariances : pair of array-like of shape (n_features, n_features)
        Their covariances.
    pcf : float
        Share of the positives in the cost of always being wrong.

    Returns
    -------
    risk : float
        Expected cost, where always being wrong costs 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import gaussian_plane_risk
    >>> gaussian_plane_risk([1.0], 0.0, ([-1.0], [1.0]), (np.eye(1), np.eye(1)), 0.5).round(4)
    np.float64(0.1587)
    """
    coef = np.asarray(coef, dtype=float)
    spreads = [np.sqrt(coef @ np.asarray(each) @ coef) for each in covariances]
    negative, positive = (
        (threshold - coef @ np.asarray(mean)) / spread for mean, spread in zip(means, spreads, strict=True)
    )
    return pcf * ndtr(positive) + (1 - pcf) * ndtr(-negative)


def min_risk_plane(
    means: tuple[Any, Any], covariances: tuple[Any, Any], pcf: float, *, n_init: int = 20, random_state: Any = 0
) -> CostPlane:
    """The plane of the smallest expected cost between two normal classes.

    Parameters
    ----------
    means : pair of array-like of shape (n_features,)
        Means of the negative and of the positive class.
    covariances : pair of array-like of shape (n_features, n_features)
        Their covariances.
    pcf : float
        Share of the positives in the cost of always being wrong.
    n_init : int, default=20
        Random starts, of which the best is kept.
    random_state : int, RandomState or None, default=0
        Random seed of the starts.

    Returns
    -------
    plane : CostPlane
        Its normal, threshold and risk.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import min_risk_plane
    >>> plane = min_risk_plane(([0, 0.5], [0.5, 0]), (np.diag([0.5, 1]), np.diag([1, 0.5])), 0.2)
    >>> round(plane.normalized_risk, 3)
    0.896
    """
    if not 0 < pcf < 1:
        raise ValueError(f"pcf={pcf} must lie between 0 and 1.")
    n_columns = len(np.asarray(means[0]))
    rng = check_random_state(random_state)

    def risk(v: np.ndarray) -> float:
        length = np.linalg.norm(v[:-1])
        return gaussian_plane_risk(v[:-1] / length, v[-1], means, covariances, pcf) if length > 0 else 1.0

    scale = float(np.sqrt(max(np.trace(np.asarray(each)) for each in covariances)))
    centre = (np.asarray(means[0]) + np.asarray(means[1])) / 2
    best = None
    for _ in range(n_init):
        normal = rng.normal(size=n_columns)
        start = np.append(normal, normal / np.linalg.norm(normal) @ centre + scale * rng.normal())
        found = minimize(risk, start, method="BFGS", options={"gtol": 1e-10})
        if best is None or found.fun < best.fun:
            best = found
    length = float(np.linalg.norm(best.x[:-1]))
    return CostPlane(best.x[:-1] / length, float(best.x[-1]), float(best.fun), float(best.fun / min(pcf, 1 - pcf)))
