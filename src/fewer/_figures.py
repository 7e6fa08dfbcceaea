"""The look of every figure and result: one template, one palette, so that all rooms show alike.

Light and dark pages both work: the background is transparent, and lines are chosen to be seen on either.
"""

import math
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

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


def style_panels(figure: "go.Figure", height: int, **margins: int) -> None:
    """Give a figure of several panels the look of the others."""
    style = new_figure(height=height).layout
    figure.update_layout(
        height=height,
        showlegend=False,
        font=style.font,
        paper_bgcolor=style.paper_bgcolor,
        plot_bgcolor=style.plot_bgcolor,
        margin=margins,
    )


def line(name: str, x, y, colour: str = BLUE, **options) -> "go.Scatter":
    """A line, named for the legend and the hover."""
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, name=name, mode="lines", line={"color": colour, "width": 2}, **options)


def band(name: str, x, lower, upper, colour: str = BLUE) -> "go.Scatter":
    """The area between two curves, for an uncertainty around a line."""
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


def log_ticks(low: float, high: float) -> dict[str, list]:
    """Options of a logarithmic axis with ticks at 1, 2 and 5 times powers of ten; plotly's own show digits alone.

    >>> log_ticks(0.03, 4)["ticktext"]
    ['0.05', '0.1', '0.2', '0.5', '1', '2']
    """
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    values = [float(f"{first}e{power}") for power in powers for first in (1, 2, 5)]
    shown = [value for value in values if low <= value <= high]
    return {"tickvals": shown, "ticktext": [f"{value:,.10g}" for value in shown]}


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


class Result:
    """A result that prints itself, and in a notebook shows its picture too.

    Derived classes are dataclasses with a ``__repr__`` whose first line is a heading. They may have ``reading``, what
    it all means in plain words, and ``plot()``. ``_data`` names what ``to_dict`` gives; all fields by default.
    """

    _data: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON.

        Returns
        -------
        data : dict
            Arrays as lists, and None for what is not a finite number.
        """
        return {name: plain(getattr(self, name)) for name in self._data or vars(self)}

    def _repr_html_(self) -> str:
        heading, _, figures = repr(self).partition("\n")
        parts = [f"<strong>{escape(heading)}</strong>"]
        if figures:
            parts.append(f'<pre style="margin: 0.3em 0; white-space: pre-wrap">{escape(figures)}</pre>')
        reading = getattr(self, "reading", "")
        if reading:
            parts.append(f'<p style="margin: 0.3em 0; max-width: 60em">{escape(reading)}</p>')
        return f"<div>{''.join(parts)}</div>"

    def _ipython_display_(self) -> None:
        """The words, then the picture as plotly shows figures by itself: nothing is fetched from elsewhere."""
        from IPython.display import HTML, display

        display(HTML(self._repr_html_()))
        draw = getattr(self, "plot", None)
        if draw is not None:
            display(draw())


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    return value if isinstance(value, int | str | None) else repr(value)
