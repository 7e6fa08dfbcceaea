"""Searches keep groups of rows together, and take the first of columns whose scores differ by rounding alone."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer.select import (
    ExhaustiveSearch,
    MahalanobisObjective,
    NearestNeighbourObjective,
    Objective,
    PlainScorer,
    SequentialSearch,
)
from fewer.select._target import fixed_splits

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(10), 4)
Y = RNG.integers(0, 2, 40)
X = RNG.normal(size=(40, 6)) + 0.5 * RNG.normal(size=(10, 6))[GROUPS] + 0.7 * Y[:, None]


@pytest.mark.parametrize("objective", [GaussianNB(), NearestNeighbourObjective(cv=GroupKFold(5))], ids=str)
def test_folds_are_those_of_the_groups(objective):
    found = SequentialSearch(objective, cv=GroupKFold(5)).fit(X, Y, groups=GROUPS)
    folds = list(GroupKFold(5).split(X, Y, GROUPS))
    if isinstance(objective, NearestNeighbourObjective):
        expected = SequentialSearch(NearestNeighbourObjective(cv=folds)).fit(X, Y)
    else:
        expected = SequentialSearch(objective, cv=folds).fit(X, Y)
    assert found.path_scores_ == expected.path_scores_


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("classifier", [True, False])
def test_a_number_of_folds_keeps_groups_together(classifier, random_state):
    splits = fixed_splits(4, X, Y, classifier=classifier, random_state=random_state, groups=GROUPS)
    assert len(splits) == 4
    assert all(not set(GROUPS[train]) & set(GROUPS[test]) for train, test in splits)


def test_a_splitter_without_a_use_for_groups_gets_none():
    plain, grouped = (
        SequentialSearch(GaussianNB(), cv=KFold(3)).fit(X, Y, groups=groups).path_scores_ for groups in (None, GROUPS)
    )
    assert plain == grouped


def test_groups_that_cannot_be_used_are_told():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SequentialSearch(GaussianNB()).fit(X, Y, groups=GROUPS[1:])
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        SequentialSearch(GaussianNB(), cv=GroupKFold(3)).fit(X, Y)
    with pytest.warns(UserWarning, match="groups= is not used: MahalanobisObjective draws no folds"):
        ExhaustiveSearch(MahalanobisObjective(), n_features_to_select=1).fit(X, Y, groups=GROUPS)


def test_groups_are_routed_to_the_splitter_of_a_search_in_a_pipeline():
    search = SequentialSearch(RidgeClassifier(), cv=LeaveOneGroupOut(), n_features_to_select=2)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            make_pipeline(search, GaussianNB()),
            X,
            Y,
            cv=GroupKFold(2),
            params={"groups": GROUPS},
            return_estimator=True,
        )["estimator"][0][0]
    train = next(iter(GroupKFold(2).split(X, Y, GROUPS)))[0]
    assert found.path_scores_ == search.fit(X[train], Y[train], groups=GROUPS[train]).path_scores_


def test_a_checkpoint_belongs_to_its_groups(tmp_path):
    search = SequentialSearch(GaussianNB(), cv=GroupKFold(3), n_features_to_select=2, checkpoint=tmp_path / "kept")
    search.fit(X, Y, groups=GROUPS)
    search.fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="the groups have changed"):
        search.fit(X, Y, groups=GROUPS[::-1])


class Rounded(Objective):
    """The last columns are better by rounding alone."""

    def start(self, X, y, *, n_jobs=None, random_state=None):
        best = 0.1 + 0.2  # more than 0.3, by one unit in the last place
        return PlainScorer(lambda subsets: [best if max(subset) > 3 else 0.3 for subset in subsets])


@pytest.mark.parametrize("direction", ["forward", "floating", "forward_stepwise"])
def test_of_columns_that_differ_by_rounding_the_first_is_taken(direction):
    search = SequentialSearch(Rounded(), direction=direction, n_features_to_select=2).fit(X, Y)
    assert search.history_[0].column == 0
    assert search.subset_path_[1] == (0,)
    if direction == "forward":
        assert search.ranking_.tolist() == [1, 2, 3, 4, 5, 6]


def test_of_subsets_that_differ_by_rounding_the_first_is_taken():
    assert ExhaustiveSearch(Rounded(), n_features_to_select=2).fit(X, Y).subset_path_[2] == (0, 1)


def test_copies_of_a_column_are_ties_however_they_are_scored():
    copies = np.column_stack([X[:, [2, 0, 0, 0, 1]], X[:, 0] / 3 * 3])
    for estimator in (RidgeClassifier(), GaussianNB()):
        search = SequentialSearch(estimator, cv=3, n_features_to_select=3).fit(copies, Y)
        chosen = search.get_support(indices=True)
        assert not {2, 3, 5} & set(chosen.tolist()) or 1 in chosen
