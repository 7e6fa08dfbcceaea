"""Curves, nested selections and permutation tests take closed forms by themselves, and say where they cannot."""

import logging

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from fewer.evaluate import NestedSelectionCV, permutation_test, selection_curve
from fewer.evaluate._fold_scores import Job
from fewer.evaluate._selection_curve import curve_of, folds_for, scored_folds
from tolerances import rounding

LEARNERS = [
    KNeighborsClassifier(3),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    KNeighborsRegressor(3, weights="distance"),
    Ridge(),
]
FOLDS = [
    KFold(3),
    LeaveOneOut(),
    GroupKFold(3),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
]
RNG = np.random.default_rng(0)
CLASSES = np.arange(24) % 3
TABLE = RNG.normal(size=(24, 4)) * [1, 2, 5, 0.1] + CLASSES[:, None] * [1, 0, 2, 0]
VALUES = TABLE[:, 0] + RNG.normal(size=24)


@pytest.mark.parametrize("scaled", [False, True], ids=["bare", "scaled"])
@pytest.mark.parametrize(
    ("learner", "cv"),
    [
        (learner, cv)
        for learner in LEARNERS
        for cv in FOLDS
        if is_classifier(learner) or not isinstance(cv, RepeatedStratifiedKFold)
    ],
    ids=lambda given: type(given).__name__,
)
@pytest.mark.filterwarnings("ignore:A single label was found", "ignore:y_pred contains classes not in y_true")
def test_curves_are_those_of_fits(learner, scaled, cv):
    classifier = is_classifier(learner)
    rows = slice(12 if isinstance(cv, LeaveOneOut) else 24)
    X, y = TABLE[rows], (CLASSES if classifier else VALUES)[rows]
    selector = SelectKBest(k=2) if classifier else SelectKBest(f_regression, k=2)
    estimator = make_pipeline(StandardScaler(), learner) if scaled else learner
    own = None if classifier or not isinstance(cv, LeaveOneOut) else "neg_mean_squared_error"  # one row has no R2
    for scoring in (own, "balanced_accuracy" if classifier else "neg_mean_absolute_error"):
        groups = np.arange(24) // 4 if isinstance(cv, GroupKFold) else None
        repeats = folds_for(estimator, X, y, cv=cv, n_repeats=1, groups=groups, random_state=0)
        fast, plain = (
            curve_of(
                scored_folds(repeats, Job(X, y, selector, estimator, (2, 3), scoring, share_work=shared)),
                repeats,
                learner=estimator,
                scoring=scoring,
            )
            for shared in (True, False)
        )
        np.testing.assert_allclose(fast.scores, plain.scores, rtol=1e-9, atol=rounding(24, condition=1e4))
        assert fast.fast_route.taken
        assert plain.fast_route == (False, "share_work=False asks for fits")


def test_a_nested_selection_says_which_way_it_took():
    model = NestedSelectionCV(SelectKBest(k=2), GaussianNB(), cv=2).fit(TABLE, CLASSES)
    assert model.fast_route_ == model.curve_.fast_route == (True, "closed form of Gaussian naive Bayes")
    model = NestedSelectionCV(SelectKBest(k=2), GaussianNB(), cv=2, scoring="neg_log_loss").fit(TABLE, CLASSES)
    assert model.fast_route_ == (False, "scoring='neg_log_loss' needs more than predictions")


@pytest.mark.parametrize(
    ("learner", "options", "reason"),
    [
        (LogisticRegression(), {}, "LogisticRegression has no closed form"),
        (make_pipeline(PowerTransformer(), GaussianNB()), {}, "PowerTransformer, before Gaussian naive Bayes, depends"),
        (GaussianNB(), {"null": "columns"}, "null='columns' changes the table"),
        (GaussianNB(), {"share_work": False}, "share_work=False"),
        (KNeighborsClassifier(metric="precomputed"), {}, "metric='precomputed'"),
        (Ridge(), {"scoring": "r2"}, "for classes"),
    ],
    ids=str,
)
def test_permutation_tests_say_why_they_fit(learner, options, reason):
    table = euclidean_distances(TABLE) if getattr(learner, "metric", None) == "precomputed" else TABLE
    y = VALUES if isinstance(learner, Ridge) else CLASSES
    options = {"n_permutations": 3, "n_repeats": 1, "alpha": 0.3, "cv": 2, "random_state": 0, **options}
    found = permutation_test(learner, table, y, **options).fast_route
    assert not found
    assert reason in found.reason


def test_permutation_tests_say_what_they_share():
    options = {"n_permutations": 19, "n_repeats": 1, "cv": 2, "random_state": 0}
    found = permutation_test(make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()), TABLE, CLASSES, **options)
    assert found.fast_route == (True, "closed form of linear discriminant analysis")
    assert found.route.startswith("shared")


def test_what_will_take_long_is_announced_once(caplog, monkeypatch):
    monkeypatch.setattr("fewer._estimators._closed_forms.SLOW", 0.0)
    with caplog.at_level(logging.WARNING, logger="fewer"):
        selection_curve(SelectKBest(k=2), LogisticRegression(), TABLE, CLASSES, cv=3)
        selection_curve(SelectKBest(k=2), GaussianNB(), TABLE, CLASSES, cv=3)
        permutation_test(LogisticRegression(), TABLE, CLASSES, n_permutations=2, n_repeats=1, alpha=0.5, cv=2)
    curve, test = caplog.messages
    assert curve.startswith("The curve of 4 sizes on 3 folds will take about")
    assert test.startswith("The permutation test (2 permutations) will take about")
