"""What the target holds, classes or numbers, its levels, and one set of folds for a whole search.

A search compares hundreds of subsets. With new folds for each, it would choose the subset with the luckiest folds.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import GroupsConsumerMixin, encoded_classes


def holds_numbers(y: np.ndarray) -> bool:
    """Whether y holds numbers rather than names of classes: fractions, or whole numbers of very many kinds."""
    if y.dtype.kind in "iuf":
        n_kinds = len(np.unique(y))
        if n_kinds > _MOST_CLASSES or few_rows_of_each(n_kinds, len(y)):
            return True
    return type_of_target(y).startswith("continuous")


def few_rows_of_each(n_kinds: int, n_rows: int) -> bool:
    """Whether whole numbers of so many kinds have too few rows each to be classes."""
    return n_kinds > _MOST_SMALL_CLASSES and n_rows < _ROWS_OF_A_CLASS * n_kinds


def task_of(y: np.ndarray, task: str) -> str:
    """The task given, or with "auto" regression for numbers, classification for names and few whole numbers."""
    if task != "auto":
        return task
    return "regression" if holds_numbers(y) else "classification"


def numbers(y: np.ndarray, who: str) -> np.ndarray:
    """The target as floats that are not all equal."""
    try:
        found = y.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who} with task='regression' needs numbers in y, and y holds {str(y[0])!r}; take task='classification'."
        ) from None
    if found.min() == found.max():
        raise ValueError(
            f"{who} compares columns with the target, and y has the same value, {found[0]:g}, in every row."
        )
    return found


def target_levels(y: Any, task: str, n_bins: int, who: str, weights: np.ndarray | None = None) -> np.ndarray:
    """Classes as 0, 1, ...; or numbers, cut into intervals that hold equally many rows."""
    if task == "classification":
        return encoded_classes(y, who).codes
    from fewer.select.information._levels import discretise  # a study with classes need not import its kernels

    return discretise(numbers(y, who)[:, None], n_bins=n_bins, weights=weights).column(0)


def has_classes(y: np.ndarray, task: str = "auto") -> bool:
    """Whether y holds classes, of which there must be two at least, rather than numbers."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task={task!r} must be 'auto', 'classification' or 'regression'.")
    kind = type_of_target(y, raise_unknown=True)
    if kind.startswith("multilabel") or kind.endswith("multioutput"):
        raise ValueError("y has several columns; subsets are scored on one target only.")
    classes = not holds_numbers(y) if task == "auto" else task == "classification"
    if classes and len(np.unique(y)) < 2:
        raise ValueError("y has one class only; at least two classes are needed.")
    return classes


Split = tuple[np.ndarray, np.ndarray]

# Whole numbers name classes unless there are more kinds than this; beyond the smaller number, each needs some rows.
_MOST_CLASSES = 100
_MOST_SMALL_CLASSES = 20
_ROWS_OF_A_CLASS = 5


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
