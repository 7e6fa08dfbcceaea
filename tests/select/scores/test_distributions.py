"""Kolmogorov-Smirnov statistics and likelihood ratios of densities."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.stats import norm

from fewer.select import SelectTop, kolmogorov_smirnov_score, likelihood_ratio_feature_score
from fewer.select.scores._distributions import gap_p_values, in_pairs, on_a_grid


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


def plain_log_likelihood(values, width):
    """Each value under the kernel density of all the others, by the definition."""
    kernels = norm.pdf((values[:, None] - values) / width)
    np.fill_diagonal(kernels, 0)
    return np.log(np.maximum(kernels.sum(axis=1) / ((len(values) - 1) * width), 1e-300)).sum()


def plain_score(x, y, oversmooth=1.3):
    x = x / x.std()
    total = -plain_log_likelihood(x, oversmooth * len(x) ** -0.2)
    for label in np.unique(y):
        own = x[y == label]
        total += plain_log_likelihood(own, oversmooth * len(own) ** -0.2)
    return total / len(x)


@pytest.fixture
def density_table():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [15, 20, 25]))
    X = rng.normal(size=(60, 4))
    X[:, 0] += y
    X[:, 1] *= 1 + y
    return X, y


@pytest.mark.parametrize("oversmooth", [1.06, 1.3])
def test_few_rows_are_scored_exactly(density_table, oversmooth):
    X, y = density_table
    expected = [plain_score(column, y, oversmooth) for column in X.T]
    assert likelihood_ratio_feature_score(X, y, oversmooth=oversmooth) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("draw", ["normal", "exponential", "standard_cauchy", "uniform", "two far values"])
def test_many_rows_on_a_grid_are_close(draw):
    rng = np.random.default_rng(1)
    values = rng.normal(size=1500) if draw == "two far values" else getattr(rng, draw)(size=1500)
    if draw == "two far values":
        values[:2] = [60, 61]  # next to each other, and to nothing else
    values = np.sort(values / values.std())
    width = 1.3 * 1500**-0.2
    expected = plain_log_likelihood(values, width)
    assert in_pairs(values, width) == pytest.approx(expected, rel=1e-10)
    assert on_a_grid(values, width) == pytest.approx(expected, abs=1.5)  # a thousandth of a nat for a row


def test_a_value_with_no_other_in_sight_has_the_least_density():
    values = np.sort(np.r_[np.random.default_rng(2).normal(size=300), 1e6])
    for found in (in_pairs(values, 0.3), on_a_grid(values, 0.3)):
        assert found == pytest.approx(plain_log_likelihood(values, 0.3), abs=0.3)
        assert found < np.log(1e-300)


def test_it_sees_shifts_spreads_and_modes():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 5))
    X[y == 1, 0] += 1
    X[y == 1, 1] *= 3
    X[y == 1, 2] = X[y == 1, 2] * 0.4 + rng.choice([-1, 1], 300)
    scores = likelihood_ratio_feature_score(X, y)
    assert scores[:3].min() > 0.04
    assert np.abs(scores[3:]).max() < 0.01
    assert (
        SelectTop("likelihood_ratio", n_features_to_select=3).fit(X, y).get_support().tolist()
        == [True] * 3 + [False] * 2
    )


def test_the_scores_of_a_shift_along_the_diagonal_are_alike():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 1000)
    scores = likelihood_ratio_feature_score(rng.normal(size=(2000, 2)) + np.where(y == 1, 1, -1)[:, None], y)
    assert scores[0] == pytest.approx(scores[1], rel=0.15)


def test_scores_do_not_depend_on_units(density_table):
    X, y = density_table
    assert likelihood_ratio_feature_score(X * 1e5 - 3, y) == pytest.approx(likelihood_ratio_feature_score(X, y))


def test_constant_columns_rank_behind_noise(density_table):
    X, y = density_table
    scores = likelihood_ratio_feature_score(np.column_stack([X, np.full(60, 0.1)]), y)
    assert scores.argmin() == 4
    assert np.isfinite(scores).all()


def test_rows_alone_in_their_class_are_left_out(density_table):
    X, y = density_table
    lonely = np.r_[y, 7]
    with_one = np.vstack([X, [0.0, 0, 0, 0]])
    assert likelihood_ratio_feature_score(with_one, lonely) == pytest.approx(likelihood_ratio_feature_score(X, y))
    with pytest.raises(ValueError, match="two classes with two or more rows"):
        likelihood_ratio_feature_score(X[:3], [0, 0, 1])
    with pytest.raises(ValueError, match="positive"):
        likelihood_ratio_feature_score(X, y, oversmooth=0)
