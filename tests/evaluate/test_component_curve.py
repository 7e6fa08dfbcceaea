"""The number of components: scores are those of fits with each number, and cross-indexing reads them.

Scores over the number of new columns, on rows held out.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_linnerud, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.evaluate import component_curve, cross_index, score_components
from fewer.extract import KernelPLS, PLSDiscriminant, PLSRegressor, PolynomialPLSRegressor
from tolerances import rounding


@pytest.mark.parametrize("model", [PLSRegressor(), KernelPLS(), PolynomialPLSRegressor()])
def test_scores_are_those_of_a_fit_with_each_number(model):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    folds = KFold(4)
    curve = component_curve(model, X, y, n_components=3, cv=folds)
    for place, number in enumerate(curve.sizes):
        expected = cross_val_score(model.set_params(n_components=int(number)), X, y, cv=folds)
        np.testing.assert_allclose(curve.scores[0, :, place], expected, atol=1e-8)


def test_classes_are_scored_by_accuracy_on_stratified_folds():
    X, y = load_wine(return_X_y=True)
    curve = component_curve(PLSDiscriminant(scale=True), X, y, n_components=4, cv=5, n_repeats=2, random_state=0)
    assert curve.scores.shape == (2, 5, 4)
    assert curve.scoring == "accuracy"
    assert curve.best in (2, 3, 4)
    assert curve.mean[1] > 0.95


def test_it_is_read_by_cross_indexing():
    X, y = load_diabetes(return_X_y=True)
    curve = component_curve(PLSRegressor(), X, y, n_components=8, random_state=0)
    expected = cross_index(curve.scores, sizes=np.arange(1, 9), test_ratio=curve.test_ratio)
    assert curve.cross_index().score == expected.score
    assert curve.cross_index().score <= curve.mean.max() + rounding(curve.scores.size)
    assert curve.mean[curve.best - 1] == curve.mean.max()
    assert f"best number {curve.best}" in repr(curve)
    assert [trace.name for trace in curve.plot().data][-1] == "cross-indexing"
    assert curve.to_dict()["sizes"] == list(range(1, 9))


def test_several_targets_sparse_tables_frames_and_other_scores():
    X, Y = load_linnerud(return_X_y=True)
    assert component_curve(PLSRegressor(), X, Y, n_components=2, cv=4, random_state=0).scores.shape == (1, 4, 2)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    options = {"n_components": 3, "cv": KFold(3), "scoring": lambda true, found: -mean_absolute_error(true, found)}
    framed = component_curve(PLSRegressor(), X, y, **options)
    table = component_curve(PLSRegressor(), sparse.csr_array(X.to_numpy()), y, **options)
    np.testing.assert_allclose(framed.scores, table.scores, atol=1e-8)
    assert np.all(framed.scores < 0)


def test_numbers_that_a_fold_cannot_give_are_left_out():
    X, y = load_diabetes(return_X_y=True)
    assert component_curve(PLSRegressor(), X[:, :3], y, n_components=20, cv=3).sizes.tolist() == [1, 2, 3]


def test_groups_stay_together():
    X, y = load_diabetes(return_X_y=True)
    curve = component_curve(PLSRegressor(), X[:60], y[:60], n_components=2, cv=3, groups=np.arange(60) // 10)
    assert curve.disjoint


def test_folds_that_overlap_are_not_indexed():
    X, y = load_diabetes(return_X_y=True)
    curve = component_curve(PLSRegressor(), X, y, n_components=2, cv=ShuffleSplit(6, random_state=0))
    assert "optimistic" in repr(curve)
    with pytest.raises(ValueError, match="hold out the same rows more than once"):
        curve.cross_index()


def test_what_cannot_be_used_is_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="score_components takes any"):
        component_curve(PCA(), X, y)
    with pytest.raises(ValueError, match="whole number of 1 or more"):
        component_curve(PLSRegressor(), X, y, n_components=0)
    with pytest.raises(ValueError, match="no component that goes with the target"):
        component_curve(PLSRegressor(), X, pd.Series(np.ones(442)), n_components=2)
    with pytest.raises(TypeError, match="PCA does not predict"):
        component_curve(make_pipeline(StandardScaler(), PCA()), X, y)
    with pytest.raises(ValueError, match="R2 needs two rows or more in each fold"):
        component_curve(PLSRegressor(), X[:20], y[:20], n_components=2, cv=20)
    with pytest.raises(ValueError, match="'roc_auc' needs probabilities"):
        component_curve(PLSDiscriminant(), X, y > 100, scoring="roc_auc")


@pytest.mark.parametrize("model", [PLSRegressor(), PLSRegressor(scale=True)])
def test_steps_before_the_model_are_fitted_in_each_fold(model):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), "passthrough", SelectKBest(f_regression, k=6), model)
    folds = KFold(4)
    curve = component_curve(pipeline, X, y, n_components=3, cv=folds)
    for place, number in enumerate(curve.sizes):
        sized = clone(pipeline).set_params(plsregressor__n_components=int(number))
        np.testing.assert_allclose(curve.scores[0, :, place], cross_val_score(sized, X, y, cv=folds), atol=1e-8)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", make_scorer(mean_absolute_error)])
def test_scores_of_scikit_learn_go_by_name(scoring):
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(4)
    curve = component_curve(PLSRegressor(), X, y, n_components=2, cv=folds, scoring=scoring)
    np.testing.assert_allclose(curve.scores[0, :, 1], cross_val_score(PLSRegressor(2), X, y, cv=folds, scoring=scoring))
    assert not isinstance(scoring, str) or curve.scoring == scoring


def test_scores_of_classes_go_by_name():
    X, y = load_wine(return_X_y=True)
    curve = component_curve(PLSDiscriminant(scale=True), X, y, n_components=2, cv=3, scoring="f1_macro", random_state=0)
    assert 0.9 < curve.mean[1] <= 1


X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:120], order[120:]
HALVES = X[train], y[train], X[test], y[test]


class NestedPCA(PCA):
    """Principal components do not change with their number."""

    _nested = True


@pytest.mark.parametrize("learner", [RidgeClassifier(), KNeighborsClassifier(3)])
@pytest.mark.parametrize("extractor", [PCA(), NestedPCA()])
def test_each_size_scores_as_a_pipeline_of_its_own(extractor, learner):
    found = score_components(extractor, learner, *HALVES, sizes=[1, 2, 5])
    expected = [make_pipeline(PCA(size), learner).fit(X[train], y[train]).score(X[test], y[test]) for size in (1, 2, 5)]
    expected.append(learner.fit(X[train], y[train]).score(X[test], y[test]))
    assert found.sizes == [1, 2, 5, 13]
    np.testing.assert_allclose(found.scores, expected)


def test_one_fit_serves_all_sizes_of_nested_columns():
    class Counted(NestedPCA):
        fits = 0

        def fit(self, X, y=None):
            type(self).fits += 1
            return super().fit(X, y)

    score_components(Counted(), RidgeClassifier(), *HALVES, sizes=[1, 2, 5])
    assert Counted.fits == 1


def test_sizes_that_cannot_be_had_are_left_out():
    class FewPCA(PCA):
        def transform(self, X):
            return super().transform(X)[:, :2]

    found = score_components(FewPCA(), RidgeClassifier(), *HALVES, sizes=[1, 2, 3, 40])
    assert found.sizes == [1, 2, 13]


def test_held_out_rows_have_no_say_in_what_is_made():
    spoilt = X.copy()
    spoilt[test] = 1e6
    clean = score_components(PCA(), RidgeClassifier(), *HALVES, sizes=[2])
    other = score_components(PCA(), RidgeClassifier(), spoilt[train], y[train], spoilt[test], y[test], sizes=[2])
    np.testing.assert_array_equal(clean.weights, other.weights)
    assert other.scores[0] != clean.scores[0]


def test_weights_are_the_lengths_of_correlations():
    found = score_components(PCA(), RidgeClassifier(), *HALVES, sizes=[2])
    new = PCA(2).fit_transform(X[train])
    expected = [np.hypot(*(np.corrcoef(column, each)[0, 1] for each in new.T)) for column in X[train].T]
    np.testing.assert_allclose(found.weights, expected)


def test_a_sparse_table_and_numbers_as_target():
    table = sparse.csr_array(np.where(X > 0, X, 0))
    halves = table[train], X[train, 0], table[test], X[test, 0]
    found = score_components(TruncatedSVD(random_state=0), Ridge(), *halves, sizes=[1, 6], scoring="r2")
    dense = score_components(
        TruncatedSVD(random_state=0),
        Ridge(),
        *(part.toarray() if sparse.issparse(part) else part for part in halves),
        sizes=[1, 6],
        scoring="r2",
    )
    np.testing.assert_allclose(found.scores, dense.scores, rtol=1e-4)
