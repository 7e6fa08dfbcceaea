"""Selection, evaluation and the final model in one estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import NestedSelectionCV, selection_curve
from fewer.select import NearestNeighbourObjective, SequentialSearch

X, Y = load_wine(return_X_y=True)


def test_it_is_the_curve_its_estimate_and_a_fit_on_the_columns_kept():
    model = NestedSelectionCV(SelectKBest(), GaussianNB(), n_repeats=2, random_state=4).fit(X, Y)
    curve = selection_curve(SelectKBest(), GaussianNB(), X, Y, n_repeats=2, random_state=4)
    np.testing.assert_array_equal(model.scores_, curve.scores)
    found = curve.cross_index("A")
    assert model.score_ == found.score
    assert model.benefit_ == pytest.approx(model.score_ - model.full_score_)
    assert model.benefit_interval_ == found.interval
    assert model.best_size_ == found.nearest_size == len(model.best_subset_)
    expected = SelectKBest(k=model.best_size_).fit(X, Y).get_support(indices=True)
    np.testing.assert_array_equal(model.best_subset_, expected)
    np.testing.assert_array_equal(model.predict(X), GaussianNB().fit(X[:, expected], Y).predict(X[:, expected]))
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert model.score(X, Y) == np.mean(model.predict(X) == Y)


@pytest.mark.parametrize("method", ["A", "B", "outer"])
def test_the_method_chooses_the_size(method):
    model = NestedSelectionCV(SelectKBest(), GaussianNB(), method=method, random_state=4).fit(X, Y)
    assert model.score_ == model.estimates_[method].score
    assert model.optimism_["outer"] == model.estimates_["outer"].score - model.estimates_["A"].score >= 0
    assert (model.benefit_interval_ is None) == (method == "outer")


def test_a_search_tells_how_optimistic_it_was():
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(60, 12)), np.arange(60) % 2
    search = make_pipeline(StandardScaler(), SequentialSearch(NearestNeighbourObjective()))
    model = NestedSelectionCV(search, KNeighborsClassifier(1), random_state=0).fit(noise, y)
    assert model.optimism_["inner"] == max(model.selector_.path_scores_.values()) - model.estimates_["A"].score
    assert model.optimism_["inner"] > 0.1
    kept = StandardScaler().fit_transform(noise)[:, model.best_subset_]
    np.testing.assert_array_equal(model.predict(noise), KNeighborsClassifier(1).fit(kept, y).predict(kept))


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_frames_groups_and_workers(n_jobs):
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    groups = np.arange(len(X)) // 2
    options = {"sizes": [2, 4], "cv": GroupKFold(3)}
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    here = NestedSelectionCV(SelectKBest(), learner, **options).fit(frame, Y, groups=groups)
    there = NestedSelectionCV(SelectKBest(), learner, n_jobs=n_jobs, **options).fit(frame, Y, groups=groups)
    np.testing.assert_array_equal(here.scores_, there.scores_)
    assert list(here.feature_names_in_) == list(frame.columns)
    assert hasattr(here, "decision_function")
    np.testing.assert_array_equal(here.predict(frame), there.predict(frame))


def test_regression():
    table, target = load_diabetes(return_X_y=True)
    model = NestedSelectionCV(SelectKBest(f_regression), Ridge(0.1), random_state=0).fit(table, target)
    assert 0.3 < model.score_ < 0.6
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "predict_proba")
    assert model.score(table, target) > 0.4


def test_a_selector_that_was_fitted_before_is_refused():
    with pytest.raises(ValueError, match="fitted already"):
        NestedSelectionCV(SelectKBest().fit(X, Y), GaussianNB()).fit(X, Y)


def test_missing_values_are_filled_by_steps_before_the_selector():
    incomplete = X.copy()
    incomplete[::7, 3] = np.nan
    model = NestedSelectionCV(make_pipeline(SimpleImputer(), SelectKBest()), GaussianNB(), random_state=0)
    assert model.fit(incomplete, Y).score(incomplete, Y) > 0.9
    assert model.score_ > 0.9
    with pytest.raises(ValueError, match="NaN"):
        NestedSelectionCV(SelectKBest(), make_pipeline(SimpleImputer(), GaussianNB())).fit(incomplete, Y)


def test_the_columns_kept_have_their_names():
    table = load_wine(as_frame=True)
    model = NestedSelectionCV(SelectKBest(), GaussianNB(), random_state=0).fit(table.data, table.target)
    assert list(model.best_names_) == list(table.data.columns[model.best_subset_])
    behind = make_pipeline(SimpleImputer(add_indicator=True), SelectKBest())
    incomplete = table.data.mask(np.arange(178)[:, None] % 7 + np.zeros(13) == 0)
    named = NestedSelectionCV(behind, GaussianNB(), sizes=[3, 20], random_state=0).fit(incomplete, table.target)
    assert len(named.best_names_) == named.best_size_
    assert not hasattr(model.fit(table.data.to_numpy(), table.target), "best_names_")


def test_sparse_tables_are_taken_where_selector_and_estimator_take_them():
    medians = np.median(X, axis=0)
    table = sparse.csr_array(np.where(medians < X, X, 0))
    options = {"sizes": [3], "cv": 3, "random_state": 0}
    model = NestedSelectionCV(SelectKBest(), DecisionTreeClassifier(max_depth=2, random_state=0), **options).fit(
        table, Y
    )
    np.testing.assert_array_equal(model.predict(table), model.predict(table.tocsc()))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        NestedSelectionCV(SelectKBest(), GaussianNB(), **options).fit(table, Y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        NestedSelectionCV(SelectKBest(), GaussianNB(), **options).fit(X, Y).predict(table)
