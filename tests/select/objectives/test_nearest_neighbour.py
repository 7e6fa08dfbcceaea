"""Nearest neighbours as an objective: the same scores as from scratch, however the search came to its subset."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedStratifiedKFold, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from fewer.select import NearestNeighbourObjective
from tolerances import rounding


def exact_accuracy(X, y, splits):
    """Mean accuracy of the nearest row, by distances with a single rounding; of equals the first row."""

    def nearest(query, train):
        return min(train, key=lambda row: math.fsum((X[query] - X[row]) ** 2))

    return np.mean(
        [np.mean([y[nearest(query, sorted(train))] == y[query] for query in test]) for train, test in splits]
    )


def two_classes(n_rows=40, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1] += y
    return X, np.array(["low", "middle", "high"])[y]


def wandered(scorer, rng, n_columns, n_moves):
    """Add and remove columns at random."""
    for _ in range(n_moves):
        outside = np.setdiff1d(np.arange(n_columns), scorer.subset)
        if len(outside) and (len(scorer.subset) < 2 or rng.random() < 0.5):
            scorer.add(int(rng.choice(outside)))
        else:
            scorer.remove(int(rng.choice(scorer.subset)))


TABLES = {
    "continuous": lambda rng: rng.normal(size=(30, 5)),
    "binary, so that most distances are equal": lambda rng: rng.integers(0, 2, size=(30, 5)).astype(float),
    "standardised binary": lambda rng: (lambda X: (X - X.mean(0)) / X.std(0))(rng.integers(0, 2, size=(30, 5)) * 1.0),
    "one decimal": lambda rng: rng.normal(size=(30, 5)).round(1),
    "far from zero": lambda rng: 1e7 + rng.normal(size=(30, 5)),
    "very different units": lambda rng: rng.normal(size=(30, 5)) * [1e-9, 1e-3, 1.0, 1e5, 1e9],
    "huge numbers": lambda rng: rng.normal(size=(30, 5)) * 1e200,
    "constant columns": lambda rng: rng.normal(size=(30, 5)) * [0.0, 1.0, 0.0, 0.0, 1.0],
    "repeated rows": lambda rng: rng.normal(size=(10, 5))[rng.integers(0, 10, size=30)],
}


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("table", TABLES)
def test_scores_are_those_of_exact_arithmetic_after_many_moves(table, cv):
    rng = np.random.default_rng(0)
    X, y = TABLES[table](rng), rng.integers(0, 2, size=30)
    folds = LeaveOneOut() if cv == "loo" else KFold(cv)
    splits = list(folds.split(X))
    without_overflow = np.ldexp(X, -int(np.frexp(np.abs(X).max())[1]))
    with NearestNeighbourObjective(cv=folds).start(X, y) as scorer:
        for _ in range(2):
            wandered(scorer, rng, 5, n_moves=25)
            outside = np.setdiff1d(np.arange(5), scorer.subset)
            for columns, scores in [
                ([[*scorer.subset, column] for column in outside], scorer.score_added(outside)),
                (
                    [[kept for kept in scorer.subset if kept != column] for column in scorer.subset],
                    scorer.score_removed(np.array(scorer.subset)),
                ),
            ]:
                expected = [exact_accuracy(without_overflow[:, subset], y, splits) for subset in columns if subset]
                assert scores[: len(expected)] == pytest.approx(expected, abs=rounding(30))


def test_a_thousand_moves_leave_no_trace():
    X, y = two_classes(n_rows=50, n_columns=8)
    X *= 10.0 ** np.arange(-4, 4)
    rng = np.random.default_rng(1)
    objective = NearestNeighbourObjective(n_neighbors=3)
    with objective.start(X, y) as travelled, objective.start(X, y) as fresh:
        wandered(travelled, rng, 8, n_moves=1000)
        travelled.move_to([2, 5])
        fresh.move_to([2, 5])
        assert np.array_equal(travelled._high, fresh._high)
        others = np.array([0, 1, 3, 4, 6, 7])
        assert np.array_equal(travelled.score_added(others), fresh.score_added(others))


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
@pytest.mark.parametrize("cv", [5, KFold(3), ShuffleSplit(4, random_state=0), RepeatedStratifiedKFold(n_repeats=2)])
def test_scores_equal_those_of_scikit_learn(n_neighbors, cv):
    X, y = two_classes(n_rows=60)
    cv = list(cv.split(X, y)) if not isinstance(cv, int) else cv
    with NearestNeighbourObjective(n_neighbors, cv=cv).start(X, y) as scorer:
        scorer.add(1)
        scores = scorer.score_added(np.array([0, 2, 3]))
    learner = KNeighborsClassifier(n_neighbors)
    assert np.array_equal(scores, [cross_val_score(learner, X[:, [1, j]], y, cv=cv).mean() for j in (0, 2, 3)])


@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_numbers_are_predicted_by_the_mean_of_the_neighbours(n_neighbors):
    X, _ = two_classes(n_rows=60)
    y = X[:, 0] - X[:, 2] ** 2
    with NearestNeighbourObjective(n_neighbors, cv=5).start(X, y) as scorer:
        scorer.add(0)
        scores = scorer.score_added(np.array([1, 2]))
    learner = KNeighborsRegressor(n_neighbors)
    expected = [
        cross_val_score(learner, X[:, [0, j]], y, cv=5, scoring="neg_mean_squared_error").mean() for j in (1, 2)
    ]
    assert scores == pytest.approx(expected, abs=rounding(60, scale=(y**2).max()))
    assert scores[1] > scores[0]


def test_threads_do_not_change_scores():
    X, y = two_classes(n_columns=11)
    candidates = np.arange(11)
    with NearestNeighbourObjective().start(X, y) as one, NearestNeighbourObjective().start(X, y, n_jobs=2) as two:
        assert np.array_equal(one.score_added(candidates), two.score_added(candidates))


def test_the_objective_is_cloned_and_set_like_an_estimator():
    objective = NearestNeighbourObjective(3, cv=KFold(4))
    copy = clone(objective)
    assert copy is not objective
    assert copy.get_params() == {"n_neighbors": 3, "cv": copy.cv, "task": "auto"}
    assert copy.set_params(n_neighbors=5).n_neighbors == 5
    with pytest.raises(ValueError, match="no parameter 'k'; it has n_neighbors"):
        copy.set_params(k=2)


def test_integers_are_classes_unless_told_otherwise():
    X, _ = two_classes()
    y = np.arange(40) % 4
    with NearestNeighbourObjective().start(X, y) as as_classes:
        assert 0 <= as_classes.score_added(np.array([0]))[0] <= 1
    with NearestNeighbourObjective(task="regression").start(X, y) as as_numbers:
        assert as_numbers.score_added(np.array([0]))[0] < 0


@pytest.mark.parametrize(
    ("objective", "y", "message"),
    [
        (NearestNeighbourObjective(50), np.arange(40) % 2, "between 1 and 39"),
        (NearestNeighbourObjective(0), np.arange(40) % 2, "between 1 and 39"),
        (NearestNeighbourObjective(task="sorting"), np.arange(40) % 2, "'auto', 'classification' or 'regression'"),
        (NearestNeighbourObjective(), np.zeros(40, dtype=int), "one class only"),
        (NearestNeighbourObjective(), np.zeros((40, 2)), "several columns"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_words(objective, y, message):
    with pytest.raises(ValueError, match=message):
        objective.start(two_classes()[0], y)
