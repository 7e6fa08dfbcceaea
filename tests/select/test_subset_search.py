"""Searches by filters for discrete columns, which every search takes by name, and curves over their sizes."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from fewer.evaluate import selection_curve
from fewer.select import (
    ConflictsObjective,
    ExhaustiveSearch,
    RandomMutationSearch,
    RandomSubsetSearch,
    RidgeObjective,
    SequentialSearch,
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


def test_focus_is_the_exhaustive_search_that_stops_when_it_is_enough():
    X, y = parity(n_columns=30)  # far too many for all subsets, and no trouble for those of one and two columns
    search = ExhaustiveSearch("conflicts", target_score=0.0).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    assert search.n_evaluations_ == 30 + 30 * 29 / 2
    named = ExhaustiveSearch(ConflictsObjective(), target_score=0.0).fit(X, y)
    assert named.history_ == search.history_


def test_focus_gives_up_at_the_limit_and_says_so():
    X, y = parity()
    y[:1] = 1 - y[:1]
    with pytest.warns(ConvergenceWarning, match=r"No subset of up to 2 columns reaches target_score=0\.0"):
        search = ExhaustiveSearch("conflicts", target_score=0.0, limit=100).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    few = ExhaustiveSearch("conflicts", max_features=1, target_score=0.0).fit(X, y)
    assert few.get_support().sum() == 1


def test_filters_end_when_nothing_is_left_to_gain():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(100, 8))
    y = X[:, 1] + 2 * X[:, 6]
    for criterion in ("conflicts", "class_entropy", "inconsistency_rate", "mdl"):
        search = SequentialSearch(criterion, target_score=None if criterion == "mdl" else 0.0).fit(X, y)
        assert search.get_support(indices=True).tolist() == [1, 6]
        assert max(search.subset_path_) == (8 if criterion == "mdl" else 2)


@pytest.mark.parametrize(
    "search", [ExhaustiveSearch(RIDGE, target_score=0.6), RandomSubsetSearch(RIDGE, target_score=0.6, random_state=0)]
)
def test_the_smallest_subset_that_is_enough_is_kept(search):
    X, y = classes()
    search.fit(X, y)
    size = search.n_features_to_select_
    assert search.path_scores_[size] >= 0.6
    assert all(score < 0.6 for smaller, score in search.path_scores_.items() if smaller < size)


def test_unknown_words_are_refused():
    X, y = classes()
    with pytest.raises(ValueError, match="direction"):
        SequentialSearch(RIDGE, direction="sideways").fit(X, y)
    with pytest.raises(ValueError, match="objective"):
        SequentialSearch("beauty").fit(X, y)


def test_parameters_reach_into_the_criterion():
    search = SequentialSearch(RidgeObjective()).set_params(objective__alpha=3.0)
    assert search.objective.alpha == 3.0


@pytest.mark.parametrize(
    "search", [SequentialSearch(RIDGE, direction="floating"), RandomMutationSearch(RIDGE, n_iter=30, random_state=0)]
)
def test_a_curve_over_sizes_is_read_off_one_search_in_each_fold(search):
    X, y = classes()
    curve = selection_curve(search, GaussianNB(), X, y, cv=3, random_state=0)
    met = {7} if isinstance(search, RandomMutationSearch) else set(range(1, 8))  # a walk meets some sizes only
    assert met <= set(curve.sizes) <= set(range(1, 8))
    assert curve.sizes[-1] == 7
