"""Columns that a model uses: trees, forests, linear models, samples of rows, and a learner that follows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import Lasso
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fewer.evaluate import selection_curve
from fewer.select import EmbeddedSelector


def two_useful(n_rows=200, n_columns=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 3] + X[:, 17] > 0).astype(int)


def parity(n_rows=400, n_noise=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n_rows, 2 + n_noise)).astype(float)
    return X, (X[:, 0] != X[:, 1]).astype(int)


def test_columns_in_the_nodes_of_a_tree_are_kept_best_first():
    X, y = two_useful()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    select = EmbeddedSelector(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    in_nodes = sorted(set(tree.tree_.feature[tree.tree_.feature >= 0]))
    assert select.get_support(indices=True).tolist() == in_nodes
    assert np.array_equal(select.scores_, tree.feature_importances_)
    assert set(np.argsort(select.ranking_)[:2]) == {3, 17}


def test_a_column_that_is_used_without_any_gain_is_kept():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    select = EmbeddedSelector(DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert select.scores_.min() == 0.0
    assert select.support_.all()


def test_ensembles_use_what_any_of_their_trees_uses():
    X, y = two_useful()
    for model in (
        RandomForestClassifier(5, max_depth=1, random_state=0),
        GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0),
    ):
        select = EmbeddedSelector(model).fit(X, y)
        trees = np.ravel(select.estimator_.estimators_)
        used = {int(tree.tree_.feature[0]) for tree in trees}
        assert set(select.get_support(indices=True).tolist()) == used


def test_linear_models_keep_what_has_a_weight():
    X, y = two_useful()
    sparse_svm = LinearSVC(penalty="l1", C=0.02, random_state=0)
    select = EmbeddedSelector(sparse_svm).fit(X, y)
    assert np.array_equal(select.support_, np.abs(select.estimator_.coef_[0]) > 0)
    assert select.support_.sum() < 10
    assert set(np.argsort(select.ranking_)[:2]) == {3, 17}
    lasso = EmbeddedSelector(Lasso(0.1)).fit(X, X[:, 3] - 2 * X[:, 17])
    assert lasso.get_support(indices=True).tolist() == [3, 17]
    assert lasso.ranking_[17] == 1


def test_weights_of_several_classes_are_added_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 5)), np.repeat([0, 1, 2], 50)
    select = EmbeddedSelector(LinearSVC(random_state=0)).fit(X, y)
    assert select.scores_ == pytest.approx(np.abs(select.estimator_.coef_).sum(axis=0))


def test_threshold_and_k_keep_fewer():
    X, y = two_useful()
    svm = LinearSVC(random_state=0)
    scores = EmbeddedSelector(svm).fit(X, y).scores_
    middle = np.sort(scores)[-4:-2].mean()
    assert EmbeddedSelector(svm, threshold=middle).fit(X, y).support_.sum() == 3
    assert EmbeddedSelector(svm, max_features=2).fit(X, y).get_support(indices=True).tolist() == [3, 17]
    assert EmbeddedSelector(svm, max_features=2, threshold=middle).fit(X, y).support_.sum() == 2
    assert EmbeddedSelector(svm, max_features=99).fit(X, y).support_.sum() == 30


def test_nothing_used_keeps_the_best_and_says_so():
    X, y = two_useful()
    with pytest.warns(UserWarning, match="above threshold=9"):
        assert EmbeddedSelector(LinearSVC(random_state=0), threshold=9).fit(X, y).support_.sum() == 1
    with pytest.warns(UserWarning, match="uses no column"):
        constant = EmbeddedSelector(DecisionTreeClassifier()).fit(np.ones((200, 3)), y)
    assert constant.support_.tolist() == [True, False, False]


def test_a_tree_chooses_for_nearest_neighbours():
    X, y = two_useful(n_columns=60)
    tree, nearest = DecisionTreeClassifier(max_depth=4, random_state=0), KNeighborsClassifier(5)
    chosen = cross_val_score(make_pipeline(EmbeddedSelector(tree), nearest), X, y).mean()
    assert chosen > cross_val_score(nearest, X, y).mean() + 0.1


def test_refitting_uses_the_kept_columns_and_all_rows():
    X, y = two_useful()
    select = EmbeddedSelector(DecisionTreeClassifier(random_state=0), max_samples=50, refit=KNeighborsClassifier(1))
    select.set_params(random_state=0).fit(X, y)
    assert select.estimator_.tree_.n_node_samples[0] == 50
    assert select.learner_.n_samples_fit_ == 200
    assert select.learner_.n_features_in_ == select.support_.sum()
    again = EmbeddedSelector(LinearSVC(random_state=0), max_features=2, refit=True).fit(X, y)
    assert again.learner_.coef_.shape == (1, 2)
    assert again.estimator_.coef_.shape == (1, 30)
    assert EmbeddedSelector(LinearSVC()).fit(X, y).learner_ is None


def test_a_sample_keeps_the_shares_of_the_classes():
    X, y = two_useful(n_rows=1000)
    y = np.where(np.arange(1000) < 100, "rare", "common")
    for max_samples in (0.2, 200):
        select = EmbeddedSelector(DecisionTreeClassifier(), max_samples=max_samples, random_state=0).fit(X, y)
        root = select.estimator_.tree_
        assert root.n_node_samples[0] == 200
        assert root.value[0, 0, 1] == pytest.approx(0.1)


def test_sparse_regression_and_pipelines_inside():
    X, y = two_useful()
    expected = EmbeddedSelector(DecisionTreeClassifier(random_state=0)).fit(X, y)
    found = EmbeddedSelector(DecisionTreeClassifier(random_state=0)).fit(sparse.csr_array(X), y)
    assert np.array_equal(found.ranking_, expected.ranking_)
    regressor = EmbeddedSelector(DecisionTreeRegressor(max_depth=2, random_state=0)).fit(X, X[:, 5] ** 2)
    assert regressor.ranking_[5] == 1
    scaled = EmbeddedSelector(make_pipeline(StandardScaler(), LinearSVC(random_state=0)), max_features=2).fit(X, y)
    assert scaled.get_support(indices=True).tolist() == [3, 17]


def test_inside_a_selection_curve():
    X, y = two_useful()
    select = EmbeddedSelector(RandomForestClassifier(50, random_state=0))
    curve = selection_curve(select, KNeighborsClassifier(5), X, y, sizes=[2, 10], random_state=0)
    assert curve.mean[0] > curve.mean[-1]


def test_parity_is_seen_by_a_deep_tree():
    X, y = parity()
    select = EmbeddedSelector(DecisionTreeClassifier(random_state=0), max_features=2).fit(X, y)
    assert select.get_support(indices=True).tolist() == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting_ranks_columns_by_the_gain_of_their_splits(n_classes):
    X, _ = two_useful()
    y = np.digitize(X[:, 3] + 0.5 * X[:, 17], [0.0, 0.7][: n_classes - 1])
    boosting = HistGradientBoostingClassifier(max_iter=20, max_depth=2, random_state=0)
    select = EmbeddedSelector(boosting, max_features=2).fit(X, y)
    assert select.get_support(indices=True).tolist() == [3, 17]
    assert select.scores_.sum() == pytest.approx(1)
    assert select.scores_[3] > 2 * select.scores_[17] > 10 * np.median(select.scores_)
    # With the squared loss and one tree, the gain of the only split is the decrease of the sum of squares.
    stump = HistGradientBoostingRegressor(max_iter=1, max_depth=1, min_samples_leaf=1, early_stopping=False)
    select = EmbeddedSelector(stump).fit(X, X[:, 5] > 0.1)
    assert select.get_support(indices=True).tolist() == [5]
    assert select.scores_[5] == 1


def test_gains_of_categories_belong_to_their_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 4, 300), rng.normal(size=300)])
    y = np.isin(X[:, 1], [0, 2]) ^ (rng.random(300) < 0.1) | (X[:, 2] > 1)
    boosting = HistGradientBoostingClassifier(max_iter=10, categorical_features=[1], random_state=0)
    assert EmbeddedSelector(boosting).fit(X, y).ranking_.tolist() == [3, 1, 2]


def test_boosting_without_any_split_uses_no_column():
    X, y = two_useful(n_rows=20)
    with pytest.warns(UserWarning, match="uses no column"):
        EmbeddedSelector(HistGradientBoostingClassifier(max_iter=3)).fit(X, y)


def test_what_cannot_be_done_is_told():
    X, y = two_useful()
    with pytest.raises(TypeError, match="KNeighborsClassifier has no importances"):
        EmbeddedSelector(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        EmbeddedSelector(DecisionTreeClassifier()).fit(X, np.ones(200))
