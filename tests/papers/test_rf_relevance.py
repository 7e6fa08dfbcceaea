"""Identifying feature relevance using a random forest (Rogers and Gunn 2006)."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import mutual_info_classif
from sklearn.model_selection import train_test_split

from fewer.datasets import load, make_friedman_classes, make_simple_relevance
from fewer.learn import RandomColumnForestClassifier
from fewer.select import (
    ForestRelevanceSelector,
    chance_gain_bounds,
    exact_chance_gain,
    irrelevant_feature_curve,
    majority_vote_convergence,
)
from tolerances import rounding


def entropy(labels):
    shares = np.bincount(labels) / len(labels)
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def mean_best_gain(n_rows, n_minority):
    """Best gain, averaged over every order of the labels."""
    gains = []
    for minority in combinations(range(n_rows), n_minority):
        labels = np.zeros(n_rows, dtype=int)
        labels[list(minority)] = 1
        gains.append(
            max(
                entropy(labels) - cut / n_rows * entropy(labels[:cut]) - (1 - cut / n_rows) * entropy(labels[cut:])
                for cut in range(1, n_rows)
            )
        )
    return np.mean(gains)


@pytest.mark.claim("rf-relevance", 1)
@pytest.mark.parametrize(("n_lower", "n_exact"), [(16, 6), pytest.param(40, 8, marks=pytest.mark.slow)])
def test_lower_bound_and_exact_level_equal_enumeration(n_lower, n_exact, figure):
    even = np.arange(2, n_lower + 1, 2)
    lower = chance_gain_bounds(even)[0]
    enumerated = np.array([mean_best_gain(n, 1) for n in even])
    cases = [(n, m) for n in range(2, n_exact + 1) for m in range(1, n // 2 + 1)]
    exact = exact_chance_gain(*np.transpose(cases))
    brute = np.array([mean_best_gain(n, m) for n, m in cases])
    figure(f"largest difference {max(np.abs(lower - enumerated).max(), np.abs(exact - brute).max()):.1g}")
    np.testing.assert_allclose(lower, enumerated, atol=1e-9)
    np.testing.assert_allclose(exact, brute, rtol=0, atol=rounding(comb(8, 4)))


def nine_column_runs(n_runs):
    """Which columns are kept in each run, and by how much the forest on these is better."""
    kept, gains = [], []
    for seed in range(n_runs):
        X, y, _ = make_simple_relevance(n_samples=1300, random_state=seed)
        train, test = slice(0, 300), slice(300, None)
        selector = ForestRelevanceSelector(random_state=seed).fit(X[train], y[train])
        plain = RandomColumnForestClassifier(random_state=seed).fit(X[train], y[train])
        kept.append(selector.get_support())
        gains.append(selector.forest_.score(selector.transform(X[test]), y[test]) - plain.score(X[test], y[test]))
    return np.array(kept), np.array(gains)


@pytest.mark.claim("rf-relevance", 2)
def test_two_relevant_columns_of_nine_are_found_in_a_few_runs():
    kept, gains = nine_column_runs(5)
    assert kept[:, :2].all()
    assert kept[:, 2:].sum(axis=1).mean() <= 1.2
    assert np.mean(gains) > 0


@pytest.mark.slow
@pytest.mark.claim("rf-relevance", 2)
def test_two_relevant_columns_of_nine_are_found_and_the_forest_gains(figure):
    kept, gains = nine_column_runs(20)
    figure(f"noise columns kept {kept[:, 2:].sum(axis=1).mean():.2f} of 7, error lower by {np.mean(gains):.3f}")
    assert kept[:, :2].all()
    assert kept[:, 2:].sum(axis=1).mean() <= 0.8
    assert np.mean(gains) >= 0.015


def friedman_runs(n_runs, n_trees):
    above, kept = [], []
    for seed in range(n_runs):
        X, y, _ = make_friedman_classes(random_state=seed)
        selector = ForestRelevanceSelector(n_trees, refit=False, random_state=seed).fit(X, y)
        above.append(selector.gain_diff_ > 0)
        kept.append(selector.get_support())
    return np.array(above), np.array(kept)


@pytest.mark.claim("rf-relevance", 3)
def test_friedmans_columns_are_found(figure):
    above, kept = friedman_runs(40, 100)
    figure(f"100 trees: threshold keeps each of X1-X5 in {above[:, :5].mean(axis=0).min():.0%} of 40 runs or more")
    assert kept[:, [0, 1, 3]].all()
    assert above[:, :5].mean() >= 0.95
    assert (kept[:, 5:].mean(axis=0) <= 0.2).all()


@pytest.mark.slow
@pytest.mark.claim("rf-relevance", 3)
def test_the_threshold_keeps_all_of_friedmans_columns_with_more_trees(figure):
    above, kept = friedman_runs(40, 500)
    figure(f"500 trees: threshold keeps all of X1-X5 in {above[:, :5].all(axis=1).mean():.0%} of 40 runs")
    assert kept[:, [0, 1, 3]].all()
    assert above[:, :5].all(axis=1).mean() >= 0.95


@pytest.mark.claim("rf-relevance", 4)
@pytest.mark.filterwarnings("ignore:No column gains")
@pytest.mark.parametrize(("unit", "limit"), [("node", 0.10), ("tree", 0.12)])
@pytest.mark.parametrize("chance", ["midpoint", "exact"])
def test_pure_noise_is_rarely_significant(unit, limit, chance, figure):
    pvalues = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(size=(300, 10)), rng.integers(0, 2, 300)
        selector = ForestRelevanceSelector(unit=unit, chance=chance, refit=False, random_state=seed)
        pvalues.append(selector.fit(X, y).pvalues_)
    rate = np.mean(np.array(pvalues) < 0.05)
    figure(f"{unit}, {chance}: {rate:.1%} below .05")
    assert rate <= limit


@pytest.mark.claim("rf-relevance", 5)
def test_both_columns_of_an_xor_are_found(figure):
    pvalues, places = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(500, 10))
        y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
        pvalues.append(ForestRelevanceSelector(refit=False, random_state=seed).fit(X, y).pvalues_)
        scores = mutual_info_classif(X, y, random_state=0)
        places.append(np.argsort(np.argsort(-scores))[:2] + 1)
    pvalues = np.array(pvalues)
    noise_kept = (pvalues[:, 2:] < 0.05).mean()
    figure(
        f"largest p {pvalues[:, :2].max():.1g}, noise kept {noise_kept:.0%}, mutual information's mean place "
        f"{np.mean(places):.1f} of 10"
    )
    assert pvalues[:, :2].max() < 1e-6
    assert noise_kept <= 0.10
    assert np.mean(places) > 3.5  # 5.5 is chance, with a standard error of 0.8; first and second would be 1.5


@pytest.mark.claim("rf-relevance", 6)
def test_noise_added_to_breast_cancer_is_dropped_again(figure):
    cancer = load("breast_cancer")
    found = []
    for seed in range(6):
        noise = np.random.default_rng(seed).uniform(size=(len(cancer.y), 30))
        selector = ForestRelevanceSelector(random_state=seed).fit(np.hstack([cancer.X, noise]), cancer.y)
        clean = RandomColumnForestClassifier(random_state=seed).fit(cancer.X, cancer.y)
        kept = selector.get_support()
        ratio = selector.forest_.tree_sizes_.mean() / clean.tree_sizes_.mean()
        found.append((kept[:30].sum(), kept[30:].sum(), ratio))
    true, false, ratio = np.mean(found, axis=0)
    figure(f"{true:.1f} true and {false:.1f} noise columns kept; tree size {ratio:.2f} of the clean one")
    assert true >= 20
    assert false <= 4
    assert abs(ratio - 1) <= 0.15


@pytest.mark.claim("rf-relevance", 6)
def test_noise_makes_trees_larger(figure):
    cancer = load("breast_cancer")
    curve = irrelevant_feature_curve(cancer.X, cancer.y, n_noise=[0, 10, 30], n_repeats=2, random_state=0)
    sizes = curve.tree_sizes.mean(axis=1)
    figure(f"nodes of a tree with 0, 10 and 30 noise columns: {sizes.round(0)}")
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.claim("rf-relevance", 7)
def test_majority_votes_follow_the_binomial_tail(figure):
    gaps = [
        abs(
            majority_vote_convergence(p, n)
            - sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(-(-n // 2), n + 1))
        )
        for p in (0.0, 0.3, 0.5, 0.6, 0.93, 1.0)
        for n in (1, 2, 3, 10, 51, 200)
    ]
    figure(f"largest difference {max(gaps):.1g}")
    assert max(gaps) < rounding(200)
    rising = majority_vote_convergence(np.array([[0.51], [0.6], [0.9]]), np.arange(1, 60, 2))
    assert (np.diff(rising, axis=1) > -rounding(60)).all()
    assert (rising[:, -1] > rising[:, 0]).all()


def out_of_bag_choice(n_rows, n_columns, n_informative, n_redundant, n_trees, seed=0):
    X, y = make_classification(
        2 * n_rows, n_columns, n_informative=n_informative, n_redundant=n_redundant, shuffle=False, random_state=seed
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    selector = ForestRelevanceSelector(n_trees, significance_level="oob", random_state=0).fit(X, y)
    plain = RandomColumnForestClassifier(n_trees, random_state=0).fit(X, y)
    errors = [1 - plain.score(X_test, y_test), 1 - selector.forest_.score(selector.transform(X_test), y_test)]
    return selector, errors, n_informative + n_redundant


@pytest.mark.slow
@pytest.mark.claim("rf-relevance", 8)
def test_out_of_bag_error_chooses_a_strict_level(figure):
    alphas, kept, gains = [], [], []
    for seed in range(5):
        selector, (plain, selected), _ = out_of_bag_choice(2000, 500, 5, 15, 300, seed)
        alphas.append(selector.significance_level_)
        kept.append(selector.get_support().sum())
        gains.append(plain - selected)
    figure(
        f"300 trees, 5 tables: levels {min(alphas):g} to {max(alphas):g}, {min(kept)} to {max(kept)} columns kept, "
        f"error lower by {min(gains):.3f} to {max(gains):.3f}"
    )
    assert np.median(alphas) < 1e-3
    assert max(kept) <= 60
    assert np.mean(gains) >= 0.1


@pytest.mark.claim("rf-relevance", 8)
def test_out_of_bag_error_chooses_a_level_that_helps(figure):
    selector, (plain, selected), n_useful = out_of_bag_choice(500, 100, 5, 5, 100)
    kept = selector.get_support()
    figure(
        f"500 x 100: alpha {selector.significance_level_:g}, {kept[n_useful:].sum()} useless columns kept, "
        f"error {plain:.3f} -> {selected:.3f}"
    )
    assert selector.oob_errors_[selector.significance_level_] == min(selector.oob_errors_.values())
    assert kept[n_useful:].sum() <= 5
    assert selected <= plain - 0.05
