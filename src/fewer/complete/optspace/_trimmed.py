"""The trimmed table, its leading singular vectors as a first estimate, and the rank that its singular values suggest.

Rows and columns with far more observed entries than most dominate the spectrum of the zero-filled table and tell
nothing about the whole. Setting them to zero makes its leading singular vectors those of the complete table, up to
noise [1]_.

.. [1] Keshavan, R., Montanari, A. and Oh, S. (2010). Matrix completion from noisy entries. Journal of Machine Learning
   Research 11, 2057-2078.
"""

from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import checked_array
from fewer.complete._entries import leading_triplets, observed_entries
from fewer.complete._observed import Observed

_OVERFULL = 2
"""A row or column is too full with more than so many times the mean number of entries."""


class Trimmed(NamedTuple):
    """Values with those of overfull rows and columns taken out, and which these are."""

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def trimmed(entries: Any, how: str, seed: int) -> Trimmed:
    """``how``: "zero" empties overfull rows and columns, "random" drops what they have too many, "none" keeps all."""
    rows, columns = entries.positions()
    n_rows, n_columns = entries.shape
    too_many = [_OVERFULL * entries.n_observed / size for size in (n_rows, n_columns)]
    full_rows = np.bincount(rows, minlength=n_rows) > too_many[0]
    full_columns = np.bincount(columns, minlength=n_columns) > too_many[1]
    if how == "none":
        return Trimmed(entries.values, np.flatnonzero(full_rows), np.flatnonzero(full_columns))
    if how == "zero":
        kept = ~(full_rows[rows] | full_columns[columns])
    else:
        rng = np.random.default_rng(seed)
        kept = _first_few(rows, int(too_many[0]), rng) & _first_few(columns, int(too_many[1]), rng)
    return Trimmed(entries.where(kept), np.flatnonzero(full_rows), np.flatnonzero(full_columns))


def _first_few(groups: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Which entries are among the first ``limit`` of their group, in random order."""
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    ordered = groups[order]
    starts = np.searchsorted(ordered, ordered)
    kept = np.empty(len(groups), dtype=bool)
    kept[order] = np.arange(len(groups)) - starts < max(limit, 1)
    return kept


def suggested_rank(entries: Any, values: np.ndarray, n_values: int, seed: int) -> int:
    """The i at which ``(s_{i+1} + s_1 sqrt(i / eps)) / s_i`` is least."""
    n_values = min(n_values, *entries.shape)
    s = leading_triplets(entries, values, n_values, seed=seed, tol=1e-4)[1].astype(np.float64)
    if not s[0] > 0:
        return 1
    density = entries.n_observed / np.sqrt(entries.shape[0] * entries.shape[1])
    after = np.append(s[1:], 0.0)
    ranks = np.arange(1, len(s) + 1)
    # The last value computed has no next one, unless it is the last that there is.
    usable = (s > 1e-12 * s[0]) & ((ranks < len(s)) | (len(s) == min(entries.shape)))
    ratios = (after + s[0] * np.sqrt(ranks / density)) / np.where(usable, s, 1.0)
    return int(ranks[usable][ratios[usable].argmin()])


def estimate_rank(X: Any, n_sv: int = 100, *, trim: str = "zero") -> int:
    """Rank of a table with holes, as its singular values suggest.

    A heuristic: right where the rank is small and every direction strong; with weak directions it says too little.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table with holes: NaN; in a sparse one, what is not stored.
    n_sv : int, default=100
        Leading singular values to look at.
    trim : {"zero", "random", "none"}, default="zero"
        What becomes of rows and columns with more than twice the mean number of entries, as in ``OptSpace``.

    Returns
    -------
    rank : int
        At least 1.

    References
    ----------
    .. [1] Keshavan, R. and Oh, S. (2009). OptSpace: a gradient descent algorithm on the Grassmann manifold for matrix
       completion. arXiv:0910.5260.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import estimate_rank
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 150))
    >>> estimate_rank(np.where(rng.random(table.shape) < 0.5, np.nan, table))
    3
    """
    X = checked_array(
        X,
        "estimate_rank",
        accept_sparse=("csr", "csc"),
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    if trim not in ("zero", "random", "none"):
        raise ValueError(f"trim must be 'zero', 'random' or 'none', not {trim!r}.")
    entries = observed_entries(Observed(X))
    if entries.n_observed == 0:
        raise ValueError("X has no observed entry: every entry is NaN, or (in a sparse table) none is stored.")
    return suggested_rank(entries, trimmed(entries, trim, 0).values, n_sv, 0)


def oracle_rmse(n_rows: int, n_columns: int, rank: int, n_observed: int, sigma: float) -> float:
    """Error that nobody can beat who knows the row and column spaces: what noise costs the numbers that are left.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    n_columns : int
        Columns of the table.
    rank : int
        Its rank.
    n_observed : int
        Observed entries.
    sigma : float
        Standard deviation of the noise.

    Returns
    -------
    rmse : float
        Root mean squared error over all entries.

    Examples
    --------
    >>> from fewer.complete import oracle_rmse
    >>> round(oracle_rmse(600, 600, 2, 72_000, 1.0), 4)
    0.1824
    """
    if not 0 <= rank <= min(n_rows, n_columns):
        raise ValueError(
            f"rank must lie between 0 and {min(n_rows, n_columns)}, the table's smaller side; it is {rank}."
        )
    if n_observed < 1 or sigma < 0:
        raise ValueError(f"n_observed must be at least 1 and sigma at least 0; they are {n_observed} and {sigma:g}.")
    return float(sigma * np.sqrt(((n_rows + n_columns) * rank - rank**2) / n_observed))
