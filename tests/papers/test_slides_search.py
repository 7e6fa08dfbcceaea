"""Dimensionality reduction (course slides): searches for subsets, and the ranking of single columns that they beat."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fewer.datasets import make_five_classes
from fewer.select import NearestNeighbourObjective, SelectTop, SequentialSearch


def test_the_worst_of_five_columns_belongs_to_the_best_pair_on_one_table():
    X, y, truth = make_five_classes(random_state=0)
    search, naive = (
        method(LinearDiscriminantAnalysis(), n_features_to_select=2, cv=3).fit(X, y)
        for method in (SequentialSearch, SelectTop)
    )
    assert search.subset_path_[2] == truth["best_pair"]
    assert naive.ranking_[3] == 4
    assert not naive.get_support()[3]


@pytest.mark.claim("slides", 1)
@pytest.mark.slow
def test_the_worst_single_column_belongs_to_the_best_pair(figure):
    learner = LinearDiscriminantAnalysis()
    found, fooled, last, errors, naive_errors = 0, 0, 0, [], []
    for seed in range(10):
        X, y, truth = make_five_classes(random_state=seed)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        search = SequentialSearch(learner, n_features_to_select=2, cv=folds).fit(X, y)
        naive = SelectTop(learner, n_features_to_select=2, cv=folds).fit(X, y)
        found += search.subset_path_[2] == truth["best_pair"]
        fooled += not naive.get_support()[3]
        last += naive.ranking_[3] == 4
        errors.append(1 - search.path_scores_[2])
        naive_errors.append(1 - cross_val_score(learner, naive.transform(X), y, cv=folds).mean())
    figure(
        f"{{x1, x4}} by forward search in {found} of 10 seeds, error {np.mean(errors):.1%}; by single columns in "
        f"{10 - fooled}, error {np.mean(naive_errors):.1%}; x4 last alone in {last}"
    )
    assert found >= 9
    assert fooled == 10
    assert last == 10
    # Standard errors of the means over 10 seeds of 300 rows: 0.3 and 0.75 points.
    assert np.mean(errors) == pytest.approx(0.028, abs=0.01)
    assert np.mean(naive_errors) == pytest.approx(0.215, abs=0.025)


class Counted(GaussianNB):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y):
        Counted.fits += 1
        return super().fit(X, y)


@pytest.mark.claim("slides", 6)
@pytest.mark.parametrize(("n_columns", "size"), [(6, 1), (6, 3), (6, 6), (9, 4)])
def test_evaluations_are_counted(n_columns, size, figure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, n_columns)), np.arange(40) % 2
    counts = {}
    for direction in ("forward", "backward"):
        Counted.fits = 0
        search = SequentialSearch(Counted(), direction=direction, n_features_to_select=size, cv=2).fit(X, y)
        counts[direction] = search.n_evaluations_
        assert Counted.fits == 2 * search.n_evaluations_
    assert counts["forward"] == sum(n_columns - step for step in range(size))
    assert counts["backward"] == 1 + sum(n_columns - step for step in range(n_columns - size))
    figure(
        f"{size} of {n_columns} columns: {counts['forward']} forward, {counts['backward']} backward with the full set"
    )


@pytest.mark.claim("slides", 6)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "neg_log_loss"])
def test_subsets_are_those_of_scikit_learn(direction, scoring, figure):
    equal = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 60)
        X = rng.normal(size=(60, 4)) + 0.5 * y[:, None] * (rng.random(4) < 0.4)
        settings = {"direction": direction, "n_features_to_select": 2, "scoring": scoring, "cv": 3}
        theirs = SequentialFeatureSelector(GaussianNB(), **settings).fit(X, y)
        ours = SequentialSearch(GaussianNB(), **settings).fit(X, y)
        equal += np.array_equal(theirs.get_support(), ours.get_support())
        if scoring is None:
            theirs = SequentialFeatureSelector(KNeighborsClassifier(1), **settings).fit(X, y)
            fast = SequentialSearch(NearestNeighbourObjective(cv=3), direction=direction, n_features_to_select=2).fit(
                X, y
            )
            assert np.array_equal(theirs.get_support(), fast.get_support())
    figure(f"{direction}, {scoring or 'accuracy'}: {equal} of 2 equal")
    assert equal == 2
