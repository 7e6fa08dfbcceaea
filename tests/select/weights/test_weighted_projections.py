"""WeightedPCA and WeightedFisher are their steps, one after the other, without the table in between."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import cross_val_score

from fewer.datasets import make_permuted_clusters
from fewer.select import FisherWeightSelector, VarianceWeightSelector, WeightedFisher, WeightedPCA


def table(n_rows, n_columns, seed=0):
    return make_permuted_clusters(n_rows, n_columns, min(10, n_columns), 1.0, random_state=seed)


@pytest.mark.parametrize("shape", [(40, 100), (100, 40), (510, 520), (30, 1)])
@pytest.mark.parametrize("selector", [None, VarianceWeightSelector("iterative", n_features_to_select=20)])
def test_components_are_those_of_pca_on_the_weighted_table(shape, selector):
    X, _, _ = table(*shape)
    k = min(3, shape[1])
    ours = WeightedPCA(k, selector=selector).fit(X)
    weighted = (selector or VarianceWeightSelector()).fit(X)
    theirs = PCA(k, svd_solver="full").fit(weighted.transform(X))
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)
    new = table(*shape, seed=1).X
    signs = np.sign(np.sum(ours.components_[:, weighted.get_support()] * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.transform(new), signs * theirs.transform(weighted.transform(new)), atol=1e-7)
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(k), atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 100), (100, 40), (510, 520)])
def test_sparse_tables_give_the_same_components(shape):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2, size=shape) * rng.exponential(size=shape)
    X[:, :5] += rng.poisson(1.0, size=(shape[0], 1))
    dense = WeightedPCA(2).fit(X)
    found = WeightedPCA(2).fit(sparse.csr_array(X))
    np.testing.assert_allclose(found.transform(sparse.csc_array(X)), dense.transform(X), atol=1e-6)


def test_all_components_rebuild_the_table():
    for shape in ((20, 60), (60, 20)):
        X, _, _ = table(*shape)
        pca = WeightedPCA().fit(X)
        assert pca.n_components_ == min(shape[0] - 1, shape[1])
        np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-6)


def test_columns_without_weight_are_rebuilt_at_their_mean():
    X, _, _ = table(40, 60)
    pca = WeightedPCA(2, selector=VarianceWeightSelector(n_features_to_select=5)).fit(X)
    used = pca.selector_.get_support()
    assert used.sum() == 5
    assert not pca.components_[:, ~used].any()
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X))[:, ~used], np.tile(X[:, ~used].mean(0), (40, 1)))


def test_a_filter_gives_the_columns_that_it_keeps_equal_weights():
    X, y, _ = table(40, 60)
    pca = WeightedPCA(2, selector=SelectKBest(k=10)).fit(X, y)
    np.testing.assert_array_equal(pca.weights_, pca.selector_.get_support().astype(float))
    kept = X[:, pca.selector_.get_support()]
    unit = (kept - kept.mean(axis=0)) / np.linalg.norm(kept - kept.mean(axis=0), axis=0)
    np.testing.assert_allclose(np.abs(pca.transform(X)), np.abs(PCA(2).fit_transform(unit)), atol=1e-9)


def test_a_table_with_fewer_directions_than_asked_is_told():
    X, _, _ = table(40, 2)
    with pytest.warns(UserWarning, match=r"2 directions that vary, fewer than n_components=3"):
        assert WeightedPCA(3).fit(np.column_stack([X, X])).n_components_ == 2
    with pytest.raises(ValueError, match=r"n_components=5.*n_samples=40.*n_features=4.*at most 4"):
        WeightedPCA(5).fit(np.column_stack([X, X]))
    with pytest.raises(ValueError, match="has kept no column"):
        WeightedPCA(selector=SelectKBest(k=0)).fit(X, np.arange(40) % 2)


def test_a_wide_table_is_not_weighted_first():
    X, _, _ = make_permuted_clusters(50, 5_000, 30, random_state=0)
    tracemalloc.start()
    WeightedPCA(2).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * X.nbytes


def test_fisher_is_the_three_steps_one_after_the_other():
    X, y, _ = table(60, 200)
    names = np.array(["here", "there"])[y]
    model = WeightedFisher(7).fit(X, names)
    pca = WeightedPCA(7).fit(X)
    steps = LinearDiscriminantAnalysis().fit(pca.transform(X), names)
    new = table(60, 200, seed=1).X
    np.testing.assert_allclose(model.transform(new), steps.transform(pca.transform(new)), atol=1e-8)
    np.testing.assert_array_equal(model.predict(new), steps.predict(pca.transform(new)))
    np.testing.assert_allclose(model.predict_proba(new), steps.predict_proba(pca.transform(new)), atol=1e-8)
    shift = model.transform(new) - (new - pca.mean_) @ model.loadings_
    np.testing.assert_allclose(shift, shift[:1].repeat(60, axis=0), atol=1e-8)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_by_default_as_many_components_as_leave_the_scatter_within_classes_regular():
    X, y, _ = table(30, 200)
    model = WeightedFisher().fit(X, y)
    assert model.discriminant_.n_features_in_ == 30 - 2
    assert list(model.get_feature_names_out()) == ["weightedfisher0"]
    rare = np.arange(9) % 8  # all but one row alone in their class
    assert WeightedFisher().fit(X[:9], rare).discriminant_.n_features_in_ == 1


def test_weights_from_labels_may_come_first_and_are_learnt_inside_the_folds():
    X, y, _ = make_permuted_clusters(60, 400, 8, 0.8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accuracy = cross_val_score(WeightedFisher(10, selector=FisherWeightSelector()), X, y).mean()
        shuffled = np.random.default_rng(0).permutation(y)
        chance = cross_val_score(WeightedFisher(10, selector=FisherWeightSelector()), X, shuffled).mean()
    assert accuracy > 0.9
    assert chance < 0.75


def test_sparse_input_is_refused_where_the_selector_takes_none():
    X, y, _ = table(30, 60)
    for model in (WeightedPCA(2, selector=FisherWeightSelector()), WeightedFisher(selector=FisherWeightSelector())):
        with pytest.raises(TypeError, match="dense data is required"):
            model.fit(sparse.csr_array(X), y)
