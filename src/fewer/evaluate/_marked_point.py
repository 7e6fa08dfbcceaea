"""The mark of what was chosen, on a curve."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go


def mark_point(figure: "go.Figure", x: float, y: float, text: str, *, name: str, position: str = "top center") -> None:
    """Mark a point of a curve with a dot and a few words beside it."""
    import plotly.graph_objects as go

    from fewer import _figures

    figure.add_trace(
        go.Scatter(
            x=[x],
            y=[y],
            mode="markers+text",
            marker={"color": _figures.RED, "size": 11},
            text=[text],
            textposition=position,
            name=name,
            cliponaxis=False,
        )
    )
