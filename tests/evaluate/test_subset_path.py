"""The subsets of all sizes that a fitted selector found.

Shared work over nested subsets predicts what a fit for each size predicts.
"""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from fewer.evaluate import score_sizes, subset_path
from fewer.evaluate.curves._subset_path import SubsetPath, default_sizes, inner_scores, path_predictions


def fitted(**attributes):
    return SimpleNamespace(**attributes)


def columns(path):
    return [path.columns(size).tolist() for size in range(1, path.n_features + 1)]


@pytest.mark.parametrize(
    "selector",
    [
        fitted(subset_path_={1: [2], 2: [2, 0], 3: [0, 1, 2]}),
        fitted(ranking_=[2, 3, 1]),
        fitted(scores_=[0.5, np.nan, 0.7]),
        fitted(estimator_=fitted(feature_importances_=[0.3, 0.1, 0.6])),
        fitted(estimator_=fitted(coef_=[[-2.0, 1.0, 1.5], [0.0, 0.5, -1.5]])),
        fitted(estimator_=fitted(coef_=np.array([-2.0, 1.0, 3.0]))),
    ],
    ids=["subsets", "ranking", "scores", "importances", "coefficients of classes", "coefficients"],
)
def test_every_form_of_a_ranking_gives_the_best_columns_first(selector):
    path = subset_path(selector, 3)
    assert path.order.tolist() == [2, 0, 1]
    assert columns(path) == [[2], [0, 2], [0, 1, 2]]
    assert path.sizes(None) == [1, 2, 3]


def test_subsets_come_before_a_ranking_and_a_ranking_before_scores():
    selector = fitted(subset_path_={1: [0], 2: [0, 1]}, ranking_=[2, 1], scores_=[0, 1])
    assert subset_path(selector, 2).order.tolist() == [0, 1]
    assert subset_path(fitted(ranking_=[1, 2], scores_=[0, 1]), 2).order.tolist() == [0, 1]


def test_sizes_inside_a_tie_are_not_defined():
    path = subset_path(fitted(ranking_=[1, 2, 2, 2, 3]), 5)
    assert path.ties == ((1, 4),)
    assert path.sizes(None) == [1, 4, 5]
    assert path.sizes([4, 1, 4, 9]) == [1, 4, 5]
    with pytest.raises(ValueError, match="does not rank the columns in places 2 to 4, so it has no subset of 3"):
        path.sizes([3])


def test_columns_that_a_search_did_not_reach_are_tied():
    path = subset_path(fitted(subset_path_={0: [], 1: [3], 2: [3, 1]}), 5)
    assert path.order.tolist() == [3, 1, 0, 2, 4]
    assert path.ties == ((2, 5),)
    assert subset_path(fitted(subset_path_={1: [1]}), 2).ties == ()


def test_subsets_that_are_not_nested_are_kept_as_they_are():
    path = subset_path(fitted(subset_path_={1: [2], 2: [1, 0]}), 4)
    assert path.order is None
    assert path.columns(2).tolist() == [0, 1]
    assert path.sizes(None) == [1, 2, 4]
    with pytest.raises(ValueError, match=r"no subset of 3 columns \(it has 1 to 2\)"):
        path.sizes([3])
    gap = subset_path(fitted(subset_path_={2: [1, 0], 3: [0, 1, 2]}), 4)
    assert gap.order is None
    assert gap.sizes(None) == [2, 3, 4]


def test_default_sizes_are_all_up_to_100_and_then_grow_by_their_own_share():
    assert default_sizes(100) == list(range(1, 101))
    wide = default_sizes(101)
    assert wide[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert wide[-3:] == [85, 98, 101]
    steps = np.diff(default_sizes(20_000))
    assert (steps > 0).all()
    assert steps[-2] / default_sizes(20_000)[-3] == pytest.approx(0.15, abs=0.001)


def test_scores_of_the_search_come_by_size():
    assert inner_scores(fitted(path_scores_={2: 0.5})) == {2: 0.5}
    assert inner_scores(fitted()) == {}


def test_what_does_not_rank_is_refused_with_a_cure():
    with pytest.raises(
        TypeError, match=r"no subset_path_, ranking_ or scores_ after fit\. The selectors of fewer\.select"
    ):
        subset_path(fitted(), 3)
    with pytest.raises(TypeError, match=r"Wrap it: SelectFromModel\(SimpleNamespace\(\.\.\.\)\)"):
        subset_path(fitted(coef_=[1.0, 2.0]), 2)


CLASSIFIERS = [
    KNeighborsClassifier(1),
    KNeighborsClassifier(6),
    KNeighborsClassifier(5, weights="distance"),
    RidgeClassifier(),
    RidgeClassifier(alpha=0.1, class_weight="balanced"),
    RidgeClassifier(fit_intercept=False),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(tol=0.2),
    GaussianNB(),
    GaussianNB(var_smoothing=0.1),
    make_pipeline(StandardScaler(), MinMaxScaler(), KNeighborsClassifier(3)),
    make_pipeline(RobustScaler(), MaxAbsScaler(), LinearDiscriminantAnalysis()),
    make_pipeline("passthrough", StandardScaler(), RidgeClassifier()),
]
REGRESSORS = [
    KNeighborsRegressor(1),
    KNeighborsRegressor(4, weights="distance"),
    Ridge(),
    Ridge(alpha=1e-3, fit_intercept=False),
    make_pipeline(StandardScaler(), Ridge(10)),
]


def table(n_rows, n_columns, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns)) * rng.exponential(size=n_columns) + 5
    X[:, : n_columns // 3] += 0.8 * rng.normal(size=(n_classes, n_columns // 3))[y]
    return X, np.array(["ash", "birch", "cedar", "dogwood"])[y], X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n_rows)


def refitted(learner, X_train, y_train, X_test, path, sizes):
    predictions = []
    for size in sizes:
        columns = path.columns(size)
        predictions.append(clone(learner).fit(X_train[:, columns], y_train).predict(X_test[:, columns]))
    return np.array(predictions)


def random_path(n_columns, seed=1):
    return SubsetPath(n_columns, np.random.default_rng(seed).permutation(n_columns))


def test_priors_of_naive_bayes_are_those_of_a_fit_for_each_size():
    X, y, _ = table(90, 12, 3)
    model, path, sizes = GaussianNB(priors=[0.05, 0.15, 0.8]), random_path(12), [1, 4, 12]
    found, route = path_predictions(model, X[:60], y[:60], X[60:], path, sizes)
    assert route.taken
    np.testing.assert_array_equal(found, refitted(model, X[:60], y[:60], X[60:], path, sizes))
    without, _ = path_predictions(GaussianNB(), X[:60], y[:60], X[60:], path, sizes)
    assert (found != without).any()
    assert path_predictions(GaussianNB(priors=[0.5, 0.5]), X[:60], y[:60], X[60:], path, sizes)[0] is None


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_columns", [12, 130])
@pytest.mark.parametrize("learner", CLASSIFIERS, ids=str)
def test_classes_are_those_of_a_fit_for_each_size(learner, n_columns, n_classes):
    X, y, _ = table(90, n_columns, n_classes)
    path = random_path(n_columns)
    sizes = sorted({1, 2, 3, 7, 11, n_columns // 2, min(60, n_columns - 1), n_columns})
    found, _ = path_predictions(learner, X[:60], y[:60], X[60:], path, sizes)
    np.testing.assert_array_equal(found, refitted(learner, X[:60], y[:60], X[60:], path, sizes))


@pytest.mark.parametrize("n_columns", [12, 130])
@pytest.mark.parametrize("learner", REGRESSORS, ids=str)
def test_values_are_those_of_a_fit_for_each_size(learner, n_columns):
    X, _, y = table(90, n_columns, 2)
    path = random_path(n_columns)
    sizes = sorted({1, 5, n_columns // 2, n_columns})
    found, _ = path_predictions(learner, X[:60], y[:60], X[60:], path, sizes)
    np.testing.assert_allclose(found, refitted(learner, X[:60], y[:60], X[60:], path, sizes), rtol=1e-6, atol=1e-7)


def test_subsets_that_are_not_nested_share_distances_where_they_can():
    X, y, _ = table(90, 6, 3)
    subsets = {1: [3], 2: [0, 1], 3: [0, 1, 4], 4: [2, 3, 4, 5], 5: [0, 2, 3, 4, 5]}
    path = SubsetPath(6, None, subsets={size: np.array(columns) for size, columns in subsets.items()})
    learner, sizes = KNeighborsClassifier(3), [1, 2, 3, 4, 5, 6]
    found, _ = path_predictions(learner, X[:60], y[:60], X[60:], path, sizes)
    np.testing.assert_array_equal(found, refitted(learner, X[:60], y[:60], X[60:], path, sizes))
    assert path_predictions(GaussianNB(), X[:60], y[:60], X[60:], path, sizes)[0] is None


@pytest.mark.filterwarnings("ignore:Variables are collinear")
def test_discriminants_with_collinear_constant_and_separating_columns():
    X, y, _ = table(90, 10, 3)
    X[:, 4] = X[:, 1] + 2 * X[:, 2]
    X[:, 6] = 1.0
    X[:, 8] = np.unique(y, return_inverse=True)[1]
    path = SubsetPath(10, np.array([1, 2, 0, 4, 6, 5, 8, 3, 7, 9]))
    learner, sizes = LinearDiscriminantAnalysis(), list(range(1, 11))
    found, _ = path_predictions(learner, X[:60], y[:60], X[60:], path, sizes)
    np.testing.assert_array_equal(found, refitted(learner, X[:60], y[:60], X[60:], path, sizes))


def test_of_rows_equally_near_the_first_is_the_neighbour():
    X = np.array([[0.0], [2.0], [0.0], [2.0]])
    y = np.array(["a", "b", "c", "d"])
    path = SubsetPath(1, np.array([0]))
    found, _ = path_predictions(KNeighborsClassifier(1), X, y, np.array([[1.0], [1.5]]), path, [1])
    assert found.tolist() == [["a", "b"]]


class Derived(GaussianNB):
    """Does as it likes."""


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        Derived(),
        KNeighborsClassifier(metric="manhattan"),
        KNeighborsClassifier(p=3),
        KNeighborsClassifier(weights=np.reciprocal),
        RidgeClassifier(solver="sag"),
        RidgeClassifier(alpha=0),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LinearDiscriminantAnalysis(priors=[0.5, 0.5]),
        make_pipeline(LinearDiscriminantAnalysis(), GaussianNB()),
        KNeighborsClassifier(61),
    ],
    ids=str,
)
def test_what_is_not_known_is_left_to_a_fit_for_each_size(learner):
    X, y, _ = table(90, 5, 2)
    assert path_predictions(learner, X[:60], y[:60], X[60:], random_path(5), [1, 5])[0] is None


def test_missing_values_are_left_to_a_fit_for_each_size():
    X, y, _ = table(90, 5, 2)
    X[3, 2] = np.nan
    assert path_predictions(GaussianNB(), X[:60], y[:60], X[60:], random_path(5), [1, 5])[0] is None


def test_columns_that_never_vary_are_left_to_a_fit_for_each_size():
    X, y, _ = table(90, 5, 2)
    X[:, 0] = 3.0
    first, later = SubsetPath(5, np.arange(5)), SubsetPath(5, np.arange(5)[::-1])
    assert path_predictions(GaussianNB(), X[:60], y[:60], X[60:], first, [1, 5])[0] is None
    found, _ = path_predictions(GaussianNB(), X[:60], y[:60], X[60:], later, [1, 5])
    np.testing.assert_array_equal(found, refitted(GaussianNB(), X[:60], y[:60], X[60:], later, [1, 5]))


def test_a_row_halfway_goes_to_the_first_class_as_in_scikit_learn():
    X, y = np.array([[-1.0], [1.0]]), np.array(["a", "b"])
    found, _ = path_predictions(RidgeClassifier(), X, y, np.array([[0.0]]), SubsetPath(1, np.array([0])), [1])
    assert found.tolist() == [RidgeClassifier().fit(X, y).predict([[0.0]]).tolist()] == [["a"]]


@pytest.mark.parametrize("learner", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_a_tall_table_never_costs_a_square_of_its_rows(learner):
    X, labels, values = table(20_000, 3, 2)
    y = labels if is_classifier(learner) else values
    tracemalloc.start()
    path_predictions(learner, X[:15_000], y[:15_000], X[15_000:], random_path(3), [1, 3])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15_000**2 * 8 / 8


@pytest.mark.parametrize("n_columns", [12, 130])
def test_repeated_columns_leave_the_discriminant_as_it_is(n_columns):
    X, y, _ = table(90, n_columns, 3)
    X[:, 5:9] = X[:, 1:5]
    path = random_path(n_columns)
    sizes = sorted({4, 7, 10, 12, min(59, n_columns), n_columns})
    found, _ = path_predictions(LinearDiscriminantAnalysis(), X[:60], y[:60], X[60:], path, sizes)
    np.testing.assert_array_equal(found, refitted(LinearDiscriminantAnalysis(), X[:60], y[:60], X[60:], path, sizes))


def test_subsets_that_are_there_need_no_selector():
    X, y = load_breast_cancer(return_X_y=True)
    halves = X[:300], y[:300], X[300:], y[300:]
    selector = SelectKBest().fit(X[:300], y[:300])
    expected = score_sizes(SelectKBest(), GaussianNB(), *halves, sizes=[1, 5])
    found = score_sizes(subset_path(selector, X.shape[1]), GaussianNB(), *halves, sizes=[1, 5])
    assert found.sizes == expected.sizes
    np.testing.assert_array_equal(found.scores, expected.scores)
