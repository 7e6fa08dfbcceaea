"""All searches under one name: the same results as by their own names."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from fewer.evaluate import selection_curve
from fewer.select import (
    ConflictsObjective,
    ExhaustiveSearch,
    InconsistencyObjective,
    RandomMutationSearch,
    RandomSubsetSearch,
    RidgeObjective,
    SequentialSearch,
    SubsetSearch,
)


def classes(n_columns=7):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X, y


def parity(n_columns=10):
    X = np.random.default_rng(1).integers(0, 2, size=(200, n_columns))
    return X, X[:, 0] ^ X[:, 5]


RIDGE = RidgeObjective(cv=4)


@pytest.mark.parametrize(
    "direction",
    ["forward", "backward", "floating", "floating_backward", "forward_stepwise", "backward_stepwise", "plus_minus"],
)
def test_sequential_strategies_are_those_of_sequential_search(direction):
    X, y = classes()
    named = SequentialSearch(RIDGE, direction=direction, n_features_to_select=3).fit(X, y)
    search = SubsetSearch(RIDGE, direction, max_features=3).fit(X, y)
    assert search.history_ == named.history_
    assert np.array_equal(search.ranking_, named.ranking_)
    assert np.array_equal(search.get_support(), named.get_support())


def test_random_strategies_are_those_of_their_own_searches():
    X, y = classes()
    mutation = RandomMutationSearch(RIDGE, n_iter=25, random_state=4).fit(X, y)
    assert SubsetSearch(RIDGE, "random_mutation", n_iter=25, random_state=4).fit(X, y).history_ == mutation.history_
    X, y = parity()
    subsets = RandomSubsetSearch(InconsistencyObjective(), enough=0.0, random_state=4).fit(X, y)
    assert SubsetSearch("inconsistency_rate", "lvf", random_state=4).fit(X, y).history_ == subsets.history_


def test_focus_is_the_exhaustive_search_that_stops_when_it_is_enough():
    X, y = parity(n_columns=30)  # far too many for all subsets, and no trouble for those of one and two columns
    search = SubsetSearch("conflicts", "focus").fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    assert search.n_evaluations_ == 30 + 30 * 29 / 2
    named = ExhaustiveSearch(ConflictsObjective(), enough=0.0).fit(X, y)
    assert named.history_ == search.history_


def test_focus_gives_up_at_the_limit_and_says_so():
    X, y = parity()
    y[:1] = 1 - y[:1]
    with pytest.warns(ConvergenceWarning, match=r"No subset of up to 2 columns reaches enough=0\.0; the best has -"):
        search = ExhaustiveSearch("conflicts", enough=0.0, limit=100).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    few = SubsetSearch("conflicts", "focus", max_features=1).fit(X, y)
    assert few.get_support().sum() == 1


def test_filters_end_when_nothing_is_left_to_gain():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(100, 8))
    y = X[:, 1] + 2 * X[:, 6]
    for criterion in ("conflicts", "class_entropy", "inconsistency_rate", "mdl"):
        search = SubsetSearch(criterion).fit(X, y)
        assert search.get_support(indices=True).tolist() == [1, 6]
        assert max(search.subset_path_) == (8 if criterion == "mdl" else 2)


@pytest.mark.parametrize("strategy", ["focus", "lvf"])
def test_nobody_knows_what_is_enough_for_an_estimator(strategy):
    X, y = classes()
    with pytest.raises(ValueError, match="say so by enough="):
        SubsetSearch(GaussianNB(), strategy).fit(X, y)
    assert SubsetSearch(RIDGE, strategy, enough=0.6, random_state=0).fit(X, y).get_support().any()


def test_unknown_words_are_refused():
    X, y = classes()
    with pytest.raises(ValueError, match="strategy"):
        SubsetSearch(RIDGE, "sideways").fit(X, y)
    with pytest.raises(ValueError, match="objective"):
        SubsetSearch("beauty").fit(X, y)


def test_parameters_reach_into_the_criterion():
    search = SubsetSearch(RidgeObjective()).set_params(objective__alpha=3.0)
    assert search.objective.alpha == 3.0


@pytest.mark.parametrize("strategy", ["floating", "random_mutation"])
def test_a_curve_over_sizes_is_read_off_one_search_in_each_fold(strategy):
    X, y = classes()
    curve = selection_curve(
        SubsetSearch(RIDGE, strategy, n_iter=30, random_state=0), GaussianNB(), X, y, cv=3, random_state=0
    )
    met = set(range(1, 8)) if strategy == "floating" else {7}  # a random walk has the sizes that it came through
    assert met <= set(curve.sizes) <= set(range(1, 8))
    assert curve.sizes[-1] == 7
