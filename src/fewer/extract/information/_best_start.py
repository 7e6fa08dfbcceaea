"""The best of several climbs: all starts are tried for a few steps, and the leaders go on."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from fewer._kernels._one_thread import one_thread
from fewer.extract.gradients._row_space import RowSpace
from fewer.extract.information._bound import softmax
from fewer.extract.information._climbs import Auxiliary
from fewer.extract.information._im_algorithm import Fit, Recipe, continued, from_start, ground_of, im_fit
from fewer.extract.information._receiver import receiver_of
from fewer.extract.information._starts import clustered_states, random_directions, random_states

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
