"""One set of folds, drawn once and kept for a whole search.

A search compares hundreds of subsets; with new folds for each, it would choose the subset with the luckiest folds.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

Split = tuple[np.ndarray, np.ndarray]


def fixed_splits(cv: Any, X: Any, y: Any, *, classifier: bool, random_state: Any = None) -> list[Split]:
    """Pairs (training rows, test rows).

    ``cv`` is "loo", a number of folds, a splitter or an iterable of pairs. A number gives scikit-learn's folds,
    stratified for a classifier: in the order of the table without ``random_state``, shuffled with one.
    """
    if isinstance(cv, str) and cv == "loo":
        cv = LeaveOneOut()
    elif isinstance(cv, Integral) and random_state is not None:
        stratified = classifier and type_of_target(y) in ("binary", "multiclass")
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        cv = (StratifiedKFold if stratified else KFold)(cv, shuffle=True, random_state=seed)
    return list(check_cv(cv, y, classifier=classifier).split(X, y))
