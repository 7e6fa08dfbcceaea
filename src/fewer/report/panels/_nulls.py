"""What the panels of permutation tests share."""

from typing import TYPE_CHECKING

from fewer._wording import p_digits
from fewer.report._panel import Picture
from fewer.report._study_figures import NULL_WORDS, null_figure
from fewer.report._study_numbers import Shown, metric_of

if TYPE_CHECKING:
    from fewer.study import Answer, Findings


def null_pictures(findings: "Findings", null: str, height: int = 300) -> dict[str, Picture]:
    """Scores on randomised tables, if the test was made."""
    if not findings.nulls[null]["scores"]:
        return {}
    caption = f"Scores of the reference procedure on tables with {NULL_WORDS[null]}, and its score on this table."
    return {null: Picture(null_figure(findings, null, height=height), caption, _null_in_words(findings, null))}


def p_value(findings: "Findings", answer: "Answer", null: str) -> Shown | None:
    """As in the sentence: the smallest that the permutations can show is a bound."""
    if answer.number is None:
        return None
    bound = answer.number <= 1 / (len(findings.nulls[null]["scores"]) + 1)
    return Shown("p-value", f"{'<= ' if bound else ''}{p_digits(answer.number)}")


def _null_in_words(findings: "Findings", null: str) -> str:
    evidence = findings.nulls[null]
    as_good = sum(score >= evidence["observed"] for score in evidence["scores"])
    return (
        f"{as_good} of {len(evidence['scores'])} tables with {NULL_WORDS[null]} did as well as this one, for which the "
        f"reference procedure reached {metric_of(findings)} {evidence['observed']:.3f}; they reached "
        f"{min(evidence['scores']):.3f} to {max(evidence['scores']):.3f}."
    )
