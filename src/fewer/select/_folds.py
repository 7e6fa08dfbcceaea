"""One set of folds, drawn once and kept for a whole search.

A search compares hundreds of subsets; with new folds for each, it would choose the subset with the luckiest folds.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import GroupsConsumerMixin

Split = tuple[np.ndarray, np.ndarray]


def fixed_splits(
    cv: Any, X: Any, y: Any, *, classifier: bool, random_state: Any = None, groups: Any = None
) -> list[Split]:
    """Pairs (training rows, test rows).

    ``cv`` is "loo", a number of folds, a splitter or an iterable of pairs. A number gives scikit-learn's folds,
    stratified for a classifier, with the rows of a group together where there are ``groups``: in the order of the table
    without ``random_state``, shuffled with one.
    """
    if isinstance(cv, str) and cv == "loo":
        cv = LeaveOneOut()
    elif isinstance(cv, Integral) and (random_state is not None or groups is not None):
        stratified = classifier and type_of_target(y) in ("binary", "multiclass")
        kinds = (KFold, StratifiedKFold) if groups is None else (GroupKFold, StratifiedGroupKFold)
        drawn = random_state is not None
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max) if drawn else None
        cv = kinds[stratified](cv, shuffle=drawn, random_state=seed)
    splitter = check_cv(cv, y, classifier=classifier)
    return list(splitter.split(X, y, groups if takes_groups(splitter) else None))


def takes_groups(splitter: Any) -> bool:
    """Whether a splitter has a use for groups; those of scikit-learn that have none warn of them."""
    own = type(splitter).__module__.startswith("sklearn.")
    return not own or isinstance(splitter, GroupsConsumerMixin)


def leaves_one_out(cv: Any) -> bool:
    """Whether every row is a fold by itself."""
    return isinstance(cv, LeaveOneOut) or (isinstance(cv, str) and cv == "loo")
