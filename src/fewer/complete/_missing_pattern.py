"""Where entries of a table are missing, which go missing together, and whether that depends on other columns.

For column k with missing entries and a numeric column l, the observed values of l, as ranks between 0 and 1, are
compared between the rows where k is missing and those where it is not, by Welch's t statistic. Half plus the difference
of the two means is the probability that l is larger where k is missing. The smallest p-value of column k over all l is
multiplied by their number (Bonferroni), and across columns the false discovery rate is controlled (Benjamini and
Hochberg). In the figure, rows and columns with the same pattern lie side by side.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from fewer._estimators import checked_array, refuse_dataset
from fewer._figures import Result
from fewer.catalogue import method
from fewer.complete._observed import Observed, equal_rows
from fewer.io import Dataset, read_table

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Fewer rows than this on either side of a comparison say nothing.
_MIN_ROWS = 5
# Columns are compared with at most this many others, every k-th of a wider table.
MAX_WITNESSES = 1000
_ENTRIES_AT_ONCE = 1 << 22


class MissingnessDependence(NamedTuple):
    """For each column: adjusted p-value, the column that it depends on most (-1: none), how much larger that is.

    ``larger`` is the probability that the other column is larger where this one is missing; 0.5 is no difference.
    """

    p_values: np.ndarray
    witnesses: np.ndarray
    larger: np.ndarray


def missingness_dependence(missing: np.ndarray, values: np.ndarray, witnesses: np.ndarray) -> MissingnessDependence:
    """Test every column with missing entries against the witnesses.

    ``missing`` is the mask over all columns, ``values`` the witnesses' values with NaN, ``witnesses`` which columns
    these are.
    """
    n_columns = missing.shape[1]
    found = MissingnessDependence(np.ones(n_columns), np.full(n_columns, -1), np.full(n_columns, 0.5))
    counts = missing.sum(axis=0)
    tested = np.flatnonzero((counts >= _MIN_ROWS) & (counts <= len(missing) - _MIN_ROWS))
    if len(tested) == 0 or len(witnesses) == 0:
        return found
    # Columns that are missing in the same rows share one test.
    which, examples = equal_rows(missing[:, tested].T)
    firsts = tested[examples]
    block = max(1, _ENTRIES_AT_ONCE // max(len(missing), len(witnesses)))
    ranks, observed = _ranks(values)
    for start in range(0, len(firsts), block):
        part = firsts[start : start + block]
        t, freedom, larger = _compared(missing[:, part].astype(np.float32), ranks, observed)
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
    """Ranks of the observed entries of each column, from -0.5 to 0.5 zero where missing; and where it is observed."""
    observed = ~np.isnan(values)
    # Missing entries come last; a value that is infinite is only very large.
    largest = np.finfo(np.float64).max
    ranks = stats.rankdata(np.where(observed, np.clip(values, -largest, largest), np.inf), axis=0)
    ranks = np.where(observed, (ranks - 0.5) / np.maximum(observed.sum(axis=0), 1) - 0.5, 0.0)
    return ranks.astype(np.float32), observed.astype(np.float32)


def _compared(missing: np.ndarray, ranks: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, ...]:
    """T statistics (zero: no test), degrees of freedom and probabilities of being larger.

    Each has a row for each column with missing entries, and a column for each witness.
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
    # Ties lower the variance; rounding must not make it negative.
    error_in = np.maximum(squares_in / n_in - mean_in**2, 0) / (n_in - 1)
    error_out = np.maximum(squares_out / n_out - mean_out**2, 0) / (n_out - 1)
    total = error_in + error_out
    spread = enough & (total > 1e-12)
    total = np.where(spread, total, 1.0)
    freedom = total**2 / np.maximum(error_in**2 / (n_in - 1) + error_out**2 / (n_out - 1), 1e-300)
    t = np.where(spread, (mean_in - mean_out) / np.sqrt(total), 0.0)
    return t, np.maximum(freedom, 1.0), 0.5 + mean_in - mean_out


_ALPHA = 0.01
# A larger sparse table is shown, and its missing entries are counted, but not compared with its values.
_ENTRIES_TO_TEST = 1 << 26


@dataclass(frozen=True, eq=False, repr=False)
class MissingPattern(Result):
    """The missing entries of a table; made by :func:`missing_pattern`.

    Attributes
    ----------
    n_rows, n_columns : int
        Size of the table.
    n_missing : int
        Number of missing entries.
    columns : tuple of str
        Names of the columns, or their positions.
    column_shares : ndarray of shape (n_columns,)
        Share of each column that is missing.
    row_shares : ndarray of shape (n_rows,)
        Share of each row that is missing.
    n_patterns : int
        How many different sets of columns are observed in some row.
    p_values : ndarray of shape (n_columns,)
        p-value, for each column, of the test that its missing entries do not depend on the values of other columns;
        adjusted for the number of comparisons. 1 where there is nothing to test.
    witnesses : ndarray of int of shape (n_columns,)
        The column that is most associated with the missing entries of each one; -1 for none.
    larger : ndarray of shape (n_columns,)
        Probability that the witness is larger in rows where the column is missing; 0.5 is no difference.
    tested : bool
        Whether missing entries were compared with values at all; those of a very large sparse table are not.
    table : Observed
        What is observed.
    """

    n_rows: int
    n_columns: int
    n_missing: int
    columns: tuple[str, ...]
    column_shares: np.ndarray
    row_shares: np.ndarray
    n_patterns: int
    p_values: np.ndarray
    witnesses: np.ndarray
    larger: np.ndarray
    tested: bool
    table: Observed

    _data = (
        "n_rows",
        "n_columns",
        "n_missing",
        "share",
        "columns",
        "column_shares",
        "n_patterns",
        "n_complete_rows",
        "p_values",
        "witnesses",
        "larger",
        "dependent",
    )

    @property
    def share(self) -> float:
        """Share of the table that is missing."""
        return self.n_missing / (self.n_rows * self.n_columns)

    @property
    def n_complete_rows(self) -> int:
        """Rows without missing entries."""
        return int(np.count_nonzero(self.row_shares == 0))

    @property
    def dependent(self) -> np.ndarray:
        """Positions of the columns whose missing entries depend on another column, smallest p-value first."""
        found = np.flatnonzero(self.p_values < _ALPHA)
        return found[np.argsort(self.p_values[found], kind="stable")]

    def __repr__(self) -> str:
        lines = [
            f"MissingPattern: {self.share:.1%} of {self.n_rows:,} x {self.n_columns:,} missing, in "
            f"{np.count_nonzero(self.column_shares):,} columns and {self.n_rows - self.n_complete_rows:,} rows",
            f"  {self.n_patterns:,} different pattern{'s' * (self.n_patterns != 1)}; "
            f"{self.n_complete_rows:,} {'row is' if self.n_complete_rows == 1 else 'rows are'} complete",
        ]
        most = [column for column in np.argsort(-self.column_shares, kind="stable")[:5] if self.column_shares[column]]
        if most:
            shares = ", ".join(f"{self.columns[column]} {self.column_shares[column]:.0%}" for column in most)
            lines.append(f"  most in {shares}")
        for column in self.dependent[:5]:
            lines.append(f"  warning: {self.dependence_text(column)} (p = {self.p_values[column]:.2g})")
        if len(self.dependent) > 5:
            lines.append(f"  and {len(self.dependent) - 5:,} more columns of that kind")
        return "\n".join(lines)

    def dependence_text(self, column: int) -> str:
        """What the missing entries of a column depend on, as a sentence."""
        larger = self.larger[column]
        side, chance = ("larger", larger) if larger >= 0.5 else ("smaller", 1 - larger)
        return (
            f"{self.columns[column]} is missing more often where {self.columns[self.witnesses[column]]} is {side} "
            f"({chance:.0%} of pairs)"
        )

    @property
    def reading(self) -> str:
        """How to read it, in words."""
        if self.n_missing == 0:
            return "Nothing is missing."
        if not self.tested:
            return "The table is too large to compare its missing entries with its values; try a part of it."
        if len(self.dependent) == 0:
            return (
                "In these rows, missing entries do not depend on the values of other columns (no test is significant). "
                "Whether they depend on the missing values themselves cannot be tested from the table."
            )
        return (
            f"Missing entries of {len(self.dependent):,} columns depend on the values of other columns. Complete rows "
            "are then not a random sample, and means of the observed entries are biased; methods that use the other "
            "columns, such as PCAMissing, allow for that. Whether missing entries depend on the missing values "
            "themselves cannot be tested from the table."
        )

    def plot(self) -> "go.Figure":
        """Figure of the missing entries; see :func:`plot_missing`.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        return missing_figure(self)


@method(
    tasks=["evaluation"],
    when="Before missing values are imputed or rows dropped: how many there are, where, which go together, and whether "
    "they depend on the values of other columns.",
    cost="O(n p) time, and O(n q min(p, 1000)) for the test of q columns with missing values",
    handles=["missing", "sparse", "categorical"],
)
def missing_pattern(X: Any) -> MissingPattern:
    """Where entries of a table are missing, which go missing together, and whether that depends on other columns.

    The missing entries of a column are compared with the values of every numeric column (every k-th of a table with
    more than 1,000): are these larger, or smaller, in the rows where the column is missing? The p-values are adjusted
    for the number of comparisons; those below 0.01 are shown as warnings.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Table with missing values (NaN or null); in a sparse one, what is not stored is missing. Columns of a frame may
        hold anything.

    Returns
    -------
    pattern : MissingPattern
        Prints itself; ``plot()`` draws it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import missing_pattern
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> X[X[:, 0] > 1, 2] = np.nan
    >>> missing_pattern(X)
    MissingPattern: 5.3% of 200 x 3 missing, in 1 columns and 32 rows
      2 different patterns; 168 rows are complete
      most in 2 16%
      warning: 2 is missing more often where 0 is larger (100% of pairs) (p = ...)
    """
    table, columns, values, numeric = _parts(X)
    n_rows, n_columns = table.shape
    small = n_rows * n_columns <= _ENTRIES_TO_TEST
    tested = table.dense is not None or small
    p_values, witnesses, larger = np.ones(n_columns), np.full(n_columns, -1), np.full(n_columns, 0.5)
    if tested and not table.is_complete:
        chosen = numeric[:: -(-len(numeric) // MAX_WITNESSES)] if len(numeric) else numeric
        shown = values if values is not None else table.with_nan()
        p_values, witnesses, larger = missingness_dependence(np.isnan(table.with_nan()), shown[:, chosen], chosen)
    return MissingPattern(
        n_rows=n_rows,
        n_columns=n_columns,
        n_missing=n_rows * n_columns - table.n_observed,
        columns=columns,
        column_shares=1 - table.column_counts / n_rows,
        row_shares=1 - table.row_counts / n_columns,
        n_patterns=len(table.row_patterns.examples),
        p_values=p_values,
        witnesses=witnesses,
        larger=larger,
        tested=tested,
        table=table,
    )


class _Parts(NamedTuple):
    """What is observed, the names, the values (None: those of the table itself), and which columns are numeric."""

    table: Observed
    columns: tuple[str, ...]
    values: np.ndarray | None
    numeric: np.ndarray


def _parts(X: Any) -> _Parts:
    refuse_dataset(X)
    if sparse.issparse(X):
        X = checked_array(X, "missing_pattern", accept_sparse="csr", ensure_all_finite=False, dtype=np.float64)
        return _Parts(Observed(X), _positions(X.shape[1]), None, np.arange(X.shape[1]))
    if not hasattr(X, "columns"):
        X = checked_array(X, "missing_pattern", ensure_all_finite=False, dtype=[np.float64, np.float32])
        return _Parts(Observed(X), _positions(X.shape[1]), X, np.arange(X.shape[1]))
    return _of_frame(read_table(X))


def _of_frame(data: Dataset) -> _Parts:
    columns = tuple(str(name) for name in data.columns)
    if isinstance(data.X, np.ndarray):
        return _Parts(Observed(data.X), columns, data.X, np.arange(len(columns)))
    frame = data.to_polars()
    missing = np.column_stack([frame[name].is_null().to_numpy() for name in frame.columns])
    values = np.full(missing.shape, np.nan)
    numeric = []
    for place, name in enumerate(frame.columns):
        column = frame[name]
        if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
            values[:, place] = column.cast(float).fill_null(np.nan).to_numpy()
            missing[:, place] |= np.isnan(values[:, place])
            numeric.append(place)
    return _Parts(Observed(np.where(missing, np.nan, 1.0)), columns, values, np.array(numeric, dtype=int))


def _positions(n_columns: int) -> tuple[str, ...]:
    return tuple(str(column) for column in range(n_columns))


# A larger table is drawn in cells of several rows and columns, with the share of each that is missing.
_ROWS_SHOWN, _COLUMNS_SHOWN = 200, 240
# Up to this many columns are named below the figure.
_COLUMNS_NAMED = 40
# Rows are put in the order of their patterns by the columns with most missing entries, up to this many.
_COLUMNS_SORTED_BY = 4096


def plot_missing(X: Any) -> "go.Figure":
    """Draw the missing entries of a table, ordered by pattern, with a warning sign where they depend on other columns.

    Below, the table: columns from the most to the least missing, rows with the same pattern together; a large table
    is drawn in cells that show the share missing. Above, the share of each column, red with a warning sign where it
    depends on the values of another column; hover over the sign to see which.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
        Table with missing values (NaN or null); in a sparse one, what is not stored is missing.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The figure.

    See Also
    --------
    missing_pattern : The same in words and numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import plot_missing
    >>> figure = plot_missing(np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]]))
    >>> figure.layout.title.text
    '33.3% of 3 x 2 missing (blue)'
    """
    return missing_figure(missing_pattern(X))


def pattern_order(pattern: MissingPattern) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns in the order of the figure."""
    columns = np.argsort(-pattern.column_shares, kind="stable")
    table = pattern.table
    ranked = columns[:_COLUMNS_SORTED_BY]
    labels, examples = table.row_patterns
    # One row of each pattern is enough to sort by.
    missing = np.isnan(table.rows(examples).columns(ranked).with_nan())
    packed = np.packbits(missing, axis=1)
    keys = np.ascontiguousarray(packed).view(f"S{packed.shape[1]}")[:, 0]
    places = np.empty(len(examples), dtype=np.intp)
    places[np.argsort(keys, kind="stable")[::-1]] = np.arange(len(examples))
    return np.argsort(places[labels], kind="stable"), columns


def cell_shares(pattern: MissingPattern, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Share missing of each cell of the picture."""
    table = pattern.table
    n_rows, n_columns = table.shape
    if table.dense is not None:
        starts = [_starts(_cells(n, shown)) for n, shown in ((n_rows, _ROWS_SHOWN), (n_columns, _COLUMNS_SHOWN))]
        missing = ~table.mask[rows][:, columns]
        totals = np.add.reduceat(np.add.reduceat(missing, starts[1], axis=1, dtype=np.int32), starts[0], axis=0)
        return totals / np.outer(*(np.diff([*start, n]) for start, n in zip(starts, table.shape, strict=True)))
    row_cell, column_cell = np.empty(n_rows, dtype=np.intp), np.empty(n_columns, dtype=np.intp)
    row_cell[rows] = _cells(n_rows, _ROWS_SHOWN)
    column_cell[columns] = _cells(n_columns, _COLUMNS_SHOWN)
    heights, widths = np.bincount(row_cell), np.bincount(column_cell)
    stored = table.by_rows
    entry_rows = np.repeat(row_cell, np.diff(stored.indptr))
    observed = np.bincount(entry_rows * len(widths) + column_cell[stored.indices], minlength=heights.size * widths.size)
    return 1 - observed.reshape(len(heights), len(widths)) / np.outer(heights, widths)


def _cells(n: int, n_shown: int) -> np.ndarray:
    """The cell of each of n places in a row."""
    return np.arange(n) * min(n, n_shown) // n


def _starts(cells: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.flatnonzero(np.diff(cells)) + 1])


def _columns_of_cells(columns: np.ndarray) -> list[np.ndarray]:
    return np.split(columns, _starts(_cells(len(columns), _COLUMNS_SHOWN))[1:])


def missing_figure(pattern: MissingPattern) -> "go.Figure":
    """The picture of a pattern that was worked out already."""
    import plotly.graph_objects as go

    from fewer import _figures

    rows, columns = pattern_order(pattern)
    shares = cell_shares(pattern, rows, columns)
    n_shown = shares.shape[1]
    whole = n_shown == pattern.n_columns
    figure = _figures.new_figure(
        title=f"{pattern.share:.1%} of {pattern.n_rows:,} x {pattern.n_columns:,} missing (blue)",
        x="columns, most often missing first" + ("" if whole else f" ({pattern.n_columns / n_shown:.0f} to a cell)"),
        height=520,
    )
    centres = (np.arange(n_shown) + 0.5) * pattern.n_columns / n_shown - 0.5
    figure.add_trace(
        go.Heatmap(
            z=shares,
            x=centres,
            y=(np.arange(len(shares)) + 0.5) * pattern.n_rows / len(shares),
            zmin=0,
            zmax=1,
            colorscale=[[0, _figures.translucent(_figures.GREY, 0.12)], [1, _figures.BLUE]],
            showscale=False,
            customdata=[_names_of_cells(pattern, columns)] * len(shares),
            hovertemplate="%{customdata}: %{z:.0%} missing<extra></extra>",
        )
    )
    _add_shares(figure, pattern, columns, centres)
    named = pattern.n_columns <= _COLUMNS_NAMED
    figure.update_layout(
        yaxis={"domain": [0, 0.72], "autorange": "reversed", "title": {"text": "rows, by pattern"}, "showgrid": False},
        yaxis2={
            "domain": [0.78, 1],
            "range": [0, 1.3 * max(pattern.column_shares.max(), 0.01)],
            "tickformat": ".0%",
            "nticks": 4,
            "title": {"text": "missing"},
            "gridcolor": _figures.translucent(_figures.GREY, 0.25),
        },
        bargap=0.15 if whole else 0,
        showlegend=bool(len(pattern.dependent)),
        legend={"y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        margin={"t": 70},
    )
    figure.update_xaxes(
        range=[-0.5, pattern.n_columns - 0.5],
        tickvals=np.arange(pattern.n_columns) if named else [],
        ticktext=[pattern.columns[column] for column in columns] if named else [],
    )
    return figure


def _names_of_cells(pattern: MissingPattern, columns: np.ndarray) -> list[str]:
    parts = _columns_of_cells(columns)
    return [pattern.columns[part[0]] + (f" to {pattern.columns[part[-1]]}" if len(part) > 1 else "") for part in parts]


def _add_shares(figure: "go.Figure", pattern: MissingPattern, columns: np.ndarray, centres: np.ndarray) -> None:
    """Share missing of each column above it, red with a sign where it depends on other columns."""
    import plotly.graph_objects as go

    from fewer import _figures

    parts = _columns_of_cells(columns)
    suspect = np.zeros(pattern.n_columns, dtype=bool)
    suspect[pattern.dependent] = True
    heights = np.array([pattern.column_shares[part].mean() for part in parts])
    warned = np.array([suspect[part].any() for part in parts])
    figure.add_trace(
        go.Bar(
            x=centres,
            y=heights,
            yaxis="y2",
            marker_color=np.where(warned, _figures.RED, _figures.BLUE),
            marker_line_width=0,
            showlegend=False,
            hovertemplate="%{y:.0%} missing<extra></extra>",
        )
    )
    if warned.any():
        texts = [
            "<br>".join(pattern.dependence_text(column) for column in part[suspect[part]][:5])
            for part, is_warned in zip(parts, warned, strict=True)
            if is_warned
        ]
        figure.add_trace(
            go.Scatter(
                x=centres[warned],
                y=heights[warned] + 0.12 * max(heights.max(), 0.01),
                yaxis="y2",
                mode="markers",
                marker={
                    "symbol": "triangle-up",
                    "size": 9 if len(parts) == pattern.n_columns else 5,
                    "color": _figures.RED,
                },
                name="depends on other columns",
                customdata=texts,
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
