"""Robinson and Hartemink (2010): learning non-stationary dynamic Bayesian networks."""

import tracemalloc
import warnings
from itertools import product
from math import lgamma

import numpy as np
import pytest

from fewer.datasets import make_changing_network
from fewer.graph import NonStationaryDBN, independent_edge_proba, nsbde_score
from fewer.graph.changing._nsbde import interval_score
from tolerances import rounding

SMALL = np.array([[1, 0], [0, 0], [0, 1], [1, 0], [0, 1], [0, 0]])
RECIPE = {"max_parents": 3, "max_changes": 20, "random_state": 0}


@pytest.fixture(autouse=True)
def chains_may_disagree():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The chains disagree")
        yield


def true_networks(truth, n_rows):
    """The true network at rows 1, 2, ..."""
    return truth["networks"][np.searchsorted(truth["transition_times"], np.arange(1, n_rows), side="right")]


def precision_and_recall(found, true):
    """Mean over time points of both."""
    hits = (found & true).sum(axis=(1, 2))
    return np.mean(hits / np.maximum(found.sum(axis=(1, 2)), 1)), np.mean(hits / np.maximum(true.sum(axis=(1, 2)), 1))


def f1(model, truth):
    found = np.asarray(model.edge_proba_) > 0.5
    precision, recall = precision_and_recall(found, true_networks(truth, len(found) + 1))
    return 2 * precision * recall / (precision + recall)


@pytest.mark.claim("nsdbn", 1)
def test_local_scores_by_hand():
    # [before, after] of each row; the second column acts on the first or not.
    none, one = np.zeros((2, 2)), np.array([[0, 0], [1, 0]])
    first = np.array([0, 0, 0, 0, 1])
    X = np.column_stack([first, np.zeros(5, dtype=int)])
    assert nsbde_score(X, [none]) == pytest.approx(-3.24259, abs=1e-5)
    # Rows with the parent at 0 have counts (2, 0), those with the parent at 1 counts (1, 1).
    data = (
        np.array([[[0, 0], [0, 0], [0, 1], [0, 1]]]),
        np.array([[[0, 0], [0, 0], [0, 0], [1, 0]]]),
        np.array([2, 2]),
    )
    scratch = np.empty(16, dtype=np.int64)
    with_parent = interval_score(*data, 0, np.flatnonzero(one[:, 0]), 1, 0, 4, 1.0, scratch)
    halves = sum(
        interval_score(*data, 0, np.zeros(0, dtype=np.int64), 0, start, start + 2, 1.0, scratch) for start in (0, 2)
    )
    assert with_parent == pytest.approx(-3.36038, abs=1e-5)
    assert halves == pytest.approx(with_parent, abs=rounding(20, 5))


def bdeu_by_hand(X, network, count_prior):
    """The usual BDeu score of a lag-one network, cell by cell: every configuration that can occur has its share."""
    levels = [np.unique(column) for column in X.T]
    total = 0.0
    for child in range(X.shape[1]):
        parents = np.flatnonzero(network[:, child])
        configurations = list(product(*(levels[parent] for parent in parents)))
        prior = count_prior / (len(configurations) * len(levels[child]))
        for given in configurations:
            rows = (X[:-1, parents] == given).all(axis=1)
            counts = [int((X[1:][rows, child] == level).sum()) for level in levels[child]]
            total += lgamma(prior * len(counts)) - lgamma(prior * len(counts) + sum(counts))
            total += sum(lgamma(prior + count) - lgamma(prior) for count in counts)
    return total


@pytest.mark.claim("nsdbn", 1)
@pytest.mark.parametrize("count_prior", [1.0, 5.0])
def test_one_epoch_has_the_usual_score(count_prior):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(n_levels, size=80) for n_levels in (2, 3, 4)])
    for seed in range(5):
        network = np.random.default_rng(seed).uniform(size=(3, 3)) < 0.5
        expected = bdeu_by_hand(X, network, count_prior)
        assert nsbde_score(X, [network], count_prior=count_prior) == pytest.approx(expected, abs=1e-9)


@pytest.mark.claim("nsdbn", 1)
def test_neighbouring_epochs_with_the_same_parents_are_one_interval():
    X, _, truth = make_changing_network([60, 60], [(0, 1)], [(1, 2)], n_features=3, random_state=0)
    split = np.repeat(truth["networks"], 2, axis=0)
    whole = nsbde_score(X, truth["networks"], truth["transition_times"])
    assert nsbde_score(X, split, [30, 60, 90]) == pytest.approx(whole, abs=rounding(len(X), abs(whole)))


ENUMERATED = {
    (1.0, 2.0): [0.1969, 0.4214, 0.2942, 0.0798, 0.0077],
    (0.5, 1.0): [0.0044, 0.0578, 0.2510, 0.4264, 0.2604],
}


@pytest.mark.claim("nsdbn", 2)
@pytest.mark.parametrize(("lambdas", "epochs"), ENUMERATED.items())
def test_the_sampler_agrees_with_the_enumeration(lambdas, epochs, figure):
    lambda_s, lambda_m = lambdas
    model = NonStationaryDBN(
        lambda_s=lambda_s, lambda_m=lambda_m, max_parents=2, max_changes=4, max_iter=500_000, n_burn_in=1000, thin=1,
        n_chains=2, random_state=0,
    ).fit(SMALL)  # fmt: skip
    gaps = [np.abs(model.n_epochs_posterior_ - epochs).max()]
    if lambda_s == 1.0:
        first, last = [[0.374, 0.514], [0.589, 0.553]], [[0.395, 0.452], [0.450, 0.662]]
        gaps += [np.abs(model.edge_proba_[0] - first).max(), np.abs(model.edge_proba_[-1] - last).max()]
    figure(f"largest difference {max(gaps):.4f}")
    assert max(gaps) < 0.01


@pytest.mark.claim("nsdbn", 3)
@pytest.mark.parametrize(
    ("seeds", "max_iter"), [([0, 1], 40_000), pytest.param(range(6), 100_000, marks=pytest.mark.slow)]
)
def test_networks_are_found_where_the_times_are_known(seeds, max_iter, figure):
    found = []
    for seed in seeds:
        X, _, truth = make_changing_network(random_state=seed)
        model = NonStationaryDBN(truth["transition_times"], lambda_s=2, max_iter=max_iter, n_chains=5, **RECIPE).fit(X)
        found.append(f1(model, truth))
    figure(f"F1 {', '.join(f'{value:.3f}' for value in found)}")
    assert np.median(found) >= 0.97
    assert min(found) >= 0.85


@pytest.mark.claim("nsdbn", 3)
@pytest.mark.parametrize(
    ("seeds", "max_iter"), [([1], 60_000), pytest.param(range(6), 150_000, marks=pytest.mark.slow)]
)
def test_networks_are_found_where_nothing_is_known(seeds, max_iter, figure):
    found, modes = [], []
    for seed in seeds:
        X, _, truth = make_changing_network(random_state=seed)
        model = NonStationaryDBN(lambda_s=5, lambda_m=5, max_iter=max_iter, n_chains=5, **RECIPE).fit(X)
        found.append(f1(model, truth))
        modes.append(int(model.n_epochs_posterior_.argmax()) + 1)
    figure(f"F1 {', '.join(f'{value:.3f}' for value in found)}; epochs {modes}")
    assert np.median(found) >= 0.97
    assert all(6 <= mode <= 9 for mode in modes)


@pytest.mark.claim("nsdbn", 4)
@pytest.mark.parametrize(
    ("seeds", "max_iter"), [([0], 150_000), pytest.param(range(3), 150_000, marks=pytest.mark.slow)]
)
def test_a_network_that_does_not_change_has_one_epoch(seeds, max_iter, figure):
    found, one = [], []
    for seed in seeds:
        X, _, truth = make_changing_network([1020], changes=(), random_state=seed)
        model = NonStationaryDBN(lambda_s=5, lambda_m=5, max_iter=max_iter, n_chains=5, **RECIPE).fit(X)
        found.append(f1(model, truth))
        one.append(model.n_epochs_posterior_[0])
    figure(f"P(one epoch) {', '.join(f'{value:.2f}' for value in one)}; F1 {np.median(found):.3f}")
    assert min(one) > 0.8
    assert np.median(found) >= 0.98


@pytest.mark.claim("nsdbn", 4)
def test_without_changes_edges_have_their_exact_probabilities(figure):
    X, _, _ = make_changing_network([1020], changes=(), random_state=0)
    X = X[:120]  # few rows, so that many edges are neither sure nor excluded
    model = NonStationaryDBN([], max_iter=200_000, n_chains=2, **RECIPE).fit(X)
    gap = np.abs(model.edge_proba_[0] - independent_edge_proba(X, max_parents=3)[0]).max()
    figure(f"largest difference {gap:.3f}")
    assert gap < 0.05


@pytest.mark.claim("nsdbn", 5)
def test_epochs_help_one_another(figure):
    said = []
    for seed in range(3):
        X, _, truth = make_changing_network(random_state=seed)
        times = truth["transition_times"]
        rows = slice(times[2] - 1, times[3] - 1)  # the epoch of 20 rows
        true = true_networks(truth, len(X))[rows]
        model = NonStationaryDBN(times, lambda_s=2, max_iter=60_000, n_chains=5, **RECIPE).fit(X)
        joint = precision_and_recall(np.asarray(model.edge_proba_)[rows] > 0.5, true)
        alone = independent_edge_proba(X, times)[3] > 0.5
        alone = precision_and_recall(np.repeat(alone[None], len(true), axis=0), true)
        said.append(f"{alone[0]:.2f}/{alone[1]:.2f} alone, {joint[0]:.2f}/{joint[1]:.2f} together")
        assert joint[0] > alone[0]
        assert joint[1] > alone[1]
    figure("precision/recall " + "; ".join(said))


@pytest.mark.claim("nsdbn", 6)
def test_memory_does_not_grow_with_the_steps(figure):
    X, _, _ = make_changing_network(random_state=0)
    peaks = []
    for max_iter in (2000, 2000, 200_000):  # the first call compiles
        tracemalloc.start()
        NonStationaryDBN(max_iter=max_iter, n_chains=1, thin=1, **RECIPE).fit(X)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    figure(f"{peaks[1]:.1f} MB for 2,000 steps, {peaks[2]:.1f} MB for 200,000; times: bench_changing_networks.py")
    # A hundred times as many steps: all that may grow is what counts edges at times, one number for each.
    assert peaks[2] < peaks[1] + 3 * 8 * X.size * X.shape[1] / 1e6
