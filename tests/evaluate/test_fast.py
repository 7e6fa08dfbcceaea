"""Shared work gives what plain fits give: same folds, same permutations, same errors to the last bit.

Curves, nested selections and permutation tests take closed forms by themselves, and say where they cannot.
"""

import itertools
import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from fewer.evaluate import NestedSelectionCV, permutation_test, selection_curve
from fewer.evaluate.curves._fold_scores import Job
from fewer.evaluate.curves._selection_curve import curve_of, folds_for, scored_folds
from fewer.evaluate.fast._ridge import LeftOutFits, _normal_equations, residual_matrix
from fewer.evaluate.permutation._statistic import Protocol, stratified_folds
from fewer.extract import OptimalScoringLDA, VariationalInfoMax
from fewer.learn import NaiveBayesText, RidgePathRegressorCV
from tolerances import rounding

LEARNERS = {
    "neighbours": KNeighborsClassifier(),
    "one neighbour": KNeighborsClassifier(1, metric="manhattan"),
    "weighted neighbours": KNeighborsClassifier(4, weights="distance"),
    "ridge": RidgeClassifier(),
    "ridge through zero": RidgeClassifier(alpha=3.0, fit_intercept=False),
    "discriminant": LinearDiscriminantAnalysis(),
    "naive Bayes": GaussianNB(),
}
FOLDS = {
    "stratified": StratifiedKFold(5),
    "stratified with a seed": StratifiedKFold(4, shuffle=True, random_state=3),
    "stratified without a seed": StratifiedKFold(3, shuffle=True),
    "label-free": KFold(5, shuffle=True, random_state=1),
    "label-free without a seed": KFold(3, shuffle=True),
}


def synthetic(n, p, n_classes, signal=1.0):
    rng = np.random.default_rng(0)
    y = np.array(["x", "y", "z"])[np.arange(n) % n_classes]
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p))
    return X + signal * (y == "x")[:, None] * rng.normal(size=p), y


TABLES = {
    "tall": lambda: synthetic(60, 4, 3),
    "square": lambda: synthetic(45, 30, 2),
    "wide": lambda: synthetic(36, 90, 3),
    "wide with two classes": lambda: synthetic(30, 200, 2),
}


def both_routes(estimator, X, y, **options):
    options = {"n_permutations": 3, "n_repeats": 1, "random_state": 0, "significance_level": 0.3} | options
    return (permutation_test(estimator, X, y, share_work=share, **options) for share in (True, False))


def each_with_each_table(learners):
    """Every learner on every table, with folds of every kind in turn; all the other combinations are slow."""
    in_turn = itertools.cycle(FOLDS)
    return [
        pytest.param(learner, table, folds, marks=() if folds == chosen else pytest.mark.slow)
        for (learner, table), chosen in zip(itertools.product(learners, TABLES), in_turn, strict=False)
        for folds in FOLDS
    ]


@pytest.mark.parametrize(("learner", "table", "folds"), each_with_each_table(LEARNERS))
def test_shared_work_changes_nothing(learner, table, folds):
    X, y = TABLES[table]()
    shared, plain = both_routes(LEARNERS[learner], X, y, cv=FOLDS[folds])
    assert shared.route.startswith("shared")
    assert plain.route == "plain"
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)
    np.testing.assert_array_equal(shared.observed, plain.observed)


PIPELINES = {
    "standardised discriminant": make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
    "stretched discriminant": make_pipeline(RobustScaler(), MinMaxScaler(), LinearDiscriminantAnalysis()),
    "standardised naive Bayes": make_pipeline(StandardScaler(), GaussianNB()),
    "smoothed naive Bayes": make_pipeline(StandardScaler(), GaussianNB(var_smoothing=0.3)),
    "shifted naive Bayes": make_pipeline(StandardScaler(with_std=False), GaussianNB(var_smoothing=0.3)),
}


@pytest.mark.parametrize(("pipeline", "table", "folds"), each_with_each_table(PIPELINES))
def test_shared_work_behind_scalers_changes_nothing(pipeline, table, folds):
    X, y = TABLES[table]()
    X = X * 10.0 ** (np.arange(X.shape[1]) % 5 - 2)  # so that scaling matters
    shared, plain = both_routes(PIPELINES[pipeline], X, y, cv=FOLDS[folds])
    assert shared.route.startswith("shared")
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


def test_smoothing_follows_the_scales_of_the_folds():
    X, y = TABLES["tall"]()
    X = X * 10.0 ** np.arange(4)
    options = {"n_permutations": 20, "n_repeats": 1, "random_state": 0}
    scaled, bare = (
        permutation_test(learner, X, y, **options)
        for learner in (PIPELINES["smoothed naive Bayes"], GaussianNB(var_smoothing=0.3))
    )
    assert scaled.route == bare.route == "shared moments"
    assert (scaled.null_errors != bare.null_errors).any()


@pytest.mark.parametrize("scaler", [MinMaxScaler(clip=True), PCA(2)])
def test_steps_that_do_more_than_scaling_are_fitted_with_stratified_folds(scaler):
    X, y = TABLES["tall"]()
    options = {"n_permutations": 3, "n_repeats": 1, "significance_level": 0.3}
    test = permutation_test(make_pipeline(scaler, LinearDiscriminantAnalysis()), X, y, **options)
    assert test.route == "plain"


def test_a_column_that_is_flat_outside_of_a_fold_is_left_to_the_scaler():
    X, y = TABLES["tall"]()
    X = np.column_stack([X, np.arange(60) < 2])
    for pipeline in PIPELINES.values():
        shared, plain = both_routes(pipeline, X, y, cv=StratifiedKFold(10))
        np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


# With nearly as many columns as rows scikit-learn's discriminant may drop a direction, so every fold is in doubt.
@pytest.mark.parametrize(
    ("learner", "table"),
    [pair for pair in itertools.product(LEARNERS, TABLES) if pair != ("discriminant", "square")],
)
def test_folds_are_hardly_ever_fitted_again(learner, table, monkeypatch):
    fitted_again = []
    plain = Protocol.fold_scores

    def counting(self, X, y, seeds, only=None):
        if only is not None:
            fitted_again.extend(only)
        return plain(self, X, y, seeds, only)

    monkeypatch.setattr(Protocol, "fold_scores", counting)
    X, y = TABLES[table]()
    permutation_test(
        LEARNERS[learner], X, y, cv=StratifiedKFold(5), n_permutations=20, significance_level=0.3, random_state=0
    )
    assert len(fitted_again) <= 1


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_shared_work_changes_nothing_on_real_tables(learner, load):
    X, y = load(return_X_y=True)
    shared, plain = both_routes(LEARNERS[learner], X, y, cv=StratifiedKFold(5))
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("learner", ["neighbours", "one neighbour", "naive Bayes"])
def test_ties_are_broken_as_in_the_plain_route(learner):
    X = np.random.default_rng(0).integers(0, 3, size=(24, 3))
    y = np.arange(24) % 3
    for cv in (StratifiedKFold(4), LeaveOneOut()):
        shared, plain = both_routes(LEARNERS[learner], X, y, cv=cv)
        np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("learner", ["neighbours", "ridge", "discriminant", "naive Bayes"])
def test_steps_that_ignore_labels_are_shared_when_folds_do(learner):
    X, y = synthetic(60, 8, 2)
    X[::7, 2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    steps = make_pipeline(SimpleImputer(), StandardScaler(), PCA(4, svd_solver="full", random_state=0))
    steps.steps.append(("learner", LEARNERS[learner]))
    shared, plain = both_routes(steps, frame, y, cv=KFold(3))
    assert shared.route.startswith("shared")
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)
    # Folds that follow the labels change what the steps see.
    assert (
        permutation_test(steps, frame, y, n_permutations=2, n_repeats=1, significance_level=0.4, random_state=0).route
        == "plain"
    )


def test_an_extractor_without_a_target_is_fitted_once_for_each_fold(monkeypatch):
    X, y = synthetic(60, 6, 2)
    fits = []
    plain_fit = VariationalInfoMax.fit

    def counted(self, X, y=None):
        fits.append(len(X))
        return plain_fit(self, X, y)

    monkeypatch.setattr(VariationalInfoMax, "fit", counted)
    model = make_pipeline(VariationalInfoMax(2, n_init=2, random_state=0), GaussianNB())
    numbers, results = [], []
    for share in (True, False):
        fits.clear()
        options = {"n_permutations": 9, "n_repeats": 1, "random_state": 0, "significance_level": 0.3}
        results.append(permutation_test(model, X, y, cv=KFold(4), share_work=share, **options))
        numbers.append(len(fits))
    shared, plain = results
    assert (shared.route, plain.route) == ("shared moments", "plain")
    assert shared.p_value == plain.p_value
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)
    # Once for the labels as they are, and once for all permutations of them.
    assert numbers == [2 * 4, 10 * 4]
    seedless = make_pipeline(VariationalInfoMax(2, n_init=1), GaussianNB())
    assert (
        permutation_test(seedless, X, y, cv=KFold(4), n_permutations=3, significance_level=0.3, n_repeats=1).route
        == "plain"
    )


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro", "matthews_corrcoef"])
@pytest.mark.parametrize("folds", ["stratified", "label-free"])
def test_scores_of_predicted_labels_are_shared_too(scoring, folds):
    X, y = synthetic(60, 4, 3)
    shared, plain = both_routes(GaussianNB(), X, y, cv=FOLDS[folds], scoring=scoring)
    assert shared.route == "shared moments"
    # The same labels are counted; what is left are means of shares of at most 60 rows.
    np.testing.assert_allclose(shared.null_errors, plain.null_errors, rtol=0, atol=rounding(len(y)))


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SelectKBest(k=2), GaussianNB()),
        RidgeClassifier(class_weight="balanced"),
        RidgeClassifier(solver="lsqr"),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        KNeighborsClassifier(weights=lambda distances: distances + 1),
    ],
)
def test_what_cannot_be_shared_goes_the_plain_way(estimator):
    X, y = synthetic(40, 5, 2)
    for cv in (StratifiedKFold(4), KFold(4)):
        tested = permutation_test(
            estimator, X, y, cv=cv, n_permutations=3, significance_level=0.3, n_repeats=1, random_state=0
        )
        assert tested.route == "plain"


def test_scores_that_need_probabilities_go_the_plain_way():
    X, y = synthetic(40, 5, 2)
    tested = permutation_test(
        GaussianNB(), X, y, scoring="roc_auc", n_permutations=3, n_repeats=1, significance_level=0.3
    )
    assert tested.route == "plain"


@pytest.mark.parametrize("folds", [StratifiedKFold(3), KFold(3)], ids=["stratified", "label-free"])
@pytest.mark.parametrize(
    "learner",
    [GaussianNB(var_smoothing=0.3), GaussianNB(priors=[0.2, 0.8]), LinearDiscriminantAnalysis(priors=[0.2, 0.8])],
)
def test_smoothing_and_priors_are_shared_too(learner, folds):
    shared, plain = both_routes(learner, *synthetic(40, 4, 2), cv=folds, n_permutations=15)
    assert shared.route != "plain"
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


def test_three_priors_of_a_discriminant_go_the_plain_way():
    shared, plain = both_routes(LinearDiscriminantAnalysis(priors=[0.2, 0.2, 0.6]), *synthetic(45, 4, 3))
    assert shared.route == "plain"
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", ["residuals", "normal equations"])
def test_fits_without_a_fold_are_those_of_the_other_rows(form, intercept):
    rng = np.random.default_rng(0)
    X, Y, alpha = rng.normal(size=(12, 3)) + 1, rng.normal(size=(2, 12, 2)), 0.7
    folds = np.array([rng.permutation(np.arange(12) % 3 - 1) for _ in range(2)])  # -1 is never left out
    if form == "residuals":
        fits = LeftOutFits(residual_matrix(X, alpha, intercept)[0], None, None)
    else:
        fits, _ = _normal_equations(X, alpha, intercept)
    fitted, explained, _ = fits(Y, folds, 2)
    for labelling, fold in itertools.product(range(2), range(2)):
        out = folds[labelling] == fold
        model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X[~out], Y[labelling][~out])
        np.testing.assert_allclose(fitted[labelling][out], model.predict(X[out]))
        np.testing.assert_allclose(explained[labelling, fold], Y[labelling][~out].T @ model.predict(X[~out]))


def test_overlapping_folds_go_the_right_way():
    X, y = synthetic(40, 5, 2)
    shared, plain = both_routes(GaussianNB(), X, y, cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=0))
    assert shared.route == "shared moments"
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("learner", ["neighbours", "ridge", "discriminant", "naive Bayes"])
def test_a_class_that_is_missing_from_a_fold_changes_nothing(learner):
    X, _ = synthetic(24, 3, 2)
    y = np.array(["rare"] + ["usual"] * 12 + ["other"] * 11)
    with pytest.warns(UserWarning, match="least populated class"):
        shared, plain = both_routes(LEARNERS[learner], X, y, cv=StratifiedKFold(4))
    np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("learner", ["ridge", "discriminant"])
def test_collinear_and_constant_columns_change_nothing(learner):
    X, y = synthetic(50, 5, 2)
    for awkward in (X[:, [0]] + X[:, [1]], np.full((50, 1), 0.1), X[:, [0]] + 1e-7 * X[:, [1]]):
        shared, plain = both_routes(LEARNERS[learner], np.hstack([X, awkward]), y, cv=StratifiedKFold(5))
        np.testing.assert_array_equal(shared.null_errors, plain.null_errors)


@pytest.mark.parametrize("splitter", [StratifiedKFold(4), StratifiedKFold(7, shuffle=True, random_state=5)])
def test_folds_are_scikit_learns(splitter):
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.permutation(np.repeat([0, 1, 2], [8, 21, 14]))
        expected = np.empty(43, dtype=int)
        for number, (_, test) in enumerate(splitter.split(labels, labels)):
            expected[test] = number
        np.testing.assert_array_equal(stratified_folds(labels, 3, splitter), expected)


ROUTED = [
    KNeighborsClassifier(3),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    KNeighborsRegressor(3, weights="distance"),
    Ridge(),
    RidgePathRegressorCV([2.0]),
    RidgePathRegressorCV([2.0], with_std=True),
]
SPLITS = [
    KFold(3),
    LeaveOneOut(),
    GroupKFold(3),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
]
RNG = np.random.default_rng(0)
CLASSES = np.arange(24) % 3
TABLE = RNG.normal(size=(24, 4)) * [1, 2, 5, 0.1] + CLASSES[:, None] * [1, 0, 2, 0]
VALUES = TABLE[:, 0] + RNG.normal(size=24)


@pytest.mark.parametrize("scaled", [pytest.param(False, marks=pytest.mark.slow), True], ids=["bare", "scaled"])
@pytest.mark.parametrize(
    ("learner", "cv"),
    [
        (learner, cv)
        for learner in ROUTED
        for cv in SPLITS
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


@pytest.mark.parametrize("cv", [KFold(3), LeaveOneOut()], ids=str)
def test_curves_of_words_are_those_of_fits(cv):
    X = np.random.default_rng(1).poisson(np.exp(TABLE - TABLE.mean(axis=0)) % 3) * 1.0
    curves = []
    for shared in (True, False):
        repeats = folds_for(NaiveBayesText(), X, CLASSES, cv=cv, n_repeats=1, groups=None, random_state=0)
        job = Job(X, CLASSES, SelectKBest(k=2), NaiveBayesText(), (1, 2, 3), None, share_work=shared)
        curves.append(curve_of(scored_folds(repeats, job), repeats, learner=NaiveBayesText(), scoring=None))
    np.testing.assert_array_equal(curves[0].scores, curves[1].scores)
    assert "naive Bayes of occurrences" in curves[0].fast_route.reason


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
        (OptimalScoringLDA(), {}, "the closed form of OptimalScoringLDA does not cover collinear columns"),
        (OptimalScoringLDA(penalty=1.0), {}, "does not cover an estimator, a penalty or n_components"),
    ],
    ids=str,
)
def test_permutation_tests_say_why_they_fit(learner, options, reason):
    table = euclidean_distances(TABLE) if getattr(learner, "metric", None) == "precomputed" else TABLE
    y = VALUES if isinstance(learner, Ridge) else CLASSES
    options = {"n_permutations": 3, "n_repeats": 1, "significance_level": 0.3, "cv": 2, "random_state": 0, **options}
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
        permutation_test(
            LogisticRegression(), TABLE, CLASSES, n_permutations=2, n_repeats=1, significance_level=0.5, cv=2
        )
    curve, test = caplog.messages
    assert curve.startswith("The curve of 4 sizes on 3 folds will take about")
    assert test.startswith("The permutation test (2 permutations) will take about")


@pytest.mark.parametrize("what", ["curve", "test"])
def test_what_will_take_long_is_shown_beside_the_bar(what, capsys, monkeypatch):
    monkeypatch.setattr("fewer._estimators._closed_forms.SLOW", 0.0)
    monkeypatch.setenv("COLUMNS", "200")
    if what == "curve":
        selection_curve(SelectKBest(k=2), LogisticRegression(), TABLE, CLASSES, cv=3, progress=True, n_jobs=1)
    else:
        options = {"n_permutations": 2, "n_repeats": 1, "significance_level": 0.5, "cv": 2}
        permutation_test(LogisticRegression(), TABLE, CLASSES, progress=True, **options)
    assert "minutes: LogisticRegression has no closed form)" in capsys.readouterr().err
