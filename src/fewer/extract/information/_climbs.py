"""Steps that raise the bound of ``_bound``: of projection and softmax together, or in turns with free states.

The decoders are always the best ones, so that the bound is a function of the projection and the auxiliary variable
alone, with the gradient that it has for fixed decoders. It depends on the span of the projection only: any matrix B
with this span stands for it, and no move has to keep its rows orthonormal.
"""

from typing import NamedTuple, Protocol

import numpy as np

from fewer.extract.information._ascent import Ascent
from fewer.extract.information._bound import entropies, normalized, softmax
from fewer.extract.information._forms import Form

_MOVES = 10
"""Moves of projection and softmax in a step."""
_TURNS, _MOVES_A_TURN = 4, 3
"""Updates of free states in a step, and moves of the projection before each."""
_EMPTY = 1e-9
"""Rows; a state with less is dropped."""


class Auxiliary(NamedTuple):
    """Weights v_j (J, r) and b_j of the softmax; None if the variable is free."""

    V: np.ndarray | None
    b: np.ndarray | None


class Climb(Protocol):
    """Bound, projection and states where we stand, and a step uphill."""

    value: float
    B: np.ndarray
    pi: np.ndarray
    auxiliary: Auxiliary

    def step(self) -> None:
        """Go up, and leave out states that no row is in."""


class SoftmaxClimb:
    """Projection and softmax move together."""

    def __init__(self, form: Form, B: np.ndarray, V: np.ndarray, b: np.ndarray, *, sent: bool, fixed: bool) -> None:
        self._form, self._sent, self._fixed = form, sent, fixed
        self.B = B
        self._start(np.column_stack([V, b]))

    def _start(self, weights: np.ndarray) -> None:
        flat = weights.ravel()
        self._ascent = Ascent(self._bound, flat if self._fixed else np.concatenate([flat, self.B.ravel()]))
        self._settle()

    def _parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the softmax, and B."""
        size = len(x) - (0 if self._fixed else self.B.size)
        B = self.B if self._fixed else x[size:].reshape(self.B.shape)
        return x[:size].reshape(-1, self._form.Z.shape[1] + 1), B

    def _bound(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, in_weights, in_B = self._form.softmax_bound(*self._parts(x), self._sent)
        return value, in_weights.ravel() if self._fixed else np.concatenate([in_weights.ravel(), in_B.ravel()])

    def _settle(self) -> None:
        self.value = self._ascent.value
        weights, self.B = self._parts(self._ascent.x)
        self.auxiliary = Auxiliary(weights[:, :-1], weights[:, -1])
        self.pi = softmax(self._form.Z, weights[:, :-1], weights[:, -1])

    def step(self) -> None:
        """Go up, and leave out states that no row is in."""
        self._ascent.move(_MOVES)
        self._settle()
        crowded = self.pi.sum(axis=0) > _EMPTY
        if not crowded.all():
            self._start(self._parts(self._ascent.x)[0][crowded])


class FreeClimb:
    """States take the best probabilities for the projection, and the projection moves for these states."""

    auxiliary = Auxiliary(None, None)

    def __init__(self, form: Form, B: np.ndarray, pi: np.ndarray, *, sent: bool, fixed: bool) -> None:
        self._form, self._sent, self._fixed = form, sent, fixed
        self.B, self.pi = B, pi
        self._ascent: Ascent | None = None
        self._settle()

    def _settle(self) -> None:
        self._states = self._form.at(self.pi)
        self._shares = self.pi.mean(axis=0)
        self.value = self._states.value(self.B)[0] + (0.0 if self._sent else entropies(self.pi, self._shares))

    def _bound(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._states.value(x.reshape(self.B.shape))
        return value, gradient.ravel()

    def _turn(self) -> None:
        """Move the projection for these states."""
        if self._ascent is None:
            self._ascent = Ascent(self._bound, self.B.ravel())
        else:
            self._ascent.turn_to(self._bound)
        self._ascent.move(_MOVES_A_TURN)
        self.B = self._ascent.x.reshape(self.B.shape)

    def step(self) -> None:
        """Go up, and leave out states that no row is in."""
        for _ in range(_TURNS):
            if not self._fixed:
                self._turn()
            worth = self._states.worth(self.B)
            pi = (
                np.eye(worth.shape[1])[worth.argmax(axis=1)] if self._sent else normalized(worth + np.log(self._shares))
            )
            crowded = pi.sum(axis=0) > _EMPTY
            self.pi = pi if crowded.all() else pi[:, crowded] / pi[:, crowded].sum(axis=1, keepdims=True)
            self._settle()
