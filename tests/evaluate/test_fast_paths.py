"""Ridge with several penalties, and support vector machines: all subsets on a path as if each were fitted."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from fewer.catalogue import LEARNERS
from fewer.evaluate.curves._subset_path import SubsetPath, path_predictions
from fewer.evaluate.fast import shared_work
from fewer.evaluate.fast._pair_machines import pair_machines

ALPHAS = LEARNERS["ridge"].params["alphas"]
CLASSIFIERS = [
    RidgeClassifierCV(ALPHAS),
    RidgeClassifierCV(ALPHAS, class_weight="balanced"),
    RidgeClassifierCV(ALPHAS, fit_intercept=False),
    RidgeClassifierCV([3.0]),
    SVC(),
    SVC(C=10.0, class_weight="balanced", gamma="auto"),
    SVC(gamma=0.3),
]
REGRESSORS = [
    RidgeCV(ALPHAS),
    RidgeCV(ALPHAS, fit_intercept=False),
    SVR(C=10.0),
    TransformedTargetRegressor(SVR(), transformer=StandardScaler()),
]


def wide(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 300)), np.arange(60) % n_classes
    X[y == 0, :20] += 1
    return X, np.array(["a", "b", "c"])[y]


CLASS_TABLES = {
    "two classes": lambda: load_breast_cancer(return_X_y=True),
    "three classes": lambda: load_wine(return_X_y=True),
    "wide, two": lambda: wide(2),
    "wide, three": lambda: wide(3),
}


def both(model, X, y, sizes=(1, 2, 5, 9, 50, 250)):
    """Predictions along a path, and those of fits."""
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(1).permutation(X.shape[1])
    path, train = SubsetPath(X.shape[1], order), np.arange(len(X)) % 3 > 0
    sizes = [size for size in sizes if size < X.shape[1]]
    found, route = path_predictions(model, X[train], y[train], X[~train], path, sizes)
    assert route.taken, route.reason
    fits = [
        clone(model).fit(X[train][:, path.columns(size)], y[train]).predict(X[~train][:, path.columns(size)])
        for size in sizes
    ]
    return found, np.array(fits)


@pytest.mark.parametrize("table", CLASS_TABLES)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: f"{type(model).__name__}{model.class_weight or ''}")
def test_the_classes_are_those_of_fits(model, table):
    found, fits = both(model, *CLASS_TABLES[table]())
    np.testing.assert_array_equal(found, fits)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("table", ["narrow", "wide"])
def test_the_values_are_those_of_fits(model, table):
    X, y = load_diabetes(return_X_y=True)
    if table == "wide":
        X = wide(2)[0]
        y = X[:, 0] + np.random.default_rng(2).normal(size=len(X))
    found, fits = both(model, X, y)
    # Kernels that differ by rounding end libsvm's steps, whose tolerance is 1e-3, at the same places.
    np.testing.assert_allclose(found, fits, atol=1e-9 * np.abs(fits).max())


def test_a_column_twice_and_a_constant_one():
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X[:, :4], X[:, :4], np.ones(len(X))])
    for model in (RidgeClassifierCV(ALPHAS), SVC()):
        found, fits = both(model, X, y, sizes=(1, 3, 6, 8))
        np.testing.assert_array_equal(found, fits)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RidgeCV(ALPHAS, cv=3), "cv or scoring"),
        (RidgeCV(ALPHAS, scoring="r2"), "cv or scoring"),
        (RidgeCV(ALPHAS, alpha_per_target=True), "alpha_per_target"),
        (RidgeCV([0.0, 1.0]), "positive"),
        (SVC(kernel="linear"), "RBF"),
        (SVC(break_ties=True), "break_ties"),
        (SVC(max_iter=5), "max_iter"),
        (TransformedTargetRegressor(SVR(), transformer=MinMaxScaler()), "StandardScaler"),
        (TransformedTargetRegressor(RidgeCV(), transformer=StandardScaler()), "RBF"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_other_options_are_fitted(model, reason):
    X, y = load_diabetes(return_X_y=True)
    path = SubsetPath(10, np.arange(10))
    y = y > 100 if isinstance(model, SVC) else y
    found, route = path_predictions(model, X, y, X, path, [1, 2])
    assert found is None
    assert reason in route.reason


@pytest.mark.parametrize(
    ("model", "n_rows"), [(SVR(), 1300), (SVC(), 3001)], ids=lambda each: type(each).__name__ if each else each
)
def test_many_rows_with_few_columns_are_fitted(model, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = X[:, 0] > 0 if isinstance(model, SVC) else X[:, 0]
    found, route = path_predictions(model, X, y, X[:10], SubsetPath(4, np.arange(4)), [1, 2])
    assert found is None
    assert "does not hold" in route.reason


def noisy(n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    return X, np.where(rng.random(400) < 0.7, X[:, 0] > 0, rng.integers(n_classes, size=400)).astype(int)


def coarse(n_classes):
    """Few levels: many rows are equal, some of them of different classes."""
    X, y = noisy(n_classes)
    return np.round(X[:, :2]), y


def machines(model, X, y):
    """Decisions of the machine of each pair of classes, and weights of the rows in it; those of SVC as well."""
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    n_classes = y.max() + 1
    kernel = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(np.float32)
    fit = clone(model).set_params(kernel="precomputed", decision_function_shape="ovo").fit(kernel.astype(float), y)
    weights, offsets = np.empty((len(X), n_classes - 1)), np.empty(n_classes * (n_classes - 1) // 2)
    starts = np.searchsorted(y, np.arange(n_classes + 1))
    pair_machines(kernel, starts, model.C * fit.class_weight_, model.tol, model.shrinking, weights, offsets)
    expected = np.zeros_like(weights)
    expected[fit.support_] = fit._dual_coef_.T
    parts = [kernel[:, start:stop] @ weights[start:stop] for start, stop in pairwise(starts)]
    decisions = [
        parts[first][:, second - 1] + parts[second][:, first] - offset
        for (first, second), offset in zip(combinations(range(n_classes), 2), offsets, strict=True)
    ]
    theirs = fit.decision_function(kernel.astype(float)).reshape(len(X), -1)
    return np.array(decisions).T, theirs * (-1 if n_classes == 2 else 1), weights, expected


TABLES = pytest.mark.parametrize("table", [noisy, coarse], ids=["all differ", "many alike"])


@TABLES
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(C=10.0, class_weight="balanced"), SVC(C=1000.0, shrinking=False), SVC(tol=0.1)],
    ids=["C=1", "C=10, weighted", "never shrunk", "large tolerance"],
)
def test_machines_of_pairs_take_the_steps_of_libsvm(model, n_classes, table):
    decisions, theirs, weights, expected = machines(model, *table(n_classes))
    np.testing.assert_allclose(weights, expected, atol=1e-10 * model.C)
    np.testing.assert_allclose(decisions, theirs, atol=1e-9 * model.C)


@TABLES
@pytest.mark.parametrize("n_classes", [2, 4])
def test_after_thousands_of_steps_and_shrinking_machines_differ_within_the_tolerance(n_classes, table):
    decisions, theirs, _, _ = machines(SVC(C=1000.0), *table(n_classes))
    np.testing.assert_allclose(decisions, theirs, atol=2e-3)


def test_other_penalties_read_the_same_kernels_and_other_rows_their_own():
    X, y = noisy(3)
    path = SubsetPath(5, np.array([3, 0, 4, 1, 2]))

    def predicted(C, sizes, X):
        return path_predictions(SVC(C=C), X[:300], y[:300], X[300:], path, sizes)[0]

    asked = [(1.0, [1, 3, 4], X), (10.0, [2, 3], X), (10.0, [1, 4], X), (1.0, [1, 3], X + X[:, [0]])]
    alone = [predicted(*each) for each in asked]
    with shared_work():
        together = [predicted(*each) for each in asked]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
