"""The top of the page: the first line, and two sentences more."""

from collections.abc import Sequence
from typing import Any

from fewer._wording import counted, interval_words, listed, p_words, percent, rows_words, signed, two_digits
from fewer.study._decision import POWER
from fewer.study._plan import Plan
from fewer.study._question import Answer, Finished
from fewer.study._scores import AllScores

# A caution about how the target was read: part of the first lines, too.
TARGET = "target"
NO_PROOF = "This does not prove that there is no signal: more rows or other columns may show one."
CROSS_INDEXED = (
    "Scores in these lines are cross-indexed: for each fold, selection method, learner and number of columns are "
    "chosen on the other folds."
)
NOT_A_FINDING = "The columns below are what the procedure returns for any table; they are not a finding."


def first_lines(done: Finished) -> tuple[str, str, str]:
    """The first line and two more. A critical caution comes first: the claim then stands below it.

    The last line ends with what kind of score these are, and with what a target of whole numbers was taken for.
    """
    plan, scores, final = done.plan, done.scores, done.final
    learnable, which = done.answers["learnable"], done.answers["which"]
    columns = which.parts["columns"]
    cautions = done.answers["careful"].parts["cautions"]
    headline = headline_of(plan, scores, learnable, final, done.metric)
    critical = next((each for each in cautions if each.headline), None)
    if critical is not None:
        lines = critical.headline, critical.sentence, headline
    elif learnable.verdict == "no":
        lines = headline, NO_PROOF, NOT_A_FINDING
    else:
        lines = headline, in_short(which, columns, final), chosen_by(scores, final)
    read_as = [each.sentence for each in cautions if each.topic == TARGET]
    return lines[0], lines[1], " ".join([lines[2], CROSS_INDEXED, *read_as])


def headline_of(plan: Plan, scores: AllScores, learnable: Answer, final: dict[str, Any], metric: str) -> str:
    """The claim about fewer columns, with the cross-indexed scores."""
    claim = scores.claim
    reached = float(scores.choice.fold_scores.mean())
    with_all = float(scores.fold_scores_with_everything.mean())
    if learnable.verdict == "no":
        p = p_words(learnable.number or 1.0, learnable.evidence["n_tables"])
        return (
            f"There is no sign that {plan.target} can be predicted from these {plan.n_columns:,} columns: {metric} "
            f"{reached:.3f}, baseline {scores.simplest.score:.3f} ({p})."
        )
    size, n_made = final["n_sources"], final["n_made"]
    if final["size"] >= final["n_prepared"] and n_made is None:
        return f"Keep all {plan.n_columns:,} features: {nothing_smaller(plan)} ({metric} {reached:.3f})."
    apart = interval_words(claim.interval, plan.confidence, signed, of=" of the difference")
    if claim.interval == (0, 0):
        apart = "no difference on any fold"
    few = counted(n_made, "new column") if n_made is not None else f"{size:,} of {plan.n_columns:,} columns"
    if n_made is None and size >= plan.n_columns:
        few = f"{final['size']:,} of {final['n_prepared']:,} encoded columns (from all {plan.n_columns:,} columns)"
    everything = f"all {plan.n_columns:,} columns" if n_made is not None else "all columns"
    both = (
        f"{few} {'reaches' if (n_made or size) == 1 else 'reach'} {metric} {reached:.3f}, {everything} {with_all:.3f} "
        f"({apart})"
    )
    margin = f"margin of {percent(plan.margin)} ({plan.margin * (with_all - scores.simplest.score):.3f} in {metric})"
    if claim.outcome == "better":
        return f"Fewer features help: {both}."
    if claim.outcome == "not worse":
        return f"Fewer features do as well, within a {margin}: {both}."
    if claim.rows_needed is None and claim.above_margin_interval[1] >= 0:
        return f"It is not shown that fewer features do as well: {both}."
    if claim.rows_needed is None:
        return f"Fewer features lose more than the {margin}: {both}."
    needed = f"{rows_words(claim.rows_needed, plan.n_rows)} are needed ({percent(POWER)} power at this difference)"
    return f"Too few rows to show that fewer features do as well: {both}; {needed}."


def nothing_smaller(plan: Plan) -> str:
    """Why all columns are kept."""
    if plan.parsimony == 0:
        return "no smaller number scores as well"
    if plan.parsimony == "one_se":
        return "no smaller number is within one standard error of the best score"
    return f"no smaller number keeps {percent(1 - plan.parsimony)} of the gain over the baseline"


def in_short(which: Answer, columns: Sequence[Any], final: dict[str, Any]) -> str:
    """Which columns, and how far the folds agree on them, in one sentence for the top of the page."""
    names = list(dict.fromkeys(column.source for column in columns if column.chosen))
    first = listed(names[:4], 4)
    if final["n_made"] is not None:
        if final["n_made"] == 1:
            return f"The new column is made mostly of {first}, and needs all columns."
        return f"The {final['n_made']} new columns are made mostly of {first}, and need all columns."
    shown = (
        f"The top-ranked columns are {first}"
        if len(names) > 4
        else f"The column{'s are' if len(names) > 1 else ' is'} {first}"
    )
    agree = ""
    if final["size"] < final["n_prepared"] and which.number is not None:
        stability = f"stability {two_digits(which.number)}; 1 is perfect"
        agree = f"; the folds agree {_degree(which.number)} on the columns ({stability})"
    return f"{shown}{agree}."


def chosen_by(scores: AllScores, final: dict[str, Any]) -> str:
    """What chose the columns. Scores of single candidates stay below: near the honest one they only confuse."""
    reducer, learner = scores.winner.labels
    if not scores.winner.reduces:
        n_candidates = scores.n_ways + len(scores.with_everything)
        return f"The model is {learner} with all columns, chosen from {n_candidates} candidates."
    done = "chosen" if final["n_made"] is None else "combined"
    n_ways = scores.n_ways
    best = f", from {n_ways} combinations of selection method and learner" if n_ways > 1 else ""
    return f"Columns were {done} by {reducer} with {learner}{best}."


def _degree(stability: float) -> str:
    return "well" if stability >= 0.75 else "in part" if stability >= 0.4 else "poorly"
