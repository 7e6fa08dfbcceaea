"""The IM algorithm: from several starts, steps raise the bound of ``_bound`` until they gain no more; the best is kept.

The decoders are always the best ones, so that the bound is a function of the projection and the auxiliary variable
alone, with the gradient that it has for fixed decoders. It depends on the span of the projection only: any matrix B
with this span can be used, and no move has to keep its rows orthonormal. Projection and softmax are moved together by
L-BFGS, a few moves at a time, or in turns with free states. The auxiliary variable starts nearly independent of the
rows, or from clusters of them; what is random is drawn for the columns of the table, so that it does not depend on the
basis of the span. All starts are tried for a few steps, and the best ones continue.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans

from fewer._kernels._one_thread import one_thread
from fewer._kernels._quasi_newton import quasi_newton_direction
from fewer.extract._centred_table import RowSpace
from fewer.extract.information._bound import (
    Channel,
    Decoders,
    Form,
    decoders_of,
    entropies,
    form_for,
    log_densities,
    normalized,
    polar,
    second_moments,
    softmax,
)

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


Softmax = tuple[np.ndarray, np.ndarray]
"""Weights v_j of (states, coordinates), and b_j."""

_SMALL = 0.3
"""Standard deviation of the weights at random, for a table of unit variance."""
_SOFTER = 3.0
"""Variance of a cluster at the start, as a multiple of what it is."""


def random_states(Z: np.ndarray, axes: np.ndarray, n_aux: int, rng: np.random.RandomState) -> Softmax:
    """Small random weights of the columns, in coordinates of the span: states are about as likely for all rows."""
    typical = np.sqrt(np.sum(Z**2) / (len(Z) * len(axes)))
    return _SMALL * rng.normal(size=(n_aux, len(axes))) @ axes / typical, _SMALL * rng.normal(size=n_aux)


def random_directions(n_components: int, axes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Orthonormal directions in the coordinates of the span."""
    return polar(rng.normal(size=(n_components, len(axes))) @ axes)


def clustered_states(Z: np.ndarray, n_aux: int, rng: np.random.RandomState) -> Softmax:
    """The softmax of round clusters around the centres c of k-means, ``exp((2 c'z - |c|^2) / (2 variance))``.

    The variance is more than that of the clusters: rows between two centres, which may go either way, move the softmax.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer distinct rows than clusters: some centres are the same then
        found = KMeans(min(n_aux, len(Z)), n_init=1, random_state=rng).fit(Z)
    variance = _SOFTER * max(found.inertia_ / Z.size, 1e-6 * np.mean(Z**2))
    centres = found.cluster_centers_
    return -centres / variance, np.sum(centres**2, axis=1) / (2 * variance)


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


class Receiver(NamedTuple):
    """Projection, decoders, their prior q, and how the state follows from a row, which is ``sent`` or not."""

    W: np.ndarray
    decoders: Decoders
    prior: np.ndarray
    auxiliary: Auxiliary
    channel: Channel
    sent: bool

    def states(self, Z: np.ndarray) -> np.ndarray:
        """Probability of each state, for any rows in the span of the training rows."""
        V, b = self.auxiliary
        if V is not None and b is not None:
            return softmax(Z, V, b)
        densities = log_densities(Z, self.W, self.decoders, self.channel)
        if self.sent:
            return np.eye(densities.shape[1])[densities.argmax(axis=1)]
        return normalized(densities + np.log(self.prior))

    def states_of_codes(self, codes: np.ndarray) -> np.ndarray:
        """Probability of each state given a code: ``q_j N(y; 0, W C_j W' + s^2 I)``."""
        spreads = self.W @ self.decoders.C @ self.W.T + self.channel.noise * np.eye(len(self.W))
        squares = np.stack([np.sum(codes * np.linalg.solve(spread, codes.T).T, axis=1) for spread in spreads], axis=1)
        return normalized(np.log(self.prior) - 0.5 * (squares + np.linalg.slogdet(spreads)[1]))

    def bound(self, Z: np.ndarray) -> float:
        """F on any rows in the span of the training rows."""
        pi = self.states(Z)
        value = float(np.mean(np.sum(pi * log_densities(Z, self.W, self.decoders, self.channel), axis=1)))
        return value if self.sent else value + entropies(pi, self.prior)

    def turned(self, rotation: np.ndarray) -> "Receiver":
        """The same for codes in other coordinates."""
        return self._replace(W=rotation @ self.W, decoders=self.decoders._replace(U=self.decoders.U @ rotation.T))


def receiver_of(
    Z: np.ndarray, W: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, channel: Channel, *, sent: bool
) -> Receiver:
    """With the best decoders and prior for training rows in given states."""
    return Receiver(W, decoders_of(second_moments(Z, pi), W, channel), pi.mean(axis=0), auxiliary, channel, sent)


_MANY_ROWS = 5000
"""Of more rows, starts are tried on so many of them, and the best one goes on with all."""
_TRIAL, _KEPT = 2, 5
"""All starts take two steps, and one in five of each kind goes on."""
_MANY_AXES = 500
"""With fewer, linear algebra runs on one thread."""


class Starts(NamedTuple):
    """How many starts, with how many states, and whether from random directions or from the given ones."""

    n_init: int
    n_aux: int
    random: bool


def best_of_starts(
    space: RowSpace,
    first: np.ndarray,
    starts: Starts,
    recipe: Recipe,
    rng: np.random.RandomState,
    n_jobs: int | None,
    stop: Callable[[], bool],
) -> tuple[Fit, np.ndarray]:
    """The best end of all starts, and the bound at each; chosen on some of very many rows."""
    Z, axes = space.rows, space.axes
    some = Z if len(Z) <= _MANY_ROWS else Z[np.sort(rng.permutation(len(Z))[:_MANY_ROWS])]
    drawn = [_start(number, some, axes, first, starts, recipe, rng) for number in range(starts.n_init)]
    ground = ground_of(some, recipe.channel)
    trial = recipe._replace(max_iter=min(_TRIAL, recipe.max_iter))
    fits = _climbed([delayed(from_start)(ground, *start, trial, stop) for start in drawn], n_jobs, Z.shape[1])
    # Random states take longer to come off the ground than clusters, so that each kind has its own leaders.
    order = sorted(range(len(fits)), key=lambda start: -fits[start].trace[-1])
    kinds = ([start for start in order if start % 2 == kind] for kind in (0, 1))
    leaders = [start for kind in kinds for start in kind[: -(-len(kind) // _KEPT)]]
    ends = _climbed([delayed(continued)(ground, fits[start], recipe, stop) for start in leaders], n_jobs, Z.shape[1])
    fits = [dict(zip(leaders, ends, strict=True)).get(start, fit) for start, fit in enumerate(fits)]
    best = max(fits, key=lambda fit: fit.trace[-1])
    bounds = np.array([fit.trace[-1] for fit in fits])
    if some is not Z:
        pi = receiver_of(some, best.W, best.pi, best.auxiliary, recipe.channel, sent=recipe.sent).states(Z)
        best = im_fit(ground_of(Z, recipe.channel), best.W, pi, best.auxiliary, recipe, stop)
    return best, bounds


def _start(
    number: int,
    Z: np.ndarray,
    axes: np.ndarray,
    first: np.ndarray,
    starts: Starts,
    recipe: Recipe,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray, Auxiliary]:
    """Directions, states of the rows, and weights of their softmax, if that is to move."""
    W = random_directions(len(first), axes, rng) if starts.random and not recipe.fixed else first
    V, b = clustered_states(Z, starts.n_aux, rng) if number % 2 else random_states(Z, axes, starts.n_aux, rng)
    return W, softmax(Z, V, b), Auxiliary(None, None) if recipe.free else Auxiliary(V, b)


def _climbed(tasks: list, n_jobs: int | None, n_axes: int) -> list[Fit]:
    # Threads of products of small matrices wait for one another longer than they reckon.
    with one_thread("blas", when=n_axes < _MANY_AXES):
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))
