"""What nested evaluation and the audit refuse, and what a fitted search is asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewer.evaluate import NestedEvaluation, protocol_audit
from fewer.evaluate.protocol._selection import (
    check_selection_inside,
    chosen_parameters,
    frozen,
    is_search,
    median_parameters,
    selected_columns,
    without_selection,
)
from fewer.learn import KernelRidgeClassifierLOO

X, y = load_iris(return_X_y=True)
GRID = {"selectkbest__k": [1, 2, 3]}


REFUSED = {
    "a selector beside a learner": ((SelectKBest(), SVC()), TypeError, "not one estimator"),
    "a list of columns": ([0, 1], TypeError, "not one estimator"),
    "a class": (SVC, TypeError, r"SVC\(\.\.\.\)"),
    "a selector alone": (SelectKBest(), TypeError, "predicts nothing"),
    "nothing chosen": (SVC(), ValueError, "nothing is chosen inside SVC"),
    "nothing chosen in a pipeline": (make_pipeline(StandardScaler(), SVC()), ValueError, "nothing is chosen"),
    "a frozen selector": (
        make_pipeline(FrozenEstimator(SelectKBest(k=2).fit(X, y)), SVC()),
        ValueError,
        "keeps what it learnt before",
    ),
    "a frozen selector among the candidates": (
        GridSearchCV(
            make_pipeline(SelectKBest(), SVC()), {"selectkbest": [FrozenEstimator(SelectKBest(k=2).fit(X, y))]}
        ),
        ValueError,
        "keeps what it learnt before",
    ),
    "a prefit selector": (
        make_pipeline(SelectFromModel(RandomForestClassifier(), prefit=True), SVC()),
        ValueError,
        "keeps what it learnt before",
    ),
    "a selector fitted outside": (
        make_pipeline(SelectKBest(k=2).fit(X, y), SVC()),
        ValueError,
        "'selectkbest' .* was fitted before",
    ),
    "a selector outside of the search": (
        make_pipeline(SelectKBest(k=2), GridSearchCV(SVC(), {"C": [1, 10]})),
        ValueError,
        r"sits outside .*GridSearchCV\(make_pipeline\(SelectKBest\(\.\.\.\), SVC",
    ),
}


@pytest.mark.parametrize(("given", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_a_choice_made_outside_is_refused_with_the_reason(given, kind, words):
    with pytest.raises(kind, match=words):
        NestedEvaluation(given).run(X, y)
    with pytest.raises(kind, match=words):
        protocol_audit(given, X, y)


ACCEPTED = {
    "a search around a pipeline": GridSearchCV(make_pipeline(SelectKBest(), SVC()), GRID),
    "a pipeline that selects": make_pipeline(SelectKBest(k=2), SVC()),
    "a learner that tunes itself": KernelRidgeClassifierLOO(),
    "a learner with folds of its own": make_pipeline(StandardScaler(), LassoCV()),
    "an unsupervised selector before a search": make_pipeline(VarianceThreshold(), GridSearchCV(SVC(), {"C": [1]})),
    "a pipeline that was fitted as a whole": make_pipeline(SelectKBest(k=2), SVC()).fit(X, y),
}


@pytest.mark.parametrize("given", ACCEPTED.values(), ids=ACCEPTED)
def test_a_choice_made_inside_is_taken(given):
    check_selection_inside(given)


def test_columns_are_read_off_through_scaling_but_not_through_extraction():
    pipeline = make_pipeline(StandardScaler(), SelectKBest(k=2), GaussianNB())
    assert selected_columns(pipeline.fit(X, y), X).tolist() == [2, 3]
    searched = GridSearchCV(pipeline, {"selectkbest__k": [2]}).fit(X, y)
    assert selected_columns(searched, X).tolist() == [2, 3]
    assert selected_columns(make_pipeline(PCA(3), SelectKBest(k=2), GaussianNB()).fit(X, y), X) is None
    assert selected_columns(make_pipeline(StandardScaler(), GaussianNB()).fit(X, y), X) is None


def test_a_frozen_learner_repeats_the_choice_without_making_it():
    pipeline = make_pipeline(StandardScaler(), KernelRidgeClassifierLOO()).fit(X, y)
    fixed = frozen(pipeline, chosen_parameters(pipeline)).fit(X[::2], y[::2])
    assert fixed[-1].select is None
    assert fixed[-1].hyperparameters_ == pytest.approx(pipeline[-1].hyperparameters_)

    searched = GridSearchCV(make_pipeline(SelectKBest(), SVC()), GRID).fit(X, y)
    fixed = frozen(searched, chosen_parameters(searched))
    assert fixed.get_params()["selectkbest__k"] == searched.best_params_["selectkbest__k"]
    assert not hasattr(fixed, "param_grid")


def test_the_median_of_choices_goes_by_the_kind_of_each_parameter():
    choices = [
        {"C": 0.1, "k": 3, "kernel": "rbf", "shift": -1.0, "gamma": np.array([1.0, 4.0])},
        {"C": 10.0, "k": 4, "kernel": "linear", "shift": 3.0, "gamma": np.array([4.0, 1.0])},
        {"C": 1000.0, "k": 8, "kernel": "rbf", "shift": 1.0, "gamma": np.array([2.0, 2.0])},
        {"C": 1.0, "k": 7, "kernel": "rbf", "shift": 2.0, "gamma": np.array([8.0, 8.0])},
        {"other": 1},
    ]
    middle = median_parameters(choices)
    assert middle["C"] == pytest.approx(np.sqrt(10))  # halfway on the log scale
    assert middle["k"] in (5, 6)
    assert isinstance(middle["k"], int)
    assert middle["kernel"] == "rbf"
    assert middle["shift"] == 1.5
    np.testing.assert_allclose(middle["gamma"], np.sqrt([8, 8]))
    assert "other" not in middle


def test_taking_the_selection_out_leaves_the_rest_of_the_search():
    search = GridSearchCV(make_pipeline(SelectKBest(), SVC()), GRID | {"svc__C": [1, 10]})
    rest = without_selection(search)
    assert rest.param_grid == {"svc__C": [1, 10]}
    assert rest.estimator.named_steps["selectkbest"] == "passthrough"
    assert search.estimator.named_steps["selectkbest"] != "passthrough"
    assert without_selection(GridSearchCV(make_pipeline(SelectKBest(), SVC()), GRID)).steps[0][1] == "passthrough"
    assert without_selection(GridSearchCV(SVC(), {"C": [1]})) is None


def test_a_search_is_what_has_candidates_and_an_estimator_to_try_them_on():
    assert is_search(GridSearchCV(SVC(), {"C": [1.0, 2.0]}))
    assert not is_search(SelectFromModel(SVC()))
    assert not is_search(SVC())
