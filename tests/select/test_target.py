"""What the target is taken for, and the folds that are drawn for it."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from fewer.datasets import load
from fewer.select import (
    CFS,
    FCBF,
    MRMR,
    KollerSahami,
    NaiveBayesObjective,
    NearestNeighbourObjective,
    RidgeObjective,
    SequentialSearch,
    ShadowRelevanceSelector,
    redundancy_groups,
)
from fewer.select._target import fixed_splits


@pytest.fixture(scope="module")
def diabetes():
    """442 rows with a progression from 25 to 346 in whole numbers, 214 of them different."""
    data = load("diabetes")
    return np.asarray(data.X), np.asarray(data.y)


@pytest.mark.parametrize(
    "selector",
    [
        CFS(),
        FCBF(),
        MRMR(3),
        KollerSahami(3),
        SequentialSearch(NearestNeighbourObjective(5), n_features_to_select=3),
        SequentialSearch(RidgeObjective(), n_features_to_select=3),
        ShadowRelevanceSelector(20, max_iter=15, random_state=0),
    ],
    ids=["CFS", "FCBF", "MRMR", "KollerSahami", "neighbours", "ridge", "shadows"],
)
def test_whole_numbers_of_many_kinds_are_taken_as_the_same_numbers_with_fractions_are(diabetes, selector):
    X, y = diabetes
    whole = selector.fit(X, y).get_support().copy()
    shifted = selector.fit(X, y + 0.25).get_support()
    assert whole.tolist() == shifted.tolist()
    assert whole[2], "the body mass index goes with the progression more than any other column"


def test_groups_of_columns_take_the_representative_for_numbers(diabetes):
    X, y = diabetes
    whole = redundancy_groups(X, y, threshold=0.6).groups
    shifted = redundancy_groups(X, y + 0.25, threshold=0.6).groups
    assert [group.representative for group in whole] == [group.representative for group in shifted]


def test_many_numbered_classes_remain_classes_where_only_classes_make_sense():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(25), 4)
    X = np.column_stack([y + 0.01 * rng.normal(size=len(y)), rng.normal(size=len(y))])
    search = SequentialSearch(NaiveBayesObjective(cv=4), n_features_to_select=1).fit(X, y)
    assert search.get_support().tolist() == [True, False]


CLASSES, NUMBERS, X = np.arange(12) // 9, np.linspace(0, 1, 12), np.zeros((12, 1))


def held_out(*arguments, **options):
    return [test.tolist() for _, test in fixed_splits(*arguments, **options)]


@pytest.mark.parametrize(
    ("cv", "y", "classifier", "splitter"),
    [
        ("loo", CLASSES, True, LeaveOneOut()),
        (3, CLASSES, True, StratifiedKFold(3)),
        (3, CLASSES, False, KFold(3)),
        (3, NUMBERS, False, KFold(3)),
        (KFold(2), CLASSES, True, KFold(2)),
    ],
)
def test_without_a_random_state_folds_are_those_of_scikit_learn(cv, y, classifier, splitter):
    assert held_out(cv, X, y, classifier=classifier) == [test.tolist() for _, test in splitter.split(X, y)]


def test_with_a_random_state_rows_are_shuffled_and_classes_keep_their_shares():
    folds = held_out(3, X, CLASSES, classifier=True, random_state=0)
    assert sorted(np.concatenate(folds)) == list(range(12))
    assert [int(CLASSES[fold].sum()) for fold in folds] == [1, 1, 1]
    assert folds == held_out(3, X, CLASSES, classifier=True, random_state=0)
    assert folds != held_out(3, X, CLASSES, classifier=True, random_state=1)
    assert folds != held_out(3, X, CLASSES, classifier=True)


@pytest.mark.parametrize(("y", "classifier"), [(NUMBERS, False), (CLASSES, False), (NUMBERS, True)])
def test_numbers_and_regressors_get_folds_of_equal_size(y, classifier):
    folds = held_out(5, X, y, classifier=classifier, random_state=0)
    assert [len(fold) for fold in folds] == [3, 3, 2, 2, 2]
