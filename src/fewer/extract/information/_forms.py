"""Two ways to work out the bound of ``_bound``: from the moments of the states, or from the products of the rows."""

from typing import Protocol

import numpy as np

from fewer.extract.information._bound import Channel
from fewer.extract.information._gram_form import GramForm
from fewer.extract.information._moment_form import MomentForm

_MANY_ROWS, _FEW_AXES = 2, 50
"""With more rows for each axis, or with fewer axes, moments are faster."""
_FLAT = 1e-8
"""Share of all variance; with a smaller floor of the decoders' covariances, products of rows tell too few digits."""


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
