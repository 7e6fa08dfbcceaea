"""The legend of a figure as a list of words with swatches: it wraps like text, however narrow the page."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DASHES = {"dash": "6 4", "dot": "2 3"}
_TRIANGLE = "M11 2 L17 12 L5 12 Z"


def legend_html(figure: "go.Figure") -> Any:
    """One entry for each named trace, in the order of their ranks; nothing if the figure has no legend."""
    from markupsafe import Markup

    if figure.layout.showlegend is not True:
        return Markup("")
    named = [trace for trace in figure.data if trace.showlegend is not False]
    named.sort(key=lambda trace: trace.legendrank or 1000)
    # Names have been made harmless for plotly, which reads them as markup: the same that HTML needs.
    entries = "".join(f"<li>{_swatch(trace)}{trace.name}</li>" for trace in named)
    return Markup(f'<ul class="legend" aria-hidden="true">{entries}</ul>')


def _swatch(trace: Any) -> str:
    return f'<svg width="22" height="14" viewBox="0 0 22 14">{_mark(trace)}</svg>'


def _mark(trace: Any) -> str:
    """The look of a trace, in a box of 22 by 14."""
    if trace.type == "bar":
        return f'<rect x="5" y="1" width="12" height="12" fill="{trace.marker.color}"/>'
    if trace.fill:
        return f'<rect y="2" width="22" height="10" fill="{trace.fillcolor}"/>'
    if trace.mode == "markers":
        colour = trace.marker.color
        if trace.marker.symbol == "triangle-up":
            return f'<path d="{_TRIANGLE}" fill="{colour}"/>'
        inside = "none" if trace.marker.symbol == "circle-open" else colour
        return f'<circle cx="11" cy="7" r="5" fill="{inside}" stroke="{colour}" stroke-width="2"/>'
    dash = f' stroke-dasharray="{_DASHES[trace.line.dash]}"' if trace.line.dash in _DASHES else ""
    width = min(trace.line.width, 4)
    return f'<path d="M0 7 H22" stroke="{trace.line.color}" stroke-width="{width}"{dash}/>'
