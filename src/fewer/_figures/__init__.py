"""The look of every figure and result: one template, one palette, so that all rooms show alike.

Light and dark pages both work: the background is transparent, and lines are chosen to be seen on either.
"""

from typing import TYPE_CHECKING

from fewer._figures._result import Result, plain

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "AMBER",
    "BLUE",
    "GREEN",
    "GREY",
    "PALETTE",
    "RED",
    "VIOLET",
    "Result",
    "band",
    "line",
    "mark_point",
    "new_figure",
    "plain",
    "translucent",
]

BLUE = "#2f7fb5"
RED = "#cf5f47"
GREEN = "#3d9970"
AMBER = "#d99a2b"
VIOLET = "#8f6bb3"
GREY = "#8a8f98"
PALETTE = (BLUE, RED, GREEN, AMBER, VIOLET, GREY)


def translucent(colour: str, opacity: float = 0.18) -> str:
    """The same colour, see-through: for bands and areas."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def new_figure(*, title: str = "", x: str = "", y: str = "", height: int = 380) -> "go.Figure":
    """An empty figure in our style, with the titles of its axes."""
    import plotly.graph_objects as go

    axis = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "outside",
        "linecolor": GREY,
        "showline": True,
        "automargin": True,
    }
    return go.Figure(
        layout={
            "title": {"text": title, "x": 0, "xanchor": "left", "font": {"size": 16}},
            "xaxis": axis | {"title": {"text": x}},
            "yaxis": axis | {"title": {"text": y}, "showgrid": True, "gridcolor": translucent(GREY, 0.25)},
            "height": height,
            "margin": {"l": 60, "r": 20, "t": 50 if title else 20, "b": 90},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": GREY},
            "colorway": PALETTE,
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "xanchor": "left"},
        }
    )


def line(name: str, x, y, colour: str = BLUE, **options) -> "go.Scatter":
    """A line, named for the legend and the hover."""
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, name=name, mode="lines", line={"color": colour, "width": 2}, **options)


def band(name: str, x, lower, upper, colour: str = BLUE) -> "go.Scatter":
    """The area between two curves, for an uncertainty around a line."""
    import numpy as np
    import plotly.graph_objects as go

    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([upper, lower[::-1]]),
        name=name,
        mode="lines",
        fill="toself",
        fillcolor=translucent(colour),
        line={"width": 0},
        hoverinfo="skip",
    )


def mark_point(figure: "go.Figure", x: float, y: float, text: str, *, name: str, position: str = "top center") -> None:
    """Mark a point of a curve with a dot and a few words beside it."""
    import plotly.graph_objects as go

    figure.add_trace(
        go.Scatter(
            x=[x],
            y=[y],
            mode="markers+text",
            marker={"color": RED, "size": 11},
            text=[text],
            textposition=position,
            name=name,
            cliponaxis=False,
        )
    )
