"""A table and its target, as every evaluation takes them, parts of it, and its outer folds.

What does not fit together is refused. The outer folds are repeats of a split, the same for everything that is compared.
"""

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import refuse_dataset

MOST_CLASSES = 10
"""Up to this many different numbers may always be classes; more of them only with five rows for each, on average."""


def checked_table(X: Any, y: Any, groups: Any = None, *, learner: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The table, its target and its groups, with as many rows in each, and a target that suits the estimator.

    Parameters
    ----------
    X : array, frame, scipy sparse or nested list of shape (n_samples, n_features)
        Frames and arrays stay as they are; sparse formats that cannot be cut into rows become CSR.
    y : array-like of shape (n_samples,)
        The target.
    groups : array-like of shape (n_samples,) or None
        Rows that belong together.
    learner : estimator
        What shall predict the target.

    Returns
    -------
    X, y, groups : tuple
        Target and groups as arrays.
    """
    from sklearn.utils import check_consistent_length, column_or_1d

    refuse_dataset(X)
    if y is None:
        raise ValueError("y is None, but scores on held-out rows need a target.")
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if hasattr(X, "format") and X.format not in ("csr", "csc"):
        X = X.tocsr()
    y = column_or_1d(np.asarray(y))
    groups = None if groups is None else column_or_1d(np.asarray(groups))
    check_consistent_length(X, y, groups)
    check_complete(y)
    check_suits(y, learner)
    return X, y, groups


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a table of any kind."""
    from fewer._estimators import safe_indexing

    return safe_indexing(X, rows)


def columns_of(X: Any, columns: np.ndarray) -> Any:
    """Some columns of a table of any kind."""
    from fewer._estimators import safe_indexing

    return safe_indexing(X, columns, axis=1)


def check_complete(y: np.ndarray) -> None:
    """Raise for a target with gaps or infinite numbers."""
    from sklearn.utils import assert_all_finite

    gaps = np.flatnonzero(_is_missing(y))
    if len(gaps):
        raise ValueError(
            f"y is missing in {len(gaps):,} of {len(y):,} rows (first in row {gaps[0]}); leave these rows out."
        )
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")


def check_suits(y: np.ndarray, learner: Any) -> None:
    """Raise for a quantity with a classifier, and for words with a regressor."""
    from sklearn.base import is_classifier, is_regressor

    name = type(learner).__name__
    if is_classifier(learner) and is_quantity(y):
        raise ValueError(
            f"y has {len(np.unique(y)):,} different numbers in {len(y):,} rows, so it is a quantity, and {name} "
            "predicts classes. Use a regressor, or cut y into classes first."
        )
    if is_regressor(learner) and y.dtype.kind in "OUS" and not _are_numbers(y):
        raise ValueError(f"y holds words such as {str(y[0])!r}, and {name} predicts numbers. Use a classifier.")


def is_quantity(y: np.ndarray) -> bool:
    """Whether a target holds more different numbers than there can be classes in so few rows."""
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(MOST_CLASSES, len(y) / 5)


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    # Missing values of pandas answer no comparison, not even with themselves.
    return np.array([value is None or type(value).__name__ == "NAType" or value != value for value in y], dtype=bool)


def _are_numbers(y: np.ndarray) -> bool:
    try:
        y.astype(float)
    except (TypeError, ValueError):
        return False
    return True


class Fold(NamedTuple):
    """Rows to learn from, and rows held out."""

    train: np.ndarray
    test: np.ndarray


def outer_folds(
    cv: Any, X: Any, y: np.ndarray, *, classifier: bool, n_repeats: int, groups: Any, random_state: Any
) -> list[list[Fold]]:
    """Folds of each repeat.

    A whole number makes shuffled folds, stratified for a classifier, and kept whole where there are groups. A
    splitter is shuffled anew for each repeat. One that repeats itself (RepeatedKFold) gives its own repeats.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        The folds.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The table.
    y : ndarray of shape (n_samples,)
        The target.
    classifier : bool
        Whether the target holds classes.
    n_repeats : int
        How often the folds are drawn.
    groups : array-like of shape (n_samples,) or None
        Rows of one group stay together.
    random_state : int, RandomState instance or None
        Draws the folds.

    Returns
    -------
    repeats : list of list of Fold
        Rows to learn from and rows held out, for each fold of each repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import outer_folds
    >>> y = np.array([0, 1, 0, 1])
    >>> repeats = outer_folds(
    ...     2, y[:, None], y, classifier=True, n_repeats=3, groups=None, random_state=0
    ... )
    >>> [len(folds) for folds in repeats]
    [2, 2, 2]
    """
    from sklearn.utils import check_random_state

    if n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats} must be at least 1.")
    if classifier and len(np.unique(y)) < 2:
        raise ValueError(f"The target has one class only, '{y[0]}'; a classifier needs two or more.")
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_repeats)
    if isinstance(cv, str):
        raise TypeError(f"cv={cv!r} is neither a number of folds, nor a splitter, nor a list of (train, test) rows.")
    if isinstance(cv, int | np.integer):
        if cv > len(y):
            raise ValueError(f"There are {len(y)} rows, too few for {cv} folds; give a smaller cv, or more rows.")
        splitters = [_splitter(int(cv), int(seed), classifier=classifier, grouped=groups is not None) for seed in seeds]
        repeats = [_folds_of(splitter.split(X, y, groups)) for splitter in splitters]
    elif hasattr(cv, "split"):
        repeats = _repeats_of(cv, X, y, groups, seeds)
    elif isinstance(cv, Iterable):
        if n_repeats > 1:
            raise ValueError("cv lists the folds themselves, so there is nothing to repeat; leave n_repeats at 1.")
        repeats = [_folds_of(cv)]
    else:
        raise TypeError(f"cv={cv!r} is neither a number of folds, nor a splitter, nor a list of (train, test) rows.")
    if len({len(folds) for folds in repeats}) != 1:
        raise ValueError("the repeats of cv have different numbers of folds.")
    if len(repeats[0]) < 2:
        raise ValueError("cv makes one fold only; two or more are needed.")
    if classifier:
        _check_classes(repeats, y)
    return repeats


def disjoint(repeats: list[list[Fold]]) -> bool:
    """Whether no row is held out twice in a repeat."""
    return all(
        len(np.unique(held_out)) == len(held_out)
        for held_out in (np.concatenate([fold.test for fold in folds]) for folds in repeats)
    )


def _splitter(n_folds: int, seed: int, *, classifier: bool, grouped: bool) -> Any:
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    kind = {
        (True, True): StratifiedGroupKFold,
        (True, False): StratifiedKFold,
        (False, True): GroupKFold,
        (False, False): KFold,
    }[classifier, grouped]
    return kind(n_folds, shuffle=True, random_state=seed)


def _repeats_of(cv: Any, X: Any, y: np.ndarray, groups: Any, seeds: np.ndarray) -> list[list[Fold]]:
    draws = getattr(cv, "shuffle", hasattr(cv, "random_state"))
    own_repeats = getattr(cv, "n_repeats", 1)
    if len(seeds) > 1 and (own_repeats > 1 or not draws):
        reason = "repeats itself" if own_repeats > 1 else "gives the same folds every time"
        raise ValueError(
            f"n_repeats={len(seeds)}, but {type(cv).__name__} {reason}. Leave n_repeats at 1, or use a splitter that "
            "shuffles: StratifiedKFold(5, shuffle=True)."
        )
    repeats = []
    for seed in seeds:
        splitter = copy(cv)
        if draws and (len(seeds) > 1 or getattr(cv, "random_state", 0) is None):
            splitter.random_state = int(seed)
        repeats.append(_folds_of(splitter.split(X, y, groups)))
    if own_repeats > 1:
        n_folds = len(repeats[0]) // own_repeats
        return [repeats[0][start : start + n_folds] for start in range(0, len(repeats[0]), n_folds)]
    return repeats


def _folds_of(pairs: Iterable[Any]) -> list[Fold]:
    return [Fold(_positions(train), _positions(test)) for train, test in pairs]


def _positions(rows: Any) -> np.ndarray:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _check_classes(repeats: list[list[Fold]], y: np.ndarray) -> None:
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    for folds in repeats:
        for number, fold in enumerate(folds):
            lacking = np.flatnonzero(np.bincount(codes[fold.train], minlength=len(classes)) == 0)
            if len(lacking):
                missing, rows = classes[lacking], int(counts[lacking[0]])
                raise ValueError(
                    f"without fold {number} there is no row of class '{missing[0]}' to learn from (it has {rows} in "
                    "all). Use fewer folds, stratify them (a whole number for cv does), or leave out classes with very "
                    "few rows."
                )
