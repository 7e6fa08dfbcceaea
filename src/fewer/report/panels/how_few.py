"""Panel of the number of columns, with the scores over all numbers."""

from typing import TYPE_CHECKING

from fewer._wording import counted
from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import curve_figure
from fewer.report._study_numbers import Shown, metric_of, unit_of

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    return {
        "curve": Picture(
            curve_figure(findings, with_others=True),
            "Fixed-size scores on held-out rows over the number of columns, on a logarithmic axis: each candidate in "
            "grey, the best of all candidates at each number in blue. Triangles at the bottom: the numbers "
            "that the folds chose. Fixed-size scores are those of the best of many, so they are higher than that of "
            "the first line.",
            curve_in_words(findings),
        )
    }


def curve_in_words(findings: "Findings") -> str:
    """The curve for those who do not see it."""
    curve, chosen = findings.curve["frontier"], findings.curve["chosen"]
    at = dict(zip(curve["sizes"], curve["mean"], strict=True))
    sizes = sorted({curve["sizes"][0], chosen["size"], curve["sizes"][-1]})
    reached = ", ".join(f"{at[size]:.3f} with {counted(size, findings.unit)}" for size in sizes)
    return (
        f"The best candidate reaches {metric_of(findings)} {reached}. The best learner with all columns reaches "
        f"{findings.fewer_help.evidence['with_all']:.3f}, the baseline {findings.curve['baseline']:.3f}. The chosen "
        f"number is {chosen['size']:,}."
    )


def _number(findings: "Findings") -> Shown | None:
    answer = findings.how_few
    if answer.number is None or answer.interval is None:
        return None
    low, high = answer.interval
    spread = f"most folds chose {low:,.0f} to {high:,.0f}" if round(low) < round(high) else ""
    return Shown(unit_of(findings).capitalize(), f"{answer.number:,.0f}", spread)


PANEL = Panel("how-few", "How few?", _number, _pictures, '{% include "panel_how_few.html.j2" %}', is_about_choice=True)
