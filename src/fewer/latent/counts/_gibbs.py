"""Gibbs samplers of discrete components: scores drawn, or scores and components integrated out.

*Direct*: for each row, draw the scores given its counts ``c`` by component, ``l_k ~ Gamma(c_k + alpha_k, 1 + beta_k)``
or ``m ~ Dirichlet(c + alpha)``; draw the component of each token with probabilities ``l_k theta_jk``; then draw the
components, ``theta_k ~ Dirichlet(gamma + counts)``. In the conditional model ``l_k = 0`` with probability rho: where
``c_k = 0``, the posterior probability is ``rho (1 + beta)^alpha / [(1 - rho) beta^alpha + rho (1 + beta)^alpha]``.

*Rao-Blackwellised*: each token leaves the counts and comes back to component k with a probability in proportion to

    (gamma + n_jk) / (sum_j gamma + n_k) * s_k,    s_k = (c_k + alpha_k) / (1 + beta_k),

times the factor for ``c_k = 0`` above in the conditional model. Tokens are visited word by word. The part with
``alpha_k`` is kept as sums of 16 components that two additions update, and only the components that are present in the
row are added up, so that a token's cost does not grow with their number (as in F+LDA, Yu et al. 2015).

Large tables are cut into 4 x 4 blocks of rows and columns. Blocks that share neither run in threads, with the totals
``n_k`` of the beginning of the round; the result depends on the blocks, never on the number of threads.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._arrays import read_only
from fewer._kernels._draws import next_bits
from fewer.latent._latent_model import Climb
from fewer.latent._passes import CountTable, Rows, mixture_fits
from fewer.latent.counts._updates import Prior, estimated_prior, normalised

_BLOCKS = 4
_TOKENS_FOR_BLOCKS = 200_000
_SHIFT = np.uint64(11)
_UNIT = 2.0**-53
_WIDTH = 16
_STEPS = 100
_ENTRIES_FOR_PRIOR = 100_000
_EVERY = 10
"""Cycles between two values of the objective, and between two estimates of the prior."""


class Chain(NamedTuple):
    """Averages over the kept draws of a chain: components (J, K), counts by component and scores of rows, the prior."""

    theta: np.ndarray
    counts: np.ndarray
    scores: np.ndarray
    prior: Prior
    labels: np.ndarray | None = None


def zero_probability(prior: Prior, rho: np.ndarray) -> np.ndarray:
    """Posterior probability of ``l_k = 0`` where no token has component k."""
    absent = rho * (1 + prior.beta) ** prior.alpha
    return absent / ((1 - rho) * prior.beta**prior.alpha + absent)


def expected_scores(counts: np.ndarray, prior: Prior, rho: np.ndarray) -> np.ndarray:
    """Posterior mean of the scores of rows, given their counts by component."""
    means = counts + prior.alpha
    if prior.dirichlet:
        return means / means.sum(axis=1, keepdims=True)
    return np.where(counts > 0, 1.0, 1 - zero_probability(prior, rho)) * means / (1 + prior.beta)


@njit(cache=True, nogil=True, inline="always")
def _uniform(state):
    return (np.float64(next_bits(state) >> _SHIFT) + 0.5) * _UNIT


@njit(cache=True, nogil=True)
def draw_gamma(state, shape):
    """A gamma variate of scale 1 (Marsaglia and Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = _uniform(state) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        normal = math.sqrt(-2.0 * math.log(_uniform(state))) * math.cos(2.0 * math.pi * _uniform(state))
        cube = (1.0 + c * normal) ** 3
        if cube > 0.0 and math.log(_uniform(state)) < 0.5 * normal * normal + d - d * cube + d * math.log(cube):
            return d * cube * boost


@njit(cache=True, nogil=True)
def _direct_cycle(indptr, indices, data, theta, alpha, rate, zero, dirichlet, counts, scores, columns, state):
    """Draw scores and then the components of all tokens, row by row; gives ``sum w log(Theta l)``, less ``sum l``."""
    n_components = theta.shape[1]
    running = np.empty(n_components)
    fit = 0.0
    for row in range(len(indptr) - 1):
        total = 0.0
        for k in range(n_components):
            if counts[row, k] == 0 and zero[k] > 0.0 and _uniform(state) < zero[k]:
                scores[row, k] = 0.0
            else:
                scores[row, k] = draw_gamma(state, counts[row, k] + alpha[k]) / rate[k]
            total += scores[row, k]
        if dirichlet and total > 0.0:
            for k in range(n_components):
                scores[row, k] /= total
        for k in range(n_components):
            counts[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            mixed = 0.0
            for k in range(n_components):
                mixed += scores[row, k] * theta[column, k]
                running[k] = mixed
            fit += data[place] * math.log(max(mixed, 1e-300))
            for _ in range(int(data[place])):
                target = _uniform(state) * mixed
                k = 0
                while k < n_components - 1 and running[k] <= target:
                    k += 1
                counts[row, k] += 1.0
                columns[column, k] += 1.0
        if not dirichlet:
            fit -= total
    return fit


class DirectSampler:
    """The chain that draws scores, tokens and (unless they are fixed) components in turn."""

    def __init__(self, rows: Rows, theta: np.ndarray, prior: Prior, rho: np.ndarray, random: np.random.RandomState):
        self.rows, self.theta, self.prior, self.rho, self.random = rows, theta, prior, rho, random
        shape = (len(rows.indptr) - 1, theta.shape[1])
        totals = np.zeros(shape[0])
        np.add.at(totals, np.repeat(np.arange(shape[0]), np.diff(rows.indptr)), rows.data)
        self.scores = np.zeros(shape)
        self.counts = np.repeat(totals[:, None] / shape[1], shape[1], axis=1)
        self.columns = np.zeros(theta.shape)
        self.state = random.randint(0, 2**63 - 1, size=1, dtype=np.int64).astype(np.uint64)

    def cycle(self) -> float:
        """Scores and tokens for the present components."""
        self.columns[:] = 0
        prior = self.prior
        rate = np.ones_like(prior.beta) if prior.dirichlet else 1 + prior.beta
        zero = np.zeros_like(rate) if prior.dirichlet else zero_probability(prior, self.rho)
        read = [read_only(each) for each in (self.theta, prior.alpha, rate, zero)]
        drawn = (prior.dirichlet, self.counts, self.scores, self.columns, self.state)
        arguments: list[Any] = [*self.rows, *read, *drawn]
        return float(_direct_cycle(*arguments))

    def draw_components(self) -> None:
        drawn = self.random.standard_gamma(self.columns + self.prior.gamma)
        self.theta = normalised(np.maximum(drawn, 1e-300), self.prior.groups)


def direct_gibbs(
    table: CountTable,
    theta: np.ndarray,
    prior: Prior,
    rho: np.ndarray,
    random: np.random.RandomState,
    *,
    n_burn_in: int,
    n_draws: int,
    on_step: Callable[[], bool] = lambda: False,
) -> Climb:
    """A chain over scores, tokens and components; averages of what is expected given the tokens of each kept cycle."""
    sampler = DirectSampler(table.rows, theta, prior, rho, random)
    averages = _Averages()
    path: list[float] = []
    stopped = False
    while len(path) < n_burn_in + n_draws and not stopped:
        path.append(sampler.cycle())
        sampler.draw_components()
        stopped = on_step()
        if len(path) > n_burn_in or stopped:
            averages.add(sampler.columns, sampler.counts, sampler.prior, rho)
        elif prior.estimate_alpha and len(path) % _EVERY == 0:
            sampler.prior = estimated_prior(sampler.counts, np.ones(len(sampler.counts)), sampler.prior, _STEPS)
    return Climb(averages.chain(sampler.prior), np.array(path), True, stopped)


def gibbs_rows(
    rows: Rows, theta: np.ndarray, prior: Prior, rho: np.ndarray, seed: int, *, n_burn_in: int, n_draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean counts by component and mean scores of rows, for fixed components, each row with a stream of its own."""
    counts, scores = (np.empty((len(rows.indptr) - 1, theta.shape[1])) for _ in range(2))
    for row in range(len(counts)):
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        indptr = np.array([0, own.stop - own.start], dtype=rows.indptr.dtype)
        one = Rows(read_only(indptr), rows.indices[own], rows.data[own])
        sampler = DirectSampler(one, theta, prior, rho, np.random.RandomState(seed))
        averages = _Averages()
        for cycle in range(n_burn_in + n_draws):
            sampler.cycle()
            if cycle >= n_burn_in:
                averages.add(sampler.columns[:0], sampler.counts, prior, rho)
        counts[row], scores[row] = averages.counts[0], averages.scores[0]
    return counts, scores


class _Averages:
    """Running means over draws."""

    def __init__(self) -> None:
        self.n_draws = 0
        self.theta, self.counts, self.scores = np.zeros(()), np.zeros(()), np.zeros(())

    def add(self, columns: np.ndarray, counts: np.ndarray, prior: Prior, rho: np.ndarray) -> None:
        theta = normalised(columns + prior.gamma, prior.groups) if len(columns) else columns
        scores = expected_scores(counts, prior, rho)
        self.n_draws += 1
        for name, value in (("theta", theta), ("counts", counts), ("scores", scores)):
            mean = getattr(self, name)
            setattr(self, name, mean + (value - mean) / self.n_draws)

    def chain(self, prior: Prior, labels: np.ndarray | None = None) -> Chain:
        return Chain(self.theta, self.counts, self.scores, prior, labels)


@njit(cache=True, nogil=True)
def _sample_tokens(
    start,
    stop,
    token_rows,
    token_words,
    labels,
    word_counts,
    totals,
    groups,
    row_starts,
    row_sizes,
    row_labels,
    row_counts,
    present,
    absent,
    scale,
    gamma,
    gamma_sums,
    state,
):
    """Give tokens of one block new components; a label of -1 is a token that has none yet.

    ``row_labels`` and ``row_counts`` hold the components present in each row and their counts, from ``row_starts`` on.
    ``present`` is added to a count in the row, ``absent`` is the weight of a component whatever the row holds.
    """
    n_components = len(scale)
    n_sums = (n_components + _WIDTH - 1) // _WIDTH
    phi, sums, running = np.empty(n_components), np.empty(n_sums), np.empty(n_components)
    word, group, background = -1, 0, 0.0
    for token in range(start, stop):
        if token_words[token] != word:
            word = token_words[token]
            group = groups[word]
            background = 0.0
            for part in range(n_sums):
                total = 0.0
                for k in range(part * _WIDTH, min((part + 1) * _WIDTH, n_components)):
                    phi[k] = (word_counts[word, k] + gamma) * scale[k] / (totals[group, k] + gamma_sums[group])
                    total += absent[k] * phi[k]
                sums[part] = total
                background += total
        row, old = token_rows[token], labels[token]
        first, size = row_starts[row], row_sizes[row]
        if old >= 0:
            word_counts[word, old] -= 1
            totals[group, old] -= 1
            value = (word_counts[word, old] + gamma) * scale[old] / (totals[group, old] + gamma_sums[group])
            change = absent[old] * (value - phi[old])
            phi[old] = value
            sums[old // _WIDTH] += change
            background += change
        mass = 0.0
        place = first
        while place < first + size:
            k = row_labels[place]
            if k == old:
                row_counts[place] -= 1
                if row_counts[place] == 0:
                    size -= 1
                    row_labels[place], row_counts[place] = row_labels[first + size], row_counts[first + size]
                    old = -1
                    continue
            mass += (row_counts[place] + present[k]) * phi[k]
            running[place - first] = mass
            place += 1
        target = _uniform(state) * (mass + background)
        new = -1
        if target < mass:
            place = 0
            while place < size - 1 and running[place] <= target:
                place += 1
            new = row_labels[first + place]
            row_counts[first + place] += 1
        else:
            target -= mass
            part = 0
            while part < n_sums - 1 and sums[part] <= target:
                target -= sums[part]
                part += 1
            new = part * _WIDTH
            last = min(new + _WIDTH, n_components) - 1
            while new < last and absent[new] * phi[new] <= target:
                target -= absent[new] * phi[new]
                new += 1
            place = first
            while place < first + size and row_labels[place] != new:
                place += 1
            if place == first + size:
                row_labels[place], row_counts[place] = new, 0
                size += 1
            row_counts[place] += 1
        row_sizes[row] = size
        labels[token] = new
        word_counts[word, new] += 1
        totals[group, new] += 1
        value = (word_counts[word, new] + gamma) * scale[new] / (totals[group, new] + gamma_sums[group])
        change = absent[new] * (value - phi[new])
        phi[new] = value
        sums[new // _WIDTH] += change
        background += change


@njit(cache=True, nogil=True)
def _count_labels(token_rows, token_words, labels, word_counts, row_starts, row_sizes, row_labels, row_counts):
    """Fill the counts of columns and the lists of rows from the labels."""
    for token in range(len(labels)):
        row, label = token_rows[token], labels[token]
        word_counts[token_words[token], label] += 1
        place, last = row_starts[row], row_starts[row] + row_sizes[row]
        while place < last and row_labels[place] != label:
            place += 1
        if place == last:
            row_labels[place] = label
            row_sizes[row] += 1
        row_counts[place] += 1


@njit(cache=True, nogil=True)
def _row_table(row_starts, row_sizes, row_labels, row_counts, counts):
    for row in range(len(row_sizes)):
        for k in range(counts.shape[1]):
            counts[row, k] = 0.0
        for place in range(row_starts[row], row_starts[row] + row_sizes[row]):
            counts[row, row_labels[place]] = row_counts[place]


class TokenSampler:
    """The chain over the components of tokens alone."""

    def __init__(
        self, table: CountTable, n_components: int, prior: Prior, rho: np.ndarray, random: np.random.RandomState
    ):
        self.prior, self.rho = prior, rho
        n_rows, n_columns = table.shape
        rows = table.rows
        repeats = rows.data.astype(np.int64)
        token_rows = np.repeat(np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(rows.indptr)), repeats)
        token_words = np.repeat(rows.indices.astype(np.int32), repeats)
        self.n_blocks = _BLOCKS if len(token_rows) >= _TOKENS_FOR_BLOCKS else 1
        row_block = _balanced(np.bincount(token_rows, minlength=n_rows), self.n_blocks)[token_rows]
        column_block = _balanced(np.bincount(token_words, minlength=n_columns), self.n_blocks)[token_words]
        block = row_block * self.n_blocks + column_block
        order = np.lexsort((token_words, block))
        self.bounds = np.searchsorted(block[order], np.arange(self.n_blocks**2 + 1))
        self.token_rows, self.token_words = token_rows[order], token_words[order]
        self.labels = np.full(len(order), -1, dtype=np.int32)
        self.word_counts = np.zeros((n_columns, n_components), dtype=np.int32)
        self.totals = np.zeros((int(prior.groups.max(initial=0)) + 1, n_components), dtype=np.int64)
        self.gamma_sums = prior.gamma * np.bincount(prior.groups).astype(np.float64)
        # A row has at most one entry for each of its tokens, or for each component.
        widths = np.minimum(table.totals.astype(np.int64), n_components)
        self.row_starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64)
        self.row_sizes = np.zeros(n_rows, dtype=np.int64)
        self.row_labels, self.row_counts = (np.zeros(int(widths.sum()), dtype=np.int32) for _ in range(2))
        self.states = random.randint(0, 2**63 - 1, size=(self.n_blocks, 1), dtype=np.int64).astype(np.uint64)
        self.row_block_shape = (n_rows, n_components)

    def start_at_random(self, random: np.random.RandomState) -> None:
        """Give all tokens components at random."""
        self.labels[:] = random.randint(self.word_counts.shape[1], size=len(self.labels))
        lists = (self.row_starts, self.row_sizes, self.row_labels, self.row_counts)
        _count_labels(self.token_rows, self.token_words, self.labels, self.word_counts, *lists)
        self.totals += self._group_totals(self.word_counts)

    def start_near(self, expected: np.ndarray) -> None:
        """Give all tokens components by a first cycle that takes these counts of columns for known."""
        known = np.round(expected).astype(np.int32)
        known_totals = self._group_totals(known)
        self.word_counts += known
        self.totals += known_totals
        self.cycle()
        self.word_counts -= known
        self.totals -= known_totals

    def _group_totals(self, word_counts: np.ndarray) -> np.ndarray:
        """Counts of components in each group of columns."""
        return np.array([word_counts[self.prior.groups == group].sum(axis=0) for group in range(len(self.totals))])

    def cycle(self, pool: ThreadPoolExecutor | None = None) -> None:
        """Give every token a new component."""
        prior = self.prior
        keep = np.ones_like(prior.alpha) if prior.dirichlet else 1 - zero_probability(prior, self.rho)
        # Relative to the largest, so that equal rates make no difference, not even of rounding.
        rate = np.ones_like(prior.alpha) if prior.dirichlet else 1 + prior.beta
        weights = [read_only(each) for each in (prior.alpha * (1 - keep), prior.alpha * keep, rate.max() / rate)]
        for shift in range(self.n_blocks):
            tasks = []
            for block in range(self.n_blocks):
                place = block * self.n_blocks + (block + shift) % self.n_blocks
                totals = self.totals.copy()
                arguments = (
                    self.bounds[place],
                    self.bounds[place + 1],
                    self.token_rows,
                    self.token_words,
                    self.labels,
                    self.word_counts,
                    totals,
                    read_only(prior.groups),
                    self.row_starts,
                    self.row_sizes,
                    self.row_labels,
                    self.row_counts,
                    *weights,
                    prior.gamma,
                    self.gamma_sums,
                    self.states[block],
                )
                tasks.append((totals, arguments))
            if pool is None or self.n_blocks == 1:
                for _, arguments in tasks:
                    _sample_tokens(*arguments)
            else:
                list(pool.map(lambda task: _sample_tokens(*task[1]), tasks))
            before = self.totals
            self.totals = before + sum(totals - before for totals, _ in tasks)

    def row_table(self) -> np.ndarray:
        counts = np.empty(self.row_block_shape)
        _row_table(self.row_starts, self.row_sizes, self.row_labels, self.row_counts, counts)
        return counts


def _prior_of_some_rows(counts: np.ndarray, prior: Prior) -> Prior:
    """`estimated_prior` on a sample of the rows: a few thousand tell as few numbers as there are components."""
    step = max(1, counts.size // _ENTRIES_FOR_PRIOR)
    some = counts[::step]
    return estimated_prior(some, np.ones(len(some)), prior, _STEPS)


def _balanced(sizes: np.ndarray, n_blocks: int) -> np.ndarray:
    """Block of each row (or column), so that blocks hold about as many tokens each."""
    before = np.cumsum(sizes) - sizes
    return np.minimum(before * n_blocks // max(int(sizes.sum()), 1), n_blocks - 1).astype(np.int64)


def token_gibbs(
    table: CountTable,
    n_components: int,
    prior: Prior,
    rho: np.ndarray,
    random: np.random.RandomState,
    *,
    n_burn_in: int,
    n_draws: int,
    n_threads: int = 1,
    expected: np.ndarray | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> Climb:
    """A chain over the components of tokens, from random ones or near expected counts of columns; averages."""
    sampler = TokenSampler(table, n_components, prior, rho, random)
    if expected is None:
        sampler.start_at_random(random)
    else:
        sampler.start_near(expected)
    averages = _Averages()
    path: list[float] = []
    stopped = False
    pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
    try:
        for n_cycles in range(1, n_burn_in + n_draws + 1):
            sampler.cycle(pool)
            stopped = on_step()
            kept = n_cycles > n_burn_in or stopped
            check = n_cycles % _EVERY == 0 or n_cycles == n_burn_in + n_draws or stopped
            if kept or check:
                counts = sampler.row_table()
            if kept:
                averages.add(sampler.word_counts, counts, sampler.prior, rho)
            elif check and prior.estimate_alpha:
                sampler.prior = _prior_of_some_rows(counts, sampler.prior)
            if check:
                theta = normalised(sampler.word_counts + prior.gamma, prior.groups)
                scores = expected_scores(counts, sampler.prior, rho)
                fits = mixture_fits(table.rows, scores, theta)
                path.append(float(fits.sum() - (0 if prior.dirichlet else scores.sum())))
            if stopped:
                break
    finally:
        if pool is not None:
            pool.shutdown()
    return Climb(averages.chain(sampler.prior, sampler.labels), np.array(path), True, stopped)
