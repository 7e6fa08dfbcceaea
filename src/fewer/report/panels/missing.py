"""Panel of the missing values."""

from typing import TYPE_CHECKING

from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import missing_figure

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    caption = "Share of missing values in each column, the largest first."
    return {"missing": Picture(missing_figure(findings), caption, findings.missing.sentence)}


PANEL = Panel(
    "missing",
    "Missing values",
    pictures=_pictures,
    body='{% include "panel_missing.html.j2" %}',
    heading="Missing values, and how well they can be imputed",
)
