"""All pictures of a report, each with a caption for everyone and what it shows in words for those who cannot see it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fewer.report._study_figures import NULL_WORDS, curve_figure, null_figure
from fewer.report._study_numbers import metric_of
from fewer.report._study_row_figures import (
    benefit_figure,
    comparison_figure,
    frequency_figure,
    holes_figure,
    made_figure,
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
            "Scores on held-out rows over the number of columns, on a logarithmic axis. Triangles at the bottom: the "
            "numbers that the folds chose.",
            _curve_in_words(findings),
        ),
        "benefit": Picture(
            benefit_figure(findings),
            "What each way to reduce gains over all features with the same learner, with its interval; in red, what "
            "one can expect who chooses among all of them. Left of the dotted line, fewer features cost something.",
            _benefit_in_words(findings),
        ),
        "frequency": Picture(
            frequency_figure(findings),
            f"How often the first columns were {'chosen' if findings.n_made is None else 'among the first ten'} when a "
            "fold was held out. Long bars come back whatever rows are left out.",
            findings.which.sentence,
        ),
        "comparison": Picture(
            comparison_figure(findings),
            "Mean ranks of all candidates over the folds of the first repeat. Upright bars join candidates that the "
            "test cannot tell apart; shaded, what is within one critical difference of the first.",
            _ranks_in_words(findings),
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
    if findings.holes:
        caption = "How much of each column is missing, the emptiest first."
        found["holes"] = Picture(holes_figure(findings), caption, findings.holes["sentence"])
    if findings.learnable.verdict == "no":
        found["first"] = replace(found["labels"], figure=null_figure(findings, "labels", height=350))
    else:
        caption = (
            "Score of the winner on held-out rows over the number of columns, on a logarithmic axis. The scores above "
            "also pay for picking the winner, so they may be a little lower."
        )
        found["first"] = Picture(curve_figure(findings), caption, _curve_in_words(findings))
    return found


def _curve_in_words(findings: "Findings") -> str:
    curve = findings.curve["winner"]
    at = dict(zip(curve["sizes"], curve["mean"], strict=True))
    chosen = int(findings.how_few.number or 1)
    smallest = findings.how_few.evidence["smallest"]
    sizes = sorted({curve["sizes"][0], smallest, chosen, curve["sizes"][-1]})
    reached = ", ".join(f"{at[size]:.3f} with {size:,} column{'s' * (size > 1)}" for size in sizes)
    return (
        f"{curve['name']} reaches {metric_of(findings)} {reached}. With all features it is "
        f"{findings.fewer_help.evidence['with_all']:.3f}, and {findings.curve['simplest']:.3f} without any. The chosen "
        f"number is {chosen:,}, the smallest good one {smallest:,}."
    )


def _benefit_in_words(findings: "Findings") -> str:
    gains = [rival for rival in findings.rivals if rival.benefit is not None and rival.benefit_interval is not None]
    sure = sum(rival.benefit_interval[0] > 0 for rival in gains if rival.benefit_interval is not None)
    return f"{findings.fewer_help.sentence} Of {len(gains)} ways to reduce, {sure} have an interval above zero."


def _ranks_in_words(findings: "Findings") -> str:
    ranks = dict(zip(findings.comparison["methods"], findings.comparison["mean_ranks"], strict=True))
    best = min(ranks, key=lambda name: ranks[name])
    like_it = next((clique for clique in findings.comparison["cliques"] if best in clique), [best])
    others = [name for name in like_it if name != best]
    apart = f"the test cannot tell it from {', '.join(others)}" if others else "the test tells it from all others"
    return f"{best} has the best mean rank, {ranks[best]:.2f} of {len(ranks)}; {apart}."


def _null_in_words(findings: "Findings", null: str) -> str:
    evidence = findings.nulls[null]
    as_good = sum(score >= evidence["observed"] for score in evidence["scores"])
    return (
        f"{as_good} of {len(evidence['scores'])} tables with {NULL_WORDS[null]} did as well as this one, which reached "
        f"{metric_of(findings)} {evidence['observed']:.3f}; they reached {min(evidence['scores']):.3f} to "
        f"{max(evidence['scores']):.3f}."
    )
