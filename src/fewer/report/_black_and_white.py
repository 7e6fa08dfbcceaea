"""A figure for black-and-white print: greys instead of colours, and dashes and symbols to tell them apart."""

import re
from typing import TYPE_CHECKING, Any

from fewer import _figures

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Grey, dash and symbol of each colour of the palette; a dash or a symbol that a figure has chosen itself stays.
_STYLES = {
    _figures.BLUE: ("#000000", "solid", "circle"),
    _figures.RED: ("#000000", "dash", "diamond"),
    _figures.GREEN: ("#4d4d4d", "dashdot", "square"),
    _figures.AMBER: ("#666666", "longdash", "triangle-up"),
    _figures.VIOLET: ("#808080", "longdashdot", "x"),
    _figures.GREY: ("#808080", "dot", "circle-open"),
}
# Bars have no dash and no symbol: their greys lie further apart.
_BARS = {_figures.GREY: "#bfbfbf", _figures.AMBER: "#404040"}
_LIGHT_TO_DARK = [[0, "#f5f5f5"], [1, "#4d4d4d"]]
_BOTH_SIDES = [[0, "#1a1a1a"], [0.5, "#f7f7f7"], [1, "#8c8c8c"]]
_RGBA = re.compile(r"rgba\((\d+), *(\d+), *(\d+), *([\d.]+)\)")


# What captions say of colours, and what stands for them here.
_WORDS = {
    "In red, the": "As a diamond, the",
    "in blue, the score": "as circles, the score",
    "blue positive, red negative": "solid positive, dashed negative",
    "Dots of one colour": "Dots of one shape",
    "at each number in blue": "at each number in black",
    "Blue is positive, red is negative.": "Grey is positive, black is negative.",
}


def without_colours(caption: str) -> str:
    """A caption that speaks of shapes instead of colours.

    Examples
    --------
    >>> without_colours("Dots of one colour are nearly duplicate columns.")
    'Dots of one shape are nearly duplicate columns.'
    """
    for colours, shapes in _WORDS.items():
        caption = caption.replace(colours, shapes)
    return caption


def in_black_and_white(figure: "go.Figure") -> "go.Figure":
    """The same figure in greys.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        In the colours of the palette.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        A copy.
    """
    import plotly.graph_objects as go

    data = figure.to_plotly_json()
    return go.Figure({"data": [_trace(trace) for trace in data["data"]], "layout": _grey(data["layout"])})


def _trace(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace with a dash or a symbol for its colour."""
    changed = _grey(trace)
    for part, place, choice in (("line", "dash", 1), ("marker", "symbol", 2)):
        colour = _opaque((trace.get(part) or {}).get("color"))
        is_drawn = ("lines" if part == "line" else "markers") in trace.get("mode", "lines+markers")
        if trace.get("type", "scatter") != "scatter" or not is_drawn:
            continue
        if isinstance(colour, str) and colour in _STYLES:
            changed[part].setdefault(place, _STYLES[colour][choice])
        elif isinstance(colour, (list, tuple)) and all(each in _STYLES for each in colour):
            changed[part].setdefault(place, [_STYLES[each][choice] for each in colour])
    if trace.get("type") == "bar" and trace["marker"].get("color") in _BARS:
        changed["marker"]["color"] = _BARS[trace["marker"]["color"]]
    if "colorscale" in trace:
        changed["colorscale"] = _LIGHT_TO_DARK if len(trace["colorscale"]) == 2 else _BOTH_SIDES
    return changed


def _opaque(colour: Any) -> Any:
    """The colour of the palette that a translucent one was made of."""
    found = _RGBA.fullmatch(colour) if isinstance(colour, str) else None
    return "#" + "".join(f"{int(each):02x}" for each in found.groups()[:3]) if found else colour


def _grey(part: Any) -> Any:
    """Plain data with greys for all colours."""
    if isinstance(part, dict):
        return {name: value if name == "colorscale" else _grey(value) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [_grey(each) for each in part]
    if not isinstance(part, str):
        return part
    if part in _STYLES:
        return _STYLES[part][0]
    return _RGBA.sub(lambda found: _translucent_grey(*found.groups()), part)


def _translucent_grey(red: str, green: str, blue: str, opacity: str) -> str:
    if float(opacity) == 0:
        return "rgba(0, 0, 0, 0)"
    return f"rgba(0, 0, 0, {0.6 * float(opacity):.3g})"
