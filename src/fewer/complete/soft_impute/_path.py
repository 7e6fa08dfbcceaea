"""The nuclear norm's solutions over a falling penalty, each started from the one before."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fewer.complete._entries import SparseEntries, leading_triplets
from fewer.complete.soft_impute._alternating import factorised, starting_factors
from fewer.complete.soft_impute._spectral import (
    Buffers,
    Completion,
    LowRank,
    Rules,
    completed,
    continued,
    duality_gap,
    step,
    zero_completion,
)
from fewer.complete.soft_impute._thresholds import soft
from fewer.complete.soft_impute._unshrink import best_core, best_weights

_FIRST_RANK = 8
_NEGLIGIBLE = 1e-6
"""Of lam: singular values of alternating factors up to this are fading away, and no more directions are wanted."""
_FINEST = 1e-15


class PathOptions(NamedTuple):
    """How each point is solved; the names are those of ``SoftImpute``."""

    tol: float
    max_iter: int
    rank_max: int
    warm_start: bool = True
    svd: str = "auto"
    momentum: bool = True
    seed: int = 0


def grid(lam_0: float, ratio: float, n: int) -> np.ndarray:
    """From the smallest penalty with the solution 0 down to a share of it, in equal ratios."""
    return np.geomspace(lam_0, ratio * lam_0, n) if lam_0 > 0 else np.zeros(1)


def solutions(
    entries: Any,
    lambdas: np.ndarray,
    options: PathOptions,
    on_step: Callable[[Completion], bool] = lambda state: False,
    start: LowRank | None = None,
) -> Iterator[Completion]:
    """One solution for each penalty, the first found from ``start``; ends early when ``on_step`` says stop."""
    rules = Rules(
        options.tol,
        options.max_iter,
        options.rank_max,
        lam=float(lambdas[0]),
        momentum=options.momentum,
        whole=options.svd == "dense",
        seed=options.seed,
    )
    state = None if start is None else continued(entries, start, rules)
    zero, buffers = None, Buffers(entries)
    # With few entries observed, a step of shrinking moves little; a ridge regression takes each row where it belongs.
    by_alternating = options.svd == "als" or (options.svd == "auto" and isinstance(entries, SparseEntries))
    for lam in lambdas.tolist():
        if by_alternating:
            state = _by_alternating(entries, lam, state if options.warm_start else None, rules, on_step)
        else:
            first = state if options.warm_start else None
            if first is None:
                first = zero = zero or zero_completion(entries, rules)
            state = completed(entries, soft(lam), first, rules._replace(lam=lam), on_step, buffers)
        yield state
        if state.stopped:
            return


def refitted_core(entries: Any, Z: LowRank, post: str) -> np.ndarray | None:
    """Weights of the singular vectors fitted to the observed entries without shrinkage; None where nothing is asked."""
    if post == "none" or not Z.rank:
        return None
    if post == "unshrink":
        return np.diag(best_weights(entries, Z.U, Z.V))
    return best_core(entries, Z.U, Z.V, start=np.diag(Z.d))


def _by_alternating(
    entries: Any, lam: float, start: Completion | None, rules: Rules, on_step: Callable[[Completion], bool]
) -> Completion:
    """Alternating ridge regressions, with wider factors until the duality gap closes."""
    widest = min(rules.rank_max, *entries.shape)
    if start is None or not start.Z.rank:
        left, right = starting_factors(entries, min(_FIRST_RANK, widest), lam, rules.seed)
    else:
        left, right = start.Z.U * np.sqrt(start.Z.d), start.Z.V * np.sqrt(start.Z.d)
    n_iter, objectives = 0, []
    tol = rules.tol
    while True:
        state = factorised(
            entries, lam, left, right, tol=tol, max_iter=rules.max_iter - n_iter, seed=rules.seed, on_step=on_step
        )
        n_iter += state.n_iter
        objectives += state.objectives
        state.gap, _, norms, _ = duality_gap(entries, state, lam, rules.seed, rules.tol)
        full = norms[0] > lam * (1 + rules.tol) and state.Z.d[-1] > _NEGLIGIBLE * lam
        # Where the rank is held down, no gap closes: then it has settled when sweeps no longer lower the objective.
        if state.gap <= rules.tol * state.objective or (full and left.shape[1] == rules.rank_max):
            state.converged = state.converged or state.gap <= rules.tol * state.objective
            break
        if state.stopped or n_iter >= rules.max_iter or tol < _FINEST:
            state.converged = False
            break
        left, right = state.Z.U * np.sqrt(state.Z.d), state.Z.V * np.sqrt(state.Z.d)
        if full and left.shape[1] < widest:
            left, right = _wider(entries, state, left, right, widest, lam, rules.seed)
        else:
            tol /= 10
    found = _without_dead_directions(entries, lam, state, rules)
    found.gap, found.converged, found.stopped = state.gap, state.converged, state.stopped
    found.n_iter, found.objectives = n_iter, [*objectives, found.objective]
    return found


def _without_dead_directions(entries: Any, lam: float, state: Completion, rules: Rules) -> Completion:
    """One shrinking step: directions that ridge regressions only let fade away become zero, and the objective falls."""
    state.basis, state.by_columns = state.Z.V, False
    return step(entries, soft(lam), state, state, 0.0, rules.rank_max, Buffers(entries))


def _wider(
    entries: Any, state: Completion, left: np.ndarray, right: np.ndarray, widest: int, lam: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The factors with the residual's leading directions added, in the size of a step along them."""
    more = min(max(4, left.shape[1] // 2), widest - left.shape[1])
    U, d, V = leading_triplets(entries, state.residual, more, seed=seed, tol=1e-2)
    sizes = np.sqrt(np.maximum(d - lam, _NEGLIGIBLE * lam)).astype(d.dtype)
    return np.hstack([left, U * sizes]), np.hstack([right, V * sizes])
