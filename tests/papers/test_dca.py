"""Buntine and Jakulin (2006): discrete component analysis."""

import time
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import poisson
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_bars
from fewer.latent import DiscreteComponentAnalysis, match_components
from fewer.latent._passes import count_rows, count_table, folded_in
from fewer.latent.counts._gibbs import DirectSampler, TokenSampler, expected_scores, zero_probability
from fewer.latent.counts._updates import (
    Prior,
    State,
    constants,
    nmf_cycle,
    row_bounds,
    starting_concentrations,
    variational_cycle,
)

ROW = np.array([2, 1, 0, 1])


def tiny_problem(seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(4), size=2).T
    return theta, rng.uniform(0.3, 1.5, size=2), rng.uniform(0.5, 2, size=2)


def prior_of(alpha, beta, dirichlet, n_columns, gamma=0.5):
    return Prior(dirichlet, np.asarray(alpha), np.asarray(beta), gamma, np.zeros(n_columns, dtype=np.int64))


def allocations(row):
    """Every V with these row sums, for two components: how many of each count the first has."""
    for first in product(*(range(count + 1) for count in row)):
        yield np.column_stack([first, row - np.array(first)])


def log_joint(V, theta, prior, rho=0.0):
    """``log p(V | Theta)`` with the scores integrated out, as the sheet has it."""
    c = V.sum(axis=0)
    alpha, beta = prior.alpha, prior.beta
    tokens = np.sum(V * np.log(theta)) - gammaln(V + 1).sum()
    if prior.dirichlet:
        total = c.sum()
        brackets = gammaln(total + 1) + gammaln(alpha.sum()) - gammaln(total + alpha.sum())
        return tokens + brackets + np.sum(gammaln(c + alpha) - gammaln(alpha))
    bracket = gammaln(c + alpha) - gammaln(alpha) + alpha * np.log(beta) - (c + alpha) * np.log1p(beta)
    return tokens + np.log((1 - rho) * np.exp(bracket) + rho * (c == 0)).sum()


def exact_log_likelihood(theta, prior):
    return np.logaddexp.reduce([log_joint(V, theta, prior) for V in allocations(ROW)])


@pytest.mark.claim("dca", 1)
@pytest.mark.parametrize("dirichlet", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_rises_and_stays_below_the_exact_likelihood(dirichlet, seed, figure):
    theta, alpha, beta = tiny_problem(seed)
    prior = prior_of(alpha, beta, dirichlet, 4)
    exact = exact_log_likelihood(theta, prior)
    rows = count_rows(sparse.csr_array(ROW[None].astype(float)))
    total = np.array([4.0])
    a = starting_concentrations(total, prior)
    bounds = [row_bounds(rows, total, a, theta, prior)[0]]
    for _ in range(30):
        a = folded_in(rows, a, theta, prior.alpha, prior.scale, bayes=True, max_iter=1, tol=0)
        bounds.append(row_bounds(rows, total, a, theta, prior)[0])
    figure(f"bound {bounds[-1]:.4f} below {exact:.4f}")
    assert np.diff(bounds).min() > -1e-9
    assert bounds[0] < bounds[-1] < exact


@pytest.mark.claim("dca", 1)
def test_draws_of_the_scores_give_the_enumerated_likelihood(figure):
    theta, alpha, beta = tiny_problem()
    scores = np.random.default_rng(1).gamma(alpha, 1 / beta, size=(400_000, 2))
    drawn = np.log(np.mean(np.prod(poisson.pmf(ROW, scores @ theta.T), axis=1)))
    exact = exact_log_likelihood(theta, prior_of(alpha, beta, False, 4))
    figure(f"{drawn:.4f} by draws, {exact:.4f} by enumeration")
    assert drawn == pytest.approx(exact, abs=0.01)


@pytest.mark.claim("dca", 2)
@pytest.mark.parametrize("dirichlet", [False, True])
def test_the_training_objective_never_falls(dirichlet, figure):
    X = make_bars(random_state=0).X
    table = count_table(sparse.csr_array(X.astype(float)))
    prior = prior_of(np.ones(10), np.ones(10), dirichlet, 25)
    fixed = constants(table.rows, prior)
    theta = np.random.default_rng(0).dirichlet(np.ones(25), size=10).T
    state = State(starting_concentrations(table.totals, prior), np.ascontiguousarray(theta), prior)
    path = []
    for _ in range(300):
        state, objective = variational_cycle(table, fixed, state)
        path.append(objective)
    figure(f"smallest step {np.diff(path).min():.2g}")
    assert np.diff(path).min() >= -1e-6


def bars_errors(seed, **options):
    X, _, truth = make_bars(random_state=seed)
    model = DiscreteComponentAnalysis(10, doc_topic_prior=1.0, random_state=seed, **options).fit(X)
    return match_components(truth["components"], model.components_).distances


def recovered(seeds, **options):
    errors = np.array([bars_errors(seed, **options) for seed in seeds])
    return np.sum((errors.max(axis=1) < 0.06) & (errors.mean(axis=1) < 0.04)), errors.max(axis=1)


@pytest.mark.claim("dca", 3)
@pytest.mark.parametrize("model", ["gp", "dm"])
@pytest.mark.parametrize("n_seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_variational_fits_recover_the_bars(model, n_seeds, figure):
    good, largest = recovered(range(n_seeds), model=model, n_init=3, max_iter=300)
    figure(f"{good} of {n_seeds} seeds, largest distances {', '.join(f'{each:.3f}' for each in largest)}")
    assert good >= min(n_seeds, 4)


@pytest.mark.claim("dca", 3)
@pytest.mark.parametrize("n_seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_the_last_sample_of_a_token_chain_has_all_bars(n_seeds, figure):
    options = {"model": "dm", "solver": "rb_gibbs", "n_burn_in": 199, "n_draws": 1}
    largest = [bars_errors(seed, **options).max() for seed in range(n_seeds)]
    figure(f"largest distance {max(largest):.3f}")
    assert max(largest) < 0.15


@pytest.mark.claim("dca", 4)
def test_equal_rates_make_no_difference_to_the_labels():
    table = count_table(sparse.csr_array(make_bars(200, random_state=0).X.astype(float)))
    labels = []
    for dirichlet in (False, True):
        prior = prior_of(np.full(10, 0.3), np.full(10, 0.7), dirichlet, 25)
        sampler = TokenSampler(table, 10, prior, np.zeros(10), np.random.RandomState(0))
        sampler.start_at_random(np.random.RandomState(1))
        for _ in range(10):
            sampler.cycle()
        labels.append(sampler.labels.copy())
    assert np.array_equal(*labels)
    assert len(np.unique(labels[0])) == 10


@pytest.mark.claim("dca", 5)
def test_the_limit_without_priors_is_matrix_factorisation(figure):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.8, size=(60, 40)).astype(float))
    scores, theta = rng.uniform(0.1, 1, size=(60, 5)), rng.uniform(0.1, 1, size=(40, 5))
    peer = NMF(5, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=50, tol=0)
    W = peer.fit_transform(X, W=scores.copy(), H=theta.T.copy())
    state = (scores, np.ascontiguousarray(theta))
    table = count_table(X)
    for _ in range(50):
        state, _ = nmf_cycle(table, np.zeros(60), state)
    gap = np.abs(state[0] @ state[1].T - W @ peer.components_).max()
    figure(f"largest difference of the reconstruction {gap:.1g}")
    assert gap < 1e-10
    before = np.inf
    for _ in range(100):  # to a fixed point
        if np.abs(state[0] - before).max() < 1e-10:
            break
        before = state[0]
        for _ in range(500):
            state, _ = nmf_cycle(table, np.zeros(60), state)
    gap = np.abs(state[0] @ state[1].sum(axis=0) - table.totals).max()
    figure(f"largest difference of a row's total at the fixed point {gap:.1g}")
    assert gap < 1e-8


def drawn_law(theta, prior, rho, n_cycles, seed=0):
    """Shares of the allocations of the tiny row, and of zero scores, over cycles with fixed components."""
    rows = count_rows(sparse.csr_array(ROW[None].astype(float)))
    sampler = DirectSampler(rows, theta, prior, rho, np.random.RandomState(seed))
    law, zeros = {}, np.zeros(2)
    for _ in range(n_cycles):
        sampler.cycle()
        key = tuple(sampler.columns[:, 0].astype(int))
        law[key] = law.get(key, 0) + 1 / n_cycles
        zeros += (sampler.scores[0] == 0) / n_cycles
    return law, zeros


@pytest.mark.claim("dca", 6)
@pytest.mark.parametrize("model", ["gp", "dm", "cgp"])
@pytest.mark.parametrize(("n_cycles", "most"), [(40_000, 0.025), pytest.param(400_000, 0.01, marks=pytest.mark.slow)])
def test_the_sampler_has_the_enumerated_posterior(model, n_cycles, most, figure):
    theta, alpha, beta = tiny_problem()
    prior = prior_of(alpha, beta, model == "dm", 4)
    rho = np.full(2, 0.5 if model == "cgp" else 0.0)
    law, zeros = drawn_law(theta, prior, rho, n_cycles)
    logs = {tuple(V[:, 0]): log_joint(V, theta, prior, rho) for V in allocations(ROW)}
    total = np.logaddexp.reduce(list(logs.values()))
    exact = {key: np.exp(value - total) for key, value in logs.items()}
    distance = sum(abs(law.get(key, 0) - share) for key, share in exact.items()) / 2
    figure(f"total variation {distance:.4f} after {n_cycles:,} cycles")
    assert distance < most
    if model == "cgp":
        V = np.array([np.column_stack([key, ROW - np.array(key)]).sum(axis=0) for key in exact])
        expected = (V == 0).T @ np.array(list(exact.values())) * zero_probability(prior, rho)
        assert np.abs(zeros - expected).max() < most


def zero_shares(rows, theta, prior, rho, n_cycles, seed):
    """Shares of cycles in which each score is zero, after half as many cycles that do not count."""
    sampler = DirectSampler(rows, theta, prior, rho, np.random.RandomState(seed))
    zeros = np.zeros((len(rows.indptr) - 1, theta.shape[1]))
    for cycle in range(-n_cycles // 2, n_cycles):
        sampler.cycle()
        if cycle >= 0:
            zeros += (sampler.scores == 0) / n_cycles
    return zeros


def calibration(seed, n_rows, n_cycles=1000):
    """Of each bin of probabilities: pairs, sum of probability minus truth, and its variance with rows as clusters.

    One chain sorts pairs into bins and a second one gives their probabilities: with one chain for both, its error would
    choose the bin, and the mean of a bin would be off.
    """
    rng = np.random.default_rng(seed)
    theta = np.ascontiguousarray(rng.dirichlet(np.ones(50), size=10).T)
    prior, rho = prior_of(np.ones(10), np.full(10, 0.5), False, 50), np.full(10, 0.8)
    present = rng.uniform(size=(n_rows, 10)) >= rho
    scores = rng.gamma(1.0, 2.0, size=present.shape) * present
    rows = count_rows(sparse.csr_array(rng.poisson(scores @ theta.T).astype(float)))
    sorting, zeros = (zero_shares(rows, theta, prior, rho, n_cycles, each) for each in (2 * seed, 2 * seed + 1))
    bins = np.minimum((10 * sorting).astype(int), 9)
    off = [np.where(bins == each, zeros - ~present, 0.0).sum(axis=1) for each in range(10)]
    return np.array([(np.sum(bins == each), off[each].sum(), np.sum(off[each] ** 2)) for each in range(10)])


@pytest.mark.claim("dca", 7)
@pytest.mark.parametrize(
    ("seeds", "n_rows"), [((0,), 2000), ((1,), 2000), pytest.param(range(5), 8000, marks=pytest.mark.slow)]
)
def test_probabilities_of_zero_scores_are_calibrated(seeds, n_rows, figure):
    n_pairs, off, variance = sum(calibration(seed, n_rows) for seed in seeds).T
    gaps, errors = np.abs(off) / n_pairs, np.sqrt(variance) / n_pairs
    figure(f"largest gap {gaps.max():.3f}, or {np.max(gaps / errors):.1f} standard errors, over {len(gaps)} bins")
    assert n_pairs.min() >= 100
    # Of ten normal variates, one in 15,000 times the largest is beyond 4.5.
    assert np.max(gaps / errors) < 4.5
    if n_rows > 2000:  # where 0.05 is more than sampling explains
        assert errors.max() < 0.05 / 4.5
        assert gaps.max() < 0.05


def test_scores_are_expected_as_the_corrected_formula_has_it():
    prior, rho = prior_of([0.4], [1.5], False, 4), np.array([0.3])
    zero = zero_probability(prior, rho)[0]
    assert zero == pytest.approx(0.3 * 2.5**0.4 / (0.7 * 1.5**0.4 + 0.3 * 2.5**0.4))
    found = expected_scores(np.array([[0.0], [3.0]]), prior, rho)
    assert found.ravel() == pytest.approx([(1 - zero) * 0.4 / 2.5, 3.4 / 2.5])


@pytest.mark.claim("dca", 8)
@pytest.mark.parametrize("n", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_large_sparse_table_is_never_made_dense(n, figure):
    rng = np.random.default_rng(0)
    n_tokens = 50 * n
    X = sparse.csr_array(
        (np.ones(n_tokens), (rng.integers(n, size=n_tokens), rng.integers(n, size=n_tokens))), shape=(n, n)
    )
    X.sum_duplicates()
    model = DiscreteComponentAnalysis(50 if n > 2000 else 10, max_iter=2, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)  # compiles all that this size needs
    tracemalloc.start()
    start = time.process_time()
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    taken = (time.process_time() - start) / 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    figure(f"{X.nnz:,} non-zeros: {taken:.2f} s of CPU a cycle, {peak / 2**20:.0f} MB beside the table")
    assert peak < 8 * n * n / (10 if n > 2000 else 2)
