"""Panel of all candidates on the same folds."""

from fewer.report._panel import Panel
from fewer.report._study_numbers import metric_of, number_of

_CANDIDATE_HEADINGS = (
    ("Candidate", "text", "Selection method and learner"),
    (
        "Candidate score",
        "number",
        "Mean held-out score with the number of columns that scores best on the other folds, and its confidence "
        "interval; no variation: the same on every fold, so there is no interval",
    ),
    ("Columns", "number", "Number of columns, mean over the folds"),
    (
        "Minus same learner with all",
        "number",
        "Difference to the same learner with all columns on the same folds, with its confidence interval",
    ),
    (
        "Winner minus this",
        "number",
        "Candidate score of the winner minus that of this candidate on the same folds, with its confidence interval; "
        "negative where this candidate scores higher, but needs more columns",
    ),
    ("Time", "number", "Total time of all folds"),
)


PANEL = Panel(
    "compared",
    "Compared",
    lambda findings: number_of(
        findings, findings.compared, f"Cross-indexed score ({metric_of(findings)})", lambda value: f"{value:.3f}"
    ),
    body='{% include "panel_compared.html.j2" %}',
    values=lambda findings: {"candidate_headings": _CANDIDATE_HEADINGS},
)
