"""The picture of columns on a circle with lines between those that act together."""

from typing import TYPE_CHECKING

import numpy as np

from fewer._figures import AMBER, BLUE, RED, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_WIDEST = 5.0
_LARGEST_DOT, _SMALLEST_DOT = 26.0, 7.0


def graph_figure(names: list[str], scores: np.ndarray, correlations: np.ndarray) -> "go.Figure":
    """Columns by name, larger with a higher score; a line for each correlation, red for negative ones."""
    import plotly.graph_objects as go

    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(len(names), 1)
    x, y = np.cos(angles), np.sin(angles)
    figure = new_figure(height=480)
    for first, second in zip(*np.nonzero(np.triu(correlations, k=1)), strict=True):
        value = correlations[first, second]
        figure.add_trace(
            go.Scatter(
                x=x[[first, second]],
                y=y[[first, second]],
                mode="lines",
                line={"width": max(0.5, _WIDEST * abs(value)), "color": RED if value < 0 else BLUE},
                opacity=0.25 + 0.6 * abs(value),
                hoverinfo="skip",
                showlegend=False,
            )
        )
    sizes = np.sqrt(np.maximum(scores, 0) / max(scores.max(initial=0), np.finfo(float).tiny))
    words = [f"{name}<br>score {score:.3g}" for name, score in zip(names, scores, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="markers",
            marker={"size": _SMALLEST_DOT + (_LARGEST_DOT - _SMALLEST_DOT) * sizes, "color": AMBER, "opacity": 1},
            hovertext=words,
            hoverinfo="text",
            showlegend=False,
        )
    )
    for name, angle in zip(names, angles, strict=True):
        side = "left" if np.cos(angle) > 0.1 else "right" if np.cos(angle) < -0.1 else "center"
        figure.add_annotation(x=1.12 * np.cos(angle), y=1.12 * np.sin(angle), text=name, showarrow=False, xanchor=side)
    figure.update_xaxes(visible=False, range=[-1.3, 1.3])
    figure.update_yaxes(visible=False, range=[-1.3, 1.3], scaleanchor="x")
    return figure.update_layout(margin={"l": 20, "r": 20, "t": 20, "b": 20})
