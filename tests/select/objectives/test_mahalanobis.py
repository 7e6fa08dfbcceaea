"""Distances between classes: those of the textbook, and never less with a column more."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from fewer.select import MahalanobisObjective, SequentialSearch


def table(n_classes=3, n_rows=40, n_columns=5):
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
    X, y = table(n_classes)
    with MahalanobisObjective(pairs).start(X, y) as scorer:
        scorer.move_to([4, 1, 2])
        added = scorer.score_added(np.array([0, 3]))
        removed = scorer.score_removed(np.array([4, 1, 2]))
    assert added == pytest.approx([textbook(X[:, [1, 2, 4, j]], y, reduced) for j in (0, 3)])
    assert removed == pytest.approx([textbook(X[:, pair], y, reduced) for pair in ([1, 2], [2, 4], [1, 4])])


def test_no_column_ever_makes_classes_closer():
    X, y = table()
    search = SequentialSearch(MahalanobisObjective("smallest")).fit(X, y)
    scores = list(search.path_scores_.values())
    assert scores == sorted(scores)


def test_a_column_twice_adds_nothing_and_its_copy_takes_over():
    X, y = table()
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
def test_what_cannot_be_scored_is_refused_in_words(objective, y, message):
    with pytest.raises(ValueError, match=message):
        objective.start(np.random.default_rng(0).normal(size=(6, 2)), y)
