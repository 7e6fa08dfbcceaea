"""Randomised versions of a data set, one for each null hypothesis of a permutation test.

For rows ``(x_i, y_i)`` of classes c and columns j:

- ``"labels"``: ``y'_i = y_pi(i)``, X stays. Null: X and y are independent.
- ``"features_within_class"``: ``x'_ij = x_pi(c,j)(i),j`` with an independent permutation of the rows of class c for
  every column, y stays. Null: the columns are independent given the class.
- ``"columns"``: the same without classes. Null: all columns and y are independent.

Values never leave their column, so missing entries and categories move as they are.
"""

from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

Null = Literal["labels", "features_within_class", "columns"]
NULLS: tuple[Null, ...] = get_args(Null)

# Number of cells that are moved at a time.
_CELLS = 4_000_000


def randomize(
    X: Any,
    y: Any,
    null: Null = "labels",
    random_state: "np.random.Generator | int | None" = None,
    *,
    groups: Any = None,
    columns: Any = None,
    jointly: bool = False,
) -> tuple[Any, Any]:
    """One randomised version of a data set, drawn under a null hypothesis.

    Parameters
    ----------
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table. Sparse tables are never made dense; formats other than CSC and CSR come back as CSR.
    y : array-like of shape (n_samples,)
        Class labels (for ``null="labels"`` any target).
    null : {"labels", "features_within_class", "columns"}, default="labels"
        What is permuted: the labels; every column inside each class; or every column over all rows.
    random_state : Generator, int or None, default=None
        Draws the permutations.
    groups : array-like of shape (n_samples,), default=None
        Rows are permuted only among rows of their own group.
    columns : list of int or str, default=None
        The columns that are permuted, by position or, in a frame, by name; all by default. Not for ``null="labels"``.
    jointly : bool, default=False
        Move the chosen columns together, by one permutation, instead of each by its own.

    Returns
    -------
    X_randomized : same type as X
        X itself when only labels are permuted.
    y_randomized : same type as y
        y itself when only columns are permuted.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import randomize
    >>> X = np.array([[1, 10], [2, 20], [3, 30], [4, 40]])
    >>> X_new, y_new = randomize(X, ["a", "a", "b", "b"], "features_within_class", random_state=3)
    >>> sorted(X_new[:2, 1].tolist()), sorted(X_new[2:, 1].tolist()), y_new
    ([10, 20], [30, 40], ['a', 'a', 'b', 'b'])
    """
    rng = np.random.default_rng(random_state)
    if null not in NULLS:
        raise ValueError(f"null must be one of {', '.join(map(repr, NULLS))}, not {null!r}.")
    if null == "labels":
        if columns is not None or jointly:
            raise ValueError('columns and jointly choose what null="features_within_class" permutes; labels have none.')
        return X, _taken(y, permuted_rows(len(y), groups, rng))
    strata = strata_of(y if null == "features_within_class" else None, groups, len(y))
    return _with_permuted_columns(X, strata, columns, jointly, rng), y


def permuted_rows(n_rows: int, groups: Any, rng: np.random.Generator) -> np.ndarray:
    """A random order of the rows, inside each group where there are groups."""
    if groups is None:
        return rng.permutation(n_rows)
    order = np.arange(n_rows)
    for rows in strata_of(None, groups, n_rows):
        order[rows] = rng.permutation(rows)
    return order


def strata_of(y: Any, groups: Any, n_rows: int) -> list[np.ndarray]:
    """Rows that may be exchanged with one another, as one array of positions for each class and group."""
    codes = np.zeros(n_rows, dtype=np.intp)
    for key in (y, groups):
        if key is not None:
            _, own = np.unique(np.asarray(key), return_inverse=True)
            codes = codes * (own.max(initial=0) + 1) + own
    return [np.flatnonzero(codes == code) for code in np.unique(codes)]


def _with_permuted_columns(X: Any, strata: list, columns: Any, jointly: bool, rng: np.random.Generator) -> Any:
    if not (sparse.issparse(X) or hasattr(X, "columns")):
        X = np.asarray(X)
    chosen = np.arange(X.shape[1]) if columns is None else column_positions(X, columns)
    if sparse.issparse(X):
        return _sparse_permuted(X, strata, chosen, jointly, rng)
    if isinstance(X, np.ndarray):
        permuted = X.copy()
        for columns in [chosen] if jointly else _blocks_of(chosen, X.shape[0]):
            sources = _sources(X.shape[0], strata, 1 if jointly else len(columns), rng)
            permuted[:, columns] = np.take_along_axis(X[:, columns], sources, axis=0)
        return permuted
    sources = _sources(X.shape[0], strata, 1 if jointly else len(chosen), rng)
    source_of = dict(zip(chosen.tolist(), range(len(chosen)), strict=True))

    def column_order(j: int) -> np.ndarray | None:
        return None if j not in source_of else sources[:, 0 if jointly else source_of[j]]

    if hasattr(X, "iloc"):
        return _pandas_permuted(X, column_order)
    return X.with_columns([X.to_series(j)[order] for j in range(X.shape[1]) if (order := column_order(j)) is not None])


def _blocks_of(columns: np.ndarray, n_rows: int) -> list[np.ndarray]:
    """The columns in blocks, so that where their cells come from takes little room beside a large table."""
    return [columns[block] for block in gen_batches(len(columns), max(1, _CELLS // max(1, n_rows)))]


def _sources(n_rows: int, strata: list, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Row from which each cell takes its value: an independent permutation for every column and stratum."""
    sources = np.empty((n_rows, n_columns), dtype=np.intp)
    for rows in strata:
        sources[rows] = rng.permuted(np.repeat(rows[:, None], n_columns, axis=1), axis=0)
    return sources


def _pandas_permuted(X: Any, column_order: Any) -> Any:
    import pandas as pd

    moved = []
    for j in range(X.shape[1]):
        column, order = X.iloc[:, j], column_order(j)
        moved.append(column if order is None else column.take(order).set_axis(X.index))
    return pd.concat(moved, axis=1).set_axis(X.columns, axis=1)


def _sparse_permuted(X: Any, strata: list, chosen: np.ndarray, jointly: bool, rng: np.random.Generator) -> Any:
    """Stored entries get new rows; what is not stored needs no move."""
    by_column = X.tocsc(copy=True)
    n_rows = X.shape[0]
    stratum_of, position_of = np.empty(n_rows, dtype=np.intp), np.empty(n_rows, dtype=np.intp)
    for number, rows in enumerate(strata):
        stratum_of[rows], position_of[rows] = number, np.arange(len(rows))
    together = np.argsort(_sources(n_rows, strata, 1, rng)[:, 0]) if jointly else None
    for j in chosen:
        entries = slice(by_column.indptr[j], by_column.indptr[j + 1])
        rows = by_column.indices[entries]
        if together is not None:
            by_column.indices[entries] = together[rows]
            continue
        own = stratum_of[rows]
        for number in np.unique(own):
            stored = np.flatnonzero(own == number)
            places = rng.choice(len(strata[number]), size=len(stored), replace=False)
            by_column.indices[entries.start + stored] = strata[number][places]
    by_column.has_sorted_indices = False
    by_column.sort_indices()
    return by_column if X.format == "csc" else by_column.tocsr()


def column_positions(X: Any, columns: Any) -> np.ndarray:
    """Positions of columns that are given by position or, in a frame, by name; each once."""
    from fewer._estimators import get_column_indices

    names = getattr(X, "columns", None)
    columns = list(columns)
    if names is not None and columns and isinstance(columns[0], str):
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise ValueError(f"the table has no column {', '.join(map(repr, unknown))}.")
    elif any(not isinstance(column, int | np.integer) or not 0 <= column < X.shape[1] for column in columns):
        of = "the names of the table, or " if names is not None else ""
        raise ValueError(f"columns {columns!r} must be {of}positions from 0 to {X.shape[1] - 1}.")
    positions = np.asarray(get_column_indices(X, columns), dtype=np.intp)
    if len(np.unique(positions)) != len(positions):
        raise ValueError("a column is named twice in the group.")
    return positions


def _taken(y: Any, order: np.ndarray) -> Any:
    """y in another order, of the type it had; a pandas index stays where it is, so that it goes on matching X."""
    if hasattr(y, "iloc"):
        return y.take(order).set_axis(y.index)
    if isinstance(y, list | tuple):
        return type(y)(y[i] for i in order)
    return y[order]
