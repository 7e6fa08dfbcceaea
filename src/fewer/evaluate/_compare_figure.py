"""The critical-difference picture of a comparison (Demšar 2006, figure 1).

The better half of the methods is written on the left, the other on the right, one on a line, so that labels never meet.
Bars join methods that do not differ.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.evaluate._compare import MethodComparison

# Heights in steps of one label's line.
_BAR_STEP = 0.45
_PIXELS_PER_STEP = 26
_LETTER = 7.5


def critical_difference_figure(comparison: "MethodComparison") -> "go.Figure":
    """Mean ranks on a line at the top, labels below it, bars between them."""
    from fewer import _figures

    k = len(comparison.methods)
    order = np.argsort(comparison.mean_ranks, kind="stable")
    bars = _bar_rows(comparison)
    first_label = 0.9 + _BAR_STEP * (max((row for *_, row in bars), default=-1) + 1)
    n_left = (k + 1) // 2
    depth = first_label + n_left
    figure = _figures.new_figure()
    _draw_axis(figure, k)
    for place, column in enumerate(order):
        on_left = place < n_left
        line = place if on_left else k - 1 - place
        _draw_method(figure, comparison, int(column), -(first_label + line), on_left, k)
    for start, end, row in bars:
        height = -(0.55 + _BAR_STEP * row)
        figure.add_shape(
            type="line",
            x0=start - 0.04,
            x1=end + 0.04,
            y0=height,
            y1=height,
            line={"width": 5, "color": _figures.RED},
        )
    top = 1.1
    if not np.isnan(comparison.critical_difference) and comparison.test == "friedman":
        top = 2.6
        _draw_critical_difference(figure, comparison.critical_difference, k)
    margin = 30 + _LETTER * max(len(_label(comparison, column)) for column in range(k))
    figure.update_xaxes(range=[0.9, k + 0.1], visible=False, fixedrange=True)
    figure.update_yaxes(range=[-depth, top], visible=False, fixedrange=True)
    figure.update_layout(
        height=int(_PIXELS_PER_STEP * (depth + top) + 30),
        margin={"l": margin, "r": margin, "t": 10, "b": 20},
        showlegend=False,
    )
    return figure


def _bar_rows(comparison: "MethodComparison") -> list[tuple[float, float, int]]:
    """Ends of each clique's bar, and the first row in which it overlaps no other."""
    rank = dict(zip(comparison.methods, comparison.mean_ranks, strict=True))
    ends_of_rows: list[float] = []
    bars = []
    for clique in comparison.cliques:
        start, end = rank[clique[0]], rank[clique[-1]]
        row = next((row for row, last in enumerate(ends_of_rows) if last < start - 0.15), len(ends_of_rows))
        ends_of_rows[row : row + 1] = [end]
        bars.append((float(start), float(end), row))
    return bars


def _label(comparison: "MethodComparison", column: int) -> str:
    return f"{comparison.methods[column]}  {comparison.mean_ranks[column]:.2f}"


def _draw_axis(figure: "go.Figure", k: int) -> None:
    from fewer import _figures

    line = {"width": 1.5, "color": _figures.GREY}
    figure.add_shape(type="line", x0=1, x1=k, y0=0, y1=0, line=line)
    for rank in range(1, k + 1):
        figure.add_shape(type="line", x0=rank, x1=rank, y0=0, y1=0.25, line=line)
        figure.add_annotation(x=rank, y=0.3, text=str(rank), showarrow=False, yanchor="bottom")


def _draw_method(
    figure: "go.Figure", comparison: "MethodComparison", column: int, height: float, on_left: bool, k: int
) -> None:
    import plotly.graph_objects as go

    from fewer import _figures

    rank, edge = float(comparison.mean_ranks[column]), 0.9 if on_left else k + 0.1
    name, label = comparison.methods[column], _label(comparison, column)
    figure.add_trace(
        go.Scatter(
            x=[rank, rank, edge],
            y=[0, height, height],
            mode="lines",
            line={"width": 1.2, "color": _figures.GREY},
            name=name,
            hovertemplate=f"{label}<extra></extra>",
        )
    )
    figure.add_annotation(
        x=edge,
        y=height,
        text=label,
        showarrow=False,
        xanchor="right" if on_left else "left",
        xshift=-4 if on_left else 4,
    )


def _draw_critical_difference(figure: "go.Figure", difference: float, k: int) -> None:
    from fewer import _figures

    start, end = 1.0, min(1 + difference, k)
    line = {"width": 1.5, "color": _figures.RED}
    figure.add_shape(type="line", x0=start, x1=end, y0=1.6, y1=1.6, line=line)
    for x in (start, end):
        figure.add_shape(type="line", x0=x, x1=x, y0=1.45, y1=1.75, line=line)
    figure.add_annotation(
        x=start, y=1.8, text=f"critical difference {difference:.2f}", showarrow=False, xanchor="left", yanchor="bottom"
    )
