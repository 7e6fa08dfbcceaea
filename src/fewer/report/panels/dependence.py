"""Panel of the graph of the chosen columns."""

from typing import TYPE_CHECKING

import numpy as np

from fewer._figures import AMBER, GREEN, GREY, VIOLET
from fewer.graph import graph_figure
from fewer.report._panel import Panel, Picture
from fewer.report._study_numbers import Shown, plotly_text

if TYPE_CHECKING:
    from fewer.study import Findings

# Of groups; lines are blue and red.
_COLOURS = (GREEN, AMBER, VIOLET)


def _pictures(findings: "Findings") -> dict[str, Picture]:
    found = findings.dependence.evidence
    if not found.get("edges"):
        return {}
    place = {name: number for number, name in enumerate(found["columns"])}
    weights, shares = np.zeros((2, len(place), len(place)))
    for edge in found["edges"]:
        ends = place[edge["from"]], place[edge["to"]]
        for cell in (ends, ends[::-1]):
            weights[cell], shares[cell] = edge["weight"], edge["frequency"]
    colours = [GREY] * len(place)
    for number, group in enumerate(found["groups"]):
        for name in group:
            colours[place[name]] = _COLOURS[number % len(_COLOURS)]
    names = [plotly_text(name, 60) for name in place]
    figure = graph_figure(
        names, weights, shares, weight_words="partial correlation", share_words="share of halves", colours=colours
    )
    caption = (
        "A line joins two columns that are correlated when the others are held fixed: blue positive, red negative, "
        "wider the stronger, fainter the fewer halves of the rows show it."
    )
    if found["groups"]:
        caption += " Dots of one colour are nearly duplicate columns (correlation 0.9 or more)."
    return {"dependence": Picture(figure, caption, findings.dependence.sentence)}


def _number(findings: "Findings") -> Shown | None:
    number = findings.dependence.number
    return None if number is None else Shown("Dependent pairs", f"{number:,.0f}")


PANEL = Panel("dependence", "Dependence", _number, _pictures, is_about_choice=True)
