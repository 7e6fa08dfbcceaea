"""The information that a noisy projection keeps, bounded from below by decoders that an auxiliary variable chooses.

A row x is sent as ``y ~ N(W x, s^2 I)`` with orthonormal rows of W. Any decoder ``q(x | y)`` bounds the information:
``I(x, y) >= H(x) + E log q(x | y)``, and so does one with an auxiliary variable z, of J states, that is not sent:

    F = mean_i sum_j pi_ij (L_ij + log q_j - log pi_ij),    pi_ij = p(z_j | x_i),
    L_ij = E log N(x_i; U_j y, S_j) = -1/2 (d'S_j^-1 d + s^2 tr(U_j'S_j^-1 U_j) + log|S_j| + p log 2 pi),
    d = x_i - U_j W x_i

(the constant H(x) is left out). If z is sent along with y, the terms with q and log pi are dropped. With the weighted
second moments C_j of the rows, the decoders are ``U_j = C_j W'(W C_j W' + s^2 I)^-1`` and ``S_j = E_j + reg I`` with
``E_j = C_j - U_j W C_j``, the mean of ``d d' + s^2 U_j U_j'``, so that F is a function of W and pi alone:

    F = entropy terms - 1/2 sum_j pbar_j (h(E_j) + p log 2 pi),    h(E) = tr((E + reg I)^-1 E) + log|E + reg I|.

h is concave. Its slope ``A_j = S_j^-1 + reg S_j^-2`` gives a plane above it, hence a bound below F that touches it
where we stand, in which pi appears as with a fixed decoder of precision A_j: raising that raises F. Without reg,
A_j is the decoder's own precision.

Rows are given by r coordinates in their span; in the p - r directions without variance ``S_j`` is ``reg I``.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

LOG_TWO_PI = np.log(2 * np.pi)


class Channel(NamedTuple):
    """Noise of the code, floor of the decoders' covariances, and number of columns of the table."""

    noise: float
    reg: float
    n_columns: int


class Decoders(NamedTuple):
    """U_j (J, r, k), S_j^-1 and log|S_j| over all columns, the slopes A_j, and h(E_j); C_j is kept beside them."""

    U: np.ndarray
    inverse: np.ndarray
    log_det: np.ndarray
    slope: np.ndarray
    height: np.ndarray
    C: np.ndarray

    def covariances(self) -> np.ndarray:
        """S_j in the span of the rows."""
        return np.linalg.inv(self.inverse)


def second_moments(Z: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """C_j of rows with weights ``pi`` (rows, J), not centred again."""
    weights = pi / pi.sum(axis=0)
    return np.stack([Z.T @ (column[:, None] * Z) for column in weights.T])


def decoders_of(C: np.ndarray, W: np.ndarray, channel: Channel) -> Decoders:
    """The best decoders for rows with these moments and this projection."""
    n_axes, n_components = C.shape[1], W.shape[0]
    CW = C @ W.T
    U = np.linalg.solve(W @ CW + channel.noise * np.eye(n_components), CW.swapaxes(1, 2)).swapaxes(1, 2)
    E = C - U @ CW.swapaxes(1, 2)
    S = (E + E.swapaxes(1, 2)) / 2 + channel.reg * np.eye(n_axes)
    n_flat = channel.n_columns - n_axes
    if channel.reg == 0 and (n_flat or np.linalg.eigvalsh(S)[:, 0].min() <= 1e-14 * np.abs(S).max()):
        raise ValueError(
            "Rows lie in fewer dimensions than there are columns, so that a decoder without noise knows some "
            "directions exactly, and the bound has no limit. Give a reg above 0."
        )
    inverse = np.linalg.inv(S)
    inverse = (inverse + inverse.swapaxes(1, 2)) / 2
    log_det = np.linalg.slogdet(S)[1] + (n_flat * np.log(channel.reg) if n_flat else 0.0)
    slope = inverse + channel.reg * (inverse @ inverse)
    height = n_axes - channel.reg * np.trace(inverse, axis1=1, axis2=2) + log_det
    return Decoders(U, inverse, log_det, slope, height, C)


def bound(pi: np.ndarray, decoders: Decoders, channel: Channel, *, sent: bool) -> float:
    """F with the best prior; ``sent`` if z goes along with the code."""
    shares = pi.mean(axis=0)
    value = -0.5 * float(shares @ (decoders.height + channel.n_columns * LOG_TWO_PI))
    return value if sent else value + entropies(pi, shares)


def entropies(pi: np.ndarray, prior: np.ndarray) -> float:
    """``mean_i sum_j pi_ij (log q_j - log pi_ij)``."""
    return float(np.mean(np.sum(pi * (np.log(np.maximum(prior, 1e-300)) - log_or_zero(pi)), axis=1)))


def log_densities(Z: np.ndarray, W: np.ndarray, decoders: Decoders, channel: Channel) -> np.ndarray:
    """L_ij, of any rows in the span of the training rows."""
    noise = channel.noise * np.einsum("jak,jab,jbk->j", decoders.U, decoders.inverse, decoders.U)
    constants = noise + decoders.log_det + channel.n_columns * LOG_TWO_PI
    return -0.5 * (distortions(Z, W, decoders.U, decoders.inverse) + constants)


def distortions(Z: np.ndarray, W: np.ndarray, U: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    """``d'P_j d`` with ``d = z - U_j W z``, for all rows and decoders."""
    found = np.empty((len(Z), len(U)))
    for j, (matrix, precision) in enumerate(zip(U, precisions, strict=True)):
        left = np.eye(Z.shape[1]) - matrix @ W
        root = linalg.cholesky(precision, check_finite=False) @ left
        found[:, j] = np.sum((Z @ root.T) ** 2, axis=1)
    return found


def softmax(Z: np.ndarray, V: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``p(z_j | x) ~ exp(-(v_j'x + b_j))``."""
    return normalized(-(Z @ V.T + b))


def normalized(logits: np.ndarray) -> np.ndarray:
    """Probabilities from their logarithms, up to a constant for each row."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def log_or_zero(pi: np.ndarray) -> np.ndarray:
    """Logarithm, and 0 for 0, which is what ``pi log pi`` needs."""
    return np.log(np.where(pi > 0, pi, 1))


def polar(B: np.ndarray) -> np.ndarray:
    """``(BB')^-1/2 B``: the nearest matrix with orthonormal rows."""
    left, _, right = linalg.svd(B, full_matrices=False, check_finite=False)
    return left @ right
