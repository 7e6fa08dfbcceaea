"""Radovanovic, Nanopoulos and Ivanovic (2010): hubs in space."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import scale

from fewer.evaluate import HubnessAnalyzer, hub_order, hubness_curve, k_occurrences
from fewer.learn import HarmonicClassifier, HubnessWeightedKNeighborsClassifier
from fewer.theory import centre_advantage
from fewer.theory.planning._centre_advantage import mean_length


@cache
def standardised(load):
    X, y = load(return_X_y=True)
    return scale(X), y


@pytest.mark.claim("hubs", 1)
@pytest.mark.parametrize(
    ("load", "expected", "dimension"),
    [(load_wine, (0.630, 0.076, 0.182, -0.589), 6.69), (load_breast_cancer, (0.815, 0.065, 0.170, -0.449), 8.26)],
)
def test_wine_and_breast_cancer_have_the_figures_of_the_paper(load, expected, dimension, figure):
    model = HubnessAnalyzer().fit(*standardised(load))
    found = (model.skewness_, model.bad_fraction_, model.bad_correlation_, model.centre_correlation_)
    np.testing.assert_allclose(found, expected, atol=0.002)
    assert abs(model.intrinsic_dim_ - dimension) < 0.02
    figure(", ".join(f"{value:.3f}" for value in (*found, model.intrinsic_dim_)))


def iid(draw, n_columns, n_rows=10_000):
    rng = np.random.default_rng(n_columns)
    return getattr(rng, draw)(size=(n_rows, n_columns))


@pytest.mark.claim("hubs", 2)
@pytest.mark.parametrize(
    ("draw", "n_columns", "low", "high"),
    [
        ("uniform", 3, 0.05, 0.30),
        ("uniform", 20, 1.40, 1.70),
        pytest.param("uniform", 100, 4, 8, marks=pytest.mark.slow),
        pytest.param("normal", 20, 1.9, 2.3, marks=pytest.mark.slow),
        pytest.param("normal", 100, 5, np.inf, marks=pytest.mark.slow),
    ],
)
def test_hubs_of_independent_columns_grow_with_their_number(draw, n_columns, low, high, figure):
    X = iid(draw, n_columns)
    found = k_occurrences(X, 5)
    assert low < found.skewness < high
    to_mean = np.linalg.norm(X - X.mean(axis=0), axis=1)
    centre = spearmanr(found.n_occurrences, to_mean).statistic
    if n_columns == 3:
        assert abs(centre) < 0.1
    if n_columns == 100:
        assert abs(centre - (-0.86 if draw == "uniform" else -0.87)) < 0.02
        assert abs(found.antihub_fraction - (0.18 if draw == "uniform" else 0.38)) < 0.02
    figure(f"{draw}, {n_columns} columns: skewness {found.skewness:.2f}, never listed {found.antihub_fraction:.2f}")


@pytest.mark.claim("hubs", 2)
@pytest.mark.parametrize("n_rows", [3000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_cosine_distances_of_normal_columns_have_no_hubs(n_rows, figure):
    found = k_occurrences(iid("normal", 100, n_rows), 5, metric="cosine")
    assert found.skewness < 1
    figure(f"cosine, {n_rows:,} rows: skewness {found.skewness:.2f}")


@pytest.mark.claim("hubs", 3)
def test_counts_keep_their_sums_and_follow_permutations_also_with_duplicate_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), rng.integers(3, size=300)
    X[100:110], X[200] = X[:10], X[0]
    found = k_occurrences(X, 7, y=y)
    assert found.n_occurrences.sum() == 7 * 300
    np.testing.assert_array_equal(found.n_occurrences, found.bad_occurrences + found.good_occurrences)
    assert not (found.neighbors == np.arange(300)[:, None]).any()
    given = k_occurrences(pairwise_distances(X), 7, metric="precomputed", y=y)
    order = rng.permutation(300)
    permuted = k_occurrences(X[order], 7)
    # Which of several equal rows is listed depends on their order, but not how many of them.
    _, same = np.unique(X, axis=0, return_inverse=True)
    same = same.ravel()  # of NumPy 2.0 it is a column
    expected = np.bincount(same, found.n_occurrences)
    np.testing.assert_array_equal(np.bincount(same[order], permuted.n_occurrences), expected)
    np.testing.assert_array_equal(np.bincount(same, given.n_occurrences), expected)
    graph = k_occurrences(found.neighbors, metric="neighbors", y=y)
    np.testing.assert_array_equal(graph.bad_occurrences, found.bad_occurrences)


@pytest.mark.claim("hubs", 4)
@pytest.mark.parametrize("load", [load_breast_cancer, pytest.param(load_digits, marks=pytest.mark.slow)])
def test_without_dependence_between_columns_hubs_are_twice_as_strong(load, figure):
    X, _ = standardised(load)
    model = HubnessAnalyzer(n_permutations=10, random_state=0).fit(X)
    assert len(model.shuffled_skewness_) == 10
    assert model.shuffled_skewness_.min() > 2 * model.skewness_
    figure(f"{model.skewness_:.2f}, shuffled at least {model.shuffled_skewness_.min():.2f}")


def harmonic_accuracy(X, y, labelled):
    """Accuracy of the harmonic function with sigma = 2 on the rows without labels."""
    partly = np.full(len(y), -1)
    partly[labelled] = y[labelled]
    model = HarmonicClassifier(gamma=0.25).fit(X, partly)
    return np.mean(model.transduction_[partly == -1] == y[partly == -1])


@pytest.mark.claim("hubs", 5)
@pytest.mark.parametrize("shares", [(0.03,), pytest.param((0.01, 0.02, 0.03, 0.05), marks=pytest.mark.slow)])
def test_labels_of_hubs_are_worth_most(shares, figure):
    X, y = standardised(load_digits)
    if len(shares) == 1:
        X, y = X[::3], y[::3]
    for share in shares:
        wanted = int(share * len(y))
        found = {
            order: harmonic_accuracy(X, y, hub_order(X, 5, order, random_state=0)[:wanted])
            for order in ("hubs", "random", "antihubs")
        }
        assert found["hubs"] > found["random"] > found["antihubs"]
        if share == 0.03 and len(shares) > 1:
            assert found["hubs"] >= 0.92
            assert found["antihubs"] <= 0.60
            figure(", ".join(f"{order} {value:.2f}" for order, value in found.items()))


@pytest.mark.claim("hubs", 6)
def test_hubness_of_digits_stays_until_the_intrinsic_dimension(figure):
    X, _ = standardised(load_digits)
    curve = hubness_curve(PCA(svd_solver="full"), X, [64, 32, 8, 4])
    np.testing.assert_allclose(curve.skewness[:3], [0.88, 0.76, 0.48], atol=0.05)
    assert curve.skewness[3] < 0.2
    rng = np.random.default_rng(0)
    uniform = rng.uniform(size=X.shape)
    columns = rng.permutation(64)
    independent = hubness_curve(lambda X, size: X[:, columns[:size]], uniform, [64, 32, 8])
    # A third moment of strongly skewed counts: three draws differed by up to 0.5.
    np.testing.assert_allclose(independent.skewness, [3.1, 2.5, 0.4], atol=0.6)
    assert (np.diff(independent.skewness) < -0.3).all()
    figure(f"digits {curve.skewness.round(2).tolist()}, independent {independent.skewness.round(1).tolist()}")


@pytest.mark.claim("hubs", 7)
@pytest.mark.parametrize("cv", [8, pytest.param(LeaveOneOut(), marks=pytest.mark.slow)])
def test_votes_weighed_by_bad_hubness_predict_noisy_classes_better(cv, figure):
    gains = []  # by the labels before flipping, and by those that were given
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 200)
        X = rng.normal(size=(400, 50))
        X[:, 0] += np.where(y == 1, 1.5, -1.5)
        noisy = np.where(rng.random(400) < 0.15, 1 - y, y)
        weighed, plain = (
            cross_val_predict(HubnessWeightedKNeighborsClassifier(10, weights=weights), X, noisy, cv=cv)
            for weights in ("bad_hubness", "uniform")
        )
        gains.append([np.mean(weighed == labels) - np.mean(plain == labels) for labels in (y, noisy)])
    by_true, by_given = np.mean(gains, axis=0)
    assert by_true > 0.01
    if cv != 8:
        assert by_given > 0.01
    figure(f"gain {by_true:+.3f}, {np.sum(np.array(gains)[:, 0] > 0)} of 8 won; by the given labels {by_given:+.3f}")


@pytest.mark.claim("hubs", 7)
def test_without_bad_occurrences_all_votes_weigh_the_same():
    X = np.r_[np.random.default_rng(0).normal(size=(40, 3)), np.random.default_rng(1).normal(50, 1, size=(40, 3))]
    model = HubnessWeightedKNeighborsClassifier(5).fit(X, np.repeat([0, 1], 40))
    np.testing.assert_array_equal(model.sample_weights_, 1)


@pytest.mark.claim("hubs", 8)
def test_rows_near_the_centre_are_nearer_to_all_others_the_more_dimensions_there_are(figure):
    found = np.array([centre_advantage(d) for d in (3, 10, 20, 100)])
    np.testing.assert_allclose(found, [0.5879, 0.8323, 0.8950, 0.9599], atol=1e-3)
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(mean_length(20, mean_length(20)), 6.2258, atol=1e-4)
    # And rows of a sample do as the formula says.
    X = np.random.default_rng(0).normal(size=(2000, 20))
    at = {c: np.r_[mean_length(20) + c * np.sqrt(20 - mean_length(20) ** 2), np.zeros(19)] for c in (-2, 0)}
    measured = [np.linalg.norm(X - at[c], axis=1).mean() for c in (-2, 0)]
    # Means of 2,000 lengths with a standard deviation of about 0.7, on the same rows.
    assert abs(measured[1] - measured[0] - found[2]) < 0.05
    figure(", ".join(f"{value:.4f}" for value in found))
