"""Panel of the claim: does using fewer features help?"""

from typing import TYPE_CHECKING

from fewer._wording import signed
from fewer.report._panel import Panel, Picture
from fewer.report._study_figures import difference_figure
from fewer.report._study_numbers import metric_of, number_of

if TYPE_CHECKING:
    from fewer.study import Findings


def _pictures(findings: "Findings") -> dict[str, Picture]:
    return {
        "difference": Picture(
            difference_figure(findings),
            "In red, the cross-indexed score of the whole selection procedure minus that of the best learner with all "
            "columns; in blue, the score of each candidate minus that of the same learner with all columns; with "
            "confidence intervals. Left of the dotted line, fewer columns score worse. A point without a line did not "
            "vary over the folds.",
            _difference_in_words(findings),
        )
    }


def _difference_in_words(findings: "Findings") -> str:
    intervals = [each.over_same_learner_interval for each in findings.rivals if each.over_same_learner_interval]
    sure = sum(low > 0 for low, _ in intervals)
    ways = f"{len(intervals)} combinations of selection method and learner"
    return f"{findings.fewer_help.sentence} Of {ways}, {sure} are better than the same learner with all columns."


PANEL = Panel(
    "help",
    "Do fewer help?",
    lambda findings: number_of(
        findings, findings.fewer_help, f"Difference to all columns ({metric_of(findings)})", signed
    ),
    _pictures,
    is_about_choice=True,
)
