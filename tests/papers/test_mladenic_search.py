"""Feature selection for dimensionality reduction (Mladenic 2006): searches by filters and by wrappers."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fewer.select import (
    DiscriminantObjective,
    ExhaustiveSearch,
    NaiveBayesObjective,
    NearestNeighbourObjective,
    RidgeObjective,
    SequentialSearch,
)
from tolerances import rounding

LEARNERS = {
    "linear discriminants": (LinearDiscriminantAnalysis(), DiscriminantObjective(cv=5)),
    "naive Bayes": (GaussianNB(), NaiveBayesObjective(cv=5)),
    "nearest neighbours": (KNeighborsClassifier(3), NearestNeighbourObjective(3, cv=5)),
    "ridge": (RidgeClassifier(), RidgeObjective(cv=5)),
}


@pytest.mark.claim("mladenic-text-fs", 5)
def test_focus_finds_the_two_bits_of_a_parity_and_greedy_entropy_does_not(figure):
    found, sizes = 0, []
    for seed in range(20):
        bits = np.random.default_rng(seed).integers(0, 2, size=(200, 10))
        parity = bits[:, 0] ^ bits[:, 1]
        focus = ExhaustiveSearch("conflicts", target_score=0.0).fit(bits, parity)
        greedy = SequentialSearch("class_entropy", target_score=0.0).fit(bits, parity)
        found += focus.get_support(indices=True).tolist() == [0, 1]
        sizes.append(int(greedy.get_support().sum()))
        assert greedy.path_scores_[sizes[-1]] == 0
    lucky = sum(size == 2 for size in sizes)
    figure(f"FOCUS in {found} of 20 draws; forward by entropy needs {np.median(sizes):.0f} columns, 2 in {lucky} draws")
    assert found == 20
    # A forward search starts with one of the two bits by chance, and then sees the other: in 2 of 10 draws.
    assert np.mean(np.array(sizes) > 2) >= 0.6
    assert np.median(sizes) >= 4


@pytest.mark.claim("mladenic-text-fs", 7)
@pytest.mark.parametrize("learner", ["linear discriminants", "naive Bayes"])
def test_forward_search_takes_the_columns_of_scikit_learn(learner, figure):
    estimator, objective = LEARNERS[learner]
    equal = 0
    for load, sizes in ((load_iris, (1, 2)), (load_wine, (2,))):
        X, y = load(return_X_y=True)
        ours = SequentialSearch(objective, n_features_to_select=max(sizes)).fit(X, y)
        for size in sizes:
            theirs = SequentialFeatureSelector(estimator, n_features_to_select=size, cv=5).fit(X, y)
            equal += ours.subset_path_[size] == tuple(theirs.get_support(indices=True))
    plain = SequentialSearch(estimator, n_features_to_select=2, cv=5).fit(X, y)
    equal += plain.subset_path_ == ours.subset_path_
    figure(f"{learner}: {equal} of 4 subsets of iris and wine are equal")
    assert equal == 4


def columns_of_scikit_learn(estimator, X, y, size, direction):
    search = SequentialFeatureSelector(estimator, n_features_to_select=size, cv=5, direction=direction)
    return tuple(search.fit(X, y).get_support(indices=True))


def parted_by_a_tie(estimator, X, y, path, size, direction):
    """Whether the subsets first differed where both scored the same: rounding decides such a tie in scikit-learn."""
    towards_the_start = 1 if direction == "backward" else -1
    theirs = columns_of_scikit_learn(estimator, X, y, size, direction)
    while path[size + towards_the_start] != (
        before := columns_of_scikit_learn(estimator, X, y, size + towards_the_start, direction)
    ):
        size, theirs = size + towards_the_start, before
    scores = [cross_val_score(estimator, X[:, list(columns)], y, cv=5).mean() for columns in (path[size], theirs)]
    return scores[0] == pytest.approx(scores[1], abs=rounding(5))


@pytest.mark.slow
@pytest.mark.claim("mladenic-text-fs", 7)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_more_sizes_of_iris_and_wine_are_equal_in_both_directions(learner, direction, figure):
    estimator, objective = LEARNERS[learner]
    equal, n_sizes = 0, 0
    for load, sizes in ((load_iris, (1, 2, 3)), (load_wine, (3, 6, 10))):
        X, y = load(return_X_y=True)
        ours = SequentialSearch(objective, direction=direction).fit(X, y)
        plain = SequentialSearch(estimator, direction=direction, cv=5).fit(X, y)
        assert plain.subset_path_ == ours.subset_path_
        for size in sizes:
            theirs = columns_of_scikit_learn(estimator, X, y, size, direction)
            same = ours.subset_path_[size] == theirs
            equal += same or parted_by_a_tie(estimator, X, y, ours.subset_path_, size, direction)
            n_sizes += 1
    figure(f"{learner}, {direction}: {equal} of {n_sizes} sizes")
    assert equal == n_sizes
