"""The Kolmogorov-Smirnov statistic of a class against the rest."""

import numpy as np
import pytest
from scipy import sparse, stats

from fewer.select import kolmogorov_smirnov_score
from fewer.select.scores._distributions import gap_p_values


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [8, 15, 30]))
    X = rng.normal(size=(53, 6)) + 0.7 * (y[:, None] == 1)
    X[:, 3:] = X[:, 3:].round()
    return X, y


def test_statistics_and_exact_p_values_are_those_of_scipy(table):
    X, y = table
    scores, p_values = kolmogorov_smirnov_score(X, y)
    assert scores.shape == (3, 6)
    for code in range(3):
        expected = [stats.ks_2samp(column[y == code], column[y != code], method="exact") for column in X.T]
        assert scores[code] == pytest.approx([one.statistic for one in expected])
        assert p_values[code] == pytest.approx([one.pvalue for one in expected], rel=1e-9)


def test_two_classes_give_one_number_for_each_column(table):
    X, y = table
    scores, p_values = kolmogorov_smirnov_score(X, y == 2)
    expected = [stats.ks_2samp(column[y == 2], column[y != 2], method="exact") for column in X.T]
    assert scores == pytest.approx([one.statistic for one in expected])
    assert p_values == pytest.approx([one.pvalue for one in expected], rel=1e-9)


def test_asymptotic_p_values_are_those_of_scipy(table):
    X, y = table
    found = kolmogorov_smirnov_score(X, y == 2, method="asymptotic").p_values
    expected = [stats.ks_2samp(column[y == 2], column[y != 2], method="asymp").pvalue for column in X.T]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (1, 30), (6, 9), (12, 18), (100, 101)])
def test_exact_p_values_hold_for_all_gaps(n_first, n_second):
    first = np.arange(n_first) * n_second
    gaps, expected = [], []
    for shift in np.linspace(0, n_first * n_second, 9):
        second = np.arange(n_second) * n_first + 0.5 + shift
        test = stats.ks_2samp(first, second, method="exact")
        gaps.append(test.statistic)
        expected.append(test.pvalue)
    assert gap_p_values(np.array(gaps), n_first, n_second, "exact") == pytest.approx(expected, rel=1e-9)


def test_a_full_split_of_many_rows_keeps_a_tiny_p_value():
    # Two of the equally likely orders of 200 + 200 values part them in full.
    from math import comb

    assert gap_p_values(np.array([1.0]), 200, 200, "exact")[0] == pytest.approx(2 / comb(400, 200), rel=1e-9)


def test_zeros_need_not_be_stored(table):
    X, y = table
    X = X * (np.random.default_rng(1).random(X.shape) < 0.4)
    found, expected = kolmogorov_smirnov_score(sparse.csc_array(X), y), kolmogorov_smirnov_score(X, y)
    assert np.array_equal(found.scores, expected.scores)
    assert np.array_equal(found.p_values, expected.p_values)


def test_it_sees_a_difference_of_spread_that_means_do_not_show():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 2))
    X[y == 1, 0] *= 4
    scores, p_values = kolmogorov_smirnov_score(X, y)
    assert scores[0] > 2 * scores[1]
    assert p_values[0] < 1e-6 < p_values[1]


def test_constant_columns_show_no_gap():
    scores, p_values = kolmogorov_smirnov_score(np.ones((10, 1)), np.arange(10) % 2)
    assert scores.tolist() == [0]
    assert p_values.tolist() == [1]
