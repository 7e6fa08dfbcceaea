"""The bound of ``_bound`` for a table with more rows than axes, from the moments of each state."""

import numpy as np

from fewer._kernels._information_bound import (
    projection_slopes,
    row_slopes,
    softmax_bound,
    turned_value,
    weighted_moments,
)
from fewer.extract.information._bound import Channel


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
