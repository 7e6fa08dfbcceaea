"""The figure of the missing entries of a table: rows by columns, those with the same pattern side by side."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.complete._missing_pattern import MissingPattern, missing_pattern

if TYPE_CHECKING:
    import plotly.graph_objects as go

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
