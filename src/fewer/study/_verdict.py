"""The top of the page: the first line, and two sentences more."""

from typing import Any

from fewer.study._findings import Answer, Column
from fewer.study._plan import Plan
from fewer.study._scores import AllScores
from fewer.study._wording import counted, listed, p_words, signed, two_digits

NO_PROOF = "That is no proof that there is nothing: more rows, or other columns, may still show something."
NOT_A_FINDING = "What was chosen below is what the procedure does with any table, not something found in this one."


def headline_of(
    plan: Plan, learnable: Answer, fewer_help: Answer, final: dict[str, Any], metric: str
) -> tuple[str, bool]:
    """The first line, and whether it says that fewer features help. Its scores are the only ones at the top."""
    size, n_made, n_columns = final["size"], final["n_made"], final["n_prepared"]
    reached, with_all = fewer_help.evidence["with_fewer"], fewer_help.evidence["with_all"]
    if learnable.verdict == "no":
        return (
            f"There is no sign that {plan.target} can be predicted from these {plan.n_columns:,} columns: {metric} "
            f"{reached:.3f}, no better than with a shuffled target ({p_words(learnable.number or 1.0)}).",
            False,
        )
    assert fewer_help.interval is not None
    low, high = fewer_help.interval
    if size >= n_columns and n_made is None:
        return f"Keep all features: the best number of columns is all {n_columns:,} ({metric} {with_all:.3f}).", False
    apart = f"{plan.confidence:.0%} interval of the difference {signed(low)} to {signed(high)}"
    if low == high == 0:
        apart = "no difference on any fold"
    few = f"{size:,} of {n_columns:,} columns" if n_made is None else f"{counted(n_made, 'new column')}"
    everything = "all of them" if n_made is None else f"all {n_columns:,} columns"
    scores_of_both = (
        f"{few} {'reaches' if (n_made or size) == 1 else 'reach'} {metric} {reached:.3f}, {everything} {with_all:.3f} "
        f"({apart})."
    )
    if fewer_help.verdict == "yes":
        return f"Fewer features help: {scores_of_both}", True
    if fewer_help.verdict == "no":
        return f"Keep all features: {scores_of_both}", False
    # As well is what differs by less than half of what the features give at all.
    gained = max(reached, with_all) - learnable.evidence["simplest"]
    alike = max(abs(low), abs(high)) <= gained / 2
    says = "Fewer features do about as well" if alike else "Too few rows to tell whether fewer features help"
    return f"{says}: {scores_of_both}", False


def in_short(which: Answer, how_few: Answer, columns: tuple[Column, ...], final: dict[str, Any]) -> str:
    """Which columns and how few, in one sentence for the top of the page."""
    names = [column.name for column in columns if column.chosen]
    first = listed(names[:4], 4)
    if final["n_made"] is not None:
        if final["n_made"] == 1:
            return f"The new column holds most of {first}, and needs all columns."
        return f"The {final['n_made']} new columns hold most of {first}, and need all columns."
    shown = f"First come {first}" if len(names) > 4 else f"The column{'s are' if len(names) > 1 else ' is'} {first}"
    smallest = how_few.evidence["smallest"]
    enough = f"; the first {smallest:,} nearly suffice" if smallest < len(names) else ""
    agree = ""
    if len(names) < final["n_prepared"] and which.number is not None:
        agree = f"; the folds agree on the list {_degree(which.number)} (stability {two_digits(which.number)} of 1)"
    return f"{shown}{enough}{agree}."


def chosen_by(scores: AllScores, final: dict[str, Any]) -> str:
    """What chose the columns. Scores of single candidates stay below: near the honest one they only confuse."""
    reducer, _, learner = scores.winner.name.rpartition(", ")
    done = "chosen" if final["size"] < final["n_prepared"] else "put in order"
    done = done if final["n_made"] is None else "combined"
    n_ways = len(scores.reduced)
    best = f", the best of {n_ways} ways to reduce" if n_ways > 1 else ""
    return f"Columns were {done} by {reducer} with {learner}{best}."


def _degree(stability: float) -> str:
    return "well" if stability >= 0.75 else "in part" if stability >= 0.4 else "poorly"
