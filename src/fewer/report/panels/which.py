"""Panel of the chosen columns."""

from typing import TYPE_CHECKING, Any

from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import frequency_figure, made_figure, spreads_figure
from fewer.report._study_numbers import given_unit, number_of

if TYPE_CHECKING:
    from fewer.study import Findings

_COLUMN_HEADINGS = (
    ("Rank", "number", "Rank by the winning candidate, fitted on all rows"),
    ("Column", "text", "Name of the column, or of the group of columns"),
    ("Chosen", "text", "Whether it is one of the chosen columns"),
    (
        "In folds",
        "number",
        "Share of the folds in which it was chosen, from their training rows; 0% for a chosen column: chosen on all "
        "rows, but in no fold",
    ),
    (
        "Selection score",
        "number",
        "Score that the winning selection method gives the column on all rows, in its own unit; in an elimination, "
        "that of the step in which the column was removed, so that it does not always decrease with the rank",
    ),
    ("Effect", "text", "Direction of its association with the target, on all rows"),
    ("Size", "number", "Size of the effect: correlation with the target, or difference of standardised class means"),
    ("Redundant with", "text", "Columns among the best whose absolute correlation with it is 0.9 or more"),
)


def _pictures(findings: "Findings") -> dict[str, Picture]:
    sentence = findings.which.sentence
    found = {
        "frequency": Picture(
            frequency_figure(findings),
            f"Share of the folds in which the first columns were "
            f"{'chosen' if findings.n_made is None else 'among the first ten'}. The longer the bar, the less the "
            "choice depends on which rows are held out.",
            sentence,
        )
    }
    if findings.made:
        caption = (
            "What the new columns hold: their correlations with the columns that have the largest weights in them. "
            "Blue is positive, red is negative."
        )
        found["made"] = Picture(made_figure(findings), caption, sentence)
    if findings.spreads:
        caption = (
            "The first chosen columns by class (at most six), or by thirds of the target: median and interquartile "
            "range, in standard deviations from the mean."
        )
        found["spreads"] = Picture(spreads_figure(findings), caption, sentence)
    return found


def _values(findings: "Findings") -> dict[str, Any]:
    stand_ins = any(column.stands_in_for for column in findings.columns)
    headings = _COLUMN_HEADINGS if stand_ins else _COLUMN_HEADINGS[:-1]
    return {"column_headings": headings, "stand_ins": stand_ins, "given": given_unit(findings)}


PANEL = Panel(
    "which",
    "Which ones?",
    lambda findings: number_of(findings, findings.which, "Stability", lambda value: f"{value:.2f}"),
    _pictures,
    '{% include "panel_which.html.j2" %}',
    _values,
    is_about_choice=True,
)
