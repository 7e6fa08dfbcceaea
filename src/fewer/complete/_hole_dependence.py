"""Do the holes of a column depend on what other columns say?

For column k with holes and a numeric column l, the observed values of l, as ranks between 0 and 1, are compared between
the rows where k is missing and those where it is not, by Welch's t statistic. Half plus the difference of the two means
is the probability that l is larger where k is missing. The smallest p-value of column k over all l is multiplied by
their number (Bonferroni), and across columns the share of false alarms is controlled (Benjamini and Hochberg).
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from fewer.complete._observed import equal_rows

# Fewer rows than this on either side of a comparison say nothing.
_MIN_ROWS = 5
# Columns are compared with at most this many others, evenly spread over the table.
MAX_WITNESSES = 1000
_ENTRIES_AT_ONCE = 1 << 22


class HoleDependence(NamedTuple):
    """For each column: adjusted p-value, the column its holes depend on most (-1: none), how much larger that is.

    ``larger`` is the probability that the other column is larger where this one is missing; 0.5 is no difference.
    """

    p_values: np.ndarray
    witnesses: np.ndarray
    larger: np.ndarray


def hole_dependence(holes: np.ndarray, values: np.ndarray, witnesses: np.ndarray) -> HoleDependence:
    """Test every column with holes against the witnesses.

    ``holes`` is the mask over all columns, ``values`` the witnesses' values with NaN, ``witnesses`` which columns these
    are.
    """
    n_columns = holes.shape[1]
    found = HoleDependence(np.ones(n_columns), np.full(n_columns, -1), np.full(n_columns, 0.5))
    counts = holes.sum(axis=0)
    tested = np.flatnonzero((counts >= _MIN_ROWS) & (counts <= len(holes) - _MIN_ROWS))
    if len(tested) == 0 or len(witnesses) == 0:
        return found
    # Columns that are missing in the same rows share one test.
    which, examples = equal_rows(holes[:, tested].T)
    firsts = tested[examples]
    block = max(1, _ENTRIES_AT_ONCE // max(len(holes), len(witnesses)))
    ranks, observed = _ranks(values)
    for start in range(0, len(firsts), block):
        part = firsts[start : start + block]
        t, freedom, larger = _compared(holes[:, part].astype(np.float32), ranks, observed)
        t[part[:, None] == witnesses] = 0.0
        best, rows = np.abs(t).argmax(axis=1), np.arange(len(part))
        single = 2 * stats.t.sf(np.abs(t[rows, best]), freedom[rows, best])
        found.p_values[part] = np.minimum(single * np.maximum(np.count_nonzero(t, axis=1), 1), 1.0)
        found.witnesses[part] = np.where(t[rows, best] != 0, witnesses[best], -1)
        found.larger[part] = larger[rows, best]
    for own in found:
        own[tested] = own[firsts[which]]
    found.p_values[tested] = stats.false_discovery_control(found.p_values[tested])
    return found


def _ranks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the observed entries of each column, from -0.5 to 0.5 and zero in holes; and where it is observed."""
    observed = ~np.isnan(values)
    # Holes come last; a value that is infinite is only very large.
    largest = np.finfo(np.float64).max
    ranks = stats.rankdata(np.where(observed, np.clip(values, -largest, largest), np.inf), axis=0)
    ranks = np.where(observed, (ranks - 0.5) / np.maximum(observed.sum(axis=0), 1) - 0.5, 0.0)
    return ranks.astype(np.float32), observed.astype(np.float32)


def _compared(missing: np.ndarray, ranks: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, ...]:
    """T statistics (zero: no test), degrees of freedom and probabilities of being larger.

    Each has a row for each column of holes, and a column for each witness.
    """
    squares = ranks**2
    n_in, sum_in, squares_in = ((missing.T @ part).astype(np.float64) for part in (observed, ranks, squares))
    n_out, sum_out, squares_out = (
        part.sum(axis=0, dtype=np.float64) - inside
        for part, inside in ((observed, n_in), (ranks, sum_in), (squares, squares_in))
    )
    enough = (n_in >= _MIN_ROWS) & (n_out >= _MIN_ROWS)
    n_in, n_out = np.where(enough, n_in, _MIN_ROWS), np.where(enough, n_out, _MIN_ROWS)
    mean_in, mean_out = sum_in / n_in, sum_out / n_out
    # Ties make for less spread; rounding must not make it negative.
    error_in = np.maximum(squares_in / n_in - mean_in**2, 0) / (n_in - 1)
    error_out = np.maximum(squares_out / n_out - mean_out**2, 0) / (n_out - 1)
    total = error_in + error_out
    spread = enough & (total > 1e-12)
    total = np.where(spread, total, 1.0)
    freedom = total**2 / np.maximum(error_in**2 / (n_in - 1) + error_out**2 / (n_out - 1), 1e-300)
    t = np.where(spread, (mean_in - mean_out) / np.sqrt(total), 0.0)
    return t, np.maximum(freedom, 1.0), 0.5 + mean_in - mean_out
