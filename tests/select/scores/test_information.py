"""Mutual information, from bins and from nearest neighbours, and chi-square."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import digamma
from sklearn.feature_selection import chi2, mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

from fewer.select import chi2_score, knn_mutual_information_score, mutual_information_score
from fewer.select.scores._information import chi_square_tail


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 6))
    X[:, 0] += y
    X[:, 3:] = (X[:, 3:] + 0.3 * y[:, None]).round()
    return X, y


def test_chi_square_is_that_of_scikit_learn(table):
    X, y = table
    counts = np.abs(X)
    for stored in (counts, np.asfortranarray(counts), sparse.csc_array(counts), sparse.csr_matrix(counts)):
        scores, p_values = chi2_score(stored, y)
        expected = chi2(counts, y)
        assert scores == pytest.approx(expected[0])
        assert p_values == pytest.approx(expected[1])


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 18, 59, 60, 61, 200])
def test_the_tail_of_chi_square_is_that_of_scipy(freedom):
    values = np.r_[0.0, np.geomspace(1e-6, 1300, 60)]
    assert chi_square_tail(values, freedom) == pytest.approx(stats.chi2.sf(values, freedom), rel=1e-10, abs=0)


def test_chi_square_refuses_negative_columns_and_takes_empty_ones():
    with pytest.raises(ValueError, match="Negative values"):
        chi2_score([[1.0, -1], [1, 1]], [0, 1])
    scores, p_values = chi2_score([[1.0, 0], [2, 0]], [0, 1])
    assert scores[1] == 0
    assert p_values[1] == 1


def test_columns_of_few_values_keep_them(table):
    X, y = table
    codes = X[:, 3:]
    scores, p_values = mutual_information_score(codes, y, n_bins=20)
    assert scores == pytest.approx([mutual_info_score(column, y) for column in codes.T])
    tables = [stats.contingency.crosstab(column, y).count for column in codes.T]
    found = [stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood") for counts in tables]
    williams = [1 + (counts.shape[0] + 1) * (counts.shape[1] + 1) / (6 * 300) for counts in tables]
    expected = [stats.chi2.sf(test.statistic / by, test.dof) for test, by in zip(found, williams, strict=True)]
    assert p_values == pytest.approx(expected)


def test_bins_hold_equally_many_rows(table):
    X, y = table
    bins = (np.argsort(np.argsort(X[:, :3], axis=0), axis=0) * 6) // 300
    expected = [mutual_info_score(column, y) for column in bins.T]
    assert mutual_information_score(X[:, :3], y, n_bins=6).scores == pytest.approx(expected)


def test_a_target_of_numbers_is_cut_into_bins_too(table):
    X, _ = table
    target = X[:, 0] ** 2 + 0.1 * np.random.default_rng(1).normal(size=300)
    scores = mutual_information_score(X, target).scores
    cut = (5 * (np.argsort(np.argsort(target)) + 0.5) / 300).astype(int)
    assert scores == pytest.approx(mutual_information_score(X, cut).scores)
    assert scores.argmax() == 0


def test_whole_numbers_of_very_many_kinds_are_numbers():
    rng = np.random.default_rng(2)
    target = rng.integers(0, 10_000, 400)
    X = np.column_stack([target + rng.normal(scale=100, size=400), rng.normal(size=400)])
    scores = mutual_information_score(X, target).scores
    assert scores == pytest.approx(mutual_information_score(X, target + 0.25).scores)
    assert scores[0] > 1 > scores[1]


def test_equal_values_stay_in_one_bin():
    X = np.r_[np.zeros(60), np.arange(1, 41)][:, None]
    y = np.r_[np.zeros(60), np.ones(40)].astype(int)
    assert mutual_information_score(X, y, n_bins=5).scores[0] == pytest.approx(mutual_info_score(y, y))


def test_p_values_of_bins_are_right_on_noise():
    rng = np.random.default_rng(3)
    p_values = mutual_information_score(rng.normal(size=(500, 2000)), rng.integers(0, 2, 500)).p_values
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("n_rows", "n_classes"), [(30, 2), (50, 2), (50, 4)])
def test_p_values_are_nearly_right_with_few_rows_in_a_cell(n_rows, n_classes):
    X = np.random.default_rng(6).normal(size=(n_rows, 5000))
    p_values = mutual_information_score(X, np.arange(n_rows) % n_classes).p_values
    assert np.mean(p_values <= 0.05) < 0.085  # 0.10 to 0.16 without the correction
    assert np.mean(p_values <= 0.001) < 0.005


def test_zeros_need_not_be_stored(table):
    X, y = table
    X = X * (np.random.default_rng(4).random(X.shape) < 0.4)
    for target in (y, X[:, 0] + np.random.default_rng(5).normal(size=300)):
        found, expected = mutual_information_score(sparse.csc_array(X), target), mutual_information_score(X, target)
        assert np.array_equal(found.scores, expected.scores)
        assert np.array_equal(found.p_values, expected.p_values)


def test_constant_columns_tell_nothing_and_one_bin_is_refused(table):
    X, y = table
    scores, p_values = mutual_information_score(np.ones((300, 1)), y)
    assert scores.tolist() == [0]
    assert p_values.tolist() == [1]
    with pytest.raises(ValueError, match="2 or more"):
        mutual_information_score(X, y, n_bins=1)


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
@pytest.mark.parametrize("seed", [0, 1])
def test_neighbours_give_the_estimates_of_scikit_learn_for_classes(table, n_neighbors, seed):
    X, y = table
    expected = mutual_info_classif(X, y, n_neighbors=n_neighbors, random_state=seed)
    found = knn_mutual_information_score(X, y, n_neighbors=n_neighbors, random_state=seed)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_neighbours_give_the_estimates_of_scikit_learn_for_numbers(table, n_neighbors):
    X, _ = table
    for target in (X[:, 0] ** 2 + 0.1 * X[:, 1], np.exp(3 * X[:, 1]), (X[:, 0] * 4).round() / 8):
        expected = mutual_info_regression(X, target, n_neighbors=n_neighbors, random_state=0)
        found = knn_mutual_information_score(X, target, n_neighbors=n_neighbors, random_state=0)
        assert found == pytest.approx(expected, abs=1e-9)


def test_columns_of_codes_may_be_marked(table):
    X, y = table
    discrete = np.array([False, False, False, True, True, True])
    target = X[:, 0] + X[:, 3]
    found = knn_mutual_information_score(X, y, discrete=discrete, random_state=0)
    assert found == pytest.approx(mutual_info_classif(X, y, discrete_features=discrete, random_state=0), abs=1e-9)
    found = knn_mutual_information_score(X, target + 0.01, discrete=discrete, random_state=0)
    expected = mutual_info_regression(X, target + 0.01, discrete_features=discrete, random_state=0)
    # For codes of a handful of rows scikit-learn rounds distances so that a neighbour more may be counted.
    assert found == pytest.approx(expected, abs=1e-3)
    found = knn_mutual_information_score(X[:, 3:], y, discrete=True)
    assert found == pytest.approx(mutual_info_classif(X[:, 3:], y, discrete_features=True), abs=1e-9)


def test_neighbours_in_the_plane_are_found_on_wild_columns():
    # Clusters, heavy tails and long runs of near-equal values: strips of very different widths.
    rng = np.random.default_rng(6)
    X = np.column_stack(
        [
            rng.standard_cauchy(500),
            np.where(rng.random(500) < 0.9, 0.0, rng.normal(size=500)),
            np.repeat(np.arange(5.0), 100),
            rng.exponential(size=500) ** 6,
        ]
    )
    target = rng.standard_cauchy(500)
    found = knn_mutual_information_score(X, target, n_neighbors=4, random_state=1)
    assert found == pytest.approx(mutual_info_regression(X, target, n_neighbors=4, random_state=1), abs=1e-9)


def test_rows_that_are_alone_in_their_class_are_left_out(table):
    X, y = table
    lonely = y.copy()
    lonely[:2] = [7, 8]
    found = knn_mutual_information_score(X, lonely, random_state=0)
    assert found == pytest.approx(mutual_info_classif(X, lonely, random_state=0), abs=1e-9)
    assert knn_mutual_information_score(np.eye(4), np.arange(4)).tolist() == [0] * 4


def test_two_far_apart_classes_have_a_closed_form():
    # All k neighbours of either class are nearer than any row of the other: m_i = k, so I = psi(n) - psi(n / 2).
    X = np.r_[np.random.default_rng(7).normal(size=50), 1e6 + np.random.default_rng(8).normal(size=50)][:, None]
    found = knn_mutual_information_score(X, np.repeat([0, 1], 50), random_state=0)[0]
    assert found == pytest.approx(digamma(100) - digamma(50))


def test_normal_columns_have_the_information_of_their_correlation():
    rng = np.random.default_rng(9)
    x = rng.normal(size=5000)
    target = 0.8 * x + 0.6 * rng.normal(size=5000)
    found = knn_mutual_information_score(x[:, None], target, random_state=0)[0]
    assert found == pytest.approx(-0.5 * np.log(1 - 0.64), abs=0.04)


def test_too_few_rows_for_the_neighbours_are_refused():
    with pytest.raises(ValueError, match="need more than the 4 rows"):
        knn_mutual_information_score(np.eye(4), np.linspace(0, 1, 4) ** 2, n_neighbors=4)
    with pytest.raises(ValueError, match="1 or more"):
        knn_mutual_information_score(np.eye(4), [0, 1, 0, 1], n_neighbors=0)
