"""An estimator with a closed form gets the scores and the columns that fits would give; others say why they do not."""

import logging

import numpy as np
import pytest
from sklearn.callback import ProgressBar
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from fewer.extract import OptimalScoringLDA, RegularizedFisher
from fewer.learn import NaiveBayesText, RidgePathRegressorCV
from fewer.select import CrossValidatedScore, ExhaustiveSearch, FastRoute, SequentialSearch
from tolerances import rounding

N_ROWS, N_COLUMNS = 36, 5
GROUPS = np.arange(N_ROWS) // 4

CLASSIFIERS = {
    "nearest": KNeighborsClassifier(1),
    "4 neighbours by distance": KNeighborsClassifier(4, weights="distance"),
    "ridge": RidgeClassifier(0.5),
    "discriminants": LinearDiscriminantAnalysis(),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "optimal scoring": OptimalScoringLDA(),
    "Fisher": RegularizedFisher(alpha=0.0, decision_rule="gaussian"),
}
REGRESSORS = {
    "nearest": KNeighborsRegressor(1),
    "4 neighbours by distance": KNeighborsRegressor(4, weights="distance"),
    "ridge": Ridge(0.5),
    "ridge path of one penalty": RidgePathRegressorCV([0.5]),
    "ridge path with deviations": RidgePathRegressorCV([0.5], with_std=True),
}
FOLDS = {
    "folds": KFold(4, shuffle=True, random_state=0),
    "leave-one-out": LeaveOneOut(),
    "groups": GroupKFold(3),
    "repeats": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
}


# Each learner with each kind of folds; of scaling and scores, the two mixed pairs are slow.
PREPARED_AND_SCORED = [
    pytest.param(False, False, id="bare"),
    pytest.param(True, True, id="scaled, other score"),
    pytest.param(True, False, id="scaled", marks=pytest.mark.slow),
    pytest.param(False, True, id="other score", marks=pytest.mark.slow),
]


def table(n_classes=3, seed=0):
    """Columns in different units, far from zero, some correlated."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(N_ROWS) % n_classes)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    X[:, 1] += classes
    X[:, 3] += 0.9 * X[:, 1]
    X = X * [0.1, 1.0, 3.0, 2.0, 10.0] + [0.0, 3.0, 50.0, 0.0, -20.0]
    return X, np.array(["low", "middle", "high"])[classes], X[:, 1] - 0.3 * X[:, 2] + rng.normal(size=N_ROWS)


def both_ways(estimator, X, y, *, cv, scoring=None, groups=None, **options):
    """The search by the closed form, and the one by fits."""
    objectives = [CrossValidatedScore(estimator, cv, scoring, share_work=shared) for shared in (True, False)]
    return [SequentialSearch(objective, **options).fit(X, y, groups=groups) for objective in objectives]


def assert_same(fast, plain, scale=1.0):
    assert fast.fast_route_.taken
    assert not plain.fast_route_.taken
    assert fast.subset_path_ == plain.subset_path_
    tolerance = rounding(N_ROWS, scale=scale, condition=1e4)
    assert list(fast.path_scores_.values()) == pytest.approx(list(plain.path_scores_.values()), rel=1e-9, abs=tolerance)


@pytest.mark.parametrize(("scaled", "other_score"), PREPARED_AND_SCORED)
@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("learner", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore:A single label was found", "ignore:y_pred contains classes not in y_true")
@pytest.mark.filterwarnings("ignore:The regression fits the classes exactly")
def test_classifiers_are_scored_as_if_they_were_fitted(learner, scaled, folds, other_score):
    X, y, _ = table()
    scoring = "balanced_accuracy" if other_score else None
    estimator = make_pipeline(StandardScaler(), CLASSIFIERS[learner]) if scaled else CLASSIFIERS[learner]
    if folds == "leave-one-out":
        found = both_ways(estimator, X[:12], y[:12], cv=FOLDS[folds], scoring=scoring, n_features_to_select=2)
    else:
        options = {"direction": "backward", "n_features_to_select": 3}
        found = both_ways(estimator, X, y, cv=FOLDS[folds], scoring=scoring, groups=GROUPS, **options)
    assert_same(*found)


@pytest.mark.parametrize(("scaled", "other_score"), PREPARED_AND_SCORED)
@pytest.mark.parametrize("folds", ["folds", "leave-one-out", "groups"])
@pytest.mark.parametrize("learner", REGRESSORS)
def test_regressors_are_scored_as_if_they_were_fitted(learner, scaled, folds, other_score):
    X, _, y = table()
    scoring = "neg_mean_absolute_error" if other_score else None
    estimator = make_pipeline(StandardScaler(), REGRESSORS[learner]) if scaled else REGRESSORS[learner]
    if folds == "leave-one-out":
        X, y, scoring = X[:12], y[:12], scoring or "neg_root_mean_squared_error"  # one row has no R2
        found = both_ways(estimator, X, y, cv=FOLDS[folds], scoring=scoring, n_features_to_select=2)
    else:
        found = both_ways(estimator, X, y, cv=FOLDS[folds], scoring=scoring, direction="floating", groups=GROUPS)
    assert_same(*found, scale=np.abs(y).max())


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_scalers_of_every_kind_and_scorers_of_your_own(learner):
    X, y, _ = table()
    estimator = make_pipeline(RobustScaler(), MinMaxScaler((-1, 3)), "passthrough", CLASSIFIERS[learner])
    assert_same(*both_ways(estimator, X, y, cv=3, scoring=make_scorer(f1_score, average="macro")))


@pytest.mark.filterwarnings("ignore:Variables are collinear")
def test_collinear_columns_are_left_to_fits():
    X, y, _ = table()
    X = np.column_stack([X, X[:, 1] + X[:, 4], np.ones(N_ROWS)])
    for cv in (KFold(3), LeaveOneOut()):
        fast, plain = both_ways(LinearDiscriminantAnalysis(), X[:14], y[:14], cv=cv, direction="backward")
        assert_same(fast, plain)
        assert "subsets were fitted, for collinear or constant columns or class means" in fast.fast_route_.reason


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_directions_that_scikit_learn_drops_are_left_to_fits(direction):
    # One column gives a class away, by a million standard deviations: beside it, all other directions are dropped.
    X, y, _ = table()
    given_away = (y == "low") + 1e-6 * np.random.default_rng(1).normal(size=N_ROWS)
    fast, plain = both_ways(
        LinearDiscriminantAnalysis(), np.column_stack([X[:, :3], given_away]), y, cv=3, direction=direction
    )
    assert_same(fast, plain)
    assert "subsets were fitted" in fast.fast_route_.reason


@pytest.mark.filterwarnings("ignore:Variables are collinear", "ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("learner", CLASSIFIERS)
@pytest.mark.parametrize("scaled", [False, True], ids=["bare", "scaled"])
def test_constant_columns_and_more_columns_than_rows(learner, scaled):
    X, y, _ = table(2)
    X = np.column_stack([np.full(N_ROWS, 0.25), X, np.random.default_rng(1).normal(size=(N_ROWS, 3))])[:8]
    estimator = make_pipeline(StandardScaler(), CLASSIFIERS[learner]) if scaled else CLASSIFIERS[learner]
    fast, plain = both_ways(estimator, X, y[:8], cv=2, direction="backward", n_features_to_select=2)
    assert fast.path_scores_ == pytest.approx(plain.path_scores_)
    assert fast.subset_path_ == plain.subset_path_


def test_a_training_part_may_lack_a_class():
    X, y, _ = table()
    order = np.argsort(y, kind="stable")
    for learner in CLASSIFIERS.values():
        fast, plain = both_ways(learner, X[order], y[order], cv=KFold(3))
        assert_same(fast, plain)


def test_every_search_takes_the_closed_form():
    X, y, _ = table()
    fast, plain = (
        ExhaustiveSearch(CrossValidatedScore(GaussianNB(), 3, share_work=shared), n_features_to_select=2).fit(X, y)
        for shared in (True, False)
    )
    assert_same(fast, plain)
    assert fast.fast_route_ == FastRoute(True, "closed form of Gaussian naive Bayes")


class Derived(GaussianNB):
    """Does as it likes."""


@pytest.mark.parametrize(
    ("estimator", "options", "reason"),
    [
        (LogisticRegression(), {}, "LogisticRegression has no closed form"),
        (Derived(), {}, "Derived has no closed form"),
        (KNeighborsClassifier(p=1), {}, "distances other than the Euclidean"),
        (KNeighborsClassifier(weights=np.reciprocal), {}, "weights other than"),
        (KNeighborsClassifier(24), {"cv": 2}, "more than the 18 training rows"),
        (RidgeClassifier(solver="lsqr"), {}, "solver='lsqr'"),
        (RidgeClassifier(class_weight="balanced"), {}, "class_weight"),
        (RidgeClassifier(fit_intercept=False), {}, "fit_intercept=False"),
        (LinearDiscriminantAnalysis(solver="lsqr"), {}, "solvers other than 'svd'"),
        (GaussianNB(priors=[0.2, 0.3, 0.5]), {}, "priors of your own"),
        (make_pipeline(PowerTransformer(), GaussianNB()), {}, "the step PowerTransformer"),
        (GaussianNB(), {"scoring": "neg_log_loss"}, "scoring='neg_log_loss' needs more than predictions"),
    ],
    ids=str,
)
def test_what_is_not_covered_says_why(estimator, options, reason):
    X, y, _ = table()
    with CrossValidatedScore(estimator, **{"cv": 3, **options}).start(X, y) as scorer:
        assert not scorer.fast_route
        assert reason in scorer.fast_route.reason


def test_tables_that_are_not_covered_say_why():
    from scipy import sparse

    X, y, _ = table()
    found = SequentialSearch(RidgeClassifier(), n_features_to_select=1).fit(sparse.csr_array(X), y).fast_route_
    assert found == FastRoute(False, "closed forms are for dense tables, and X is sparse")


def test_fits_that_take_more_than_a_minute_are_announced(caplog, monkeypatch):
    X, y, _ = table()
    monkeypatch.setattr("fewer._estimators._closed_forms.SLOW", 0.0)
    with caplog.at_level(logging.WARNING, logger="fewer"):
        SequentialSearch(LogisticRegression(), n_features_to_select=2, cv=2).fit(X, y)
        SequentialSearch(GaussianNB(), n_features_to_select=2, cv=2).fit(X, y)
    (record,) = caplog.records
    assert "SequentialSearch (9 subsets) will take about" in record.message
    assert "LogisticRegression has no closed form" in record.message


def test_fits_that_take_more_than_a_minute_are_shown_below_the_bar(capsys, monkeypatch):
    X, y, _ = table()
    monkeypatch.setattr("fewer._estimators._closed_forms.SLOW", 0.0)
    monkeypatch.setenv("COLUMNS", "200")
    search = SequentialSearch(LogisticRegression(), n_features_to_select=2, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert "SequentialSearch - about 0 minutes: LogisticRegression has no closed form" in capsys.readouterr().out


@pytest.mark.parametrize("folds", ["folds", "leave-one-out", "groups"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_words_are_scored_as_if_they_were_fitted(direction, folds):
    rng = np.random.default_rng(0)
    codes = np.arange(N_ROWS) % 3
    X = rng.poisson(np.exp(rng.normal(size=(3, N_COLUMNS)) - 0.5)[codes]) * 1.0
    fast, plain = both_ways(NaiveBayesText(), X, codes, cv=FOLDS[folds], direction=direction, groups=GROUPS)
    assert_same(fast, plain)
    assert "closed form of naive Bayes of occurrences" in fast.fast_route_.reason


def test_negative_counts_and_scaled_words_are_left_to_fits():
    X, y, _ = table()
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        SequentialSearch(NaiveBayesText(), n_features_to_select=1, cv=3).fit(X - X.mean(axis=0), y)
    estimator = make_pipeline(MinMaxScaler(), NaiveBayesText())
    found = SequentialSearch(estimator, n_features_to_select=1, cv=3).fit(np.abs(X), y).fast_route_
    assert found == (False, "the closed form of naive Bayes of occurrences does not cover the step MinMaxScaler")
