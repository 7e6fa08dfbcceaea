"""Correlation-based selection: the merit, the search, and both measures."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import normalized_mutual_info_score

from fewer.select import CFS
from fewer.select.information._levels import discretise
from fewer.select.redundancy._cfs import SubsetMerits, best_first, merit


def random_correlations(rng, n_columns):
    scores = rng.random((n_columns + 1, 4))
    between = np.abs(np.corrcoef(scores @ rng.normal(size=(4, 30))))
    return between[0, 1:], between[1:, 1:]


def plain_best_first(with_target, between, max_stale):
    """The search with one open list of all subsets, sorted anew each time."""
    opened, seen = [((), 0.0)], {frozenset()}
    best, stale = ((), 0.0), 0
    while opened and stale < max_stale:
        opened.sort(key=lambda entry: -entry[1])
        subset, _ = opened.pop(0)
        improved = False
        for column in set(range(len(with_target))) - set(subset):
            child = (*subset, column)
            if frozenset(child) in seen:
                continue
            seen.add(frozenset(child))
            value = merit(with_target[list(child)], between[np.ix_(child, child)])
            opened.append((child, value))
            if value > best[1] + 1e-5:
                best, improved = (child, value), True
        stale = 0 if improved else stale + 1
    return best


def test_merits_of_all_children_are_those_of_the_formula():
    with_target, between = random_correlations(np.random.default_rng(0), 8)
    merits = SubsetMerits(with_target, between.__getitem__)
    for subset in [(), (3,), (5, 1), (0, 7, 2)]:
        found = merits(subset)
        for column in range(8):
            if column in subset:
                assert found[column] == -np.inf
                continue
            members = [*subset, column]
            k = len(members)
            mean_pair = np.mean([between[a, b] for a, b in combinations(members, 2)]) if k > 1 else 0
            expected = k * with_target[members].mean() / np.sqrt(k + k * (k - 1) * mean_pair)
            assert found[column] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_the_lazy_search_finds_what_a_plain_one_finds(seed):
    with_target, between = random_correlations(np.random.default_rng(seed), 12)
    found = best_first(SubsetMerits(with_target, between.__getitem__), max_stale=5)
    subset, value = plain_best_first(with_target, between, 5)
    assert found.merit == pytest.approx(value)
    assert set(found.subset) == set(subset)


def test_a_patient_search_finds_the_best_of_all_subsets():
    for seed in range(5):
        with_target, between = random_correlations(np.random.default_rng(seed), 8)
        found = best_first(SubsetMerits(with_target, between.__getitem__), max_stale=1000)
        best = max(
            merit(with_target[list(subset)], between[np.ix_(subset, subset)])
            for size in range(1, 9)
            for subset in combinations(range(8), size)
        )
        assert found.merit == pytest.approx(best, abs=2e-5)
        assert found.n_expansions <= 2**8


def test_scores_and_merit_are_symmetric_uncertainties_of_levels():
    X, y = load_wine(return_X_y=True)
    select = CFS().fit(X, y)
    levels = discretise(X, y, method="mdl").codes
    assert select.scores_ == pytest.approx([normalized_mutual_info_score(column, y) for column in levels])
    kept = select.get_support(indices=True)
    between = np.array([[normalized_mutual_info_score(levels[a], levels[b]) for b in kept] for a in kept])
    assert select.merit_ == pytest.approx(merit(select.scores_[kept], between))


def test_numbers_are_compared_by_pearson_correlation():
    X, y = load_diabetes(return_X_y=True)
    select = CFS(task="regression").fit(X, y)
    r = np.abs(np.corrcoef(np.column_stack([X, y]).T))
    kept = select.get_support(indices=True)
    assert select.scores_ == pytest.approx(r[-1, :-1])
    assert select.merit_ == pytest.approx(merit(r[-1, kept], r[np.ix_(kept, kept)]))
    assert np.array_equal(CFS().fit(X, y + 0.5).get_support(), select.get_support())


def test_two_classes_by_pearson_are_numbers():
    X, y = load_breast_cancer(return_X_y=True)
    as_classes = CFS(measure="pearson").fit(X, y.astype(str))
    as_numbers = CFS(measure="pearson", task="regression").fit(X, y)
    assert as_classes.scores_ == pytest.approx(as_numbers.scores_)
    assert np.array_equal(as_classes.ranking_, as_numbers.ranking_)


def test_a_copy_is_never_kept_and_goes_to_the_end():
    X, y = load_wine(return_X_y=True)
    plain = CFS().fit(X, y)
    doubled = CFS().fit(np.column_stack([X, X]), y)
    assert doubled.merit_ == pytest.approx(plain.merit_)
    assert doubled.n_features_to_select_ == plain.n_features_to_select_
    assert not (doubled.get_support()[:13] & doubled.get_support()[13:]).any()


def test_sparse_tables_give_the_same_subset():
    rng = np.random.default_rng(5)
    X = rng.poisson(0.4, size=(200, 60)).astype(float)
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=200) > 0.5).astype(int)
    for options in ({}, {"measure": "pearson"}, {"discretisation": "equal_frequency"}):
        full = CFS(**options).fit(X, y)
        assert np.array_equal(CFS(**options).fit(sparse.csr_array(X), y).ranking_, full.ranking_)
        assert full.get_support()[:2].all()


def test_nothing_to_find_keeps_one_column_with_a_warning():
    with pytest.warns(UserWarning, match="the first one is kept"):
        select = CFS().fit(np.ones((30, 4)), np.arange(30) % 2)
    assert select.get_support().tolist() == [True, False, False, False]
    assert select.merit_ == 0
    assert CFS().fit(np.arange(30.0)[:, None], np.arange(30) > 14).get_support().all()
