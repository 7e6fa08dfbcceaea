"""Tables of counts: totals, residuals from independence, and their leading axes.

With the totals r_i of rows, c_k of columns and N of all of a table Y,

    M = A^{-1/2} (Y - r c' / N) B^{-1/2},    A = diag(r), B = diag(c),

has the trivial axis removed; the sum of its squares is Pearson's chi-square over N. Its leading singular vectors are
computed all at once, or one after the other by reciprocal averaging: scores of rows are averages of those of their
columns, and the other way round, until nothing changes. With scores multiplied by the roots of the totals, one round is
``v <- M'(M v)``, rescaled; axes that were found are removed in every round.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.utils.validation import check_consistent_length

from fewer._estimators import checked_array, get_feature_names, refuse_negative, warn_caller
from fewer._kernels._scipy_solvers import svds


class CountTable(NamedTuple):
    """The rows and columns of a table that hold counts, their totals, and where they are in the table."""

    counts: Any
    row_totals: np.ndarray
    column_totals: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    @property
    def total(self) -> float:
        return float(self.row_totals.sum())


def count_table(counts: Any, who: str) -> CountTable:
    """The part of a table that holds counts; empty rows and columns are left out with a warning."""
    row_totals, column_totals = (np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    rows, columns = np.flatnonzero(row_totals), np.flatnonzero(column_totals)
    empty = [len(row_totals) - len(rows), len(column_totals) - len(columns)]
    if any(empty):
        what = " and ".join(f"{n} {thing}" for n, thing in zip(empty, ("rows", "columns"), strict=True) if n)
        warn_caller(f"{what} hold no counts: they take no part in the fit of {who}, and have no scores (NaN).")
        counts = counts[rows][:, columns]
    if len(rows) < 2 or len(columns) < 2:
        raise ValueError(
            f"{who} compares rows and columns of counts, and found {len(rows)} rows and {len(columns)} columns that "
            "hold any: two or more of each are needed (n_samples=1 or n_features=1 are too few)."
        )
    return CountTable(counts, row_totals[rows], column_totals[columns], rows, columns)


def warn_of_empty_rows(totals: np.ndarray, who: str) -> None:
    """Say that rows without counts are put in the middle."""
    n_empty = int(np.count_nonzero(totals <= 0))
    if n_empty:
        which = f"row {int(np.argmin(totals > 0))}" if n_empty == 1 else f"{n_empty} rows"
        warn_caller(
            f"{which} held no counts in the columns that {who} was fitted to: with nothing known, transform gives 0, "
            "the middle of the training rows."
        )


def residuals(table: CountTable) -> Any:
    """M: an array, or for a sparse table an operator that never forms it."""
    row_roots, column_roots = np.sqrt(table.row_totals), np.sqrt(table.column_totals)
    if not sparse.issparse(table.counts):
        expected = np.outer(row_roots, column_roots) / table.total
        return table.counts / row_roots[:, None] / column_roots - expected
    scaled = sparse.diags_array(1 / row_roots) @ table.counts @ sparse.diags_array(1 / column_roots)
    row_part, column_part = row_roots / np.sqrt(table.total), column_roots / np.sqrt(table.total)
    return LinearOperator(
        scaled.shape,
        dtype=np.float64,
        matvec=lambda v: scaled @ v.ravel() - row_part * (column_part @ v.ravel()),
        rmatvec=lambda v: scaled.T @ v.ravel() - column_part * (row_part @ v.ravel()),
        matmat=lambda v: scaled @ v - np.outer(row_part, column_part @ v),
        rmatmat=lambda v: scaled.T @ v - np.outer(column_part, row_part @ v),
    )


def total_inertia(table: CountTable) -> float:
    """Pearson's chi-square of the table over N."""
    if not sparse.issparse(table.counts):
        return float(np.sum(residuals(table) ** 2))
    stored = table.counts.tocoo()
    rows, columns = stored.coords
    shares = stored.data.astype(np.float64) ** 2 / (table.row_totals[rows] * table.column_totals[columns])
    return max(float(shares.sum()) - 1, 0.0)


_MANY = 200  # from this many rows and columns on, a few axes are found without forming all of them
_FEW = 0.1


class Axis(NamedTuple):
    """Singular value, vectors over rows and columns, rounds that it took, and the last change of the vectors."""

    size: float
    left: np.ndarray
    right: np.ndarray
    n_iter: int = 1
    change: float = 0.0


def axes_by_svd(M: Any, n_axes: int) -> Iterator[Axis]:
    """The leading axes, by a singular value decomposition or, for few axes of a large matrix, by Lanczos steps."""
    smaller = min(M.shape)
    if smaller > _MANY and n_axes <= _FEW * smaller:
        left, sizes, right = svds(M, n_axes, v0=_start(smaller), return_singular_vectors=True)
        order = np.argsort(-sizes)
        left, sizes, right = left[:, order], sizes[order], right[order]
    elif isinstance(M, LinearOperator):
        left, sizes, right = _small_side_svd(M)
    else:
        left, sizes, right = np.linalg.svd(M, full_matrices=False)
    for number in range(n_axes):
        yield Axis(float(sizes[number]), left[:, number], right[number])


def axes_by_averaging(M: Any, n_axes: int, tol: float, max_iter: int) -> Iterator[Axis]:
    """The leading axes by reciprocal averaging, until a round changes the scores by less than ``tol``."""
    found = np.empty((M.shape[1], 0))
    for _ in range(n_axes):
        scores = _unit(_freed(_start(M.shape[1]), found))
        for n_iter in range(1, max_iter + 1):  # noqa: B007  # part of the result
            moved = _freed(M.T @ (M @ scores), found)
            if np.linalg.norm(moved) < np.finfo(float).tiny:
                return
            moved = _unit(moved)
            change = float(np.linalg.norm(moved - scores))
            scores = moved
            if change < tol:
                break
        across = M @ scores
        size = float(np.linalg.norm(across))
        yield Axis(size, across / size, scores, n_iter, change)
        found = np.column_stack([found, scores])


def _small_side_svd(M: LinearOperator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By the products of the smaller side, which is the only matrix that is formed."""
    if M.shape[0] < M.shape[1]:
        left, sizes, right = _small_side_svd(M.H)
        return right.T, sizes, left.T
    products = M.H @ (M @ np.eye(M.shape[1]))
    eigenvalues, vectors = np.linalg.eigh((products + products.T) / 2)
    sizes, vectors = np.sqrt(np.maximum(eigenvalues[::-1], 0)), vectors[:, ::-1]
    across = M @ vectors
    return np.divide(across, sizes, out=np.zeros_like(across), where=sizes > 0), sizes, vectors.T


def _start(size: int) -> np.ndarray:
    """Any vector that has a part along every axis does; always the same one, so that fits can be repeated."""
    return np.random.RandomState(0).standard_normal(size)


def _freed(scores: np.ndarray, found: np.ndarray) -> np.ndarray:
    return scores - found @ (found.T @ scores)


def _unit(scores: np.ndarray) -> np.ndarray:
    return scores / np.linalg.norm(scores)


def cooccurrence_to_labeled(
    Y: Any, X: Any, *, return_weights: bool = False
) -> tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row for each occurrence in a table of counts, labelled by its column.

    Linear discriminant analysis of it is canonical correspondence analysis of the table.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_columns)
        How often each column occurred in each row.
    X : array-like of shape (n_samples, n_features)
        Columns that describe the rows.
    return_weights : bool, default=False
        Give each row once for each column, and the counts as weights, instead of repeating rows.

    Returns
    -------
    X_expanded : ndarray of shape (n_occurrences, n_features)
        Row i of X as often as there are occurrences in it; with weights, every row n_columns times.
    y : ndarray of shape (n_occurrences,)
        Name or number of the column of Y.
    weights : ndarray of shape (n_samples * n_columns,)
        The counts; only with ``return_weights``.

    Examples
    --------
    >>> from fewer.extract import cooccurrence_to_labeled
    >>> X, y = cooccurrence_to_labeled([[2, 0], [1, 1]], [[0.5], [0.7]])
    >>> X.ravel().tolist(), y.tolist()
    ([0.5, 0.5, 0.7, 0.7], [0, 0, 0, 1])
    """
    names = get_feature_names(Y)
    who = "cooccurrence_to_labeled"
    counts = checked_array(Y, who, dtype=np.float64)
    refuse_negative(counts, who, names)
    described = checked_array(X, who, dtype=None)
    check_consistent_length(counts, described)
    labels = np.arange(counts.shape[1]) if names is None else np.asarray(names)
    rows, columns = (each.ravel() for each in np.indices(counts.shape))
    if return_weights:
        return described[rows], labels[columns], counts.ravel()
    if (counts != np.round(counts)).any():
        raise ValueError(
            "Y holds numbers with fractions, so that rows cannot be repeated as often; set return_weights=True."
        )
    times = counts.ravel().astype(np.int64)
    return described[np.repeat(rows, times)], labels[np.repeat(columns, times)]
