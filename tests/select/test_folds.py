"""One set of folds for a whole search: in the order of the table, or shuffled by the random state."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from fewer.select._target import fixed_splits

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
