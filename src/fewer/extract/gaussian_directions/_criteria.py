"""What a direction is worth when classes are normal with their own means and covariances.

The likelihood ratio criterion of a direction a, for classes with shares pi_k and covariances S_k and the total S, is

    LR(a) = sum_k pi_k ( log a'S a - log a'S_k a ),

in which the length of a makes no difference. SAVE's is ``a' sum_k pi_k (I - S_k)^2 a`` for ``S = I`` and ``a'a = 1``.
"""

import numpy as np


def likelihood_ratio(
    directions: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> np.ndarray:
    """LR of directions, which are columns."""
    overall = np.einsum("im,im->m", directions, total @ directions)
    within = np.einsum("im,kim->km", directions, covariances @ directions)
    return np.log(overall) - priors @ np.log(within)


def likelihood_ratio_and_gradient(
    direction: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> tuple[float, np.ndarray]:
    """LR of one direction, and its gradient."""
    moved, moved_k = total @ direction, covariances @ direction
    size, sizes = direction @ moved, moved_k @ direction
    value = np.log(size) - priors @ np.log(sizes)
    return float(value), 2 * (moved / size - (priors / sizes) @ moved_k)


def likelihood_ratio_hessian(
    direction: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> np.ndarray:
    """Second derivatives of LR at one direction."""
    moved, moved_k = total @ direction, covariances @ direction
    size, sizes = direction @ moved, moved_k @ direction
    overall = total / size - 2 * np.outer(moved, moved) / size**2
    curved = (moved_k.T * (2 * priors / sizes**2)) @ moved_k
    return 2 * (overall - np.einsum("k,kij->ij", priors / sizes, covariances) + curved)


def save_kernel(covariances: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """``sum_k pi_k (I - S_k)^2`` for covariances in coordinates in which the total is I."""
    lacking = np.eye(covariances.shape[1]) - covariances
    return np.einsum("k,kij,kjl->il", priors, lacking, lacking, optimize=True)
