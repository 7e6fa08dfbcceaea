"""FCBF, and the elimination of Koller and Sahami, by approximate Markov blankets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

from fewer.select import FCBF, KollerSahami
from fewer.select.information._levels import ROUNDING, discretise


def predominant(levels, y, threshold):
    """The rule, written out: a column stays unless a better one that stays is closer to it than the target is."""
    with_target = np.array([normalized_mutual_info_score(column, y) for column in levels])
    kept, dropped_by = [], {}
    for column in np.argsort(-with_target, kind="stable"):
        if with_target[column] < threshold or with_target[column] < ROUNDING:
            continue
        for better in kept:
            if normalized_mutual_info_score(levels[better], levels[column]) >= with_target[column] - ROUNDING:
                dropped_by[int(column)] = better
                break
        else:
            kept.append(int(column))
    return kept, dropped_by


@pytest.mark.parametrize("threshold", [0.0, 0.2])
@pytest.mark.parametrize("discretisation", ["mdl", "equal_frequency", "equal_width"])
def test_what_stays_is_what_the_rule_written_out_keeps(threshold, discretisation):
    X, y = load_breast_cancer(return_X_y=True)
    select = FCBF(threshold=threshold, discretisation=discretisation).fit(X, y)
    kept, dropped_by = predominant(discretise(X, y, method=discretisation).codes, y, threshold)
    assert np.argsort(select.ranking_)[: len(kept)].tolist() == kept
    assert select.n_features_to_select_ == len(kept)
    assert {c: int(by) for c, by in enumerate(select.dropped_by_) if by >= 0} == dropped_by


def test_copies_are_dropped_by_the_first_of_them():
    X, y = load_breast_cancer(return_X_y=True)
    plain, tripled = FCBF().fit(X, y), FCBF().fit(np.column_stack([X, X, 2 * X]), y)
    assert np.array_equal(tripled.get_support(), np.concatenate([plain.get_support(), np.zeros(60, dtype=bool)]))
    kept = plain.get_support(indices=True)
    assert np.array_equal(tripled.dropped_by_[30 + kept], kept)


def test_numbers_are_cut_into_intervals():
    X, y = load_diabetes(return_X_y=True)
    select = FCBF(task="regression").fit(X, y)
    levels = discretise(y[:, None]).codes[0]
    assert np.array_equal(select.get_support(), FCBF().fit(X, levels).get_support())
    assert select.get_support()[2]  # the body mass index


def test_sparse_tables_and_words_as_classes_give_the_same():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(300, 50)).astype(float)
    y = np.where(X[:, 4] + X[:, 5] > 0, "spam", "ham")
    full = FCBF().fit(X, y)
    assert np.array_equal(FCBF().fit(sparse.csr_array(X), y).ranking_, full.ranking_)
    assert full.get_support()[[4, 5]].all()


def test_nothing_above_the_threshold_keeps_the_best_with_a_warning():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(
        UserWarning, match=r"No column reaches threshold=0.99 \(highest .*: 0\.\d+\); the best one is kept"
    ):
        select = FCBF(threshold=0.99).fit(X, y)
    assert select.get_support(indices=True).tolist() == [np.argmax(select.scores_)]
    with pytest.warns(UserWarning, match="No column reaches"):
        assert FCBF().fit(np.ones((20, 2)), np.arange(20) % 2).get_support().tolist() == [True, False]


def bits_of(codes):
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return -(shares * np.log(shares)).sum()


def shared(a, b, given):
    """Mutual information of a and b given columns of at most ten levels, from entropies."""
    groups = np.zeros(len(a), dtype=int)
    for column in given:
        groups = 10 * groups + column
    a, b = a.astype(int), b.astype(int)
    return bits_of(10 * groups + a) + bits_of(10 * groups + b) - bits_of(groups) - bits_of(100 * groups + 10 * a + b)


def removal_order(levels, y, blanket_size):
    """The elimination, written out: every blanket and every loss anew at each step."""
    left, removed = list(range(len(levels))), []
    alone = [shared(y, column, []) for column in levels]
    pair = [[shared(y, a, [b]) for b in levels] for a in levels]
    while len(left) > 1:
        losses = []
        for column in left:
            others = [other for other in left if other != column]
            others.sort(key=lambda other: (round(pair[column][other], 12), other))
            losses.append(shared(y, levels[column], [levels[other] for other in others[:blanket_size]]))
        removed.append(min(left, key=lambda c: (round(losses[left.index(c)], 11), round(alone[c], 11), -c)))
        left.remove(removed[-1])
    return [left[0], *reversed(removed)]


@pytest.mark.parametrize("blanket_size", [0, 1, 2, 3])
def test_columns_go_in_the_order_of_the_rule_written_out(blanket_size):
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X[:, 3:10], X[:, 6], np.ones(len(y))])
    select = KollerSahami(4, blanket_size=blanket_size, n_bins=3).fit(X, y)
    expected = removal_order(discretise(X, n_bins=3).codes, y, blanket_size)
    assert np.argsort(select.ranking_).tolist() == expected


def test_lists_that_run_out_are_made_anew(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :12]
    expected = removal_order(discretise(X, n_bins=3).codes, y, 2)
    for reserve in (0, 3):
        monkeypatch.setattr("fewer.select.redundancy._markov_blankets._RESERVE", reserve)
        select = KollerSahami(4, blanket_size=2, n_bins=3).fit(X, y)
        assert np.argsort(select.ranking_).tolist() == expected


def test_without_blankets_it_is_the_filter_by_mutual_information():
    X, y = load_breast_cancer(return_X_y=True)
    select = KollerSahami(5, blanket_size=0).fit(X, y)
    assert select.scores_ == pytest.approx([mutual_info_score(column, y) for column in discretise(X).codes])
    assert np.array_equal(np.argsort(select.ranking_), np.argsort(-select.scores_))
    assert np.array_equal(select.relevance_, select.scores_)


def test_sparse_tables_give_the_same_order():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(200, 25)).astype(float)
    y = (X[:, 2] + X[:, 7] + rng.normal(size=200) > 1).astype(int)
    full = KollerSahami(2).fit(X, y)
    assert np.array_equal(KollerSahami(2).fit(sparse.csr_array(X), y).ranking_, full.ranking_)
    assert full.get_support(indices=True).tolist() == [2, 7]


def test_numbers_one_column_and_more_than_there_are():
    X, y = load_diabetes(return_X_y=True)
    assert KollerSahami(4, task="regression").fit(X, y).get_support()[[2, 8]].all()
    assert KollerSahami(4, blanket_size=3, task="regression").fit(X[:, :1], y).ranking_.tolist() == [1]
    assert KollerSahami(40, blanket_size=30, task="regression").fit(X[:, :3], y).get_support().all()
