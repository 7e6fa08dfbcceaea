"""L-BFGS uphill, a few moves at a time, that goes on where it was with what it knows about curvature."""

from collections.abc import Callable

import numpy as np

from fewer._kernels._quasi_newton import quasi_newton_direction

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Value, minus infinity where there is none, and gradient."""

_MEMORY = 10
_TRIALS = 20
_ENOUGH, _STEEP = 1e-4, 0.9
"""A move gains this share of what the slope promised, and leaves no more than that share of the slope (Wolfe)."""


class Ascent:
    """A point that moves uphill; ``value`` and ``gradient`` are those at ``x``."""

    def __init__(self, function: Function, x: np.ndarray) -> None:
        self._moves, self._falls = np.empty((2, _MEMORY, len(x)))
        self._n_moves = 0
        self.x = x
        self.turn_to(function)

    def turn_to(self, function: Function) -> None:
        """Go on with another function, whose curvature is about the same."""
        self._function = function
        self.value, self.gradient = function(self.x)

    def move(self, times: int) -> None:
        """So many moves; fewer at a top."""
        for _ in range(times):
            if not self._moved() and not (self._forget() and self._moved()):
                break

    def _forget(self) -> bool:
        """Whether there was something to forget."""
        known, self._n_moves = self._n_moves, 0
        return known > 0

    def _moved(self) -> bool:
        direction = quasi_newton_direction(self.gradient, self._moves, self._falls, self._n_moves)
        if not self._n_moves:
            direction /= max(1.0, float(np.linalg.norm(direction)))
        slope = float(direction @ self.gradient)
        if not slope > 0:
            return False
        found = self._along(direction, slope)
        if found is None:
            return False
        x, value, gradient = found
        move, fall = x - self.x, self.gradient - gradient
        if move @ fall > 1e-12 * np.sqrt((move @ move) * (fall @ fall)):
            place = self._n_moves % _MEMORY
            self._moves[place], self._falls[place] = move, fall
            self._n_moves += 1
        self.x, self.value, self.gradient = x, value, gradient
        return True

    def _along(self, direction: np.ndarray, slope: float) -> tuple[np.ndarray, float, np.ndarray] | None:
        """A point along a direction that gains enough, and beyond which the slope is less steep."""
        short, far, step = 0.0, np.inf, 1.0
        found = None
        for _ in range(_TRIALS):
            x = self.x + step * direction
            value, gradient = self._function(x)
            if not value >= self.value + _ENOUGH * step * slope:
                far = step
                lack = self.value + slope * step - value
                fitted = 0.5 * slope * step * step / lack if not short else 0.5 * (short + far)
                step = min(max(fitted, short + 0.1 * (far - short)), 0.5 * (short + far))
            else:
                found = x, value, gradient
                if gradient @ direction <= _STEEP * slope:
                    break
                short = step
                step = 2 * short if far == np.inf else 0.5 * (short + far)
        return found
