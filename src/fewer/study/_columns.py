"""Which columns: those of the winner in their order, how often the folds chose them, and how far the folds agree."""

from collections import Counter
from typing import Any

import numpy as np

from fewer._wording import counted, listed, two_digits
from fewer.evaluate import selection_stability
from fewer.study._findings import Answer, Caution, Column
from fewer.study._plan import Plan
from fewer.study._scores import CandidateScores

_MOST_COLUMNS = 200
_UNSTABLE = 0.5
# Of new columns, how many of those that go into them are looked for again in every fold.
_FIRST = 10


def chosen_columns(ranker: CandidateScores, final: dict[str, Any], plan: Plan) -> tuple[tuple[Column, ...], Answer]:
    """The best columns in order, and the answer to which ones."""
    size, n_made = final["size"], final["n_made"]
    everything = size >= final["n_prepared"]
    counted_first = size if n_made is None else min(_FIRST, size)
    times = Counter(name for order in ranker.orders for name in order[:counted_first])
    supports = [set(order[:size]) for order in ranker.orders]
    stability = {"value": None, "interval": None} if everything else _stability(supports, final["n_prepared"], plan)
    groups = {name: group for group in final["groups"] for name in group}
    columns = tuple(
        Column(
            rank=rank,
            name=each["name"],
            source=each["source"],
            score=each["score"],
            frequency=1.0 if everything and n_made is None else times[each["name"]] / len(ranker.orders),
            chosen=rank <= size,
            effect=_effect(each, two_classes=plan.task == "binary"),
            effect_size=each.get("correlation", each.get("difference")) or 0.0,
            stands_in_for=tuple(name for name in groups.get(each["name"], []) if name != each["name"]),
        )
        for rank, each in enumerate(final["columns"][: max(size, _MOST_COLUMNS)], start=1)
    )
    sentence = _which_ones([column for column in columns if column.chosen], final, stability["value"])
    how = (
        f"Chosen by {ranker.name}, fitted on all rows. The frequency is the share of the {len(ranker.orders)} folds "
        "in which a column was among the chosen; stability is Nogueira's index (1: identical in all folds, 0: random "
        "choice)."
    )
    if n_made is not None:
        how = (
            f"Made by {ranker.name}, fitted on all rows. A column's score is the norm of its correlations with the "
            f"new columns; its frequency is the share of the {len(ranker.orders)} folds in which it was among the "
            f"first {counted_first}."
        )
    answer = Answer(
        "Which ones?", "yes", sentence, stability["value"], stability["interval"], how, {"stability": stability}
    )
    return columns, answer


def _which_ones(chosen: list[Column], final: dict[str, Any], stability: float | None) -> str:
    """Columns of the table; one of words counts by the category that was chosen most often."""
    frequency = {column.source: 0.0 for column in chosen}
    for column in chosen:
        frequency[column.source] = max(frequency[column.source], column.frequency)
    names = list(frequency)
    shown = listed(names, 5)
    if final["n_made"] is not None:
        new = counted(final["n_made"], "new column")
        return f"All {len(names):,} columns go into the {new}; most of {shown}."
    if final["size"] >= final["n_prepared"]:
        return f"All {len(names):,} columns; the first are {shown}."
    always = sum(share >= 0.8 for share in frequency.values())
    agreed = f" (stability {two_digits(stability)})." if stability is not None else "."
    were = "was" if always == 1 else "were"
    return f"{shown}. {always} of {len(names)} {were} chosen in at least 80% of the folds{agreed}"


def _stability(supports: list[set[str]], n_columns: int, plan: Plan) -> dict[str, Any]:
    """Nogueira's index of the columns that each fold chose; nothing where it is not defined."""
    place = {name: number for number, name in enumerate(sorted(set.union(*supports)))}
    width = max(n_columns, len(place))
    if len(supports) < 2 or any(len(support) >= width for support in supports):
        return {"value": None, "interval": None}
    found = selection_stability(
        [{place[name] for name in support} for support in supports], n_features=width, confidence_level=plan.confidence
    )
    interval = tuple(float(end) for end in found.interval)
    return {
        "value": float(found.value) if np.isfinite(found.value) else None,
        "interval": interval if np.isfinite(interval).all() else None,
    }


def _effect(column: dict[str, Any], *, two_classes: bool) -> str:
    if "correlation" in column:
        r = column["correlation"] or 0.0
        return "increases with the target" if r > 0 else "decreases with the target" if r < 0 else "flat"
    if two_classes:
        return f"higher in {column['highest_in']}"
    return f"highest in {column['highest_in']}, lowest in {column['lowest_in']}"


def instability(which: Answer) -> list[Caution]:
    """A caution where the folds agree poorly on the columns."""
    value = which.number
    if value is None or value >= _UNSTABLE:
        return []
    return [
        Caution(
            "warning",
            "unstable",
            f"The choice of columns is unstable (stability {two_digits(value)}, where 1 is identical in all folds): "
            "other rows would give a different list of about the same score.",
            {"stability": value},
        )
    ]


def categories(plan: Plan, final: dict[str, Any]) -> list[Caution]:
    """Why there are more columns to choose from than the table has."""
    if final["n_prepared"] <= plan.n_columns:
        return []
    return [
        Caution(
            "note",
            "categories",
            f"{plan.n_columns:,} columns of the table became {final['n_prepared']:,} by one-hot encoding: each "
            "category of a text column has a column of its own. Counts of chosen columns are columns of the table.",
            {"columns": plan.n_columns, "prepared": final["n_prepared"]},
        )
    ]
