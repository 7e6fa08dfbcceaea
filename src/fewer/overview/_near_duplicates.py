"""Columns that say almost the same as an earlier one: ``|correlation| > 0.999``.

All pairs of standardised columns ``u, v`` would cost ``n p**2``. Instead the ``n`` rows are folded into a few dozen
by a random signed sum (count sketch) ``S``. A pair of correlation ``r`` lies ``||u - v||**2 = 2 (1 - r)`` apart, and
``S`` keeps this squared distance up to a factor near one, whatever the values and outliers. So pairs whose sketches
have a cosine above ``1 - 4 (1 - 0.999)`` are candidates, found by blocks with one matrix product each, and their
correlation is then computed on all rows.

Missing cells count as the column's mean in the sketch. This pulls the cosine of two equal columns that are known in
``a`` and ``b`` of the ``n`` rows down to about ``(a + b - n) / sqrt(a b)`` at worst, so 0.6 of this makes a
candidate; the correlation is then taken over the rows where both are known.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fewer.overview._parts import row_blocks

THRESHOLD = 0.999
# With fewer rows two unrelated columns among many thousands reach the threshold by luck.
FEWEST_ROWS = 10
# Of a correlation, which is worked out in single precision.
DIGITS = 6

_SLACK = 4.0
_SLACK_WITH_MISSING = 0.6
_SKETCH_ROWS = 64
_SKETCH_ROWS_WITH_MISSING = 256
_BLOCK = 1024


class NearDuplicates(NamedTuple):
    """A column, the later ones that nearly repeat it, and their correlations with it."""

    leader: int
    members: list[int]
    correlations: list[float]


class _Scaling(NamedTuple):
    mean: np.ndarray
    norm: np.ndarray  # of the centred column over its known rows
    known: np.ndarray  # number of known rows


def near_duplicate_columns(X: Any, *, threshold: float = THRESHOLD) -> list[NearDuplicates]:
    """Groups of columns whose correlation with the first of the group is beyond the threshold, in either direction.

    A column belongs to the first column (complete columns before those with missing cells, then in the order of the
    table) that it nearly repeats and that is no member of a group itself. Two columns with missing cells are compared
    on the rows where both are known, if these are at least ten and at least half of the known rows of either.
    Constant columns, columns with infinite values, and sparse columns with missing cells take no part.

    Parameters
    ----------
    X : ndarray or scipy sparse matrix of shape (n_rows, n_columns)
        Numbers; NaN where missing.
    threshold : float, default=0.999
        Absolute correlation from which on a column counts as a near duplicate.

    Returns
    -------
    groups : list of NearDuplicates
        In the order of their leaders.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._near_duplicates import near_duplicate_columns
    >>> celsius = np.linspace(-5, 30, 50)
    >>> X = np.column_stack([celsius, np.sin(celsius), 32 + 1.8 * celsius])
    >>> near_duplicate_columns(X)
    [NearDuplicates(leader=0, members=[2], correlations=[1.0])]
    """
    if X.shape[0] < FEWEST_ROWS:
        return []
    X = X.tocsc() if sp.issparse(X) else X
    scaling = _scaling(X)
    usable = _usable_columns(X, scaling)
    complete = usable[scaling.known[usable] == X.shape[0]]
    incomplete = usable[scaling.known[usable] < X.shape[0]]
    order = np.concatenate([complete, incomplete])
    n_sketch = _SKETCH_ROWS_WITH_MISSING if len(incomplete) else _SKETCH_ROWS
    sketch = _sketch(X, order, scaling, min(n_sketch, X.shape[0]))
    pairs = _leaders_of(X, order, len(complete), sketch, scaling, threshold)
    return _as_groups(pairs)


def _usable_columns(X: Any, scaling: _Scaling) -> np.ndarray:
    """Columns that vary by more than rounding errors, with finite mean and enough known rows."""
    with np.errstate(invalid="ignore", over="ignore"):
        rounding = 1e-12 * np.abs(scaling.mean) * np.sqrt(np.maximum(scaling.known, 1))
        usable = np.isfinite(scaling.norm) & (scaling.norm > rounding) & (scaling.known >= FEWEST_ROWS)
    if sp.issparse(X):
        usable &= scaling.known == X.shape[0]
    return np.flatnonzero(usable)


def _scaling(X: Any) -> _Scaling:
    n_rows, n_columns = X.shape
    with np.errstate(invalid="ignore", over="ignore"):
        if sp.issparse(X):
            missing = np.isnan(X.data) if X.dtype.kind == "f" else np.zeros(len(X.data), dtype=bool)
            column = np.repeat(np.arange(n_columns), np.diff(X.indptr))
            values = X.data.astype(np.float64)
            mean = np.bincount(column, values, minlength=n_columns) / n_rows
            n_zeros = n_rows - np.bincount(column, minlength=n_columns)
            squares = np.bincount(column, (values - mean[column]) ** 2, minlength=n_columns) + n_zeros * mean**2
            return _Scaling(mean, np.sqrt(squares), n_rows - np.bincount(column[missing], minlength=n_columns))
        known, total, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
        for rows in row_blocks(*X.shape):
            block = X[rows].astype(np.float64)
            known += (block == block).sum(axis=0)
            total += np.nansum(block, axis=0)
        mean = total / np.maximum(known, 1)
        for rows in row_blocks(*X.shape):
            squares += np.nansum((X[rows].astype(np.float64) - mean) ** 2, axis=0)
        return _Scaling(mean, np.sqrt(squares), known)


def _sketch(X: Any, columns: np.ndarray, scaling: _Scaling, n_sketch: int) -> np.ndarray:
    """Unit vectors, one for each of the columns asked for, with nearly the angles of the standardised columns."""
    n_rows = X.shape[0]
    mean, norm = scaling.mean[columns], scaling.norm[columns]
    if n_sketch == n_rows:
        folding = sp.identity(n_rows, format="csr", dtype=np.float64)
    else:
        rng = np.random.default_rng(20)
        place, sign = rng.integers(n_sketch, size=n_rows), rng.choice([-1.0, 1.0], size=n_rows)
        folding = sp.csc_array((sign, place, np.arange(n_rows + 1)), shape=(n_sketch, n_rows))
    if sp.issparse(X):
        folded = (folding @ X[:, columns]).toarray() - np.outer(folding.sum(axis=1), mean)
    else:
        folding = folding.tocsc()
        folded = np.zeros((n_sketch, len(columns)))
        for rows in row_blocks(n_rows, len(columns)):
            block = (X[rows][:, columns] - mean) / norm
            block[np.isnan(block)] = 0.0
            folded += folding[:, rows] @ block
    length = np.linalg.norm(folded, axis=0)
    return (folded / np.where(length > 0, length, 1.0)).astype(np.float32)


def _leaders_of(
    X: Any, order: np.ndarray, n_complete: int, sketch: np.ndarray, scaling: _Scaling, threshold: float
) -> list[tuple[int, int, float]]:
    """(leader, member, correlation) of all near duplicates."""
    found: list[tuple[int, int, float]] = []
    is_member = np.zeros(len(order), dtype=bool)
    cuts = [*range(0, n_complete, _BLOCK), *range(n_complete, len(order), _BLOCK), len(order)]
    for b, start in enumerate(cuts[:-1]):
        for other, other_stop in zip(cuts[b:-1], cuts[b + 1 :], strict=True):
            leaders = start + np.flatnonzero(~is_member[start : cuts[b + 1]])
            rest = other + np.flatnonzero(~is_member[other:other_stop])
            with_missing = other >= n_complete
            cosine = np.abs(sketch[:, leaders].T @ sketch[:, rest])
            if with_missing:
                share = (scaling.known[order] / X.shape[0]).astype(np.float32)
                candidate = cosine > _cosine_with_missing(share[leaders][:, None], share[rest])
            else:
                candidate = cosine > 1 - _SLACK * (1 - threshold)
            if start == other:
                candidate &= leaders[:, None] < rest
            if not candidate.any():
                continue
            involved, others = candidate.any(axis=1), candidate.any(axis=0)
            leaders, rest, candidate = leaders[involved], rest[others], candidate[np.ix_(involved, others)]
            correlation = _correlation(X, order[leaders], order[rest], candidate, scaling, with_missing)
            close = candidate & (np.abs(correlation) > threshold)
            for i in np.flatnonzero(close.any(axis=1)):
                if is_member[leaders[i]]:
                    continue
                for j in np.flatnonzero(close[i] & ~is_member[rest]):
                    is_member[rest[j]] = True
                    found.append((int(order[leaders[i]]), int(order[rest[j]]), round(float(correlation[i, j]), DIGITS)))
    return found


def _cosine_with_missing(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine that equal columns still show when the shares ``a`` and ``b`` of their rows are known."""
    return _SLACK_WITH_MISSING * np.maximum((a + b - 1) / np.sqrt(a * b), 0.5)


def _correlation(
    X: Any, first: np.ndarray, second: np.ndarray, wanted: np.ndarray, scaling: _Scaling, with_missing: bool
) -> np.ndarray:
    """Correlation of the first with the second columns where both are known, at least for the pairs wanted."""
    if sp.issparse(X):
        product = np.asarray((X[:, first].T.astype(np.float64) @ X[:, second]).todense())
        product -= X.shape[0] * np.outer(scaling.mean[first], scaling.mean[second])
        return np.clip(product / np.outer(scaling.norm[first], scaling.norm[second]), -1, 1)
    if not with_missing:
        product = np.zeros((len(first), len(second)))
        for rows in row_blocks(X.shape[0], max(len(first), len(second), 250)):
            product += _standardised(X[rows], first, scaling).T @ _standardised(X[rows], second, scaling)
        return np.clip(product, -1, 1)
    correlation = np.zeros(wanted.shape)
    # Matrix products serve a well-filled block of pairs best; a few scattered pairs are taken one by one.
    if wanted.mean() > 0.05:
        moments = np.zeros((6, *wanted.shape))
        for rows in row_blocks(X.shape[0], max(len(first), len(second), 250)):
            a, b = _standardised(X[rows], first, scaling), _standardised(X[rows], second, scaling)
            moments += _moments(a, b, np.matmul)
        return _pairwise_complete(moments, scaling.known[first][:, None], scaling.known[second])
    for some in np.array_split(np.argwhere(wanted), 1 + wanted.sum() // 5_000):
        i, j = some.T
        moments = np.zeros((6, len(some)))
        for rows in row_blocks(X.shape[0], max(len(some), 250)):
            a, b = _standardised(X[rows], first[i], scaling), _standardised(X[rows], second[j], scaling)
            moments += _moments(a, b, lambda left, right: np.einsum("ji,ij->j", left, right))
        correlation[i, j] = _pairwise_complete(moments, scaling.known[first[i]], scaling.known[second[j]])
    return correlation


def _standardised(rows: np.ndarray, columns: np.ndarray, scaling: _Scaling) -> np.ndarray:
    return ((rows[:, columns] - scaling.mean[columns]) / scaling.norm[columns]).astype(np.float32)


def _moments(a: np.ndarray, b: np.ndarray, summed: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Sums over the rows known in both: of the products, of each, of their squares, and the number of rows."""
    in_a, in_b = (~np.isnan(a)).astype(a.dtype), (~np.isnan(b)).astype(b.dtype)
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    factors = ((a, b), (a, in_b), (in_a, b), (a * a, in_b), (in_a, b * b), (in_a, in_b))
    return np.stack([summed(left.T, right) for left, right in factors])


def _pairwise_complete(moments: np.ndarray, known_first: np.ndarray, known_second: np.ndarray) -> np.ndarray:
    products, sums_a, sums_b, squares_a, squares_b, both = moments
    enough = both >= np.maximum(FEWEST_ROWS, 0.5 * np.maximum(known_first, known_second))
    n = np.maximum(both, 1)
    variance_a, variance_b = squares_a - sums_a**2 / n, squares_b - sums_b**2 / n
    # A column that hardly varies on the shared rows has no meaningful correlation there.
    varies = (variance_a > 1e-9 * squares_a) & (variance_b > 1e-9 * squares_b)
    scale = np.sqrt(np.where(varies, variance_a * variance_b, 1.0))
    return np.where(enough & varies, np.clip((products - sums_a * sums_b / n) / scale, -1, 1), 0.0)


def _as_groups(pairs: list[tuple[int, int, float]]) -> list[NearDuplicates]:
    members: dict[int, list[tuple[int, float]]] = {}
    for leader, member, correlation in pairs:
        members.setdefault(leader, []).append((member, correlation))
    groups = []
    for leader in sorted(members):
        positions, correlations = zip(*sorted(members[leader]), strict=True)
        groups.append(NearDuplicates(leader, list(positions), list(correlations)))
    return groups
