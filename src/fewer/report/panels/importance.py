"""Panel of the importance of columns: permuted on held-out rows, and voted for by all selection methods."""

from typing import TYPE_CHECKING

from fewer._wording import signed
from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import importance_figure
from fewer.report._study_numbers import metric_of, number_of

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    if "columns" not in findings.importance.evidence:
        return {}
    caption = (
        "Decrease of the score when a column is permuted among the held-out rows: mean over the folds, with confidence "
        "intervals. Right of the dotted line, the column matters."
    )
    return {"importance": Picture(importance_figure(findings), caption, findings.importance.sentence)}


PANEL = Panel(
    "importance",
    "Importance",
    lambda findings: number_of(
        findings, findings.importance, f"Largest importance (decrease of {metric_of(findings)})", signed
    ),
    _pictures,
    '{% include "panel_importance.html.j2" %}',
    is_about_choice=True,
)
