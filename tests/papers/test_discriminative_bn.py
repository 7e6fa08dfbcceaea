"""Pernkopf and Bilmes (2010): heuristics for discriminative structure learning of Bayesian network classifiers."""

import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from fewer.datasets import make_conditional_link, make_corral, make_waveform
from fewer.graph import BayesNetClassifier, TANClassifier
from fewer.graph.classifiers import _structures
from fewer.graph.classifiers._structures import RateSearch, pair_information, spanning_tree
from fewer.graph.classifiers._tables import (
    ConditionalLikelihood,
    children_first,
    conditional_log_likelihood,
    counted_network,
    discriminative_network,
)
from peers.pgmpy_numbers import random_table, random_tables
from tolerances import rounding

PEER = json.loads((Path(__file__).parents[1] / "peers" / "pgmpy.json").read_text())


def random_parents(rng, n_columns, most):
    order = rng.permutation(n_columns)
    parents = [()] * n_columns
    for place in range(1, n_columns):
        size = min(place, int(rng.integers(most + 1)))
        parents[order[place]] = tuple(int(each) for each in rng.choice(order[:place], size, replace=False))
    return parents


@pytest.mark.claim("discriminative-bn", 1)
def test_population_values_of_the_three_bits():
    joint = {}
    for label, first, coin, second_is_first, part, other in product((0, 1), (0, 1), (0, 1), (0, 1), range(3), (0, 1)):
        second = first if second_is_first else coin
        third = ((first if label == 0 else 1 - first), second, other)[part]
        weight = 1 / 32 * (0.3, 0.5, 0.2)[part] * 1
        joint[label, first, second, third] = joint.get((label, first, second, third), 0) + weight
    # The population as a table of 320 rows, each cell as often as its probability says.
    cells, weights = zip(*joint.items(), strict=True)
    counts = np.round(np.array(weights) * 320).astype(int)
    rows = np.repeat(np.array(cells), counts, axis=0)
    X, y = rows[:, 1:], rows[:, 0]
    assert len(rows) == 320
    bits = BayesNetClassifier().fit(X, y).pair_information_
    assert [bits[0, 1], bits[1, 2], bits[0, 2]] == pytest.approx([0.189, 0.210, 0.116], abs=1e-3)
    rates = {name: model.fit(X, y).score(X, y) for name, model in {
        "nb": TANClassifier("nb"), "cmi": TANClassifier("cmi"), "edge": BayesNetClassifier([(0, 2)]),
        "tree": BayesNetClassifier([(0, 2), (1, 2)])}.items()}  # fmt: skip
    half_a_row = 0.5 / len(rows)  # rates are numbers of rows
    assert rates["nb"] == pytest.approx(0.5, abs=half_a_row)
    assert rates["cmi"] == pytest.approx(0.575, abs=half_a_row)
    assert rates["edge"] == rates["tree"] == pytest.approx(0.65, abs=half_a_row)


@pytest.mark.claim("discriminative-bn", 1)
@pytest.mark.parametrize("n_repeats", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_rates_on_samples_of_the_three_bits(n_repeats, figure):
    rates, hits = {"nb": [], "cmi": [], "omi-cr": []}, 0
    for seed in range(n_repeats):
        X, y, truth = make_conditional_link(2000, random_state=seed)
        for structure, found in rates.items():
            model = TANClassifier(structure).fit(X[:1000], y[:1000])
            found.append(model.score(X[1000:], y[1000:]))
        hits += model.adjacency_[0, 2] or model.adjacency_[2, 0]
    means = [np.mean(found) for found in rates.values()]
    figure(f"{means[0]:.3f}, {means[1]:.3f}, {means[2]:.3f}; the edge in {hits} of {n_repeats}")
    assert means == pytest.approx(list(truth["rates"].values()), abs=0.015)
    assert hits >= 0.98 * n_repeats


@pytest.mark.claim("discriminative-bn", 2)
def test_the_generative_tree_is_the_maximum_spanning_tree():
    for codes, n_levels, classes in random_tables():
        weights = pair_information(codes, n_levels, classes, 3).given_class
        found = {frozenset((child, *own)) for child, own in enumerate(spanning_tree(weights)) if own}
        tree = minimum_spanning_tree(csr_array(np.triu(weights.max() + 1 - weights, 1)))
        assert found == {frozenset(map(int, edge)) for edge in zip(*tree.nonzero(), strict=True)}


@pytest.mark.claim("discriminative-bn", 2)
def test_the_generative_tree_is_that_of_pgmpy():
    for (codes, _, classes), theirs in zip(random_tables(), PEER["trees"], strict=True):
        ours = TANClassifier("cmi").fit(codes.T, classes).adjacency_
        assert np.argwhere(ours).tolist() == theirs


@pytest.mark.claim("discriminative-bn", 3)
def test_the_gradient_of_the_conditional_likelihood():
    rng = np.random.default_rng(0)
    codes, n_levels, classes = random_table(rng, 200, 5)
    network = counted_network(codes, n_levels, classes, 3, random_parents(rng, 5, 2), 0.0)
    likelihood = ConditionalLikelihood.of(network, codes, classes)
    beta = likelihood.start() + 0.3 * rng.normal(size=likelihood.start().size)
    _, slopes = likelihood.value_and_gradient(beta)
    step = 1e-5
    for entry in rng.choice(beta.size, 40, replace=False):
        ahead, behind = beta.copy(), beta.copy()
        ahead[entry] += step
        behind[entry] -= step
        difference = (likelihood.value_and_gradient(ahead)[0] - likelihood.value_and_gradient(behind)[0]) / (2 * step)
        assert slopes[entry] == pytest.approx(difference, rel=1e-5, abs=1e-5 * np.abs(slopes).max())


@pytest.mark.claim("discriminative-bn", 3)
def test_training_never_lowers_the_conditional_likelihood():
    rng = np.random.default_rng(1)
    codes, n_levels, classes = random_table(rng, 300, 6)
    network = counted_network(codes, n_levels, classes, 3, random_parents(rng, 6, 1), 0.0)
    curve = [conditional_log_likelihood(network.log_joint(codes), classes)]
    discriminative_network(
        network, codes, classes,
        on_step=lambda found: curve.append(conditional_log_likelihood(found.log_joint(codes), classes)) or False,
    )  # fmt: skip
    assert len(curve) > 10
    assert (np.diff(curve) > -rounding(len(classes), abs(curve[0]))).all()


@pytest.mark.claim("discriminative-bn", 3)
def test_without_edges_it_is_logistic_regression(figure):
    rng = np.random.default_rng(2)
    codes, _, classes = random_table(rng, 1000, 5)
    X = codes.T
    model = TANClassifier("nb", likelihood="conditional", max_iter=2000, tol=1e-7, discrete=True).fit(X, classes)
    dummies = OneHotEncoder().fit_transform(X)
    logistic = LogisticRegression(C=1e6, max_iter=5000, tol=1e-8).fit(dummies, classes)
    agree = np.mean(model.predict(X) == logistic.predict(dummies))
    ours, theirs = (
        np.log(proba[np.arange(len(X)), classes]).mean()
        for proba in (model.predict_proba(X), logistic.predict_proba(dummies))
    )
    figure(f"{agree:.2%} of the rows agree; likelihoods differ by {abs(ours - theirs):.1e} a row")
    assert agree >= 0.999
    assert ours == pytest.approx(theirs, abs=1e-3)


@pytest.mark.claim("discriminative-bn", 4)
@pytest.mark.parametrize("most", [1, 2])
def test_missing_values_are_summed_out(most):
    rng = np.random.default_rng(most)
    codes, n_levels, classes = random_table(rng, 200, 6)
    network = counted_network(codes, n_levels, classes, 3, random_parents(rng, 6, most), 0.0)
    rows = codes[:, :30].copy()
    rows[rng.random(rows.shape) < 0.4] = -1
    found = network.log_joint(rows)
    for row, joint in zip(rows.T, found, strict=True):
        choices = [range(levels) if code < 0 else [code] for code, levels in zip(row, n_levels, strict=True)]
        completions = np.array(list(product(*choices))).T
        total = np.exp(network.log_joint(completions)).sum(axis=0)
        np.testing.assert_allclose(np.exp(joint) / np.exp(joint).sum(), total / total.sum(), atol=1e-10)
        np.testing.assert_allclose(np.exp(joint), total, rtol=rounding(completions.shape[1] * 7))


@pytest.mark.claim("discriminative-bn", 5)
def test_stored_log_probabilities_give_the_rate_of_a_new_computation():
    rng = np.random.default_rng(0)
    codes, n_levels, classes = random_table(rng, 150, 6)
    search = RateSearch(codes, n_levels, classes, 3, np.zeros(150, dtype=np.int64), 0.0)
    for _ in range(200):
        parents = random_parents(rng, 6, 2)
        column = int(rng.integers(6))
        search.parents, before = list(parents), search.joint
        search.joint = counted_network(codes, n_levels, classes, 3, parents, 0.0).log_joint(codes)
        search._look_again()
        sets = [tuple(each for each in children_first(parents) if each != column)[:size] for size in (0, 1, 2)]
        choice = search.best(column, sets, limit=150)
        wrong = {}
        for own in sets:
            graph = [own if each == column else old for each, old in enumerate(parents)]
            joint = counted_network(codes, n_levels, classes, 3, graph, 0.0).log_joint(codes)
            # Classes whose log probabilities differ by rounding alone are equal: the first one counts.
            wrong[own] = int(((joint > joint.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1) != classes).sum())
        assert choice.n_wrong == min(wrong.values()) == wrong[choice.parents]
        search.joint = before


@pytest.mark.claim("discriminative-bn", 5)
@pytest.mark.parametrize("structure", ["cmi", "omi-cr", "omisp-cr", "ocr-cr", "ro-cr", "cr", "superparent"])
def test_a_search_gives_a_forest(structure):
    rng = np.random.default_rng(3)
    codes, _, classes = random_table(rng, 300, 8)
    for most in (1,) if structure == "cmi" else (1, 2):
        model = TANClassifier(structure, most, random_state=0, discrete=True).fit(codes.T, classes)
        assert model.adjacency_.sum(axis=0).max() <= most
        assert model.adjacency_.sum() <= most * 7
        assert model.adjacency_.sum() > 0
        children_first([model.parents_[column] for column in range(8)])  # raises where there is a cycle
        assert model.adjacency_.shape == (8, 8)  # the class is no node, and has no parents


def mean_rate(model, X, y, seeds=(0,)):
    rates = [
        model.fit(X[train], y[train]).score(X[test], y[test])
        for seed in seeds
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
    ]
    return float(np.mean(rates))


@pytest.mark.claim("discriminative-bn", 6)
def test_corral_and_waveform(figure):
    X, y, _ = make_corral()
    ordered, naive = (mean_rate(TANClassifier(structure), X, y, seeds=(0, 1, 2)) for structure in ("omi-cr", "nb"))
    waves = []
    for seed in range(4):
        X, y, _ = make_waveform(5000, 0, random_state=seed)
        waves.append(TANClassifier().fit(X[:300], y[:300]).score(X[300:], y[300:]))
    figure(f"corral {ordered:.3f}, naive Bayes {naive:.3f}; waveform {np.mean(waves):.3f}")
    assert ordered >= 0.97
    assert naive <= 0.90
    assert 0.76 <= np.mean(waves) <= 0.82


def n_evaluations(monkeypatch, model, X, y):
    """How many sets of parents a search compares."""
    count, real = [0], _structures.n_errors

    def counting(*arguments):
        count[0] += 1
        return real(*arguments)

    monkeypatch.setattr(_structures, "n_errors", counting)
    model.fit(X, y)
    monkeypatch.undo()
    return count[0]


@pytest.mark.claim("discriminative-bn", 7)
def test_an_order_saves_most_evaluations(monkeypatch, figure):
    X, y = load_digits(return_X_y=True)
    X, y = X[::4, 20:44], y[::4]
    ordered, greedy = (n_evaluations(monkeypatch, TANClassifier(structure), X, y) for structure in ("omi-cr", "cr"))
    figure(f"{ordered:,} evaluations instead of {greedy:,}; times in benchmarks/bench_graph_classifiers.py")
    assert ordered <= greedy / 5


@pytest.mark.slow
@pytest.mark.claim("discriminative-bn", 7)
def test_digits_in_five_folds(figure):
    X, y = load_digits(return_X_y=True)
    naive, ordered, greedy = (mean_rate(TANClassifier(structure), X, y) for structure in ("nb", "omi-cr", "cr"))
    figure(f"naive Bayes {naive:.3f}, omi-cr {ordered:.3f}, greedy {greedy:.3f}")
    assert ordered >= naive + 0.02
    assert ordered >= greedy - 0.015


@pytest.mark.claim("discriminative-bn", 8)
@pytest.mark.parametrize(
    ("n_folds", "hidden"), [(2, (0, 16)), pytest.param(5, (0, 4, 8, 16, 32), marks=pytest.mark.slow)]
)
def test_digits_with_hidden_features(n_folds, hidden, figure):
    X, y = load_digits(return_X_y=True)
    place = np.random.default_rng(0).random(X.shape).argsort(axis=1)  # columns with a place below j are hidden
    rates = {structure: np.zeros(len(hidden)) for structure in ("nb", "omi-cr")}
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[:n_folds]
    for train, test in folds:
        for structure, found in rates.items():
            model = TANClassifier(structure).fit(X[train], y[train])
            found += [model.score(np.where(place[test] < j, np.nan, X[test]), y[test]) / n_folds for j in hidden]
    figure("; ".join(f"{structure} {', '.join(f'{rate:.3f}' for rate in found)}" for structure, found in rates.items()))
    assert (np.diff(rates["omi-cr"]) <= 0.01).all()
    assert (rates["omi-cr"] > rates["nb"])[np.array(hidden) <= 16].all()


def test_training_rate_is_not_the_accuracy_on_new_rows():
    X, y, _ = make_corral()
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TANClassifier("omi-cr", 2).fit(rng.integers(2, size=X.shape), y)
        honest = TANClassifier("omi-cr", 2, cv=5).fit(rng.integers(2, size=X.shape), y)
    assert model.training_rate_ > 0.65
    assert honest.training_rate_ < model.training_rate_
