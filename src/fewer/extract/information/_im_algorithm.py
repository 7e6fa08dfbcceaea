"""The IM algorithm: projection, decoders and auxiliary variable by turns, each raising the bound of ``_bound``."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

from fewer.extract.information._bound import (
    Channel,
    Decoders,
    bound,
    decoders_of,
    log_or_zero,
    normalized,
    second_moments,
    slopes_of_rows,
    softmax,
)
from fewer.extract.information._code_step import Spectrum, code_step

_AUXILIARY_STEPS = 20
_EMPTY = 1e-9
"""Rows; a state with less is dropped."""


class Auxiliary(NamedTuple):
    """Weights v_j (J, r) and b_j of the softmax; None if the variable is free."""

    V: np.ndarray | None
    b: np.ndarray | None

    def kept(self, states: np.ndarray) -> "Auxiliary":
        return self if self.V is None or self.b is None else Auxiliary(self.V[states], self.b[states])


class Recipe(NamedTuple):
    """What is maximised, and how long; with ``fixed`` the projection stays as it is."""

    channel: Channel
    sent: bool
    free: bool
    max_iter: int
    tol: float
    fixed: bool = False


class Fit(NamedTuple):
    """Where the algorithm ended; ``trace`` has F at the start and after each step."""

    W: np.ndarray
    pi: np.ndarray
    auxiliary: Auxiliary
    decoders: Decoders
    trace: list[float]

    @property
    def gain(self) -> float:
        """What the last step brought."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else 0.0


def auxiliary_value(
    weights: np.ndarray, Z: np.ndarray, slopes: np.ndarray, log_prior: np.ndarray, sent: bool
) -> tuple[float, np.ndarray]:
    """What the softmax with these weights (J, r + 1) is worth, and the gradient."""
    pi = softmax(Z, weights[:, :-1], weights[:, -1])
    worth = slopes if sent else slopes + log_prior - log_or_zero(pi)
    mean = np.sum(pi * worth, axis=1, keepdims=True)
    down = -pi * (worth - mean) / len(Z)  # logits are minus what the weights give
    return float(mean.mean()), np.column_stack([down.T @ Z, down.sum(axis=0)])


def auxiliary_step(
    Z: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, slopes: np.ndarray, sent: bool
) -> tuple[np.ndarray, Auxiliary]:
    """Probabilities of the states that serve these decoders better."""
    log_prior = np.log(pi.mean(axis=0))
    if auxiliary.V is None or auxiliary.b is None:
        if sent:
            return np.eye(pi.shape[1])[slopes.argmax(axis=1)], auxiliary
        return normalized(slopes + log_prior), auxiliary
    typical = np.sqrt(np.mean(Z**2))  # so that units make no difference to the steps
    scaled = Z / typical
    start = np.column_stack([auxiliary.V * typical, auxiliary.b])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = auxiliary_value(flat.reshape(start.shape), scaled, slopes, log_prior, sent)
        return -value, -gradient.ravel()

    found = optimize.minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _AUXILIARY_STEPS, "gtol": 1e-12}
    )
    weights = found.x.reshape(start.shape) if found.fun < loss(start.ravel())[0] else start
    moved = Auxiliary(weights[:, :-1] / typical, weights[:, -1])
    return softmax(scaled, weights[:, :-1], weights[:, -1]), moved


def im_fit(
    Z: np.ndarray, W: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, recipe: Recipe, stop: Callable[[], bool]
) -> Fit:
    """Climb from a start until a step gains less than ``tol``, the steps are used up, or ``stop`` says so."""
    channel = recipe.channel
    decoders = decoders_of(second_moments(Z, pi), W, channel)
    trace = [bound(pi, decoders, channel, sent=recipe.sent)]
    for _ in range(recipe.max_iter):
        if not recipe.fixed:
            W = code_step(W, Spectrum.of(decoders.C, pi.mean(axis=0)), channel)
            decoders = decoders_of(decoders.C, W, channel)
        if pi.shape[1] > 1:
            slopes = slopes_of_rows(Z, W, decoders, channel)
            pi, auxiliary = auxiliary_step(Z, pi, auxiliary, slopes, recipe.sent)
            pi, auxiliary = without_empty(pi, auxiliary)
            decoders = decoders_of(second_moments(Z, pi), W, channel)
        trace.append(bound(pi, decoders, channel, sent=recipe.sent))
        if stop() or trace[-1] - trace[-2] < recipe.tol:
            break
    return Fit(W, pi, auxiliary, decoders, trace)


def continued(Z: np.ndarray, fit: Fit, recipe: Recipe, stop: Callable[[], bool]) -> Fit:
    """The same climb, until it ends by itself or the steps of the recipe are used up."""
    left = recipe.max_iter - (len(fit.trace) - 1)
    if left < 1 or fit.gain < recipe.tol:
        return fit
    later = im_fit(Z, fit.W, fit.pi, fit.auxiliary, recipe._replace(max_iter=left), stop)
    return later._replace(trace=fit.trace + later.trace[1:])


def without_empty(pi: np.ndarray, auxiliary: Auxiliary) -> tuple[np.ndarray, Auxiliary]:
    """Without states that no row is in."""
    states = pi.sum(axis=0) > _EMPTY
    if states.all():
        return pi, auxiliary
    pi = pi[:, states]
    return pi / pi.sum(axis=1, keepdims=True), auxiliary.kept(states)
