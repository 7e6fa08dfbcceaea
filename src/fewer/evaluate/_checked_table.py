"""A table and its target, as every evaluation takes them, and parts of it; what does not fit together is refused."""

from typing import Any

import numpy as np

from fewer._estimators import refuse_dataset

MOST_CLASSES = 10
"""So many different numbers may always be classes; more of them only with five rows for each, on average."""


def checked_table(X: Any, y: Any, groups: Any = None, *, learner: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The table, its target and its groups, with as many rows in each, and a target that suits the learner.

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
