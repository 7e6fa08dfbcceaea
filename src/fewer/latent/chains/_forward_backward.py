"""Inference in hidden Markov chains: forward-backward, Viterbi, and draws of states from prior and posterior.

    P(z_1 = j) = s_j,    P(z_{t+1} = j | z_t = i) = A_ij,    x_t | z_t = j has log-density b_tj.

Forward, with probabilities that are scaled to sum to 1 in each row:

    a_{t+1}(j) = sum_i alpha_t(i) A_ij,    alpha_t(j) = a_t(j) exp(b_tj) / c_t,    log p(x) = sum_t log c_t.

Backward, from gamma_T = alpha_T: ``gamma_t(i) = alpha_t(i) sum_j A_ij r_j`` with ``r_j = gamma_{t+1}(j) / a_{t+1}(j)``,
which needs no second scaling; expected transitions are ``A_ij sum_t alpha_t(i) r_j``. Where a probability leaves the
range of floating-point numbers, the sequence is done again with logarithms.

References: Rabiner, L. R. (1989). A tutorial on hidden Markov models and selected applications in speech recognition.
Proceedings of the IEEE 77, 257-286.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._arrays import read_only

_TINY = 1e-250
_LOWEST = -1e280


class Chain(NamedTuple):
    """Probabilities of the first state (K,), and of each state after each other one (K, K)."""

    start: np.ndarray
    transition: np.ndarray


class ChainState(NamedTuple):
    """A chain, parameters of what rows look like in its states, and the share of rows in each state (K,)."""

    chain: Chain
    parameters: Any
    weights: np.ndarray


class Inference(NamedTuple):
    """Posteriors of the states (n, K), expected numbers of first states and of transitions, log p(x_t | past) (n,)."""

    posteriors: np.ndarray
    starts: np.ndarray
    transitions: np.ndarray
    scores: np.ndarray


def forward_backward(
    log_densities: np.ndarray, chain: Chain, indptr: np.ndarray, weights: np.ndarray | None = None
) -> Inference:
    """Posteriors of all states given all rows of their sequence.

    Parameters
    ----------
    log_densities : ndarray of shape (n, K)
        Of each row in each state.
    chain : Chain
        The chain of states.
    indptr : ndarray of shape (n_sequences + 1,)
        Where sequences begin and end.
    weights : ndarray of shape (n_sequences,), default=None
        Weights of sequences in the expected numbers of first states and transitions.

    Returns
    -------
    found : Inference
        Scores sum to the log-likelihood.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> found = forward_backward(np.log([[0.8, 0.2], [0.5, 0.5]]), chain, np.array([0, 2]))
    >>> found.posteriors.round(2)
    array([[0.8 , 0.2 ],
           [0.74, 0.26]])
    """
    logs = np.ascontiguousarray(log_densities, dtype=np.float64)
    n_states = logs.shape[1]
    found = Inference(
        np.empty_like(logs), np.zeros(n_states), np.zeros((n_states, n_states)), np.empty(len(logs), dtype=np.float64)
    )
    masses = np.ones(len(indptr) - 1) if weights is None else np.asarray(weights, dtype=np.float64)
    inputs = (read_only(logs), *_read_only_chain(chain), read_only(np.asarray(indptr, np.int64)), read_only(masses))
    _all_sequences(*inputs, *found)
    return found


def _read_only_chain(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    return tuple(read_only(np.ascontiguousarray(each, dtype=np.float64)) for each in chain)  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _all_sequences(logs, start, transition, indptr, weights, posteriors, starts, transitions, scores):
    n_states = logs.shape[1]
    predicted = np.empty((logs.shape[0], n_states))
    turned = transition.T.copy()
    counts = np.empty((n_states, n_states))
    for sequence in range(len(indptr) - 1):
        first, last = indptr[sequence], indptr[sequence + 1]
        if first == last:
            continue
        counts[:] = 0.0
        sound = _scaled(logs, start, transition, turned, first, last, predicted, posteriors, counts, scores)
        if not sound:
            _with_logarithms(logs, start, transition, first, last, predicted, posteriors, counts, scores)
        for i in range(n_states):
            starts[i] += weights[sequence] * posteriors[first, i]
            for j in range(n_states):
                transitions[i, j] += weights[sequence] * counts[i, j]


@njit(cache=True, nogil=True)
def _scaled(logs, start, transition, turned, first, last, predicted, posteriors, counts, scores):
    """Whether all went well within the range of floating-point numbers."""
    n_states = logs.shape[1]
    for t in range(first, last):
        ahead, now = predicted[t], posteriors[t]
        if t == first:
            for j in range(n_states):
                ahead[j] = start[j]
        else:
            before = posteriors[t - 1]
            for j in range(n_states):
                ahead[j] = 0.0
            for i in range(n_states):
                share = before[i]
                for j in range(n_states):
                    ahead[j] += share * transition[i, j]
        highest = logs[t, 0]
        for j in range(1, n_states):
            highest = max(highest, logs[t, j])
        total = 0.0
        for j in range(n_states):
            now[j] = ahead[j] * np.exp(logs[t, j] - highest)
            total += now[j]
        if not (total > _TINY and highest > _LOWEST):
            return False
        for j in range(n_states):
            now[j] /= total
        scores[t] = np.log(total) + highest
    ratios = np.empty(n_states)
    back = np.empty(n_states)
    for t in range(last - 2, first - 1, -1):
        after, now = posteriors[t + 1], posteriors[t]
        for j in range(n_states):
            ratios[j] = after[j] / predicted[t + 1, j] if after[j] > 0.0 else 0.0
            back[j] = 0.0
        for j in range(n_states):
            for i in range(n_states):
                back[i] += ratios[j] * turned[j, i]
        total = 0.0
        for i in range(n_states):
            for j in range(n_states):
                counts[i, j] += now[i] * ratios[j]
            now[i] *= back[i]
            total += now[i]
        if not abs(total - 1.0) < 1e-6:
            return False
    for i in range(n_states):
        for j in range(n_states):
            counts[i, j] *= transition[i, j]
    return True


@njit(cache=True, nogil=True)
def _logarithm(probability):
    """Finite for 0, so that a sequence that cannot be still has posteriors, of the paths with the fewest such steps."""
    return np.log(probability) if probability > 0.0 else _LOWEST


@njit(cache=True, nogil=True)
def _log_sum(values):
    highest = values.max()
    return highest + np.log(np.exp(values - highest).sum())


@njit(cache=True, nogil=True)
def _with_logarithms(logs, start, transition, first, last, forward, posteriors, counts, scores):
    """The same in logarithms: slower, and right whatever the sizes. ``forward`` holds log alpha."""
    n_states = logs.shape[1]
    steps = np.empty((n_states, n_states))
    for i in range(n_states):
        for j in range(n_states):
            steps[i, j] = _logarithm(transition[i, j])
    terms = np.empty(n_states)
    so_far = 0.0
    for t in range(first, last):
        for j in range(n_states):
            if t == first:
                forward[t, j] = _logarithm(start[j])
            else:
                for i in range(n_states):
                    terms[i] = forward[t - 1, i] + steps[i, j]
                forward[t, j] = _log_sum(terms)
            forward[t, j] += max(logs[t, j], _LOWEST)
        total = _log_sum(forward[t])
        scores[t] = total - so_far
        so_far = total
    counts[:] = 0.0
    back = np.zeros(n_states)
    for t in range(last - 1, first - 1, -1):
        for i in range(n_states):
            posteriors[t, i] = np.exp(forward[t, i] + back[i] - so_far)
        posteriors[t] /= posteriors[t].sum()
        if t == first:
            break
        ahead = np.empty(n_states)
        for j in range(n_states):
            ahead[j] = back[j] + max(logs[t, j], _LOWEST)
        for i in range(n_states):
            for j in range(n_states):
                terms[j] = steps[i, j] + ahead[j]
                counts[i, j] += np.exp(forward[t - 1, i] + terms[j] - so_far)
            back[i] = _log_sum(terms)


def most_likely_states(log_densities: np.ndarray, chain: Chain, indptr: np.ndarray) -> np.ndarray:
    """The most likely sequence of states as a whole, by Viterbi's algorithm.

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> most_likely_states(np.log([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]), chain, np.array([0, 3]))
    array([0, 0, 0])
    """
    logs = np.ascontiguousarray(log_densities, dtype=np.float64)
    found = np.empty(len(logs), dtype=np.int64)
    start, transition = (
        read_only(np.log(each, out=np.full(each.shape, _LOWEST), where=each > 0)) for each in map(np.asarray, chain)
    )
    _viterbi(read_only(logs), start, transition, read_only(np.asarray(indptr, np.int64)), found)
    return found


@njit(cache=True, nogil=True)
def _viterbi(logs, start, transition, indptr, found):
    n_rows, n_states = logs.shape
    origins = np.empty((n_rows, n_states), dtype=np.int32)
    best, after = np.empty(n_states), np.empty(n_states)
    for sequence in range(len(indptr) - 1):
        first, last = indptr[sequence], indptr[sequence + 1]
        if first == last:
            continue
        for j in range(n_states):
            best[j] = start[j] + max(logs[first, j], _LOWEST)
        for t in range(first + 1, last):
            for j in range(n_states):
                origin, highest = 0, best[0] + transition[0, j]
                for i in range(1, n_states):
                    value = best[i] + transition[i, j]
                    if value > highest:
                        origin, highest = i, value
                origins[t, j] = origin
                after[j] = highest + max(logs[t, j], _LOWEST)
            best, after = after, best
        state = 0
        for j in range(1, n_states):
            if best[j] > best[state]:
                state = j
        found[last - 1] = state
        for t in range(last - 1, first, -1):
            state = origins[t, state]
            found[t - 1] = state


def drawn_states(chain: Chain, n_rows: int, random: np.random.RandomState) -> np.ndarray:
    """One sequence of states, drawn from the chain.

    Examples
    --------
    >>> chain = Chain(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> drawn_states(chain, 4, np.random.RandomState(0))
    array([0, 1, 0, 1])
    """
    start, running = np.cumsum(chain.start), np.cumsum(chain.transition, axis=1)
    places = random.uniform(size=n_rows)
    found = np.empty(n_rows, dtype=np.int64)
    last = len(start) - 1
    for t, place in enumerate(places):
        limits = start if t == 0 else running[found[t - 1]]
        found[t] = min(np.searchsorted(limits, place * limits[-1], side="right"), last)
    return found


def sampled_states(
    log_densities: np.ndarray, chain: Chain, indptr: np.ndarray, random: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """States of all sequences, drawn from their joint posterior (forward filtering, backward sampling), and log p(x).

    Examples
    --------
    >>> chain = Chain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> sampled_states(np.log([[1.0, 1e-9], [1e-9, 1.0]]), chain, np.array([0, 2]), np.random.RandomState(0))[0]
    array([0, 1])
    """
    logs = np.ascontiguousarray(log_densities, dtype=np.float64)
    found = np.empty(len(logs), dtype=np.int64)
    inputs = (read_only(logs), *_read_only_chain(chain), read_only(np.asarray(indptr, np.int64)))
    return found, float(_sampled(*inputs, read_only(random.uniform(size=len(logs))), found))


@njit(cache=True, nogil=True)
def _picked(masses, place):
    total = 0.0
    for j in range(masses.size):
        total += masses[j]
    so_far, last = 0.0, 0
    for j in range(masses.size):
        if masses[j] > 0.0:
            so_far += masses[j]
            last = j
            if place * total < so_far:
                return j
    return last


@njit(cache=True, nogil=True)
def _sampled(logs, start, transition, indptr, places, found):
    n_states = logs.shape[1]
    filtered = np.empty(logs.shape)
    masses = np.empty(n_states)
    log_likelihood = 0.0
    for sequence in range(len(indptr) - 1):
        first, last = indptr[sequence], indptr[sequence + 1]
        if first == last:
            continue
        for t in range(first, last):
            highest = -np.inf
            for j in range(n_states):
                ahead = start[j]
                if t > first:
                    ahead = 0.0
                    for i in range(n_states):
                        ahead += filtered[t - 1, i] * transition[i, j]
                # In logarithms, so that densities of any size leave one state that is possible.
                filtered[t, j] = _logarithm(ahead) + max(logs[t, j], _LOWEST)
                highest = max(highest, filtered[t, j])
            total = 0.0
            for j in range(n_states):
                filtered[t, j] = np.exp(filtered[t, j] - highest)
                total += filtered[t, j]
            for j in range(n_states):
                filtered[t, j] /= total
            log_likelihood += highest + np.log(total)
        state = _picked(filtered[last - 1], places[last - 1])
        found[last - 1] = state
        for t in range(last - 2, first - 1, -1):
            for i in range(n_states):
                masses[i] = filtered[t, i] * transition[i, state]
            state = _picked(masses, places[t])
            found[t] = state
    return log_likelihood
