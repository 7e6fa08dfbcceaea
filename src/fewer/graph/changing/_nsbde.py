"""How well a network that changes at given times explains a series: the score nsBDeu, and exact sums over parents.

For child i and its maximal intervals I_h of rows with the same parents, with ``r_i`` levels, ``q_ih`` configurations of
the parents, N transition rows and ``a_ijk = count_prior / (q_ih r_i) |I_h| / N``:

    log P = sum_ihj [lgamma(a_ij) - lgamma(a_ij + N_ij) + sum_k (lgamma(a_ijk + N_ijk) - lgamma(a_ijk))]

Counts N are taken inside the interval only.

Robinson, J. W. and Hartemink, A. J. (2010). Learning non-stationary dynamic Bayesian networks. Journal of Machine
Learning Research 11, 3647-3680.
"""

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import logsumexp

from fewer._kernels._arrays import read_only

_MOST_CELLS = 2**27
"""Counts of the largest table, 1 GB."""


@njit(cache=True, nogil=True)
def interval_score(before, after, n_levels, child, parents, n_parents, start, stop, count_prior, counts):
    """Log marginal likelihood of a child's entries in the rows from start to stop, given a set of parents.

    ``sum_j [lgamma(a_j) - lgamma(a_j + N_j) + sum_k (lgamma(a_jk + N_jk) - lgamma(a_jk))]`` over the parents'
    configurations j and the child's levels k, with ``a_jk = count_prior / (q r) x rows / all rows``.
    """
    n_own = n_levels[child]
    n_configurations = 1
    for place in range(n_parents):
        n_configurations *= n_levels[parents[place]]
    counts[: n_configurations * n_own] = 0
    for replicate in range(before.shape[0]):
        for row in range(start, stop):
            cell = 0
            for place in range(n_parents):
                parent = parents[place]
                cell = cell * n_levels[parent] + before[replicate, row, parent]
            counts[cell * n_own + after[replicate, row, child]] += 1
    share = (stop - start) / before.shape[1]
    pseudo = count_prior / (n_configurations * n_own) * share
    pseudo_row = count_prior / n_configurations * share
    score, base, base_row = 0.0, math.lgamma(pseudo), math.lgamma(pseudo_row)
    for configuration in range(n_configurations):
        total = 0
        for level in range(n_own):
            count = counts[configuration * n_own + level]
            if count:
                total += count
                score += math.lgamma(pseudo + count) - base
        if total:
            score += base_row - math.lgamma(pseudo_row + total)
    return score


@njit(cache=True, nogil=True)
def most_cells(n_levels, max_parents):
    """Size of the largest table of counts; a column may be its own parent."""
    ordered = np.sort(n_levels)[::-1]
    n_cells = ordered[0]
    for place in range(min(max_parents, len(ordered))):
        n_cells *= ordered[place]
    return n_cells


def refuse_large_tables(n_levels: np.ndarray, max_parents: int) -> None:
    """Name the sizes of a table of counts that would not fit in memory."""
    ordered = sorted(map(int, n_levels), reverse=True)
    n_cells = ordered[0] * math.prod(ordered[:max_parents])
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"A column of {ordered[0]} levels with {min(max_parents, len(ordered))} parents has a table of "
            f"{n_cells:.1e} counts: lower max_parents, or cut columns into fewer levels."
        )


class Transitions(NamedTuple):
    """Levels of the columns before and after each step in time, ``[replicate, step, column]``."""

    before: np.ndarray
    after: np.ndarray
    n_levels: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.before.shape[1]


def transitions_of(levels: np.ndarray, n_levels: np.ndarray) -> Transitions:
    """Pairs of neighbouring rows of series of levels, ``(n_replicates, n_times, n_columns)``."""
    before, after = (np.ascontiguousarray(part, dtype=np.int64) for part in (levels[:, :-1], levels[:, 1:]))
    return Transitions(read_only(before), read_only(after), np.asarray(n_levels, dtype=np.int64))


def series_levels(X: Any, who: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Levels of each column of one series or several, ``(n_replicates, n_times, n_columns)``, and their values."""
    series = np.asarray(X)
    if series.ndim == 2:
        series = series[None]
    if series.ndim != 3 or series.shape[1] < 2:
        raise ValueError(
            f"X has shape {np.shape(X)}; {who} takes a series of two rows or more, or several of the same length "
            "(n_replicates, n_times, n_columns)."
        )
    # NaN is the only value that is not equal to itself.
    gaps = (series != series) | np.array([entry is None for entry in series.flat]).reshape(series.shape)
    if gaps.any():
        raise ValueError(f"X has missing values, the first in row {int(np.argwhere(gaps)[0][1])}: {who} needs a level.")
    found = [np.unique(series[:, :, column], return_inverse=True) for column in range(series.shape[2])]
    shape = series.shape[:2]
    return np.stack([codes.reshape(shape) for _, codes in found], axis=2), [values for values, _ in found]


def nsbde_score(X: Any, networks: Any, transition_times: Sequence[int] = (), *, count_prior: float = 1.0) -> float:
    """Log marginal likelihood of a series of discrete values under a network that changes at given times.

    Parameters
    ----------
    X : array-like of shape (n_times, n_features) or (n_replicates, n_times, n_features)
        Values; each distinct one of a column is a level. Counts of replicates are added.
    networks : array-like of bool of shape (n_epochs, n_features, n_features)
        True at [epoch, parent, child]: the parent's value acts on the child's next one.
    transition_times : sequence of int, default=()
        Rows at which an epoch begins, after the first; increasing, from 2 on.
    count_prior : float, default=1.0
        Pseudo-counts of a column in all, ``alpha`` in the paper; an interval gets its share.

    Returns
    -------
    score : float
        The logarithm. Networks with the same number of epochs can be compared by it.

    References
    ----------
    .. [1] Robinson, J. W. and Hartemink, A. J. (2010). Learning non-stationary dynamic Bayesian networks. Journal of
       Machine Learning Research 11, 3647-3680.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.graph import nsbde_score
    >>> X = np.array([[0], [0], [0], [0], [1]])
    >>> round(nsbde_score(X, np.zeros((1, 1, 1))), 5)  # counts 3 and 1
    -3.24259
    """
    levels, values = series_levels(X, "nsbde_score")
    data = transitions_of(levels, np.array([len(each) for each in values]))
    return network_score(data, checked_networks(networks, data, transition_times), transition_times, count_prior)


def checked_networks(networks: Any, data: Transitions, transition_times: Sequence[int]) -> np.ndarray:
    networks = np.asarray(networks, dtype=bool)
    n_columns = data.before.shape[2]
    expected = (len(transition_times) + 1, n_columns, n_columns)
    if networks.shape != expected:
        raise ValueError(
            f"networks has shape {networks.shape}; with {len(transition_times)} transition times and {n_columns} "
            f"columns it must be {expected}."
        )
    checked_times(transition_times, data.n_rows)
    return networks


def checked_times(transition_times: Sequence[int], n_rows: int) -> np.ndarray:
    """Rows at which epochs begin as steps in time, 1 to n_rows - 1."""
    times = np.asarray(list(transition_times), dtype=np.int64) - 1
    if len(times) and (times[0] < 1 or times[-1] >= n_rows or (np.diff(times) < 1).any()):
        raise ValueError(
            f"transition_times={list(transition_times)} must increase and lie between 2 and {n_rows}: an epoch begins "
            "at each of these rows, and each needs a row of its own."
        )
    return times


def network_score(
    data: Transitions, networks: np.ndarray, transition_times: Sequence[int], count_prior: float
) -> float:
    """The score of networks; neighbouring epochs in which a child has the same parents are one interval."""
    bounds = np.concatenate([[0], checked_times(transition_times, data.n_rows), [data.n_rows]])
    scratch = np.empty(most_cells(data.n_levels, int(networks.sum(axis=1).max())), dtype=np.int64)
    total = 0.0
    for child in range(networks.shape[1]):
        changed = (networks[1:, :, child] != networks[:-1, :, child]).any(axis=1)
        first = np.concatenate([[0], np.flatnonzero(changed) + 1])
        for epoch, stop in zip(first, np.append(bounds[first[1:]], data.n_rows), strict=True):
            parents = np.flatnonzero(networks[epoch, :, child])
            total += interval_score(*data, child, parents, len(parents), bounds[epoch], stop, count_prior, scratch)
    return total


def independent_edge_proba(
    X: Any,
    transition_times: Sequence[int] = (),
    *,
    max_parents: int = 3,
    count_prior: float = 1.0,
    allow_self_edges: bool = True,
) -> np.ndarray:
    """Exact probability of each edge where every epoch has a network of its own, with nothing shared between epochs.

    The baseline of :class:`NonStationaryDBN`: without ``transition_times`` it is a stationary dynamic network.

    Parameters
    ----------
    X : array-like of shape (n_times, n_features) or (n_replicates, n_times, n_features)
        Values; each distinct one of a column is a level.
    transition_times : sequence of int, default=()
        Rows at which an epoch begins, after the first.
    max_parents : int, default=3
        Parents of a column at most; all sets up to that size are summed over.
    count_prior : float, default=1.0
        Pseudo-counts of a column in all.
    allow_self_edges : bool, default=True
        Whether a column may depend on its own last value.

    Returns
    -------
    probabilities : ndarray of shape (n_epochs, n_features, n_features)
        Entry [epoch, parent, child].

    Examples
    --------
    >>> from fewer.datasets import make_changing_network
    >>> from fewer.graph import independent_edge_proba
    >>> X, _, truth = make_changing_network(random_state=0)
    >>> found = independent_edge_proba(X, truth["transition_times"])
    >>> ((found > 0.5) == truth["networks"]).mean(axis=(1, 2)).round(2).tolist()  # the fourth epoch has 20 rows
    [1.0, 0.97, 0.97, 0.91, 1.0, 0.99, 1.0]
    """
    levels, values = series_levels(X, "independent_edge_proba")
    data = transitions_of(levels, np.array([len(each) for each in values]))
    n_columns = data.before.shape[2]
    bounds = np.concatenate([[0], checked_times(transition_times, data.n_rows), [data.n_rows]])
    refuse_large_tables(data.n_levels, max_parents)
    scratch = np.empty(most_cells(data.n_levels, max_parents), dtype=np.int64)
    found = np.zeros((len(bounds) - 1, n_columns, n_columns))
    for epoch, (start, stop) in enumerate(pairwise(bounds)):
        rows = Transitions(data.before[:, start:stop], data.after[:, start:stop], data.n_levels)
        for child in range(n_columns):
            candidates = [each for each in range(n_columns) if allow_self_edges or each != child]
            sets = [each for size in range(max_parents + 1) for each in combinations(candidates, size)]
            scores = np.array(
                [
                    interval_score(
                        *rows, child, np.array(each, dtype=np.int64), len(each), 0, stop - start, count_prior, scratch
                    )
                    for each in sets
                ]
            )
            weights = np.exp(scores - logsumexp(scores))
            for each, weight in zip(sets, weights, strict=True):
                found[epoch, list(each), child] += weight
    return found
