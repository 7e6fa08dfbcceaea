"""EM whose posteriors are projected on what is known: the loop that mixtures and chains share.

    J(theta) = L(theta) - w min_{q in Q} KL(q || p_theta(y | x)),

where L is the log-likelihood with the log prior. One step: posteriors p of the model, their projection q, and the
M-step with ``w q + (1 - w) p``. J does not fall. A mixture is a chain whose sequences have one row each, so that
forward-backward serves both.
"""

from typing import Any, NamedTuple

import numpy as np

from fewer.latent.chains._emissions import Emission
from fewer.latent.chains._forward_backward import Chain, Inference, forward_backward
from fewer.latent.chains._hidden_markov import ChainState, chain_from_counts
from fewer.latent.regularized._constraints import SparsityTerm
from fewer.latent.regularized._projection import Projection, project

_EXCLUDED = -1e8
_FARTHEST_ROW = 700.0


class Problem(NamedTuple):
    """Rows, their sequences and known labels (-1 for none), the terms of the constraints, and the weight of KL."""

    emission: Emission
    rows: Any
    indptr: np.ndarray
    labels: np.ndarray
    terms: list[Any]
    kl_weight: float = 1.0


class RegularizedState(NamedTuple):
    """A chain with its emissions, dual variables to start the next projection from, and the last projection."""

    model: ChainState
    dual: np.ndarray | None = None
    projection: Projection | None = None


def model_densities(problem: Problem, model: ChainState) -> np.ndarray:
    """Log-densities of rows in each component, none but the known one where the label is known."""
    logs = problem.emission.log_densities(problem.rows, model.parameters)
    known = np.flatnonzero(problem.labels >= 0)
    if len(known):
        own = logs[known, problem.labels[known]]
        logs[known] = _EXCLUDED
        logs[known, problem.labels[known]] = own
    return logs


def projected(problem: Problem, model: ChainState, start: np.ndarray | None) -> tuple[Inference, Inference, Projection]:
    """Inference with the model's posteriors and with the projected ones, and the projection."""
    logs = model_densities(problem, model)
    base = forward_backward(logs, model.chain, problem.indptr)
    level = float(base.scores.sum())
    if not problem.terms:
        return base, base, Projection(base.posteriors, np.zeros(0), 0.0, 0.0, 0.0, 1, True)

    def infer(shift: np.ndarray) -> tuple[np.ndarray, float]:
        found = forward_backward(logs - shift, model.chain, problem.indptr)
        return found.posteriors, float(found.scores.sum()) - level

    bound = _FARTHEST_ROW * len(logs)
    # A penalty has a dual variable for each row: a gap of 1e-4 of its value changes no figure of the fit that matters.
    sparse = any(isinstance(term, SparsityTerm) for term in problem.terms)
    limits: dict[str, Any] = {"tol": 1e-4, "max_iter": 100} if sparse else {"tol": 1e-8, "max_iter": 1000}
    found = project(infer, problem.terms, start=start, bound=bound, **limits)
    return base, forward_backward(logs - found.shift, model.chain, problem.indptr), found


def regularized_step(problem: Problem, state: RegularizedState) -> tuple[RegularizedState, float]:
    """One step: the next state, and J of the present one."""
    model, weight = state.model, problem.kl_weight
    if problem.terms and weight > 0:
        base, other, projection = projected(problem, model, state.dual)
        cost = weight * (projection.kl + projection.penalty)
    else:
        base = forward_backward(model_densities(problem, model), model.chain, problem.indptr)
        other, projection, cost = base, None, 0.0
        weight = 0.0
    mixed = [weight * theirs + (1 - weight) * ours for ours, theirs in zip(base[:3], other[:3], strict=True)]
    posteriors, starts, transitions = mixed if weight > 0 else base[:3]
    n_rows = float(problem.indptr[-1])
    objective = float(base.scores.sum()) + problem.emission.log_prior(model.parameters, n_rows) - cost
    chain = chain_from_counts(starts, transitions, model.chain)
    parameters = problem.emission.maximised(problem.rows, posteriors, model.parameters)
    moved = ChainState(chain, parameters, posteriors.sum(axis=0) / n_rows)
    dual = state.dual if projection is None else projection.lambda_
    return RegularizedState(moved, dual, projection), objective


def matched_components(problem: Problem, model: ChainState, orders: list[np.ndarray]) -> ChainState:
    """The model with its components numbered so that the constraints cost least."""

    def renumbered(order: np.ndarray) -> ChainState:
        chain = Chain(model.chain.start[order], model.chain.transition[np.ix_(order, order)])
        return ChainState(chain, problem.emission.ordered(model.parameters, order), model.weights[order])

    def cost(order: np.ndarray) -> float:
        candidate = renumbered(order)
        # The likelihood differs between orders only where labels are known.
        level = forward_backward(model_densities(problem, candidate), candidate.chain, problem.indptr).scores.sum()
        found = projected(problem, candidate, None)[2]
        return found.kl + found.penalty - float(level)

    return renumbered(min(orders, key=cost))
