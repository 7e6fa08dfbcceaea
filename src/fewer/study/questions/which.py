"""Which ones? The columns of the winner in their order, how often the folds chose them, and how far the folds agree."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewer.evaluate import selection_stability
from fewer.study.answers._question import Answer, Finished, Here, Question, Verdict
from fewer.study.answers._scores import CandidateScores
from fewer.study.model._final import FINAL, do_final
from fewer.study.plan._plan import Plan

TITLE = "Which ones?"
_MOST_COLUMNS = 200
# Of new columns, how many of those that go into them are looked for again in every fold.
_FIRST = 10


@dataclass(frozen=True)
class Column:
    """One of the chosen columns.

    Attributes
    ----------
    rank : int
        Place, 1 for the best.
    name : str
        Name of the column, or of the group of columns.
    source : str
        Column of the table with the largest effect in it: itself, unless it is a group of columns.
    sources : tuple of str
        All columns of the table in it.
    importance : float or None
        Score that the selection method gave it on all rows, in its own unit.
    frequency : float
        Share of the folds in which it was chosen.
    chosen : bool
        Whether it is on the list.
    effect : str
        Direction of its effect.
    effect_size : float
        Correlation with the target, or difference of the standardised class means.
    stands_in_for : tuple of str
        Nearly duplicate columns.
    """

    rank: int
    name: str
    source: str
    importance: float | None
    frequency: float
    chosen: bool
    effect: str
    effect_size: float
    stands_in_for: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnsAnswer(Answer):
    """Which ones.

    Attributes
    ----------
    columns : tuple of Column
        The best columns in order, the chosen ones first.
    spreads : dict
        Quartiles of the first chosen columns in each class, or in thirds of the target.
    made : dict
        What the new columns are made of, if there are any: correlations with the columns of the table.
    """

    columns: tuple[Column, ...] = ()
    spreads: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)


def answer(done: Finished) -> ColumnsAnswer:
    """The columns of the winner, on all rows and in the folds."""
    return answered(done.scores.ranker, done.final, done.plan)


def answered(ranker: CandidateScores, final: dict[str, Any], plan: Plan) -> ColumnsAnswer:
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
            importance=each["score"],
            frequency=1.0 if everything and n_made is None else times[each["name"]] / len(ranker.orders),
            chosen=rank <= size,
            effect=_effect(each, two_classes=plan.task == "binary"),
            sources=tuple(each.get("sources", [each["source"]])),
            effect_size=each.get("correlation", each.get("difference")) or 0.0,
            stands_in_for=tuple(name for name in groups.get(each["name"], []) if name != each["name"]),
        )
        for rank, each in enumerate(final["columns"][: max(size, _MOST_COLUMNS)], start=1)
    )
    evidence = {
        "stability": stability,
        "ranker": ranker.name,
        "n_folds": len(ranker.orders),
        "n_counted": counted_first,
    }
    return ColumnsAnswer(
        Verdict.YES,
        stability["value"],
        stability["interval"],
        evidence,
        columns=columns,
        spreads=final.get("spreads", {}),
        made=final.get("made", {}),
    )


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
    if column.get("strongest", column.get("name")) != column.get("name"):
        of_itself = {**column, "name": column["strongest"]}
        return f"{column['strongest']}: {_effect(of_itself, two_classes=two_classes)}"
    if "correlation" in column:
        r = column["correlation"] or 0.0
        return "increases with the target" if r > 0 else "decreases with the target" if r < 0 else "flat"
    if two_classes:
        return f"higher in {column['highest_in']}"
    return f"highest in {column['highest_in']}, lowest in {column['lowest_in']}"


QUESTION = Question("which", TITLE, answer, lambda plan, scores, work: [Here(FINAL, do_final)], place=50)
