"""The IM algorithm: from a start, steps of ``_climbs`` raise the bound of ``_bound`` until they gain no more."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewer.extract.information._bound import Channel, polar
from fewer.extract.information._climbs import Auxiliary, Climb, FreeClimb, SoftmaxClimb
from fewer.extract.information._forms import Form, form_for


class Recipe(NamedTuple):
    """What is maximised, and how long; with ``fixed`` the projection stays as it is."""

    channel: Channel
    sent: bool
    free: bool
    max_iter: int
    tol: float
    fixed: bool = False


class Ground(NamedTuple):
    """The bound of rows that are measured in their own typical size, so that units make no difference to the steps."""

    form: Form
    unit: float


class Fit(NamedTuple):
    """Where the algorithm ended; ``trace`` has F at the start and after each step."""

    W: np.ndarray
    pi: np.ndarray
    auxiliary: Auxiliary
    trace: list[float]

    @property
    def gain(self) -> float:
        """What the last step brought."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else 0.0


def ground_of(Z: np.ndarray, channel: Channel) -> Ground:
    """Where climbs on these rows take place; one serves all of them."""
    unit = float(np.sqrt(np.mean(Z**2)))
    scaled = Channel(channel.noise / unit**2, channel.reg / unit**2, channel.n_columns)
    return Ground(form_for(np.ascontiguousarray(Z / unit), scaled), unit)


def im_fit(
    ground: Ground, W: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, recipe: Recipe, stop: Callable[[], bool]
) -> Fit:
    """Climb from a start until a step gains less than ``tol``, the steps are used up, or ``stop`` says so."""
    form, unit = ground
    B, sent, fixed = np.ascontiguousarray(W), recipe.sent, recipe.fixed
    climb: Climb
    if auxiliary.V is None or auxiliary.b is None:
        climb = FreeClimb(form, B, pi, sent=sent, fixed=fixed)
    else:
        climb = SoftmaxClimb(form, B, auxiliary.V * unit, auxiliary.b, sent=sent, fixed=fixed)
    values = [climb.value]
    for _ in range(recipe.max_iter):
        climb.step()
        values.append(climb.value)
        if stop() or values[-1] - values[-2] < recipe.tol:
            break
    W = W if recipe.fixed else polar(climb.B)
    V, b = climb.auxiliary
    trace = [value - recipe.channel.n_columns * float(np.log(unit)) for value in values]
    return Fit(W, climb.pi, Auxiliary(None if V is None else V / unit, b), trace)


def from_start(
    ground: Ground, W: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, recipe: Recipe, stop: Callable[[], bool]
) -> Fit:
    """Climb from a start; a softmax takes the first step alone, after which both find better tops together."""
    if recipe.free or recipe.fixed or recipe.max_iter < 2:
        return im_fit(ground, W, pi, auxiliary, recipe, stop)
    alone = im_fit(ground, W, pi, auxiliary, recipe._replace(fixed=True, max_iter=1), stop)
    return _with_more(ground, alone, recipe, stop)


def continued(ground: Ground, fit: Fit, recipe: Recipe, stop: Callable[[], bool]) -> Fit:
    """The same climb, until it ends by itself or the steps of the recipe are used up."""
    ended = len(fit.trace) > recipe.max_iter or fit.gain < recipe.tol
    return fit if ended else _with_more(ground, fit, recipe, stop)


def _with_more(ground: Ground, fit: Fit, recipe: Recipe, stop: Callable[[], bool]) -> Fit:
    left = recipe._replace(max_iter=recipe.max_iter - (len(fit.trace) - 1))
    later = im_fit(ground, fit.W, fit.pi, fit.auxiliary, left, stop)
    return later._replace(trace=fit.trace + later.trace[1:])
