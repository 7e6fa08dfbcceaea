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
at the current point, in which pi appears as with a fixed decoder of precision A_j: raising that raises F. Without reg,
A_j is the decoder's own precision.

Rows are given by r coordinates in their span; in the p - r directions without variance ``S_j`` is ``reg I``.

With more rows than axes, F is computed from the moments of each state (``MomentForm``), otherwise from the products of
the rows (``GramForm``): with the weights w of n rows in a state, ``M = diag(w)^1/2 Z`` has ``C = M'M``, and
``G = M M' + reg I`` holds the same information:

    |C + reg I| = |G| reg^(r - n),    M (C + reg I)^-1 M' = I - reg G^-1,    M (C + reg I)^-2 M' = G^-1 - reg G^-2.

The products of the rows never change, G only weighs them, and rows without weight are left out of it. The projection
enters by the weighted codes ``T = M B'`` alone: it lowers ``C + reg I`` by a matrix of rank k to
``S = C + reg I - M'T N^-1 T'M``, ``N = T'T + s^2 B B'``, so that with ``D = s^2 B B' + reg T'G^-1 T``

    |S| = |C + reg I| |D| / |N|,    M S^-1 M' = I - reg G^-1 + Q D^-1 Q',    Q = T - reg G^-1 T.
"""

from typing import NamedTuple, Protocol

import numpy as np

from fewer.extract.information._kernels import (
    gram_inverse,
    projection_slopes,
    row_slopes,
    seen_state,
    softmax_bound,
    softmax_slopes,
    softmax_states,
    state_shares,
    turned_value,
    weighted_distances,
    weighted_moments,
)

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
            "The rows span fewer dimensions than there are columns, so that a decoder without noise knows some "
            "directions exactly, and the bound is infinite. Set reg_covar above 0."
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
        root = np.linalg.cholesky(precision).T @ left
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
    left, _, right = np.linalg.svd(B, full_matrices=False)
    return left @ right


class MomentForm:
    """The bound of rows ``Z``."""

    def __init__(self, Z: np.ndarray, channel: Channel) -> None:
        self.Z, self.channel = Z, channel

    def at(self, pi: np.ndarray) -> "MomentStates":
        """The bound as a function of the projection."""
        return MomentStates(self, pi)

    def softmax_bound(self, weights: np.ndarray, B: np.ndarray, sent: bool) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound for states with probabilities ``~ exp(-(v_j'z + b_j))``, and its gradients in (v, b) and in B."""
        return softmax_bound(self.Z, weights, B, *self.channel, sent)


class MomentStates:
    """States of given probabilities, whose moments are decomposed once for all projections."""

    def __init__(self, form: MomentForm, pi: np.ndarray) -> None:
        self._form, self._shares = form, pi.mean(axis=0)
        self._C = weighted_moments(form.Z, pi)
        values, axes = np.linalg.eigh(self._C)
        self._spectrum = np.maximum(values, 0), np.ascontiguousarray(axes)

    def value(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        """The bound without the entropies of the states, and its gradient in B."""
        return turned_value(B, *self._spectrum, self._shares, *self._form.channel)

    def worth(self, B: np.ndarray) -> np.ndarray:
        """What each row adds to the bound in each state."""
        _, _, forms, constants = projection_slopes(B, self._C, self._shares, *self._form.channel)
        return row_slopes(self._form.Z, forms, constants)


_NO_WEIGHT = 1e-14
"""A row that adds less to C, as a share of reg, is no row of the state: it changes no digit of the bound."""


class _State(NamedTuple):
    """Rows of a state, the roots of their weights, G^-1, and ``h(E) + p log 2 pi`` without a projection."""

    rows: np.ndarray
    roots: np.ndarray
    inverse: np.ndarray
    height: float


class _Seen(NamedTuple):
    """A state as a projection leaves it: ``h(E) + p log 2 pi``, T, and what ``seen_state`` returns."""

    height: float
    T: np.ndarray
    pull: np.ndarray
    within: np.ndarray
    N_inverse: np.ndarray
    D_inverse: np.ndarray
    squared: np.ndarray
    XT: np.ndarray
    Q: np.ndarray
    L: np.ndarray


class GramForm:
    """The bound of rows ``Z``, which keeps their products."""

    def __init__(self, Z: np.ndarray, channel: Channel) -> None:
        self.Z, self.channel = Z, channel
        self.products = Z @ Z.T
        self.squares = self.products.diagonal().copy()

    def at(self, pi: np.ndarray) -> "GramStates":
        """The bound as a function of the projection."""
        return GramStates(self, pi)

    def softmax_bound(self, weights: np.ndarray, B: np.ndarray, sent: bool) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound for states with probabilities ``~ exp(-(v_j'z + b_j))``, and its gradients in (v, b) and in B."""
        pi = softmax_states(self.Z, weights)
        value, in_B, gains = self.at(pi).value_and_gains(B)
        entropy, in_weights = softmax_slopes(self.Z, pi, state_shares(pi), gains, sent)
        return value + entropy, in_weights, in_B


class GramStates:
    """States of given probabilities, decomposed once for all projections."""

    def __init__(self, form: GramForm, pi: np.ndarray) -> None:
        self._form, self._pi = form, pi
        self._totals = pi.sum(axis=0)
        self._states = [self._state(weights) for weights in (pi / np.where(self._totals > 0, self._totals, 1)).T]

    def value(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        """The bound without the entropies of the states, and its gradient in B."""
        return self._value(B, self._all_seen(B))

    def value_and_gains(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The same, and what each row adds in each state, times its probability there."""
        all_seen = self._all_seen(B)
        gains = np.zeros(self._pi.shape)
        for j, (state, seen) in enumerate(zip(self._states, all_seen, strict=True)):
            _, T, _, within, N_inverse, _, _, *parts = seen
            distances = weighted_distances(state.inverse, T, self._form.channel.reg, within, N_inverse, *parts)
            gains[state.rows, j] = -0.5 * self._totals[j] * distances
            gains[:, j] -= 0.5 * (seen.height - distances.sum()) * self._pi[:, j]
        return *self._value(B, all_seen), gains

    def worth(self, B: np.ndarray) -> np.ndarray:
        """What each row adds to the bound in each state, also in those where it is not."""
        codes = self._form.Z @ B.T
        worth = np.empty(self._pi.shape)
        for j, (state, seen) in enumerate(zip(self._states, self._all_seen(B), strict=True)):
            distances = self._distances(state, seen, codes)
            worth[:, j] = -0.5 * (distances + seen.height - state.roots**2 @ distances[state.rows])
        return worth

    def _state(self, weights: np.ndarray) -> _State:
        _, reg, n_columns = self._form.channel
        rows = np.flatnonzero(weights * self._form.squares > _NO_WEIGHT * reg)
        constant = n_columns * (np.log(reg) + LOG_TWO_PI)
        if not len(rows):
            return _State(rows, np.empty(0), np.empty((0, 0)), constant)
        roots = np.sqrt(weights[rows])
        inverse, log_det = gram_inverse(self._form.products, rows, roots, reg)
        height = constant + log_det + len(rows) * (1 - np.log(reg)) - reg * float(inverse.trace())
        return _State(rows, roots, inverse, height)

    def _value(self, B: np.ndarray, all_seen: list[_Seen]) -> tuple[float, np.ndarray]:
        shares = self._totals / len(self._pi)
        pulls, within = np.zeros((len(self._pi), len(B))), np.zeros((len(B), len(B)))
        for share, state, seen in zip(shares, self._states, all_seen, strict=True):
            pulls[state.rows] += share * state.roots[:, None] * seen.pull
            within += share * seen.within
        gradient = pulls.T @ self._form.Z - self._form.channel.noise * (within @ B)
        return -0.5 * float(shares @ [seen.height for seen in all_seen]), gradient

    def _all_seen(self, B: np.ndarray) -> list[_Seen]:
        codes, blur = self._form.Z @ B.T, self._form.channel.noise * (B @ B.T)
        return [self._seen(state, codes, blur) for state in self._states]

    def _seen(self, state: _State, codes: np.ndarray, blur: np.ndarray) -> _Seen:
        """From the codes of all rows, and the covariance ``s^2 B B'`` of their noise."""
        T = state.roots[:, None] * codes[state.rows]
        change, *found = seen_state(state.inverse, T, blur, self._form.channel.reg)
        return _Seen(state.height + change, T, *found)

    def _distances(self, state: _State, seen: _Seen, codes: np.ndarray) -> np.ndarray:
        """``d'(S^-1 + reg S^-2) d`` of all rows, with ``d = z - U W z``.

        For ``f = M d``, ``d'(C + reg I)^-1 d = (|d|^2 - f'G^-1 f) / reg``.
        """
        reg, T, H = self._form.channel.reg, seen.T, seen.D_inverse
        known = state.roots[:, None] * self._form.products[state.rows]  # M Z'
        carried = (known[:, state.rows] * state.roots) @ T  # M U, but for N^-1
        shares = seen.N_inverse @ codes.T
        rest = known - carried @ shares
        squares = self._form.squares + np.sum(shares * (T.T @ carried @ shares - 2 * (T.T @ known)), axis=0)
        solved = state.inverse @ rest
        distances = 2 * (squares - np.sum(rest * solved, axis=0)) / reg - np.sum(solved**2, axis=0)
        first, second = T.T @ solved, (state.inverse @ T).T @ solved
        turned = H @ first
        return distances + np.sum(turned * (first + 2 * reg * second + reg * seen.squared @ turned), axis=0)


_MANY_ROWS, _FEW_AXES = 2, 50
"""With more rows for each axis, or with fewer axes, moments are faster."""
_FLAT = 1e-8
"""Share of all variance; with a smaller floor of the decoders' covariances, products of rows have too few digits."""


class States(Protocol):
    """States of given probabilities."""

    def value(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        """The bound without the entropies of the states, and its gradient in B."""

    def worth(self, B: np.ndarray) -> np.ndarray:
        """What each row adds to the bound in each state."""


class Form(Protocol):
    """The bound of rows ``Z``."""

    Z: np.ndarray

    def at(self, pi: np.ndarray) -> States:
        """The bound as a function of the projection."""

    def softmax_bound(self, weights: np.ndarray, B: np.ndarray, sent: bool) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound for states with probabilities ``~ exp(-(v_j'z + b_j))``, and its gradients in (v, b) and in B."""


def form_for(Z: np.ndarray, channel: Channel) -> Form:
    """The faster of the two that is exact."""
    n_rows, n_axes = Z.shape
    wide = n_rows <= _MANY_ROWS * n_axes and n_axes >= _FEW_AXES
    exact = channel.reg > _FLAT * np.sum(Z**2) / n_rows
    return GramForm(Z, channel) if wide and exact else MomentForm(Z, channel)
