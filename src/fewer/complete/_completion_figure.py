"""The picture of how well each column is filled."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.complete._completion_score import CompletionScore


def column_errors_figure(score: "CompletionScore", n_columns: int) -> "go.Figure":
    """Errors of the columns beside those of column means, the best filled on top."""
    import plotly.graph_objects as go

    from fewer import _figures
    from fewer.complete._completion_score import told_interval

    known = np.flatnonzero(np.isfinite(score.column_errors))
    order = known[np.argsort(score.column_errors[known], kind="stable")]
    if len(order) > n_columns:
        order = order[np.linspace(0, len(order) - 1, n_columns).round().astype(int)]
    left = f" ({n_columns} of {len(known):,} columns, evenly spread)" if len(known) > n_columns else ""
    figure = _figures.new_figure(
        title=f"Error {score.error:.2f}{told_interval(score.interval, '.2f')}, column means {score.mean_error:.2f}",
        x=f"error at hidden entries, in standard deviations of the column{left}",
        height=170 + 19 * len(order),
    )
    places = np.arange(len(order))
    errors, by_means = score.column_errors[order], score.column_mean_errors[order]
    names = [score.columns[column] for column in order]
    worse = errors > by_means
    for name, chosen, colour in (
        (score.model.partition("(")[0], ~worse, _figures.BLUE),
        ("worse than the column's mean", worse, _figures.RED),
    ):
        if chosen.any():
            figure.add_trace(
                go.Bar(
                    x=errors[chosen],
                    y=places[chosen],
                    orientation="h",
                    name=name,
                    marker_color=colour,
                    customdata=np.array(names, dtype=object)[chosen],
                    hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
                )
            )
    figure.add_trace(
        go.Scatter(
            x=by_means,
            y=places,
            name="column means",
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 9, "color": _figures.GREY, "line": {"width": 2}},
            hovertemplate="column mean: %{x:.2f}<extra></extra>",
        )
    )
    figure.update_yaxes(range=[len(order) - 0.5, -0.5], tickvals=places, ticktext=names, showgrid=False)
    figure.update_xaxes(rangemode="tozero")
    figure.update_layout(
        bargap=0.2,
        legend={"y": 1.0, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        margin={"t": 75, "b": 60},
    )
    return figure
