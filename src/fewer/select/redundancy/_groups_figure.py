"""The picture of redundancy groups: who is alike, group by group."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.select.redundancy._groups import RedundancyGroups


def groups_figure(found: "RedundancyGroups", n_features: int) -> "go.Figure":
    """Heat map of the similarities within and between the largest groups, with a frame around each."""
    import plotly.graph_objects as go

    from fewer import _figures

    shown = found.shown[:n_features]
    names = [str(found.feature_names[column]) for column in shown]
    stands_for = {group.representative for group in found.groups}
    labels = [f"<b>{name}</b>" if column in stands_for else name for column, name in zip(shown, names, strict=True)]
    figure = _figures.new_figure(title=found.reading, height=max(320, 120 + 18 * len(shown)))
    places = np.arange(len(shown))
    if len(shown):
        figure.add_trace(
            go.Heatmap(
                z=found.shown_similarities[:n_features, :n_features],
                x=places,
                y=places,
                zmin=0,
                zmax=1,
                colorscale=[[0, _figures.translucent(_figures.BLUE, 0.02)], [1, _figures.BLUE]],
                customdata=np.array([[f"{a} and {b}" for b in names] for a in names]),
                hovertemplate="%{customdata}: %{z:.2f}<extra></extra>",
                colorbar={"title": {"text": "similarity"}, "thickness": 12},
            )
        )
    labels_shown = found.labels[shown]
    for group in np.unique(labels_shown):
        start, end = np.flatnonzero(labels_shown == group)[[0, -1]] + [-0.5, 0.5]
        figure.add_shape(type="rect", x0=start, x1=end, y0=start, y1=end, line={"color": _figures.RED, "width": 2})
    axis = {"tickvals": places, "ticktext": labels, "showgrid": False}
    figure.update_xaxes(**axis, tickangle=-45)
    figure.update_yaxes(**axis, autorange="reversed")
    return figure
