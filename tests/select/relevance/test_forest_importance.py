"""Importances of a forest of extremely randomised trees, with and without elimination."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from fewer.select import ForestImportanceSelector


def table(n_rows=150, n_columns=12, seed=0):
    """The first column shifts with the class; the next two matter by the sign of their product only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + 2 * np.sign(X[:, 1] * X[:, 2]) > 0).astype(int)


def test_scores_are_the_importances_of_scikit_learn():
    X, y = table()
    select = ForestImportanceSelector(4, n_estimators=20, class_weight="balanced", random_state=3).fit(X, y)
    # The selector passes an instance on, which draws as that of the same seed.
    peer = ExtraTreesClassifier(20, class_weight="balanced", random_state=np.random.RandomState(3)).fit(X, y)
    np.testing.assert_array_equal(select.scores_, peer.feature_importances_)
    np.testing.assert_array_equal(np.argsort(select.ranking_), np.argsort(-peer.feature_importances_, kind="stable"))
    assert select.n_forests_ == 1


@pytest.mark.parametrize(("n_columns", "share"), [(12, 1 / 3), (2000, 500 / 2000)])
def test_numbers_are_fitted_by_regression_trees_on_a_third_of_the_columns(n_columns, share):
    X, _ = table(40, n_columns)
    select = ForestImportanceSelector(4, n_estimators=3, random_state=3).fit(X, X[:, 5])
    peer = ExtraTreesRegressor(3, max_features=share, random_state=np.random.RandomState(3)).fit(X, X[:, 5])
    np.testing.assert_array_equal(select.scores_, peer.feature_importances_)


def test_elimination_grows_a_new_forest_on_the_better_half():
    X, y = table()
    select = ForestImportanceSelector(3, n_estimators=20, step=0.5, random_state=0).fit(X, y)
    random_state, left, sizes = np.random.RandomState(0), np.arange(12), []
    while len(left) > 1:
        forest = ExtraTreesClassifier(20, random_state=random_state).fit(X[:, left], y)
        left = np.sort(left[np.argsort(-forest.feature_importances_, kind="stable")][: (len(left) + 1) // 2])
        sizes.append(len(left))
        np.testing.assert_array_equal(np.flatnonzero(select.ranking_ <= len(left)), left)
    assert sizes == [6, 3, 2, 1]
    assert select.n_forests_ == 4


def test_elimination_finds_more_of_the_columns_that_act_together():
    found = {None: 0, 0.5: 0}
    for seed in range(3):
        X, y = make_classification(
            300, 100, n_informative=5, n_redundant=0, n_clusters_per_class=8, shuffle=False, random_state=seed
        )
        for step in found:
            select = ForestImportanceSelector(10, n_estimators=50, step=step, random_state=0).fit(X, y)
            found[step] += select.get_support()[:5].sum()
    assert found[None] < found[0.5]


def test_a_long_table_gives_each_tree_some_of_its_rows():
    X, y = table(400)
    select = ForestImportanceSelector(4, n_estimators=10, max_samples=50, random_state=1).fit(X, y)
    peer = ExtraTreesClassifier(10, bootstrap=True, max_samples=50, random_state=np.random.RandomState(1)).fit(X, y)
    np.testing.assert_array_equal(select.scores_, peer.feature_importances_)


def test_a_sparse_table_keeps_the_columns_of_a_dense_one():
    X, y = table()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0
    X[:, 4] = y
    for kind in (np.asarray, sparse.csr_array):
        assert ForestImportanceSelector(1, n_estimators=20, random_state=0).fit(kind(X), y).get_support()[4]
