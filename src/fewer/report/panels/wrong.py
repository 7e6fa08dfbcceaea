"""Panel of the rows that are predicted incorrectly."""

from typing import TYPE_CHECKING

from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import confusion_figure, predicted_figure
from fewer.report._study_numbers import Shown

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    answer = findings.wrong
    if "confusion" in answer.evidence:
        caption = "Held-out rows by true and predicted class; each row of the figure adds up to the size of a class."
        return {"wrong": Picture(confusion_figure(findings), caption, answer.sentence)}
    if "predicted" in answer.evidence:
        caption = "Predicted over true values of held-out rows; on the dotted line, predictions are right."
        return {"wrong": Picture(predicted_figure(findings), caption, answer.sentence)}
    return {}


def _number(findings: "Findings") -> Shown | None:
    answer = findings.wrong
    if answer.number is None:
        return None
    if "confusion" in answer.evidence:
        return Shown("Wrong rows", f"{answer.number:,.0f}")
    return Shown("Median absolute error", f"{answer.number:.4g}")


PANEL = Panel("wrong", "Where wrong?", _number, _pictures, '{% include "panel_wrong.html.j2" %}')
