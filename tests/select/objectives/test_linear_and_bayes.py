"""Objectives that are updated column by column: ridge, discriminants, distances, naive Bayes."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import LeaveOneOut, RepeatedKFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from fewer.select import (
    DiscriminantObjective,
    MahalanobisObjective,
    NaiveBayesObjective,
    RidgeObjective,
    SequentialSearch,
)
from tolerances import rounding

N_COLUMNS = 5


def table(n_classes, n_rows=24, seed=0):
    """Columns in very different units, far from zero, some of them correlated."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[:, 1] += classes
    X[:, 3] += 0.9 * X[:, 1]
    X = X * [0.01, 1.0, 10.0, 5.0, 100.0] + [0.0, 3.0, 50.0, 0.0, -20.0]
    numbers = X[:, 1] - 0.1 * X[:, 2] + rng.normal(size=n_rows)
    return X, np.array(["low", "middle", "high", "top"])[classes], numbers


def wandered(scorer, rng, n_moves=20):
    for _ in range(n_moves):
        outside = np.setdiff1d(np.arange(N_COLUMNS), scorer.subset)
        if len(outside) and (len(scorer.subset) < 2 or rng.random() < 0.5):
            scorer.add(int(rng.choice(outside)))
        else:
            scorer.remove(int(rng.choice(scorer.subset)))


def neighbours_of(scorer):
    """The subsets one column away, and their scores."""
    outside = np.setdiff1d(np.arange(N_COLUMNS), scorer.subset)
    inside = np.array(scorer.subset) if len(scorer.subset) > 1 else np.array([], dtype=int)
    subsets = [[*scorer.subset, column] for column in outside]
    subsets += [[kept for kept in scorer.subset if kept != column] for column in inside]
    added = scorer.score_added(outside) if len(outside) else []
    removed = scorer.score_removed(inside) if len(inside) else []
    return subsets, np.concatenate([added, removed])


MODELS = {
    "ridge regression": (RidgeObjective(alpha=2.0), Ridge(alpha=2.0), None),
    "least squares": (RidgeObjective(alpha=0), LinearRegression(), None),
    "ridge classifier, 2 classes": (RidgeObjective(), RidgeClassifier(), 2),
    "ridge classifier, 4 classes": (RidgeObjective(), RidgeClassifier(), 4),
    "discriminants, 2 classes": (DiscriminantObjective(), LinearDiscriminantAnalysis(), 2),
    "discriminants, 3 classes": (DiscriminantObjective(), LinearDiscriminantAnalysis(), 3),
    "naive Bayes, 3 classes": (NaiveBayesObjective(), GaussianNB(), 3),
    "naive Bayes, much smoothing": (NaiveBayesObjective(var_smoothing=0.1), GaussianNB(var_smoothing=0.1), 2),
}
FOLDS = {
    "leave-one-out": LeaveOneOut(),
    "stratified": 3,
    "rows that are never used": ShuffleSplit(3, train_size=0.5, test_size=0.3, random_state=1),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
}


@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("model", MODELS)
def test_scores_equal_those_of_scikit_learn_after_many_moves(model, folds):
    objective, learner, n_classes = MODELS[model]
    X, classes, numbers = table(n_classes or 2, n_rows=12 if folds == "leave-one-out" else 24)
    y = numbers if n_classes is None else classes
    cv = FOLDS[folds]
    splits = StratifiedKFold(3) if cv == 3 and n_classes else cv
    scoring = "neg_mean_squared_error" if n_classes is None else "accuracy"
    with clone(objective).set_params(cv=cv).start(X, y) as scorer:
        wandered(scorer, np.random.default_rng(len(model)))
        subsets, scores = neighbours_of(scorer)
    expected = [cross_val_score(learner, X[:, subset], y, cv=splits, scoring=scoring).mean() for subset in subsets]
    assert scores == pytest.approx(expected, rel=1e-9, abs=rounding(len(y)))


@pytest.mark.parametrize(
    "objective", [RidgeObjective(cv="loo"), DiscriminantObjective(cv=4), NaiveBayesObjective(cv=4)]
)
def test_a_thousand_moves_leave_no_trace(objective):
    X, y, _ = table(3, n_rows=40)
    rng = np.random.default_rng(1)
    with objective.start(X, y) as travelled, objective.start(X, y) as fresh:
        wandered(travelled, rng, 1000)
        travelled.move_to([])
        for column in (2, 4):
            travelled.add(column)
            fresh.add(column)
        others = np.array([0, 1, 3])
        assert np.array_equal(travelled.score_added(others), fresh.score_added(others))
        assert np.array_equal(travelled.score_removed(np.array([2, 4])), fresh.score_removed(np.array([2, 4])))


LEARNERS = {
    "ridge": (lambda cv: RidgeObjective(cv=cv), RidgeClassifier()),
    "discriminants": (lambda cv: DiscriminantObjective(cv=cv), LinearDiscriminantAnalysis()),
}


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_columns_that_others_determine_change_nothing(learner, cv):
    X, y, _ = table(2)
    X = np.column_stack([X, X[:, 1], X[:, 1] + X[:, 2], np.ones(len(X))])
    with LEARNERS[learner][0](cv).start(X, y) as scorer:
        scorer.move_to([1, 2])
        before = scorer.score()
        if learner == "discriminants":  # the ridge classifier does not mind a column twice, but it does not ignore it
            assert scorer.score_added(np.array([5, 6, 7])) == pytest.approx([before] * 3)
        for column in (5, 6, 7):
            scorer.add(column)
        scorer.remove(1)  # its copy takes over
        assert scorer.subset == [2, 5, 6, 7]
        with LEARNERS[learner][0](cv).start(X, y) as other:
            other.move_to([2, 5])
            same = other.score()
        if learner == "discriminants":
            assert scorer.score() == pytest.approx(same)
            assert scorer.score_removed(np.array([6, 7])) == pytest.approx([same, same])


def test_least_squares_without_the_only_row_of_a_level():
    # The third column is 1 in a single row: without that row, nothing is known of it, and it must not be used.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X[:, 2] = np.arange(20) == 4
    y = X[:, 0] + 0.3 * rng.normal(size=20)
    with RidgeObjective(alpha=0, cv="loo").start(X, y) as scorer:
        scorer.add(0)
        found = scorer.score_added(np.array([1, 2]))
        scorer.add(2)
        found_later = scorer.score_added(np.array([1]))
    learner, settings = LinearRegression(), {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    expected = [cross_val_score(learner, X[:, subset], y, **settings).mean() for subset in ([0, 1], [0, 2], [0, 1, 2])]
    assert [*found, *found_later] == pytest.approx(expected)


@pytest.mark.parametrize("objective", [RidgeObjective(), DiscriminantObjective(cv="loo"), NaiveBayesObjective(cv=3)])
def test_many_columns_of_few_rows_are_searched(objective):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 2000)).astype(np.float32)
    X[:, 77] += 4 * y
    search = SequentialSearch(objective, n_features_to_select=3).fit(X, y)
    assert search.history_[0].column == 77
    assert 0.9 < search.path_scores_[3] <= 1


@pytest.mark.parametrize("objective", [DiscriminantObjective(cv="loo"), DiscriminantObjective(cv=3)])
def test_discriminants_go_on_when_there_are_more_columns_than_rows(objective):
    rng = np.random.default_rng(0)
    y = np.arange(8) % 2
    X = rng.normal(size=(8, 10))
    forward = SequentialSearch(objective).fit(X, y)
    backward = SequentialSearch(objective, direction="backward", n_features_to_select=5).fit(X, y)
    assert len(forward.path_scores_) == 10
    assert all(0 <= score <= 1 for score in [*forward.path_scores_.values(), *backward.path_scores_.values()])


def test_two_classes_of_two_rows_are_enough_to_leave_one_out():
    with DiscriminantObjective(cv="loo").start(table(2, n_rows=4)[0], np.array([0, 0, 1, 1])) as scorer:
        assert 0 <= scorer.score_added(np.array([1]))[0] <= 1


def test_huge_and_tiny_numbers_make_no_difference_to_discriminants():
    X, y, _ = table(3)
    scales = np.array([1e200, 1e-200, 1.0, 1e-9, 1e30])
    plain = SequentialSearch(DiscriminantObjective(cv=3)).fit(X, y)
    scaled = SequentialSearch(DiscriminantObjective(cv=3)).fit(X * scales, y)
    assert plain.path_scores_ == scaled.path_scores_


def test_a_column_that_is_constant_within_classes_is_named():
    X, y, _ = table(2)
    X[:, 2] = y == "low"
    with pytest.warns(UserWarning, match="Column 2 is constant within every class"):
        DiscriminantObjective(cv=3).start(X, y)


def test_constant_columns_say_nothing():
    X, y, numbers = table(2, n_rows=25)
    X[:, [0, 4]] = 7.0
    share = np.mean([np.mean(y[test] == "low") for _, test in StratifiedKFold(5).split(X, y)])
    for objective in (DiscriminantObjective(), NaiveBayesObjective(), RidgeObjective(cv=5)):
        with objective.start(X, y) as scorer:
            assert scorer.score_added(np.array([0, 4])) == pytest.approx([share, share])
    with RidgeObjective(alpha=0, cv="loo").start(X, numbers) as scorer:
        mean_of_others = (numbers.sum() - numbers) / 24
        assert scorer.score_added(np.array([0])) == pytest.approx([-np.mean((numbers - mean_of_others) ** 2)])


def test_threads_do_not_change_naive_bayes():
    X, y, _ = table(3)
    candidates = np.arange(N_COLUMNS)
    with NaiveBayesObjective().start(X, y) as one, NaiveBayesObjective().start(X, y, n_jobs=2) as two:
        assert np.array_equal(one.score_added(candidates), two.score_added(candidates))


def test_integers_are_classes_unless_told_otherwise():
    X, _, _ = table(2)
    y = np.arange(24) % 4
    with RidgeObjective(task="regression").start(X, y) as scorer:
        assert scorer.score_added(np.array([0]))[0] < 0
    with RidgeObjective().start(X, y) as scorer:
        assert scorer.score_added(np.array([0]))[0] >= 0


@pytest.mark.parametrize(
    ("objective", "y", "message"),
    [
        (RidgeObjective(alpha=-1), np.arange(24) % 2, "alpha=-1 must not be negative"),
        (RidgeObjective(task="sorting"), np.arange(24) % 2, "'auto', 'classification' or 'regression'"),
        (RidgeObjective(), np.zeros(24, dtype=int), "one class only"),
        (DiscriminantObjective(), np.linspace(0, 1, 24), "DiscriminantObjective needs classes"),
        (DiscriminantObjective(cv="loo"), np.arange(24) == 3, "two classes of at least two rows"),
        (DiscriminantObjective(cv=[(np.arange(0, 24, 2), np.arange(1, 24, 2))]), np.arange(24) % 2, "one class only"),
        (NaiveBayesObjective(var_smoothing=-1), np.arange(24) % 2, "must not be negative"),
        (NaiveBayesObjective(), np.zeros((24, 2)), "several columns"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_words(objective, y, message):
    with pytest.raises(ValueError, match=message):
        objective.start(table(2)[0], y)


def class_table(n_classes=3, n_rows=40, n_columns=5):
    rng = np.random.default_rng(n_classes)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns)) + 100
    X[:, 1] += y
    return X, y


def textbook(X, y, reduced):
    classes = np.unique(y)
    means = [X[y == one].mean(axis=0) for one in classes]
    within = sum((X[y == one] - mean).T @ (X[y == one] - mean) for one, mean in zip(classes, means, strict=True))
    inverse = np.linalg.inv(within / (len(X) - len(classes)))
    return reduced([mahalanobis(a, b, inverse) ** 2 for a, b in combinations(means, 2)])


@pytest.mark.parametrize(("pairs", "reduced"), [("mean", np.mean), ("smallest", np.min)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_distances_are_those_of_the_textbook(pairs, reduced, n_classes):
    X, y = class_table(n_classes)
    with MahalanobisObjective(pairs).start(X, y) as scorer:
        scorer.move_to([4, 1, 2])
        added = scorer.score_added(np.array([0, 3]))
        removed = scorer.score_removed(np.array([4, 1, 2]))
    assert added == pytest.approx([textbook(X[:, [1, 2, 4, j]], y, reduced) for j in (0, 3)])
    assert removed == pytest.approx([textbook(X[:, pair], y, reduced) for pair in ([1, 2], [2, 4], [1, 4])])


def test_no_column_ever_makes_classes_closer():
    X, y = class_table()
    search = SequentialSearch(MahalanobisObjective("smallest")).fit(X, y)
    scores = list(search.path_scores_.values())
    assert scores == sorted(scores)


def test_a_column_twice_adds_nothing_and_its_copy_takes_over():
    X, y = class_table()
    X = np.column_stack([X, X[:, 1]])
    with MahalanobisObjective().start(X, y) as scorer:
        scorer.move_to([1, 3])
        alone = scorer.score()
        assert scorer.score_added(np.array([5]))[0] == pytest.approx(alone)
        scorer.add(5)
        assert scorer.score_removed(np.array([1, 5])) == pytest.approx([alone, alone])


def test_more_columns_than_rows_can_only_be_searched_forward():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 20)), np.arange(12) % 2
    assert SequentialSearch(MahalanobisObjective(), n_features_to_select=3).fit(X, y).get_support().sum() == 3
    with pytest.raises(ValueError, match="20 columns are too many to take away from"):
        SequentialSearch(MahalanobisObjective(), direction="backward", n_features_to_select=3).fit(X, y)


@pytest.mark.parametrize(
    ("objective", "y", "message"),
    [
        (MahalanobisObjective("largest"), np.arange(6) % 2, "'mean' or 'smallest'"),
        (MahalanobisObjective(), np.arange(6), "no class varies"),
        (MahalanobisObjective(), np.zeros(6), "one class only"),
    ],
)
def test_distances_that_cannot_be_measured_are_refused(objective, y, message):
    with pytest.raises(ValueError, match=message):
        objective.start(np.random.default_rng(0).normal(size=(6, 2)), y)
