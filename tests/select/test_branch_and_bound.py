"""Branch and bound finds what the exhaustive search finds, with fewer evaluations."""

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
)


def classes(seed=0, n_columns=10, n_rows=80):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X[:, :4] += y[:, None] * rng.normal(size=4)
    return X, y


@pytest.mark.parametrize("size", [1, 2, pytest.param(5, marks=pytest.mark.slow), 9, 10])
@pytest.mark.parametrize("pairs", ["mean", "smallest"])
@pytest.mark.parametrize("seed", range(3))
def test_the_subset_is_that_of_the_exhaustive_search(size, pairs, seed):
    X, y = classes(seed)
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
    X, y = classes(n_columns=18, n_rows=200)
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
    X, y = classes()
    with pytest.raises(ValueError, match="may fall when a column is added"):
        BranchAndBoundSearch(objective, n_features_to_select=2).fit(X.round(), y)


def test_it_gives_up_at_the_limit_and_says_so():
    X, y = classes(n_columns=14)
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
    X, y = classes()
    search = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=4).set_callbacks(StopAtOnce()).fit(X, y)
    assert not search.complete_
    assert search.transform(X).shape == (80, 4)


def test_half_of_the_columns_are_kept_unless_told_otherwise():
    X, y = classes()
    assert BranchAndBoundSearch(MahalanobisObjective()).fit(X, y).get_support().sum() == 5
    assert BranchAndBoundSearch(MahalanobisObjective()).fit(X[:, :1], y).get_support().sum() == 1
