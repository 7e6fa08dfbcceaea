"""All pictures of a report, each with a caption for everyone and what it shows in words for those who cannot see it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fewer.report._study_figures import NULL_WORDS, confusion_figure, curve_figure, null_figure, predicted_figure
from fewer.report._study_numbers import metric_of
from fewer.report._study_row_figures import (
    benefit_figure,
    frequency_figure,
    made_figure,
    missing_figure,
    spreads_figure,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings


@dataclass(frozen=True)
class Picture:
    """A figure, how to read it, and what it shows."""

    figure: "go.Figure"
    caption: str
    in_words: str


def pictures_of(findings: "Findings") -> dict[str, Picture]:
    """Every picture that there is something to draw for, by name; "first" is the one beside the verdict."""
    found = {
        "curve": Picture(
            curve_figure(findings, with_others=True),
            "Scores on held-out rows over the number of columns, on a logarithmic axis: each candidate in grey, the "
            "best of all candidates at each number in blue. Triangles at the bottom: the numbers that the folds chose.",
            _curve_in_words(findings),
        ),
        "benefit": Picture(
            benefit_figure(findings),
            "What each way to reduce gains over all columns with the same learner, with its interval; in red, the rule "
            "that chose the shipped columns against the best learner with all columns. Left of the dotted line, fewer "
            "columns lose.",
            _benefit_in_words(findings),
        ),
        "frequency": Picture(
            frequency_figure(findings),
            f"How often the first columns were {'chosen' if findings.n_made is None else 'among the first ten'} when a "
            "fold was held out. Long bars come back whatever rows are left out.",
            findings.which.sentence,
        ),
    }
    for null, words in NULL_WORDS.items():
        if findings.nulls[null]["scores"]:
            caption = f"The same procedure on tables with {words}: what it reaches by chance, and what it reached here."
            found[null] = Picture(null_figure(findings, null), caption, _null_in_words(findings, null))
    if findings.made:
        caption = (
            "What the new columns hold: their correlations with the columns that weigh most in them. Blue goes up with "
            "the new column, red goes down."
        )
        found["made"] = Picture(made_figure(findings), caption, findings.which.sentence)
    if "confusion" in findings.wrong.evidence:
        caption = "Held-out rows by true and predicted class; each row of the picture adds up to the rows of a class."
        found["wrong"] = Picture(confusion_figure(findings), caption, findings.wrong.sentence)
    elif "predicted" in findings.wrong.evidence:
        caption = "Predicted over true values of held-out rows; on the dotted line, predictions are right."
        found["wrong"] = Picture(predicted_figure(findings), caption, findings.wrong.sentence)
    if findings.spreads:
        caption = (
            "The first chosen columns by class (at most six), or by thirds of the target: median and interquartile "
            "range, in standard deviations from the mean."
        )
        found["spreads"] = Picture(spreads_figure(findings), caption, findings.which.sentence)
    if findings.missing:
        caption = "How much of each column is missing, the emptiest first."
        found["missing"] = Picture(missing_figure(findings), caption, findings.missing["sentence"])
    if findings.learnable.verdict == "no":
        found["first"] = replace(found["labels"], figure=null_figure(findings, "labels", height=350))
    else:
        caption = (
            "Best mean score on held-out rows of all candidates at each number of columns, on a logarithmic axis. The "
            "scores above are lower where picking the best of many is a matter of luck."
        )
        found["first"] = Picture(curve_figure(findings), caption, _curve_in_words(findings))
    return found


def _curve_in_words(findings: "Findings") -> str:
    curve, chosen = findings.curve["frontier"], findings.curve["chosen"]
    at = dict(zip(curve["sizes"], curve["mean"], strict=True))
    sizes = sorted({curve["sizes"][0], chosen["size"], curve["sizes"][-1]})
    reached = ", ".join(f"{at[size]:.3f} with {size:,} column{'s' * (size > 1)}" for size in sizes)
    return (
        f"The best candidate reaches {metric_of(findings)} {reached}. The best learner with all columns reaches "
        f"{findings.fewer_help.evidence['with_all']:.3f}, the baseline {findings.curve['simplest']:.3f}. The chosen "
        f"number is {chosen['size']:,}."
    )


def _benefit_in_words(findings: "Findings") -> str:
    gains = [rival for rival in findings.rivals if rival.benefit is not None and rival.benefit_interval is not None]
    sure = sum(rival.benefit_interval[0] > 0 for rival in gains if rival.benefit_interval is not None)
    return f"{findings.fewer_help.sentence} Of {len(gains)} ways to reduce, {sure} have an interval above zero."


def _null_in_words(findings: "Findings", null: str) -> str:
    evidence = findings.nulls[null]
    as_good = sum(score >= evidence["observed"] for score in evidence["scores"])
    return (
        f"{as_good} of {len(evidence['scores'])} tables with {NULL_WORDS[null]} did as well as this one, which reached "
        f"{metric_of(findings)} {evidence['observed']:.3f}; they reached {min(evidence['scores']):.3f} to "
        f"{max(evidence['scores']):.3f}."
    )
