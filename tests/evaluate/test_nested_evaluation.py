"""Nested evaluation is sklearn's nested cross-validation, with the choices written down."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RandomizedSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import NestedEvaluation

X, y = load_iris(return_X_y=True)
SEARCH = GridSearchCV(make_pipeline(SelectKBest(), GaussianNB()), {"selectkbest__k": [1, 2, 3]}, cv=3)


def test_scores_are_those_of_nested_cross_val_score():
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    found = NestedEvaluation(SEARCH, folds).run(X, y)
    np.testing.assert_array_equal(found.scores, cross_val_score(SEARCH, X, y, cv=folds))


def test_the_search_never_sees_the_rows_held_out():
    class Watcher(ClassifierMixin, BaseEstimator):
        seen = []

        def __init__(self, cv=None):
            self.cv = cv

        def fit(self, X, y):
            Watcher.seen.append(set(X[:, 0]))
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            assert not Watcher.seen[-1] & set(X[:, 0])
            return np.full(len(X), self.classes_[0])

    numbered = np.arange(60.0)[:, None]
    result = NestedEvaluation(Watcher(), 6).run(numbered, np.repeat([0, 1], 30))
    assert len(Watcher.seen) == len(result.realisations) == 6


def test_each_realisation_tells_what_was_chosen_and_believed():
    frame, target = load_iris(return_X_y=True, as_frame=True)
    result = NestedEvaluation(SEARCH, n_repeats=2, random_state=0).run(frame, target)
    assert [(r.repeat, r.fold) for r in result.realisations] == [(i, j) for i in range(2) for j in range(5)]
    for realisation in result.realisations:
        assert set(realisation.parameters) == {"selectkbest__k"}
        assert len(realisation.features) == realisation.parameters["selectkbest__k"]
        assert set(realisation.features) <= set(frame.columns)
        assert realisation.optimism == pytest.approx(realisation.criterion - realisation.score)
        assert (realisation.n_train, realisation.n_test) == (120, 30)
    assert result.optimism == pytest.approx(np.mean([r.criterion for r in result.realisations]) - result.mean)
    assert next(iter(result.feature_frequencies)).startswith("petal")
    assert sum(result.parameter_counts.values()) == 10


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, sparse.csr_array, np.asarray])
def test_every_form_of_table_gives_the_same_scores(form):
    table = X if form in (np.asarray, sparse.csr_array) else {f"c{i}": X[:, i] for i in range(4)}
    labels = np.array(["a", "b", "c"])[y]
    # Trees take sparse rows; naive Bayes does not.
    search = make_pipeline(SelectKBest(k=2), DecisionTreeClassifier(max_depth=2, random_state=0))
    found = NestedEvaluation(search, random_state=0).run(form(table), labels)
    np.testing.assert_array_equal(found.scores, NestedEvaluation(search, random_state=0).run(X, y).scores)


def test_results_do_not_depend_on_the_number_of_processes(workers):
    search = RandomizedSearchCV(
        DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4], "max_features": [1, 2, 3, 4]}, n_iter=3, cv=3
    )
    one, two = (NestedEvaluation(search, n_repeats=2, random_state=5).run(X, y, engine=n) for n in (None, workers))
    np.testing.assert_array_equal(one.scores, two.scores)
    assert [r.parameters for r in one.realisations] == [r.parameters for r in two.realisations]
    other = NestedEvaluation(search, n_repeats=2, random_state=6).run(X, y)
    assert not np.array_equal(one.scores, other.scores)


def test_groups_are_kept_whole_outside_and_inside():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 3)
    table = rng.normal(size=(60, 20))[groups]  # rows of a group are equal: any leak is a perfect score
    labels = rng.permutation(np.repeat([0, 1], 30))[groups]
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, None]}, cv=GroupKFold(3))
    result = NestedEvaluation(search, GroupKFold(5)).run(table, labels, groups=groups)
    leaking = NestedEvaluation(GridSearchCV(search.estimator, search.param_grid, cv=3), 5, random_state=0)
    assert leaking.run(table, labels).mean > 0.8
    assert result.mean < 0.7


def test_the_score_asked_for_is_used_and_optimism_is_told_only_where_it_compares():
    table, target = load_diabetes(return_X_y=True)
    search = GridSearchCV(Lasso(), {"alpha": [0.01, 0.1, 1.0]}, scoring="neg_mean_absolute_error")
    own = NestedEvaluation(search, random_state=0).run(table, target)
    other = NestedEvaluation(search, scoring="r2", random_state=0).run(table, target)
    assert own.mean < -30 < 0 < other.mean < 1
    assert np.isfinite(own.optimism)
    assert np.isnan(other.optimism)
    several = GridSearchCV(Lasso(), {"alpha": [0.1]}, scoring=["r2", "neg_mean_absolute_error"], refit="r2")
    np.testing.assert_allclose(NestedEvaluation(several, random_state=0).run(table, target).mean, other.mean, atol=0.05)


def test_standard_errors_over_realisations_with_and_without_shared_rows():
    pipeline = make_pipeline(SelectKBest(k=1), GaussianNB())
    result = NestedEvaluation(pipeline, StratifiedShuffleSplit(25, test_size=0.2, random_state=0)).run(X, y)
    spread = result.scores.std(ddof=1)
    assert result.se == pytest.approx(spread / 5)
    assert result.corrected_se == pytest.approx(spread * np.sqrt(1 / 25 + 30 / 120))


def test_few_realisations_are_remarked_on():
    pipeline = make_pipeline(SelectKBest(k=2), GaussianNB())
    assert "raise n_repeats" in repr(NestedEvaluation(pipeline, random_state=0).run(X, y))
    assert "raise n_repeats" not in repr(NestedEvaluation(pipeline, n_repeats=4, random_state=0).run(X, y))


def test_a_failing_fit_names_the_fold():
    with pytest.raises(ValueError, match="The 'k' parameter") as caught:
        NestedEvaluation(make_pipeline(SelectKBest(k="many"), GaussianNB())).run(X, y)
    assert caught.value.__notes__ == ["This happened in repeat 0, fold 0."]


def test_the_result_is_drawn_and_written_down():
    table, target = load_breast_cancer(return_X_y=True, as_frame=True)
    result = NestedEvaluation(SEARCH, random_state=0).run(table.iloc[:200], target.iloc[:200])
    data = json.loads(json.dumps(result.to_dict()))
    assert (data["scoring"], data["mean"]) == ("accuracy", result.mean)
    assert data["realisations"][2]["parameters"] == result.realisations[2].parameters
    assert len(data["realisations"]) == 5
    figure = result.plot()
    assert len(figure.data[0].x) == 5
    assert "best score of the search" in figure.layout.xaxis.title.text


def test_the_interval_is_that_of_one_repeat_however_many_there_are():
    result = NestedEvaluation(SEARCH, n_repeats=3, random_state=0).run(X, y)
    low, high = result.interval(0.9)
    assert (low + high) / 2 == pytest.approx(result.mean)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.95, 4) * result.corrected_se)
    assert result.interval()[0] < low
    assert f"95% interval {result.interval()[0]:.4f} to {result.interval()[1]:.4f}" in repr(result)
    for outside in (0, 1, 95):
        with pytest.raises(ValueError, match=f"confidence_level={outside} must lie between 0 and 1"):
            result.interval(outside)


def test_scores_that_all_agree_give_no_interval():
    table, labels = np.array([[0.0], [0.0], [9.0], [9.0]]), [0, 0, 1, 1]
    result = NestedEvaluation(make_pipeline(SelectKBest(k=1), GaussianNB()), cv=2).run(table, labels)
    assert (result.mean, result.corrected_se) == (1.0, 0.0)
    assert np.isnan(result.interval()).all()
    assert "no interval: all realisations have the same score" in repr(result)
    assert {trace.name for trace in result.plot().data} == {"realisations", "mean"}


def test_the_measure_is_called_by_its_name():
    assert repr(NestedEvaluation(SEARCH, random_state=0).run(X, y)).startswith("NestedResult: accuracy")
    other = NestedEvaluation(SEARCH, scoring="f1_macro", random_state=0).run(X, y)
    assert other.plot().layout.yaxis.title.text == "f1_macro on the rows held out"
