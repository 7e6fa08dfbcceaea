"""Correlations with a target of numbers, in value and in rank."""

import numpy as np
import pytest
from scipy import sparse, stats

from fewer.select import pearson_score, spearman_score
from tolerances import rounding


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 7))
    X[:, 3:] = X[:, 3:].round()  # with ties
    return X, X[:, 0] + X[:, 3] + rng.normal(size=80)


@pytest.mark.parametrize(("score", "peer"), [(pearson_score, stats.pearsonr), (spearman_score, stats.spearmanr)])
def test_scores_and_p_values_are_those_of_scipy(table, score, peer):
    X, y = table
    expected = [peer(column, y) for column in X.T]
    scores, p_values = score(X, y)
    assert scores == pytest.approx([abs(one.statistic) for one in expected])
    assert p_values == pytest.approx([one.pvalue for one in expected])


@pytest.mark.parametrize("score", [pearson_score, spearman_score])
def test_zeros_need_not_be_stored(table, score):
    X, y = table
    X = X * (np.random.default_rng(1).random(X.shape) < 0.3)
    stored = sparse.csc_array(X)
    explicit = stored.copy()
    explicit.data[::3] = 0  # zeros that are stored count as zeros
    for matrix in (stored, explicit):
        found, expected = score(matrix, y), score(matrix.toarray(), y)
        assert found.scores == pytest.approx(expected.scores)
        assert found.p_values == pytest.approx(expected.p_values)


def test_ranks_ignore_what_keeps_the_order(table):
    X, y = table
    assert np.array_equal(spearman_score(np.exp(X), np.exp(y)).scores, spearman_score(X, y).scores)


def test_a_large_mean_costs_no_digits(table):
    X, y = table
    X = np.round(X * 2**20) / 2**20
    expected = pearson_score(X, y).scores
    assert pearson_score(X + 1e8, y).scores == pytest.approx(expected, rel=1e-6)
    assert pearson_score(sparse.csc_array(X + 1e8), y).scores == pytest.approx(expected, rel=1e-6)
    assert pearson_score(X, y + 1e8).scores == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("score", [pearson_score, spearman_score])
def test_what_is_constant_has_no_correlation(score):
    rng = np.random.default_rng(2)
    X = np.column_stack([np.full(20, 0.1), rng.normal(size=20)])
    scores, p_values = score(X, rng.normal(size=20))
    assert scores[0] == 0
    assert p_values[0] == 1
    scores, p_values = score(X, np.full(20, 0.3))
    assert scores.tolist() == [0, 0]
    assert p_values.tolist() == [1, 1]


def test_a_column_equal_to_the_target_is_perfect():
    y = np.random.default_rng(3).normal(size=50)
    for score in (pearson_score, spearman_score):
        scores, p_values = score(np.column_stack([y, -y]), y)
        assert scores == pytest.approx([1, 1])
        # A correlation that rounding brings below 1 by this much has a p-value far below it.
        assert p_values == pytest.approx([0, 0], abs=rounding(50))


def test_two_classes_count_as_numbers_and_three_names_are_refused(table):
    X, y = table
    names = np.where(y > 0, "yes", "no")
    assert pearson_score(X, names).scores == pytest.approx(pearson_score(X, (y > 0).astype(float)).scores)
    with pytest.raises(ValueError, match="take a score for classes"):
        pearson_score(X, np.array(["a", "b", "c", "d"] * 20))
