"""The findings of a study: answers, each a verdict, a number with its uncertainty, and the evidence behind it.

Plain data that is made from the plan and the journal alone, so it can be made again at any time, and is the same
however often the study was stopped on its way.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fewer._wording import metric_words
from fewer.study.answers._question import Answer
from fewer.study.files._checked_file import write_checked
from fewer.study.plan._plan import Plan
from fewer.study.table._columns import TableColumn, n_units

VERSION = 6


@dataclass(frozen=True)
class Findings:
    """What a study has found.

    Parts of answers can be asked for by their names: ``findings.learnable``, ``findings.columns``, ``findings.rivals``,
    ``findings.curve``, ``findings.cautions``.

    Attributes
    ----------
    plan : Plan
        What was done.
    answers : mapping of str to Answer
        The answers by the ids of the questions, in their order.
    winner : int
        Place of the winning candidate in the plan.
    n_made : int or None
        How many new columns the winner makes; None if it chooses among those of the table.
    table : tuple of TableColumn
        What became of each column of the table.
    headline : str
        The first line: whether the target can be predicted, and whether fewer features help.
    verdict : tuple of str
        Three sentences that sum it up.
    verdict_of : tuple of str
        The ids of the questions that they come from.
    moods : tuple of str
        Those of all first lines that the questions had, the most urgent first; see :class:`fewer.study.Lead`.
    version : int
        Format version of findings.
    """

    plan: Plan
    answers: Mapping[str, Answer]
    winner: int
    n_made: int | None
    table: tuple[TableColumn, ...] = field(repr=False)
    headline: str = ""
    verdict: tuple[str, ...] = ()
    verdict_of: tuple[str, ...] = ()
    moods: tuple[str, ...] = ()
    version: int = VERSION

    def __getattr__(self, name: str) -> Any:
        """An answer by its id, or a part of one by its name."""
        answers = self.__dict__.get("answers", {})
        if name in answers:
            return answers[name]
        for answer in answers.values():
            if name in answer.parts and name != "nulls":
                return getattr(answer, name)
        raise AttributeError(f"These findings have no answer and no part {name!r}.")

    @property
    def n_columns(self) -> int:
        """How many columns of the table, or groups of them, there are to choose from, or to make new ones of."""
        return n_units(self.table, self.plan)

    @property
    def unit(self) -> str:
        """What sizes count: columns of the table, or groups of them."""
        return "group" if self.plan.column_groups else "column"

    @property
    def metric(self) -> str:
        """What people call the score."""
        return metric_words(self.plan.scoring)

    @property
    def finds_nothing(self) -> bool:
        """Whether there is no sign that the target can be predicted."""
        return "nothing" in self.moods

    @property
    def claims_benefit(self) -> bool:
        """Whether the first lines claim that fewer columns are better, or not worse."""
        return "gain" in self.moods and not self.finds_nothing

    @property
    def nulls(self) -> dict[str, Any]:
        """Scores on randomised tables, for each test."""
        return {name: null for answer in self.answers.values() for name, null in answer.parts.get("nulls", {}).items()}

    @property
    def shown(self) -> dict[str, Answer]:
        """Answers with something to show, by id."""
        return {name: answer for name, answer in self.answers.items() if answer.is_shown}

    @property
    def chosen(self) -> list[str]:
        """Chosen columns of the table, those that are always in and then the best first.

        Of new columns, those of the table that they are made from.
        """
        chosen = (source for column in self.columns if column.chosen for source in column.sources)
        return list(dict.fromkeys([*self.plan.always, *chosen]))

    @property
    def chosen_features(self) -> list[str]:
        """Features of the learner: the chosen columns, and the categories of those with text."""
        features = {column.name: column.features for column in self.table}
        return [name for column in self.chosen for name in features[column]]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return json.loads(self.to_json())

    def to_json(self) -> str:
        """The findings as JSON."""
        common = [each.name for each in fields(Answer)]
        own = [each.name for each in fields(self) if each.name not in ("answers", "table")]
        data = {name: getattr(self, name) for name in (*own, "nulls", "chosen", "claims_benefit", "n_columns")}
        for name, answer in self.answers.items():
            data |= {part: value for part, value in answer.parts.items() if part != "nulls"}
            data[name] = {each: getattr(answer, each) for each in common}
        data["plan"] = self.plan.to_dict()
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=asdict)

    def save(self, path: "str | Path") -> None:
        """Write the findings as JSON, with a checksum."""
        write_checked(path, self.to_dict())

    def _repr_html_(self) -> str:
        from fewer.study.answers._first_screen import first_screen

        return first_screen(self)

    def __str__(self) -> str:
        lines = [self.headline, *self.verdict[1:], ""]
        lines += [f"{answer.question}\n  {answer.sentence}" for answer in self.shown.values()]
        if self.cautions:
            lines += [f"  {caution.sentence}" for caution in self.cautions[1:]]
        return "\n".join(lines)
