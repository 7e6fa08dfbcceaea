"""Learning components of counts from blocks of rows, one after the other (Hoffman et al. 2010).

With the expected counts ``S_b`` of columns by component in block b, scaled up to all rows, the statistics are

    S <- (1 - share) S + share S_b,        share = (offset + rows seen / rows of the block) ** -decay,

and ``theta_jk ~ gamma + S_jk``. Rows are folded in with their columns gathered, and in single precision: the factors
of a row, which sum to 1, have a relative error of 1e-4 at most, where the expected counts stop at 1e-3.
"""

import numpy as np
from numba import njit
from scipy import sparse

from fewer._kernels._arrays import in_threads, read_only
from fewer.latent._passes import (
    CountTable,
    Rows,
    add_ratios,
    count_table,
    mixture_fits,
    posterior_weights,
)
from fewer.latent.counts._updates import (
    Prior,
    constants,
    normalised,
    starting_concentrations,
    weights_and_bounds,
)

_BLOCK = 500
_PASSES = 2
_INNER = 20
_ENOUGH = 1e-3
"""A row stops when its expected counts move by less than this in the mean of the components."""
_SUMS = {"reassoc", "contract", "nsz"}
_LANES = 32
_COLUMNS = 8
_SMALLEST = 1e-10
_single = np.float32


def block_concentrations(rows: Rows, totals: np.ndarray, theta: np.ndarray, prior: Prior) -> np.ndarray:
    """Concentrations of a block of rows, as far as components that the next block moves anyway need them."""
    found = starting_concentrations(totals, prior)
    read = [read_only(each) for each in (theta, prior.alpha, prior.scale)]
    in_threads(_fold_block, *rows, *read, _INNER, _ENOUGH * found.shape[1], found, cost=10 * found.shape[1])
    return found


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _exp_digamma(x):
    """``exp(digamma(x))`` in single precision, to four digits or more.

    ``y + 1/(24 y) - 37/(5760 y^3) + ...`` at ``y = x + 3.5``, times ``exp(-s) = exp(-s / 128) ** 128`` with the sum
    ``s`` of the inverses of x to x + 3.
    """
    u = x * (x + _single(3.0))
    s = _single(2.0) * (_single(2.0) * x + _single(3.0)) * (u + _single(1.0)) / (u * (u + _single(2.0)))
    y = x + _single(3.5)
    inverse = _single(1.0) / y
    square = inverse * inverse
    tail = y + inverse * (_single(1 / 24) - square * (_single(37 / 5760) - square * _single(10313 / 2903040)))
    t = min(s, _single(87.0)) * _single(-1 / 128)
    power = _single(1 / 24) + t * (_single(1 / 120) + t * _single(1 / 720))
    power = _single(1.0) + t * (_single(1.0) + t * (_single(1 / 2) + t * (_single(1 / 6) + t * power)))
    for _ in range(7):
        power *= power
    return tail * power


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _fold_block(start, stop, indptr, indices, data, theta, prior, scale, max_iter, enough, found):
    n_components = found.shape[1]
    width = (n_components + _LANES - 1) // _LANES * _LANES  # components that are not there have no share of anything
    longest = 0
    for row in range(start, stop):
        longest = max(longest, indptr[row + 1] - indptr[row])
    near = np.zeros((longest + _COLUMNS, width), dtype=_single)
    counts = np.zeros(longest + _COLUMNS, dtype=_single)
    base, size, own = np.ones(width, dtype=_single), np.zeros(width, dtype=_single), np.ones(width, dtype=_single)
    factors, sums = np.zeros(width, dtype=_single), np.zeros(width, dtype=_single)
    for k in range(n_components):
        base[k], size[k] = prior[k], scale[k]
    for row in range(start, stop):
        first, length = indptr[row], indptr[row + 1] - indptr[row]
        for place in range(length):
            theirs = theta[indices[first + place]]
            for k in range(n_components):
                near[place, k] = theirs[k]
            counts[place] = data[first + place]
        counts[length : length + _COLUMNS] = _single(0.0)
        for k in range(n_components):
            own[k] = max(found[row, k], _SMALLEST)
        for _ in range(max_iter):
            total = _single(0.0)
            for k in range(width):
                factors[k] = size[k] * _exp_digamma(own[k])
                sums[k] = _single(0.0)
                total += factors[k]
            inverse = _single(1.0) / total if total > _single(0.0) else _single(0.0)
            for k in range(width):
                factors[k] *= inverse
            _add_eight_by_eight(length, counts, factors, near, sums)
            moved = _single(0.0)
            for k in range(width):
                value = base[k] + factors[k] * sums[k]
                moved += abs(value - own[k])
                own[k] = value
            if moved <= enough:
                break
        for k in range(n_components):
            found[row, k] = own[k]


@njit(cache=True, nogil=True, inline="always")
def _add_eight_by_eight(length, counts, factors, near, sums):
    """Add ``s`` to ``sums``, with eight columns for each pass over them; columns beyond the row have no counts."""
    width = factors.size
    for place in range(0, length, _COLUMNS):
        m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = _single(0.0)
        a0, a1, a2, a3 = near[place], near[place + 1], near[place + 2], near[place + 3]
        a4, a5, a6, a7 = near[place + 4], near[place + 5], near[place + 6], near[place + 7]
        for k in range(width):
            factor = factors[k]
            m0 += factor * a0[k]
            m1 += factor * a1[k]
            m2 += factor * a2[k]
            m3 += factor * a3[k]
            m4 += factor * a4[k]
            m5 += factor * a5[k]
            m6 += factor * a6[k]
            m7 += factor * a7[k]
        r0, r1 = _ratio(counts[place], m0), _ratio(counts[place + 1], m1)
        r2, r3 = _ratio(counts[place + 2], m2), _ratio(counts[place + 3], m3)
        r4, r5 = _ratio(counts[place + 4], m4), _ratio(counts[place + 5], m5)
        r6, r7 = _ratio(counts[place + 6], m6), _ratio(counts[place + 7], m7)
        for k in range(width):
            low = r0 * a0[k] + r1 * a1[k] + r2 * a2[k] + r3 * a3[k]
            sums[k] += low + (r4 * a4[k] + r5 * a5[k] + r6 * a6[k] + r7 * a7[k])


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _ratio(count, mixed):
    return count / mixed if mixed > _single(0.0) else _single(0.0)


def folded_block(table: CountTable, theta: np.ndarray, prior: Prior) -> tuple[np.ndarray, float]:
    """Factors ``e`` of the rows of a block for these components, and the mean of their bounds."""
    a = block_concentrations(table.rows, table.totals, theta, prior)
    weights, bounds = weights_and_bounds(a, table.totals, prior)
    return weights, float(np.mean(constants(table.rows, prior) + bounds + mixture_fits(table.rows, weights, theta)))


def add_block(
    statistics: np.ndarray, table: CountTable, theta: np.ndarray, weights: np.ndarray, share: float, scale: float
) -> None:
    """Move statistics (columns, components) by ``share`` towards ``scale`` times the expected counts of a block."""
    read = [read_only(each) for each in (theta, weights)]
    in_threads(_add_block, *table.columns, *read, 1 - share, share * scale, statistics, cost=theta.shape[1])


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _add_block(start, stop, indptr, indices, data, theta, weights, keep, gain, statistics):
    n_components = theta.shape[1]
    sums = np.empty(n_components)
    for column in range(start, stop):
        own, total = theta[column], statistics[column]
        if indptr[column] == indptr[column + 1]:
            for k in range(n_components):
                total[k] *= keep
            continue
        for k in range(n_components):
            sums[k] = 0.0
        add_ratios(indptr[column], indptr[column + 1], indices, data, own, weights, sums, False)
        for k in range(n_components):
            total[k] = keep * total[k] + gain * own[k] * sums[k]


def ordered_components(statistics: np.ndarray, order: np.ndarray, prior: Prior) -> np.ndarray:
    """Components (columns, components) of statistics, which are brought into this order of the components."""
    totals = group_sums(statistics, prior.groups) + prior.gamma * np.bincount(prior.groups)[:, None]
    theta = np.empty_like(statistics)
    one_each = read_only(np.arange(len(theta) + 1))
    read = [read_only(each) for each in (prior.groups, order, 1 / totals[:, order])]
    in_threads(_in_order, one_each, *read, prior.gamma, statistics, theta, cost=theta.shape[1])
    return theta


@njit(cache=True, nogil=True)
def _in_order(start, stop, indptr, groups, order, inverses, gamma, statistics, theta):
    n_components = theta.shape[1]
    moved = np.empty(n_components)
    for column in range(start, stop):
        own, inverse = statistics[column], inverses[groups[column]]
        for k in range(n_components):
            moved[k] = own[order[k]]
        for k in range(n_components):
            own[k] = moved[k]
            theta[column, k] = (moved[k] + gamma) * inverse[k]


def group_sums(statistics: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums of statistics over the columns of each group."""
    if groups.max(initial=0) == 0:
        return statistics.sum(axis=0)[None]
    members = sparse.csr_array((np.ones(len(groups)), (groups, np.arange(len(groups)))))
    return members @ statistics


def online_components(
    counts: sparse.csr_array, weights: np.ndarray, theta: np.ndarray, prior: Prior, random: np.random.RandomState
) -> np.ndarray:
    """Expected counts of columns by component (J, K) after two passes over blocks of rows, for a start.

    With many rows, some of them are enough to see where a random start leads.
    """
    total = float(weights @ np.asarray(counts.sum(axis=1)).ravel())
    expected = theta * (total / theta.shape[1])
    n_blocks = 0
    for _ in range(_PASSES):
        order = random.permutation(counts.shape[0])
        for first in range(0, len(order), _BLOCK):
            some = np.sort(order[first : first + _BLOCK])
            table = count_table(counts[some], weights[some])
            here = float(table.weights @ table.totals)
            if here == 0:
                continue
            theta = normalised(expected + prior.gamma, prior.groups)
            a = block_concentrations(table.rows, table.totals, theta, prior)
            factors, _ = posterior_weights(a, prior.alpha, prior.scale)
            n_blocks += 1
            share = (1.0 + n_blocks) ** -0.7
            add_block(expected, table, theta, factors, share, total / here)
    return expected
