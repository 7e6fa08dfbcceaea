"""Filters for discrete columns: sums over groups of rows that agree, counted by hand."""

from collections import Counter, defaultdict
from itertools import combinations
from math import comb, factorial, log2, prod

import numpy as np
import pytest

from fewer.select import (
    ClassEntropyObjective,
    ConflictsObjective,
    DescriptionLengthObjective,
    InconsistencyObjective,
    SequentialSearch,
)


def groups_of(X, y):
    groups = defaultdict(list)
    for row, one in zip(X, y, strict=True):
        groups[tuple(row)].append(one)
    return list(groups.values())


def conflicts(X, y, n_columns):
    return -sum((X[i] == X[j]).all() and y[i] != y[j] for i, j in combinations(range(len(X)), 2))


def class_entropy(X, y, n_columns):
    return sum(
        len(group) / len(y) * sum(m / len(group) * log2(m / len(group)) for m in Counter(group).values())
        for group in groups_of(X, y)
    )


def inconsistency(X, y, n_columns):
    return -sum(len(group) - max(Counter(group).values()) for group in groups_of(X, y)) / len(y)


def description_length(X, y, n_columns):
    n_classes = len(set(y))
    bits = log2(n_columns + 1) + log2(comb(n_columns, X.shape[1]))
    for group in groups_of(X, y):
        arrangements = factorial(len(group)) // prod(factorial(m) for m in Counter(group).values())
        bits += log2(comb(len(group) + n_classes - 1, n_classes - 1)) + log2(arrangements)
    return -bits


BY_HAND = {
    ConflictsObjective: conflicts,
    ClassEntropyObjective: class_entropy,
    InconsistencyObjective: inconsistency,
    DescriptionLengthObjective: description_length,
}


def table(seed=0, n_rows=60, n_columns=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [2, 3, 2, 5, 2, 1], size=(n_rows, n_columns)).astype(float)
    y = np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1]).astype(int) % 3]
    y[:5] = "c"
    return X, y


@pytest.mark.parametrize("objective", BY_HAND)
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_counted_by_hand_after_many_moves(objective, seed):
    X, y = table(seed)
    rng = np.random.default_rng(seed)
    with objective().start(X, y) as scorer:
        for _ in range(8):
            outside = np.setdiff1d(np.arange(6), scorer.subset)
            if len(outside) and (len(scorer.subset) < 2 or rng.random() < 0.6):
                scorer.add(int(rng.choice(outside)))
            else:
                scorer.remove(int(rng.choice(scorer.subset)))
            outside, inside = np.setdiff1d(np.arange(6), scorer.subset), np.array(scorer.subset)
            expected = [BY_HAND[objective](X[:, [*scorer.subset, j]], y, 6) for j in outside]
            assert (scorer.score_added(outside) if len(outside) else []) == pytest.approx(expected)
            expected = [BY_HAND[objective](X[:, [k for k in inside if k != j]], y, 6) for j in inside]
            assert scorer.score_removed(inside) == pytest.approx(expected)


@pytest.mark.parametrize("objective", [ConflictsObjective(), ClassEntropyObjective(), InconsistencyObjective()])
def test_what_says_that_it_never_falls_does_not(objective):
    assert objective.monotone
    X, y = table()
    for direction in ("forward", "backward"):
        scores = list(SequentialSearch(objective, direction=direction).fit(X, y).path_scores_.values())
        assert scores == sorted(scores)


def test_a_table_that_is_too_fine_costs_more_than_it_says():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(120, 8))
    y = X[:, 3] > 0
    assert SequentialSearch(DescriptionLengthObjective()).fit(X, y).subset_path_[1] == (3,)
    assert SequentialSearch(DescriptionLengthObjective()).fit(X, y).n_features_to_select_ == 1


def test_a_missing_value_is_a_value_of_its_own():
    X = np.array([[np.nan], [np.nan], [1.0], [1.0]])
    with ConflictsObjective().start(X, [0, 0, 1, 1]) as scorer:
        assert scorer.score_added(np.array([0])) == [0.0]
    search = SequentialSearch("conflicts").fit(np.tile(X, 2), [0, 0, 1, 1])
    assert search.path_scores_[1] == 0


def test_numbers_with_many_digits_get_a_hint():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(UserWarning, match="Column 0 has 30 different values in 30 rows .* bin such columns"):
        ConflictsObjective().start(X, np.arange(30) % 2)


def test_threads_do_not_change_scores():
    X, y = table()
    with ClassEntropyObjective().start(X, y) as one, ClassEntropyObjective().start(X, y, n_jobs=2) as two:
        assert np.array_equal(one.score_added(np.arange(6)), two.score_added(np.arange(6)))


def test_a_hundred_thousand_rows_do_not_overflow():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(100_000, 2)), np.arange(100_000) % 2
    with ConflictsObjective().start(X, y) as scorer:
        pairs = -scorer.score_added(np.array([0]))[0]
    zeros, ones = X[:, 0] == 0, X[:, 0] == 1
    assert pairs == sum(int((y[part] == 0).sum()) * int((y[part] == 1).sum()) for part in (zeros, ones))


def test_numbers_as_a_target_are_refused():
    with pytest.raises(ValueError, match="ConflictsObjective needs classes"):
        ConflictsObjective().start(np.zeros((4, 1)), [0.1, 0.2, 0.3, 0.4])
