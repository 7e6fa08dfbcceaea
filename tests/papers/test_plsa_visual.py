"""Monay et al. (2006): aspects of counts as features, by PLSA with early stopping."""

import time

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import Normalizer

from fewer.datasets import make_aspects
from fewer.evaluate import label_efficiency
from fewer.latent import PLSA, match_components
from fewer.latent._count_model import split_tokens
from fewer.latent._passes import count_rows, count_table, mixture_sums
from fewer.latent.aspects._aspect_base import em_step, fold_in, starting_aspects
from tolerances import rounding


def climbed(X, n_components, n_steps, seed=0):
    """Aspects after so many steps, and the log-likelihood before each."""
    table = count_table(X)
    aspects, path = starting_aspects(*X.shape, n_components, np.random.RandomState(seed)), []
    for _ in range(n_steps):
        aspects, objective = em_step(table, aspects)
        path.append(objective)
    return aspects, np.array(path)


@pytest.mark.claim("plsa-visual", 1)
def test_the_likelihood_never_falls_and_factors_are_distributions(figure):
    aspects, path = climbed(make_aspects(600, 300, random_state=0).X, 20, 100)
    steps = np.diff(path) / np.abs(path[:-1])
    figure(f"smallest relative step {steps.min():.1g}")
    assert steps.min() > -1e-8
    assert np.abs(aspects.shares.sum(axis=1) - 1).max() < rounding(20)
    assert np.abs(aspects.theta.sum(axis=0) - 1).max() < rounding(300)


def divergence(X, fitted):
    """Kullback-Leibler divergence of a table from its fit."""
    X = X.toarray()
    return float(np.sum(xlogy(X, X) - xlogy(X, fitted) - X + fitted))


@pytest.mark.claim("plsa-visual", 2)
def test_the_divergence_is_that_of_matrix_factorisation(figure):
    X = make_aspects(300, 200, random_state=0).X
    table = count_table(X)
    start = starting_aspects(*X.shape, 10, np.random.RandomState(0))
    aspects = start
    for _ in range(400):
        aspects, _ = em_step(table, aspects)
    ours = divergence(X, table.totals[:, None] * (aspects.shares @ aspects.theta.T))
    peer = NMF(10, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=400, tol=0)
    W = peer.fit_transform(X, W=table.totals[:, None] * start.shares, H=start.theta.T.copy())
    theirs = divergence(X, W @ peer.components_)
    figure(f"{ours:.1f} beside {theirs:.1f}")
    assert ours == pytest.approx(theirs, rel=0.01)


def separate_aspects():
    """500 rows of 100 tokens from five aspects of 20 words each."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.ones(20), size=5)
    truth = np.zeros((5, 5, 20))
    truth[np.arange(5), np.arange(5)] = words
    truth = truth.reshape(5, 100)
    shares = rng.dirichlet(np.ones(5), size=500)
    return sparse.csr_array(np.array([rng.multinomial(100, each) for each in shares @ truth], dtype=float)), truth


@pytest.mark.claim("plsa-visual", 3)
@pytest.mark.parametrize("seed", range(3))
def test_folding_in_a_training_row_gives_its_training_shares(seed, figure):
    X, _ = separate_aspects()
    # Shares of the training rows are those of the maximum only as far as the fit has converged.
    model = PLSA(5, early_stopping=False, tol=1e-7, random_state=seed).fit(X)
    gap = np.abs(model.transform(X) - model.doc_topic_).max()
    figure(f"largest difference {gap:.3f}")
    assert gap < 0.02


@pytest.mark.claim("plsa-visual", 4)
@pytest.mark.parametrize("n_seeds", [3, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_aspects_help_where_labels_are_few(n_seeds, figure):
    errors = []
    for seed in range(n_seeds):
        X, y, _ = make_aspects(random_state=seed)
        extractors = {
            "aspects": PLSA(20, max_iter=100, early_stopping=False, random_state=seed),
            "counts": Normalizer("l1"),
        }
        found = label_efficiency(extractors, X, y, fractions=[0.9, 0.05], n_splits=1, random_state=seed)
        errors.append(found.mean_errors)
    aspects, counts = np.mean(errors, axis=0)
    figure(
        f"5% labels: {aspects[-1]:.1%} on aspects, {counts[-1]:.1%} on counts; all: {aspects[0]:.1%}, {counts[0]:.1%}"
    )
    # With three seeds there are 534 test rows: 1.7 points is a standard error of the difference.
    assert aspects[-1] < counts[-1] - (0.03 if n_seeds > 3 else 0)
    assert abs(aspects[0] - counts[0]) < (0.03 if n_seeds > 3 else 0.06)


@pytest.mark.claim("plsa-visual", 5)
def test_aspects_with_words_of_their_own_are_recovered(figure):
    X, truth = separate_aspects()
    model = PLSA(5, early_stopping=False, random_state=0, n_init=3).fit(X)
    distances = match_components(truth, model.components_).distances
    figure(f"largest distance {distances.max():.3f}")
    assert distances.max() < 0.07


def test_perplexity(theta, seen, held_out):
    smooth = 0.99 * theta + 0.01 / len(theta)
    logs = mixture_sums(count_rows(held_out), fold_in(seen, theta, max_iter=100), smooth)[1]
    return float(np.exp(-logs.sum() / held_out.sum()))


test_perplexity.__test__ = False


@pytest.mark.claim("plsa-visual", 6)
@pytest.mark.parametrize("n_late", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_held_out_tokens_stop_too_many_aspects_early(n_late, figure):
    X = make_aspects(random_state=0).X
    train, test = X[:1500], X[1500:]  # 200 of the training rows are for validation
    seen, held_out = split_tokens(test, 1)
    model = PLSA(60, max_iter=n_late, validation_fraction=200 / 1500, random_state=0).fit(train)
    early = np.exp(-model.score_completion(test, random_state=1))
    late = test_perplexity(climbed(train[:1300], 60, n_late)[0].theta, seen, held_out)
    figure(f"stopped after {model.n_iter_} iterations: perplexity {early:.0f}, after {n_late}: {late:.0f}")
    assert model.n_iter_ <= 20
    assert early < 0.8 * late


@pytest.mark.claim("plsa-visual", 6)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_right_number_of_aspects_is_not_stopped_soon(figure):
    model = PLSA(20, max_iter=70, validation_fraction=200 / 1500, random_state=0)
    model.fit(make_aspects(random_state=0).X[:1500])
    figure(f"stopped after {model.n_iter_} of 70 iterations")
    assert model.n_iter_ >= 60


@pytest.mark.claim("plsa-visual", 7)
def test_every_class_has_an_aspect_that_ranks_it_first(figure):
    X, y, _ = make_aspects(random_state=0)
    model = PLSA(20, max_iter=150, tol=0, early_stopping=False, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    best = [max(np.mean(y[model.rank_documents(k)[:10]] == label) for k in range(20)) for label in range(7)]
    figure(f"precision at 10 of the best aspect: {min(best):.2f} or more")
    assert min(best) >= 0.9
    found = model.topic_precision_recall(y)
    assert set(found.classes[found.best_class]) == set(range(7))
    assert found.recall[:, -1] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.claim("plsa-visual", 8)
def test_a_million_non_zeros_are_climbed(figure):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(1_000_000), tuple(rng.integers(10_000, size=(2, 1_000_000)))), shape=(10_000, 10_000))
    climbed(X[:100], 60, 1)
    start = time.process_time()
    aspects, path = climbed(X, 60, 5)
    figure(f"{(time.process_time() - start) / 5:.2f} s of CPU an iteration")  # a figure, because machines differ
    assert aspects.theta.shape == (10_000, 60)
    assert (np.diff(path) > 0).all()


@pytest.mark.claim("plsa-visual", 8)
def test_an_iteration_on_ten_thousand_non_zeros_takes_no_time(figure):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(10_000), tuple(rng.integers(1000, size=(2, 10_000)))), shape=(1000, 1000))
    aspects, path = climbed(X, 60, 5)
    assert len(path) == 5
    assert aspects.theta.shape == (1000, 60)
