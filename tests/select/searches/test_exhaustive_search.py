"""All subsets, and branch and bound, which skips those that cannot be the best."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from fewer.select import (
    BranchAndBoundSearch,
    ClassEntropyObjective,
    ConflictsObjective,
    DescriptionLengthObjective,
    ExhaustiveSearch,
    InconsistencyObjective,
    MahalanobisObjective,
    NearestNeighbourObjective,
    SequentialSearch,
)


def classes(n_columns=6):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = rng.normal(size=(40, n_columns))
    X[:, 2] += y
    return X, y


def test_the_best_subset_of_each_size_is_found():
    X, y = classes()
    search = ExhaustiveSearch(NearestNeighbourObjective()).fit(X, y)
    with NearestNeighbourObjective().start(X, y) as scorer:
        for size in range(1, 7):
            scores = {}
            for subset in combinations(range(6), size):
                scorer.move_to(subset)
                scores[subset] = scorer.score()
            first_best = max(scores, key=lambda subset: scores[subset])
            assert search.subset_path_[size] == first_best
            assert search.path_scores_[size] == scores[first_best]
    assert search.path_scores_[search.n_features_to_select_] == max(search.path_scores_.values())


def test_every_subset_is_scored_exactly_once():
    X, y = classes()
    seen = []

    def objective(columns, y):
        seen.append(tuple(columns[0]))
        return 0.0

    search = ExhaustiveSearch(objective, n_features_to_select=3).fit(X, y)
    assert len(seen) == len(set(seen)) == comb(6, 3) == search.n_evaluations_
    seen.clear()
    search = ExhaustiveSearch(objective).fit(X, y)
    assert len(seen) == len(set(seen)) == 2**6 - 1 == search.n_evaluations_


def test_no_sequential_search_does_better():
    X, y = classes()
    best = ExhaustiveSearch(NearestNeighbourObjective()).fit(X, y).path_scores_
    for direction in ("forward", "backward", "floating", "floating_backward"):
        found = SequentialSearch(NearestNeighbourObjective(), direction=direction).fit(X, y).path_scores_
        assert all(found[size] <= best[size] for size in found)


def test_columns_are_scored_by_the_best_subset_that_holds_them():
    values = np.array([0.1, 0.4, 0.2, 0.3])
    X = np.arange(4.0)[None, :] + np.zeros((5, 1))
    search = ExhaustiveSearch(lambda S, y: values[S[0].astype(int)].sum(), n_features_to_select=2).fit(X)
    assert search.scores_ == pytest.approx([0.5, 0.7, 0.6, 0.7])
    assert search.ranking_.tolist() == [4, 1, 3, 2]


@pytest.mark.parametrize(
    ("n_columns", "size", "message"),
    [
        (100, 10, r"n_features=100 has 1\.73e\+13 subsets of 10 columns, more than limit=100,000"),
        (20, 10, "n_features=20 has 184,756 subsets of 10 columns"),
        (17, "best", "n_features=17 has 131,071 subsets of any size"),
        (2000, "best", "more than 1e300 subsets"),
    ],
)
def test_too_many_subsets_are_refused_before_any_is_scored(n_columns, size, message):
    X = np.random.default_rng(0).normal(size=(10, n_columns))
    with pytest.raises(ValueError, match=message):
        ExhaustiveSearch(lambda S, y: pytest.fail("scored"), n_features_to_select=size).fit(X)


def test_more_columns_than_there_are_means_all_with_a_warning():
    with pytest.warns(UserWarning, match="n_features_to_select=6 columns are asked for, and the table has 4"):
        search = ExhaustiveSearch(lambda S, y: 1.0, n_features_to_select=6).fit(np.eye(4))
    assert (search.n_evaluations_, search.n_features_to_select_) == (1, 4)


def test_an_objective_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="not a number for columns"):
        ExhaustiveSearch(lambda S, y: np.nan, n_features_to_select=2).fit(np.eye(4))


class StopAfter:
    """A callback that stops the fit after some steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps
        self.seen = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.parent is None:
            return False
        self.seen.append(fitted_estimator.path_scores_)
        return len(self.seen) >= self.n_steps


def test_a_callback_stops_the_search_and_keeps_what_there_is():
    X, y = classes()
    watch, stop = StopAfter(10**6), StopAfter(4)
    search = ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=4)
    search.set_callbacks(watch).fit(X, y)
    assert len(watch.seen) == comb(4, 2)  # the first two of four columns
    stopped = ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=4).set_callbacks(stop).fit(X, y)
    assert len(stop.seen) == 4
    assert stopped.n_evaluations_ < search.n_evaluations_
    assert stopped.transform(X).shape == (40, 4)


def test_sizes_may_be_limited():
    X, y = classes(n_columns=40)
    search = ExhaustiveSearch(NearestNeighbourObjective(), max_features=2).fit(X, y)
    assert search.n_evaluations_ == 40 + comb(40, 2)
    with pytest.raises(ValueError, match="subsets of up to 5 columns, more than limit"):
        ExhaustiveSearch(NearestNeighbourObjective(), max_features=5).fit(X, y)


def test_the_history_tells_every_improvement():
    X, y = classes()
    search = ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=3).fit(X, y)
    scores = [step.score for step in search.history_]
    assert scores == sorted(set(scores))
    assert scores[-1] == search.path_scores_[3]


def class_table(seed=0, n_columns=10, n_rows=80):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X[:, :4] += y[:, None] * rng.normal(size=4)
    return X, y


@pytest.mark.parametrize("size", [1, 2, pytest.param(5, marks=pytest.mark.slow), 9, 10])
@pytest.mark.parametrize("pairs", ["mean", "smallest"])
@pytest.mark.parametrize("seed", range(3))
def test_the_subset_is_that_of_the_exhaustive_search(size, pairs, seed):
    X, y = class_table(seed)
    objective = MahalanobisObjective(pairs)
    every = ExhaustiveSearch(objective, n_features_to_select=size).fit(X, y)
    bounded = BranchAndBoundSearch(objective, n_features_to_select=size).fit(X, y)
    assert bounded.subset_path_ == every.subset_path_
    assert bounded.path_scores_[size] == pytest.approx(every.path_scores_[size])
    assert bounded.complete_


@pytest.mark.parametrize("objective", [ConflictsObjective(), ClassEntropyObjective(), InconsistencyObjective()])
@pytest.mark.parametrize("size", [2, 4])
def test_discrete_filters_reach_the_highest_value(objective, size):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 8))
    y = (X[:, 1] & X[:, 2]) | X[:, 5]
    every = ExhaustiveSearch(objective, n_features_to_select=size).fit(X, y)
    bounded = BranchAndBoundSearch(objective, n_features_to_select=size).fit(X, y)
    assert bounded.path_scores_[size] == pytest.approx(every.path_scores_[size])


def test_it_scores_a_small_part_of_all_subsets():
    X, y = class_table(n_columns=18, n_rows=200)
    search = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=8).fit(X, y)
    assert search.n_evaluations_ < comb(18, 8) / 10


def test_every_subset_is_met_once_when_nothing_can_be_cut():
    X = np.arange(6.0)[None, :] + np.zeros((5, 1))
    seen = []

    class Counted(MahalanobisObjective):
        def start(self, X, y, **options):
            from fewer.select import PlainScorer

            # J of the wanted size rises with every new subset, and all larger sets have more: no branch is ever cut.
            def scores_of(subsets):
                seen.extend(subset for subset in subsets if len(subset) == 3)
                return [float(len(seen)) if len(subset) == 3 else 1e6 * len(subset) for subset in subsets]

            return PlainScorer(scores_of)

    BranchAndBoundSearch(Counted(), n_features_to_select=3).fit(X, [0, 1, 0, 1, 0])
    assert len(seen) == len(set(seen)) == comb(6, 3)


@pytest.mark.parametrize("objective", [NearestNeighbourObjective(), DescriptionLengthObjective(), GaussianNB()])
def test_objectives_that_may_fall_are_refused(objective):
    X, y = class_table()
    with pytest.raises(ValueError, match="may fall when a column is added"):
        BranchAndBoundSearch(objective, n_features_to_select=2).fit(X.round(), y)


def test_it_gives_up_at_the_limit_and_says_so():
    X, y = class_table(n_columns=14)
    with pytest.warns(ConvergenceWarning, match=r"gave up after \d+ evaluations \(limit=20\)"):
        search = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=6, limit=20).fit(X, y)
    assert not search.complete_
    assert search.get_support().sum() == 6


class StopAtOnce:
    """A callback that stops the fit at the first step."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        return context.parent is not None and fitted_estimator.get_support().sum() == 4


def test_a_callback_stops_it_and_keeps_what_there_is():
    X, y = class_table()
    search = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=4).set_callbacks(StopAtOnce()).fit(X, y)
    assert not search.complete_
    assert search.transform(X).shape == (80, 4)


def test_half_of_the_columns_are_kept_unless_told_otherwise():
    X, y = class_table()
    assert BranchAndBoundSearch(MahalanobisObjective()).fit(X, y).get_support().sum() == 5
    assert BranchAndBoundSearch(MahalanobisObjective()).fit(X[:, :1], y).get_support().sum() == 1
