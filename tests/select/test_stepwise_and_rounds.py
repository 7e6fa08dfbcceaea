"""Stepwise searches and rounds of additions and removals: what they visit, what they keep, when they stop."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from fewer.select import ConflictsObjective, DiscriminantObjective, NearestNeighbourObjective, SequentialSearch

NAMED = np.arange(4.0)[None, :] + np.zeros((5, 1))


def table_of_scores(values):
    """An objective by a table: columns are told apart by their first entry."""
    return lambda X, y: values[frozenset(int(number) for number in X[0])]


# Forward goes 0, 01, 012; but 12 beats both of the latter, and 123 beats all.
SCORES = {frozenset(subset): 0.1 * len(subset) for size in range(1, 5) for subset in combinations(range(4), size)} | {
    frozenset([0]): 0.5,
    frozenset([0, 1]): 0.6,
    frozenset([0, 1, 2]): 0.7,
    frozenset([1, 2]): 0.75,
    frozenset([1, 2, 3]): 0.9,
    frozenset([0, 1, 2, 3]): 0.65,
}


def steps(search):
    return [(step.action, step.column) for step in search.history_]


def classes(seed=0, n_columns=8):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X, y


def test_a_stepwise_search_takes_the_best_of_all_neighbours():
    search = SequentialSearch(table_of_scores(SCORES), direction="forward_stepwise").fit(NAMED)
    assert steps(search) == [("added", 0), ("added", 1), ("added", 2), ("removed", 0), ("added", 3)]
    assert search.get_support().tolist() == [False, True, True, True]


def test_a_stepwise_search_stops_where_no_neighbour_is_better():
    scores = SCORES | {frozenset([1, 2]): 0.65}
    search = SequentialSearch(table_of_scores(scores), direction="forward_stepwise").fit(NAMED)
    assert steps(search) == [("added", 0), ("added", 1), ("added", 2)]
    backward = SequentialSearch(table_of_scores(SCORES), direction="backward_stepwise").fit(NAMED)
    assert steps(backward) == [("started", None), ("removed", 0)]
    assert backward.get_support().tolist() == [False, True, True, True]


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise"])
@pytest.mark.parametrize("seed", range(4))
def test_no_single_column_improves_the_end_of_a_stepwise_search(direction, seed):
    X, y = classes(seed)
    objective = NearestNeighbourObjective()
    search = SequentialSearch(objective, direction=direction).fit(X, y)
    inside = search.get_support(indices=True)
    outside = np.setdiff1d(np.arange(8), inside)
    best = search.path_scores_[len(inside)]
    with objective.start(X, y) as scorer:
        scorer.move_to(inside)
        assert scorer.score() == best == max(search.path_scores_.values())
        assert (scorer.score_added(outside) <= best).all()
        assert len(inside) == 1 or (scorer.score_removed(inside) < best).all()  # equal would have been removed


def test_a_removal_that_costs_nothing_is_taken():
    search = SequentialSearch(lambda X, y: 1.0, direction="backward_stepwise").fit(NAMED)
    assert search.get_support().sum() == 1
    X = np.random.default_rng(0).integers(0, 2, size=(100, 6))
    found = SequentialSearch(ConflictsObjective(), direction="backward_stepwise").fit(X, X[:, 1] & X[:, 4])
    assert found.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise"])
def test_a_stepwise_search_keeps_at_most_as_many_as_it_is_told(direction):
    X, y = classes()
    for most in (1, 3):
        search = SequentialSearch(NearestNeighbourObjective(), direction=direction, n_features_to_select=most).fit(X, y)
        assert 1 <= search.get_support().sum() <= most


def test_a_stepwise_search_that_may_lose_is_refused():
    with pytest.raises(ValueError, match=r"tol=-0\.1 is negative"):
        SequentialSearch(lambda X, y: 1.0, direction="forward_stepwise", tol=-0.1).fit(NAMED)
    search = SequentialSearch(table_of_scores(SCORES), direction="forward_stepwise", tol=0.2).fit(NAMED)
    assert steps(search) == [("added", 0)]


def test_rounds_add_and_remove():
    search = SequentialSearch(table_of_scores(SCORES), direction="plus_minus", n_features_to_select=2).fit(NAMED)
    # The best single column was only needed to get to the pair, and is dropped in the end.
    assert steps(search) == [("added", 0), ("added", 1), ("removed", 1), ("added", 1), ("added", 2), ("removed", 0)]
    assert search.get_support().tolist() == [False, True, True, False]
    backward = SequentialSearch(
        table_of_scores(SCORES), direction="plus_minus", plus=1, minus=2, n_features_to_select=3
    ).fit(NAMED)
    assert steps(backward) == [("started", None), ("removed", 0), ("removed", 3), ("added", 3)]


@pytest.mark.parametrize(("plus", "minus"), [(2, 1), (5, 4), (3, 1), (1, 2), (1, 4), (3, 4)])
@pytest.mark.parametrize("size", [1, 3, 7, 8, None])
def test_rounds_of_any_length_arrive(plus, minus, size):
    X, y = classes()
    search = SequentialSearch(
        DiscriminantObjective(cv=3), direction="plus_minus", plus=plus, minus=minus, n_features_to_select=size
    ).fit(X, y)
    assert search.get_support().sum() == (search.n_features_to_select_ if size is None else size)
    assert sorted(search.ranking_) == list(range(1, 9))
    sizes = [step.size for step in search.history_]
    assert all(abs(after - before) == 1 for before, after in pairwise(sizes))
    for step in search.history_:
        assert search.path_scores_[step.size] >= step.score


def test_rounds_that_lead_nowhere_are_refused():
    with pytest.raises(ValueError, match="plus=2 and minus=2 are equal"):
        SequentialSearch(lambda X, y: 1.0, direction="plus_minus", minus=2).fit(NAMED)


def test_rounds_stop_when_they_gain_too_little():
    gains = [0.5, 0.3, 0.05, 0.01, 0.0]
    named = np.arange(5.0)[None, :] + np.zeros((5, 1))
    search = SequentialSearch(lambda X, y: sum(gains[int(n)] for n in X[0]), direction="plus_minus", tol=0.1).fit(named)
    assert [step.size for step in search.history_] == [1, 2, 1, 2, 3, 2, 3, 4, 3]
    assert search.get_support().tolist() == [True, True, True, True, False]  # the best subset on the way


@pytest.mark.parametrize(
    ("direction", "kept"),
    [
        ("forward", [0, 1]),
        ("backward", [0, 1]),
        ("floating", [0, 1]),
        ("forward_stepwise", [0, 1]),
        ("plus_minus", [0, 1]),
    ],
)
def test_a_search_ends_with_the_smallest_subset_that_is_good_enough(direction, kept):
    gains = [0.5, 0.3, 0.15, 0.05]

    def total(X, y):
        return sum(gains[int(n)] for n in X[0])

    search = SequentialSearch(total, direction=direction, target_score=0.75).fit(NAMED)
    assert search.get_support(indices=True).tolist() == kept
    never = SequentialSearch(total, direction=direction, target_score=7.0).fit(NAMED)
    assert never.get_support().all()


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise", "plus_minus"])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_tables_with_hardly_any_column(direction, n_columns):
    X, y = classes(n_columns=8)
    search = SequentialSearch(NearestNeighbourObjective(), direction=direction).fit(X[:, :n_columns], y)
    assert 1 <= search.get_support().sum() <= n_columns
