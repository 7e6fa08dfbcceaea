"""Panel of the costs of decisions."""

from typing import TYPE_CHECKING, Any

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
    found_ratios = {} if "ratios" not in found else {"cost-ratios": _of_ratios(found)}  # older studies have none
    return {"cost": Picture(figure, caption, findings.cost.sentence), **found_ratios}


def _of_ratios(found: dict[str, Any]) -> Picture:
    """What decisions cost for other costs of the two kinds of errors."""
    positive = found["positive"]
    figure = new_figure(x=f"share of class {positive} in the cost of always being wrong", y="relative cost", height=320)
    for name, words, colour in (("fewer", "fewer columns", BLUE), ("all", "all columns", AMBER)):
        dash = "solid" if name == "fewer" else "dash"
        figure.add_trace(line(words, found["ratios"], found[name]["of_ratios"], colour, line_dash=dash))
    figure.add_trace(
        line("better constant decision", found["ratios"], [1.0] * len(found["ratios"]), GREY, line_dash="dot")
    )
    figure.add_vline(
        x=found["ratio"], line={"color": GREY, "dash": "dot"}, annotation_text="the costs given", annotation_y=0.6
    )
    figure.update_xaxes(tickformat=".0%").update_yaxes(rangemode="tozero")
    figure.update_layout(showlegend=True, margin={"t": 30, "b": 50, "r": 20})
    saving = [ratio for ratio, cost in zip(found["ratios"], found["fewer"]["of_ratios"], strict=True) if cost < 1]
    words = "With fewer columns decisions cost less than the same decision for every row at none of these ratios."
    if saving:
        words = (
            f"With fewer columns decisions cost less than the same decision for every row where class {positive} has "
            f"{min(saving):.0%} to {max(saving):.0%} of the cost of always being wrong."
        )
    caption = (
        "If the costs were others: cost on held-out rows over that of the better constant decision (cost curve). Below "
        "1 the decisions save something."
    )
    return Picture(figure, caption, words)


def _number(findings: "Findings") -> Shown | None:
    number = findings.cost.number
    return None if number is None else Shown("Cost of a row", f"{number:.3g}")


PANEL = Panel("cost", "Costs", _number, _pictures)
