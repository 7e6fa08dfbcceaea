"""Panel of the costs of decisions."""

from typing import TYPE_CHECKING

from fewer._figures import AMBER, BLUE, GREY, line, new_figure
from fewer.report._panel import Panel, Picture
from fewer.report._study_numbers import Shown

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    found = findings.cost.evidence
    if not found:
        return {}
    predicted = f"predicted {found['positive']}"
    figure = new_figure(x=f"share of the rows that is {predicted}", y="cost of a held-out row", height=320)
    for name, words, colour in (("fewer", "fewer columns", BLUE), ("all", "all columns", AMBER)):
        dash = "solid" if name == "fewer" else "dash"  # so that both are seen where they agree
        figure.add_trace(line(words, found["shares"], found[name]["curve"], colour, line_dash=dash))
    figure.add_trace(line("same decision for every row", [0, 1], [found["constant"]] * 2, GREY, line_dash="dot"))
    figure.update_xaxes(tickformat=".0%")
    figure.update_layout(showlegend=True, margin={"t": 10, "b": 50, "r": 20})
    caption = f"Cost of a held-out row, over the share of rows with the highest scores that is {predicted}."
    return {"cost": Picture(figure, caption, findings.cost.sentence)}


def _number(findings: "Findings") -> Shown | None:
    number = findings.cost.number
    return None if number is None else Shown("Cost of a row", f"{number:.3g}")


PANEL = Panel("cost", "Costs", _number, _pictures)
