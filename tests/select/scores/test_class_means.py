"""Scores of class means: against scipy and scikit-learn, and where arithmetic is hard."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.feature_selection import f_classif

from fewer.select import (
    anova_score,
    bw_ratio_score,
    fisher_score,
    signal_to_noise_score,
    variance_score,
    welch_score,
)
from fewer.select.scores._class_moments import class_moments
from tolerances import rounding


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [10, 20, 40]))
    return rng.normal(size=(70, 9)) + np.linspace(0, 1, 9) * y[:, None], y


def test_anova_is_that_of_scikit_learn(table):
    X, y = table
    scores, p_values = anova_score(X, y)
    expected = f_classif(X, y)
    assert scores == pytest.approx(expected[0])
    assert p_values == pytest.approx(expected[1])


def test_fisher_and_bw_are_the_f_statistic_without_its_degrees_of_freedom(table):
    X, y = table
    assert fisher_score(X, y) == pytest.approx(f_classif(X, y)[0] * 2 / (70 - 3))
    assert np.array_equal(bw_ratio_score(X, y), fisher_score(X, y))


def test_welch_is_that_of_scipy_for_each_class_against_the_rest(table):
    X, y = table
    scores, p_values = welch_score(X, y)
    assert scores.shape == p_values.shape == (3, 9)
    for code in range(3):
        expected = stats.ttest_ind(X[y == code], X[y != code], equal_var=False)
        assert scores[code] == pytest.approx(np.abs(expected.statistic))
        assert p_values[code] == pytest.approx(expected.pvalue)


def test_two_classes_are_compared_once(table):
    X, y = table
    two = y == 1
    scores, p_values = welch_score(X, two)
    expected = stats.ttest_ind(X[two], X[~two], equal_var=False)
    assert scores == pytest.approx(np.abs(expected.statistic))
    assert p_values == pytest.approx(expected.pvalue)
    assert signal_to_noise_score(X, two).shape == (9,)


def test_signal_to_noise_is_the_gap_of_means_over_the_sum_of_deviations(table):
    X, y = table
    expected = [
        np.abs(X[y == code].mean(axis=0) - X[y != code].mean(axis=0))
        / (X[y == code].std(axis=0, ddof=1) + X[y != code].std(axis=0, ddof=1))
        for code in range(3)
    ]
    assert signal_to_noise_score(X, y) == pytest.approx(np.array(expected))


def test_a_class_of_one_row_borrows_the_spread_of_the_rest():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 4))
    y = np.r_[1, np.zeros(11, dtype=int)]
    scores, p_values = welch_score(X, y)
    rest = X[1:]
    expected = np.abs(X[0] - rest.mean(axis=0)) / (rest.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 11))
    assert scores == pytest.approx(expected)
    assert p_values == pytest.approx(2 * stats.t.sf(expected, 10))
    gap = np.abs(X[0] - rest.mean(axis=0))
    assert signal_to_noise_score(X, y) == pytest.approx(gap / (2 * rest.std(axis=0, ddof=1)))


@pytest.mark.parametrize("offset", [1e8, -1e8])
def test_a_large_mean_costs_no_digits(table, offset):
    X, y = table
    # Multiples of 2**-20 are exact beside 1e8, so that the shifted table holds the very same deviations.
    X = np.round(X * 2**20) / 2**20
    for score in (fisher_score, anova_score, welch_score, variance_score):
        plain, shifted = score(X, y), score(X + offset, y)
        if isinstance(plain, tuple):
            plain, shifted = plain.scores, shifted.scores
        assert shifted == pytest.approx(plain, rel=1e-6)


def test_an_outlier_in_the_first_row_costs_no_digits():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 1))
    X[0] = 1e9
    y = np.r_[2, rng.integers(0, 2, 999)]
    moments = class_moments(X, y)
    for code in (0, 1):
        expected = ((X[y == code] - X[y == code].mean()) ** 2).sum()
        assert moments.squares[code] == pytest.approx(expected, rel=rounding(len(X)))


def test_constant_columns_have_no_score_and_perfect_ones_an_infinite_one():
    y = np.repeat([0, 1], 50)
    X = np.column_stack([np.full(100, 0.1), 0.1 + 0.2 * y, np.tile([0.1, 0.3], 50)])
    for table in (X, np.asfortranarray(X), sparse.csc_array(X), X.astype(np.float32)):
        assert fisher_score(table, y).tolist() == [0, np.inf, 0]
        scores, p_values = anova_score(table, y)
        assert scores.tolist() == [0, np.inf, 0]
        assert p_values.tolist() == [1, 0, 1]
        scores, p_values = welch_score(table, y)
        assert scores.tolist() == [0, np.inf, 0]
        assert p_values.tolist() == [1, 0, 1]
        assert signal_to_noise_score(table, y).tolist() == [0, np.inf, 0]


def test_as_many_classes_as_rows_have_nothing_to_compare():
    scores, p_values = anova_score(np.eye(4), np.arange(4))
    assert scores.tolist() == [0] * 4
    assert p_values.tolist() == [1] * 4


def test_moments_do_not_depend_on_how_the_table_is_stored():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3000)) * (rng.random((300, 3000)) < 0.3)  # more columns than are taken at once
    y = rng.integers(0, 4, 300)
    expected = class_moments(X, y)
    for stored in (np.asfortranarray(X), X[::1, :][:, ::1], sparse.csc_array(X)):
        found = class_moments(stored, y)
        assert found.means == pytest.approx(expected.means, abs=rounding(300, np.abs(X).max()))
        assert found.squares == pytest.approx(expected.squares, rel=1e-10)


def test_entries_stored_twice_are_added():
    once = sparse.csc_array(np.array([[3.0, 0], [0, 1], [1, 0], [2, 2]]))
    twice = sparse.csc_array(
        (np.array([1.0, 2, 1, 2, 1, 2]), np.array([0, 0, 2, 3, 1, 3]), np.array([0, 4, 6])), shape=(4, 2)
    )
    y = [0, 0, 1, 1]
    assert np.array_equal(once.toarray(), twice.toarray())
    assert fisher_score(twice, y) == pytest.approx(fisher_score(once, y))
