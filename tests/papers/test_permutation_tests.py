"""Ojala and Garriga: Permutation Tests for Studying Classifier Performance (JMLR 11:1833-1863, 2010)."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold, StratifiedKFold, permutation_test_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import permutation_test, randomize
from fewer.theory import feature_permutation_power, label_permutation_power
from tolerances import rounding

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(),
    "naive Bayes": GaussianNB(),
    "1-NN": KNeighborsClassifier(1),
    "linear SVM": SVC(kernel="linear"),
}

D1 = """01111111 11011110 11110011 11111110 11010001 11111110 10010111 11110110
        00011000 00000000 10100000 10100100 00100000 00000010 10000000 00010000"""
D2 = """11101111 11110111 11111111 10111111 00000001 10000000 00000100 00000000
        11110001 11111000 11010000 11110000 00001111 00001111 01001110 00011111"""


class NeighbourOfOthers(ClassifierMixin, BaseEstimator):
    """1-NN that predicts its own training rows from all the others: leave-one-out in a single fit.

    Of equally near rows the first votes.
    """

    def fit(self, X, y):
        self.classes_, self.y_ = np.unique(y), y
        squares = np.einsum("ij,ij->i", X, X)
        distances = np.round(squares[:, None] + squares - 2 * X @ X.T, 9)
        np.fill_diagonal(distances, np.inf)
        self.nearest_ = distances.argmin(axis=1)
        return self

    def predict(self, X):
        return self.y_[self.nearest_]


def all_rows(n):
    """The split for ``NeighbourOfOthers``: fitted on all rows and asked about all rows."""
    return [(np.arange(n), np.arange(n))]


def toy(rows):
    X = np.array([[int(bit) for bit in row] for row in rows.split()], dtype=float)
    return X, np.repeat(["+", "-"], 8)


@pytest.mark.claim("permutation-tests", 1)
@pytest.mark.parametrize(
    ("name", "rows", "test2_p", "test2_mean"),
    [("D1", D1, (0.30, 0.50), (0.04, 0.07)), ("D2", D2, (0.0, 0.0011), (0.58, 0.68))],
)
def test_two_toys_that_differ_only_in_their_interactions(name, rows, test2_p, test2_mean, figure):
    X, y = toy(rows)
    options = {"cv": all_rows(16), "n_permutations": 1000, "random_state": 0}
    labels = permutation_test(NeighbourOfOthers(), X, y, **options)
    features = permutation_test(NeighbourOfOthers(), X, y, null="features_within_class", **options)
    assert labels.observed.tolist() == [0.0]
    assert labels.p_value <= 0.003
    assert 0.50 <= labels.null_mean <= 0.56
    assert test2_p[0] <= features.p_value <= test2_p[1]
    assert test2_mean[0] <= features.null_mean <= test2_mean[1]
    figure(
        f"{name}: labels {labels.null_mean:.3f} ({labels.null_std:.2f}), p {labels.p_value:.3f}; features "
        f"{features.null_mean:.3f} ({features.null_std:.2f}), p {features.p_value:.3f}"
    )


def both_tests(classifier, X, y, **options):
    return [permutation_test(classifier, X, y, null=null, **options) for null in ("labels", "features_within_class")]


def check_easy_set(X, y, figure, **options):
    k = options["n_permutations"]
    said = []
    # As in Weka, which brings columns to [0, 1] for these two: one column of wine would rule the distances.
    scaled = {name: make_pipeline(MinMaxScaler(), CLASSIFIERS[name]) for name in ("1-NN", "linear SVM")}
    for name, classifier in (CLASSIFIERS | scaled).items():
        labels, features = both_tests(classifier, X, y, random_state=0, **options)
        assert labels.p_value == pytest.approx(1 / (k + 1))
        assert features.p_value > 0.6
        if name != "tree":
            assert features.null_mean < features.observed.mean()
        said.append(f"{name} {features.observed.mean():.3f} / {features.null_mean:.3f}, p {features.p_value:.2f}")
    figure("; ".join(said))


@pytest.mark.claim("permutation-tests", 2)
def test_iris_has_classes_but_no_use_for_interactions(figure):
    check_easy_set(*load_iris(return_X_y=True), figure, cv=3, n_permutations=19, n_repeats=2)


@pytest.mark.slow
@pytest.mark.claim("permutation-tests", 2)
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_iris_and_wine_have_classes_but_no_use_for_interactions(load, figure):
    check_easy_set(*load(return_X_y=True), figure, n_permutations=100, n_repeats=10)


def correlated_gaussians(rho, seed):
    rng = np.random.default_rng(seed)
    noise = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=200)
    return noise + np.repeat([[1.0, 0.0], [-1.0, 0.0]], 100, axis=0), np.repeat([1, -1], 100)


def test_strong_correlation_is_used_by_neighbours_but_not_by_naive_bayes():
    X, y = correlated_gaussians(0.8, seed=0)
    options = {"null": "features_within_class", "n_permutations": 19, "cv": 4, "random_state": 0}
    p_values = [permutation_test(CLASSIFIERS[name], X, y, **options).p_value for name in ("1-NN", "naive Bayes")]
    assert p_values[0] == pytest.approx(1 / 20)
    assert p_values[1] > 0.3


@pytest.mark.claim("permutation-tests", 3)
@pytest.mark.slow
def test_strong_correlation_is_used_by_all_but_naive_bayes(figure):
    X, y = correlated_gaussians(0.8, seed=0)
    options = {"null": "features_within_class", "n_permutations": 19, "n_repeats": 2, "cv": 4, "random_state": 0}
    said = []
    for name, classifier in CLASSIFIERS.items():
        tested = permutation_test(classifier, X, y, **options)
        if name == "naive Bayes":
            assert tested.p_value > 0.3
        else:
            assert tested.p_value == pytest.approx(1 / 20)
        said.append(f"{name} {tested.p_value:.3f}")
    figure("rho 0.8, p: " + ", ".join(said))


@pytest.mark.slow
@pytest.mark.claim("permutation-tests", 3)
def test_without_correlation_there_is_nothing_to_use(figure):
    options = {"null": "features_within_class", "n_permutations": 60, "n_repeats": 3, "random_state": 0}
    large = dict.fromkeys(CLASSIFIERS, 0)
    for seed in range(10):
        X, y = correlated_gaussians(0.0, seed)
        for name, classifier in CLASSIFIERS.items():
            large[name] += permutation_test(classifier, X, y, **options).p_value > 0.1
    assert min(large.values()) >= 8
    figure(f"rho 0, p above 0.1 in of 10 seeds: {large}")


def null_rejection_rates(n_sets, n_permutations=99):
    """Shares of rejections at 0.05 where the null holds: labels, and features within class."""
    rejections = np.zeros(2)
    options = {"cv": all_rows(40), "n_permutations": n_permutations, "n_repeats": 1}
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 20)
        X = rng.normal(size=(40, 3))
        rejections[0] += permutation_test(NeighbourOfOthers(), X, y, random_state=seed, **options).decision()
        X[y == 1] += 1
        tested = permutation_test(NeighbourOfOthers(), X, y, null="features_within_class", random_state=seed, **options)
        rejections[1] += tested.decision()
    return rejections / n_sets


def test_both_tests_hold_their_level_on_a_few_sets():
    assert null_rejection_rates(6, n_permutations=19).max() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 6)


@pytest.mark.claim("permutation-tests", 4)
@pytest.mark.slow
def test_both_tests_hold_their_level_on_some_sets():
    labels, features = null_rejection_rates(25, n_permutations=39)
    assert labels <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 25)
    assert features <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 25)


@pytest.mark.slow
@pytest.mark.claim("permutation-tests", 4)
def test_both_tests_hold_their_level(figure):
    labels, features = null_rejection_rates(200)
    assert 0.02 <= labels <= 0.09
    assert features <= 0.09
    figure(f"rejected at 0.05 in 200 sets: labels {labels:.3f}, features within class {features:.3f}")


@pytest.mark.claim("permutation-tests", 5)
@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_randomisations_keep_what_their_null_keeps(kind):
    rng = np.random.default_rng(0)
    dense = rng.poisson(1.0, size=(30, 6)).astype(float)
    y = np.repeat([0, 1, 2], [12, 10, 8])
    if kind != "sparse":
        dense[rng.uniform(size=dense.shape) < 0.1] = np.nan
    X = {"array": dense, "frame": pd.DataFrame(dense), "sparse": sparse.csc_array(dense)}[kind]

    def values(table):
        return table.toarray() if kind == "sparse" else np.asarray(table)

    same, labels = randomize(X, y, "labels", 0)
    assert values(same).tobytes() == dense.tobytes()
    assert sorted(labels) == sorted(y)
    within, kept = randomize(X, y, "features_within_class", 0)
    np.testing.assert_array_equal(kept, y)
    for label in range(3):
        own = y == label
        np.testing.assert_array_equal(np.sort(values(within)[own], axis=0), np.sort(dense[own], axis=0))
        np.testing.assert_array_equal(np.isnan(values(within)[own]).sum(axis=0), np.isnan(dense[own]).sum(axis=0))
    full, _ = randomize(X, y, "columns", 0)
    np.testing.assert_array_equal(np.sort(values(full), axis=0), np.sort(dense, axis=0))


@pytest.mark.claim("permutation-tests", 6)
def test_power_formulas(figure):
    powers = [
        label_permutation_power(200, 0.4, 0.01),
        feature_permutation_power(200, 0.4, 0.01),
        feature_permutation_power(1000, 0.2, 0.01),
    ]
    np.testing.assert_allclose(powers, [0.6958, 0.9234, 0.9592], atol=1e-4)
    for n, alpha in itertools.product((20, 500), (0.01, 0.1)):
        assert feature_permutation_power(n, 0.0, alpha) == pytest.approx(alpha, abs=1e-3)
        assert label_permutation_power(n, 0.5, alpha) == pytest.approx(alpha, abs=1e-3)
    figure(", ".join(f"{power:.4f}" for power in powers))


@pytest.mark.claim("permutation-tests", 7)
@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(), RidgeClassifier(), LinearDiscriminantAnalysis(), GaussianNB()],
    ids=["neighbours", "ridge", "discriminant", "naive Bayes"],
)
@pytest.mark.parametrize("cv", [StratifiedKFold(3), KFold(3, shuffle=True, random_state=0)], ids=["strata", "folds"])
@pytest.mark.parametrize("shape", [(60, 4), (40, 80)], ids=["tall", "wide"])
def test_p_values_are_those_of_scikit_learn(classifier, cv, shape, figure):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], shape[0] // 2)
    X = rng.normal(size=shape) + 0.4 * y[:, None]
    state = np.random.RandomState(7)
    orders = [state.permutation(len(y)) for _ in range(8)]
    ours = permutation_test(classifier, X, y, cv=cv, permutations=orders, scoring="accuracy")
    score, scores, p_value = permutation_test_score(
        classifier, X, y, cv=cv, n_permutations=8, random_state=np.random.RandomState(7), scoring="accuracy"
    )
    assert ours.observed[0] == score
    np.testing.assert_array_equal(ours.null_errors, scores)
    assert ours.p_value == pytest.approx(p_value, abs=rounding(1))
    figure(f"p {ours.p_value:.4f} in both")


def balance_scale():
    X = np.array(list(itertools.product(range(1, 6), repeat=4)), dtype=float)
    return X, np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


def check_balance(figure, classifiers=CLASSIFIERS, **options):
    X, y = balance_scale()
    said = []
    for name, classifier in classifiers.items():
        tested = permutation_test(classifier, X, y, null="features_within_class", random_state=0, **options)
        assert tested.p_value == pytest.approx(1 / (tested.n_permutations + 1))
        said.append(f"{name} {tested.observed.mean():.2f} / {tested.null_mean:.2f}")
    figure("observed / null error: " + ", ".join(said))


def test_balance_needs_its_columns_together_for_naive_bayes(figure):
    check_balance(figure, {"naive Bayes": GaussianNB()}, cv=4, n_permutations=19, n_repeats=1)


@pytest.mark.claim("permutation-tests", 8)
@pytest.mark.slow
def test_balance_needs_its_columns_together(figure):
    check_balance(figure, cv=4, n_permutations=19, n_repeats=1)


@pytest.mark.slow
@pytest.mark.claim("permutation-tests", 8)
def test_balance_needs_its_columns_together_in_full(figure):
    check_balance(figure, n_permutations=100, n_repeats=3)
