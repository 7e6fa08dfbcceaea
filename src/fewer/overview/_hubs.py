"""Whether nearest neighbours can be relied on: hubs and the dimension that the rows of a wide table fill.

In many dimensions a few rows (hubs) are the neighbours of very many others, and many rows of none (Radovanovic,
Nanopoulos and Ivanovic 2010). Counted among at most 2,000 rows, with standardised columns.
"""

from collections.abc import Iterator

import numpy as np

from fewer._kernels._neighbour_counts import (
    levina_bickel_dimension,
    neighbours_of_distances,
    skewness,
    times_listed,
)
from fewer.overview._description import Hubness
from fewer.overview._parts import TableRows

_ROWS = 2000
_FEWEST_ROWS = 50
_FEWEST_COLUMNS = 20
_NEIGHBOURS = 10
_LISTED = 12  # the dimension is averaged over 6 to 12 neighbours
_STRONG = 2.0


def hubness_of(table: TableRows) -> Hubness | None:
    """Hubs among some rows of a table of 20 columns or more; None for others, sparse ones, and fewer than 50 rows."""
    n_rows = table.dataset.n_rows
    if table.dataset.is_sparse or table.n_features < _FEWEST_COLUMNS or n_rows < _FEWEST_ROWS:
        return None
    rows = np.arange(n_rows)
    if n_rows > _ROWS:
        rows = np.sort(np.random.default_rng(7).choice(n_rows, _ROWS, replace=False))
    Z, _ = table.standardised(rows)
    # Of equal rows, which are their own nearest neighbours, one is enough.
    Z = np.unique(Z[:, Z.std(axis=0) > 0], axis=0).astype(np.float64)
    if len(Z) < _FEWEST_ROWS or Z.shape[1] < _FEWEST_COLUMNS:
        return None
    neighbours, distances = neighbours_of_distances(_distance_blocks(Z), len(Z), _LISTED)
    counts = times_listed(neighbours[:, :_NEIGHBOURS])
    skew = skewness(counts)
    return Hubness(
        rows=len(Z),
        neighbours=_NEIGHBOURS,
        skewness=skew,
        never_listed=float(np.mean(counts == 0)),
        most_listed=int(counts.max()),
        dimension=levina_bickel_dimension(np.maximum(distances, np.finfo(float).tiny), 6, _LISTED),
        level="warning" if skew > _STRONG else "note",
    )


def _distance_blocks(Z: np.ndarray) -> Iterator[np.ndarray]:
    squares = np.einsum("ij,ij->i", Z, Z)
    for start in range(0, len(Z), 500):
        rows = slice(start, start + 500)
        yield np.sqrt(np.maximum(squares[rows, None] + squares - 2 * Z[rows] @ Z.T, 0.0))
