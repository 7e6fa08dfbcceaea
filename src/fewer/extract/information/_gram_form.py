"""The bound of ``_bound`` for a table with not many more rows than axes, from the products of its rows.

With the weights w of n rows in a state, ``M = diag(w)^1/2 Z`` has ``C = M'M``, and ``G = M M' + reg I`` tells as much:

    |C + reg I| = |G| reg^(r - n),    M (C + reg I)^-1 M' = I - reg G^-1,    M (C + reg I)^-2 M' = G^-1 - reg G^-2.

The products of the rows never change, G only weighs them, and rows without weight are left out of it. The projection
enters by the weighted codes ``T = M B'`` alone: it lowers ``C + reg I`` by a matrix of rank k to
``S = C + reg I - M'T N^-1 T'M``, ``N = T'T + s^2 B B'``, so that with ``D = s^2 B B' + reg T'G^-1 T``

    |S| = |C + reg I| |D| / |N|,    M S^-1 M' = I - reg G^-1 + Q D^-1 Q',    Q = T - reg G^-1 T.
"""

from typing import NamedTuple

import numpy as np

from fewer._kernels._gram_bound import gram_inverse, seen_state, weighted_distances
from fewer._kernels._information_bound import softmax_slopes, softmax_states, state_shares
from fewer.extract.information._bound import LOG_TWO_PI, Channel

_NO_WEIGHT = 1e-14
"""A row that adds less to C, as a share of reg, is no row of the state: it changes no digit of the bound."""


class _State(NamedTuple):
    """Rows of a state, the roots of their weights, G^-1, and ``h(E) + p log 2 pi`` without a projection."""

    rows: np.ndarray
    roots: np.ndarray
    inverse: np.ndarray
    height: float


class _Seen(NamedTuple):
    """A state as a projection leaves it: ``h(E) + p log 2 pi``, T, and what ``seen_state`` tells of them."""

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
