"""Minimum redundancy, maximum relevance: the greedy choice, its measures, and what it does with copies."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import mutual_info_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer.evaluate import selection_curve
from fewer.select import MRMR
from fewer.select.information._levels import discretise


def choice(relevance, redundancy, n_features, criterion):
    """The greedy rule, written out on whole matrices."""
    chosen = [int(np.argmax(relevance))]
    while len(chosen) < n_features:
        best, best_value = -1, -np.inf
        for column in range(len(relevance)):
            if column in chosen:
                continue
            mean = np.mean([redundancy[column, other] for other in chosen])
            value = relevance[column] - mean if criterion == "difference" else relevance[column] / max(mean, 0.001)
            if value > best_value:
                best, best_value = column, value
        chosen.append(best)
    return chosen


def chosen_by(select):
    return np.argsort(select.ranking_)[: select.n_features_to_select_].tolist()


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
def test_mutual_information_is_weighed_as_written_out(cancer, criterion):
    X, y = cancer
    X = X[:, ::2]
    levels = discretise(X, n_bins=5).codes
    relevance = np.array([mutual_info_score(column, y) for column in levels])
    redundancy = np.array([[mutual_info_score(a, b) for b in levels] for a in levels])
    select = MRMR(12, criterion=criterion, n_bins=5).fit(X, y)
    assert chosen_by(select) == choice(relevance, redundancy, 12, criterion)
    assert select.relevance_ == pytest.approx(relevance)


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_f_and_correlation_are_weighed_as_written_out(cancer, criterion, task):
    X, y = cancer if task == "classification" else load_diabetes(return_X_y=True)
    relevance = (f_classif if task == "classification" else f_regression)(X, y)[0]
    select = MRMR(8, relevance="f", redundancy="correlation", criterion=criterion, task=task).fit(X, y)
    assert select.relevance_ == pytest.approx(relevance)
    assert chosen_by(select) == choice(relevance, np.abs(np.corrcoef(X.T)), 8, criterion)


def test_the_criterion_and_the_redundancy_are_those_of_each_step(cancer):
    X, y = cancer
    select = MRMR(4, relevance="f", redundancy="correlation", criterion="difference").fit(X, y)
    order, r = np.argsort(select.ranking_), np.abs(np.corrcoef(X.T))
    for place in range(1, 4):
        mean = r[order[place], order[:place]].mean()
        assert select.redundancy_[order[place]] == pytest.approx(mean)
        assert select.scores_[order[place]] == pytest.approx(select.relevance_[order[place]] - mean)
    rest = order[4:]
    after = select.relevance_[rest] - r[np.ix_(rest, order[:4])].mean(axis=1)
    assert select.scores_[rest] == pytest.approx(after)
    assert (np.diff(select.scores_[rest]) <= 0).all()


def test_any_score_or_function_gives_relevance(cancer):
    X, y = cancer
    by_name = MRMR(5, relevance="fisher", redundancy="correlation", criterion="quotient").fit(X, y)
    by_f = MRMR(5, relevance="f", redundancy="correlation", criterion="quotient").fit(X, y)
    by_function = MRMR(5, relevance=f_classif, redundancy="correlation", criterion="quotient").fit(X, y)
    assert np.array_equal(by_name.ranking_, by_f.ranking_)  # they differ by a factor
    assert np.array_equal(by_function.ranking_, by_f.ranking_)
    with pytest.raises(ValueError, match="a number for each of the 30 columns"):
        MRMR(relevance=lambda X, y: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="no score 'fishy'"):
        MRMR(relevance="fishy").fit(X, y)


@pytest.mark.parametrize("measures", [("mutual_information", "mutual_information"), ("f", "correlation")])
@pytest.mark.parametrize("criterion", ["difference", "quotient"])
def test_copies_and_constants_wait_until_there_is_nothing_else(measures, criterion):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    useful = rng.normal(size=(200, 2)) + 3 * y[:, None]
    X = np.column_stack([np.ones(200), useful, -2 * useful + 7, useful, rng.normal(size=(200, 5))])
    select = MRMR(7, relevance=measures[0], redundancy=measures[1], criterion=criterion).fit(X, y)
    kept = set(chosen_by(select))
    assert {7, 8, 9, 10, 11} <= kept
    assert len(kept & {1, 3, 5}) == len(kept & {2, 4, 6}) == 1
    assert select.ranking_[0] == 12


def test_sparse_tables_and_float32_give_the_same_choice():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.5, size=(150, 40)).astype(float)
    y = (X[:, 3] + X[:, 8] + rng.normal(size=150) > 1).astype(int)
    for options in ({}, {"relevance": "f", "redundancy": "correlation", "criterion": "quotient"}):
        expected = MRMR(10, **options).fit(X, y).ranking_
        assert np.array_equal(MRMR(10, **options).fit(sparse.csr_array(X), y).ranking_, expected)
        assert np.array_equal(MRMR(10, **options).fit(X.astype(np.float32), y).ranking_, expected)


def test_a_column_far_from_zero_keeps_its_correlations(cancer):
    X, y = cancer
    options = {"relevance": "f", "redundancy": "correlation", "criterion": "quotient"}
    expected = MRMR(10, **options).fit(X, y)
    shifted = MRMR(10, **options).fit(X + 1e7, y)
    assert shifted.relevance_ == pytest.approx(expected.relevance_, rel=1e-4)
    assert np.array_equal(shifted.ranking_[expected.ranking_ <= 10], expected.ranking_[expected.ranking_ <= 10])


def test_large_tables_are_gone_through_in_blocks(cancer, monkeypatch):
    X, y = cancer
    options = {"relevance": "f", "redundancy": "correlation", "criterion": "quotient"}
    whole = MRMR(10, **options).fit(X, y)
    monkeypatch.setattr("fewer.select.redundancy._similarity._CELLS_AT_ONCE", 1000)
    for columns_for_each in (0, 20):
        monkeypatch.setattr("fewer.select.redundancy._similarity._COLUMNS_FOR_EACH_ASKED", columns_for_each)
        blocks = MRMR(10, **options).fit(X, y)
        assert np.array_equal(blocks.ranking_, whole.ranking_)
        assert blocks.scores_ == pytest.approx(whole.scores_)


def test_columns_that_part_the_classes_in_full_are_still_ordered():
    y = np.repeat([0, 1], 20)
    noise = np.random.default_rng(2).normal(size=(40, 3))
    X = np.column_stack([y, noise, y + 0.0])
    select = MRMR(2, relevance="f", redundancy="correlation", criterion="quotient").fit(X, y)
    assert select.relevance_[0] == np.inf
    assert select.get_support()[0]
    assert not select.get_support()[4]


def test_more_columns_than_there_are_keeps_all_of_them():
    X, y = np.random.default_rng(3).normal(size=(20, 3)), np.arange(20) % 2
    assert MRMR(10).fit(X, y).get_support().all()
    assert MRMR(10).fit(X[:, :1], y).ranking_.tolist() == [1]
    assert sorted(MRMR(2).fit(np.ones((20, 3)), y).ranking_) == [1, 2, 3]


def test_names_classes_as_words_and_a_whole_curve():
    rng = np.random.default_rng(4)
    y = np.array(["ill", "well"])[rng.integers(2, size=120)]
    X = rng.normal(size=(120, 15))
    X[:, :3] += 1.5 * (y == "ill")[:, None]
    frame = pl.DataFrame(X, schema=[f"gene{column}" for column in range(15)])
    select = MRMR(3).fit(frame, y)
    assert select.get_feature_names_out().tolist() == ["gene0", "gene1", "gene2"]
    assert make_pipeline(MRMR(3), GaussianNB()).fit(frame, y).score(frame, y) > 0.85
    curve = selection_curve(MRMR(15), GaussianNB(), X, y, cv=3, random_state=0)
    assert curve.sizes.tolist() == list(range(1, 16))
    assert curve.scores.mean(axis=(0, 1))[2] > 0.85


def test_a_numeric_target_that_looks_like_classes_is_taken_as_told():
    X, y = load_diabetes(return_X_y=True)
    numbers = MRMR(3, relevance="f", redundancy="correlation", criterion="quotient", task="regression").fit(X, y)
    assert numbers.relevance_ == pytest.approx(f_regression(X, y)[0])
    with pytest.raises(ValueError, match="needs numbers in y"):
        MRMR(task="regression").fit(X, np.where(y > 100, "high", "low"))
    with pytest.raises(ValueError, match=r"the same value, 2\.5, in every row"):
        MRMR(task="regression").fit(X, np.full(len(y), 2.5))


@pytest.mark.parametrize("n_rows", [50, 66, 90, 130])
def test_lists_from_most_rows_share_most_columns_with_the_list_from_all_rows(n_rows):
    # Classes differ in the mean of five columns and in the spread of five more, which two bins cannot show.
    rng = np.random.default_rng(n_rows)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 200))
    X[:, :5] += 2.5 * y[:, None]
    X[:, 5:10] *= np.where(y == 1, 8.0, 1.0)[:, None]
    whole = set(MRMR(10).fit(X, y).get_support(indices=True))
    assert len(whole & set(range(10))) >= 9
    for share in (0.8, 0.85, 0.9):
        rows = rng.permutation(n_rows)[: int(share * n_rows)]
        part = set(MRMR(10).fit(X[rows], y[rows]).get_support(indices=True))
        assert len(whole & part) >= 8
