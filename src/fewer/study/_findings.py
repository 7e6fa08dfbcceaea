"""The findings of a study: seven answers, each a sentence, a number with its uncertainty, and the evidence behind it.

Plain data that is made from the plan and the journal alone, so it can be made again at any time, and is the same
however often the study was stopped on its way.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fewer.study._checked_file import write_checked

VERSION = 5


@dataclass(frozen=True)
class Answer:
    """The answer to one of the questions.

    Attributes
    ----------
    question : str
        What was asked.
    verdict : str
        The answer in a word or two, for programs: "yes", "no", "better", "not worse", "not shown", "not tested".
    sentence : str
        The answer for people.
    number : float or None
        The figure behind it.
    interval : tuple of two floats or None
        Its uncertainty.
    how : str
        How the figure was obtained.
    evidence : dict
        What the figure was made from.
    """

    question: str
    verdict: str
    sentence: str
    number: float | None = None
    interval: tuple[float, float] | None = None
    how: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """One of the chosen columns.

    Attributes
    ----------
    rank : int
        Place, 1 for the best.
    name : str
        Name of the column; of a category, ``column = value``.
    source : str
        Column of the table that it is made of: itself, or the one whose category it is.
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


@dataclass(frozen=True)
class Rival:
    """The result of one candidate.

    Attributes
    ----------
    name : str
        Its name.
    score : float
        Candidate score: mean held-out score, with the number of columns that scores best on the other folds.
    interval : tuple of two floats
        Its uncertainty.
    size : float or None
        Cross-indexed size; None if all features are used.
    over_same_learner : float or None
        Difference to the same learner with all features.
    over_same_learner_interval : tuple of two floats or None
        Its uncertainty.
    behind : float
        How far behind the winner.
    behind_interval : tuple of two floats
        Its uncertainty.
    """

    name: str
    score: float
    interval: tuple[float, float]
    size: float | None
    over_same_learner: float | None
    over_same_learner_interval: tuple[float, float] | None
    behind: float
    behind_interval: tuple[float, float]


@dataclass(frozen=True)
class Caution:
    """A limit of the results.

    Attributes
    ----------
    level : {"critical", "warning", "note"}
        A critical one takes the place of the first line.
    topic : str
        What it is about.
    sentence : str
        What was seen and what to do.
    evidence : dict
        What it was seen from.
    headline : str
        The first line of a critical one.
    """

    level: str
    topic: str
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)
    headline: str = ""


@dataclass(frozen=True)
class Findings:
    """What a study has found.

    Attributes
    ----------
    headline : str
        The first line: whether the target can be predicted, and whether fewer features help.
    verdict : tuple of str
        Three sentences that sum it up.
    claims_benefit : bool
        Whether the first line claims that fewer columns are better, or not worse.
    winner : int
        Place of the winning candidate in the plan.
    n_made : int or None
        How many new columns the winner makes; None if it chooses among those of the table.
    n_columns : int
        How many columns there are to choose from, or to make new ones of; a category counts as one of its own.
    spreads : dict
        Quartiles of the first chosen columns in each class, or in thirds of the target.
    made : dict
        What the new columns are made of, if there are any: correlations with the columns of the table.
    learnable, interacting, fewer_help, how_few, which, wrong, compared : Answer
        The answers.
    columns : tuple of Column
        The best columns in order, the chosen ones first.
    rivals : tuple of Rival
        All candidates, best first.
    cautions : tuple of Caution
        What to be careful about, the critical ones first.
    curve : dict
        Mean score and its standard error at each size: the best of all candidates, and each candidate that selects.
    nulls : dict
        Scores on randomised tables, for each test.
    missing : dict
        How much is missing, where, and how well it can be imputed; empty without missing values.
    plan : dict
        The plan.
    version : int
        Format version of findings.
    """

    headline: str
    verdict: tuple[str, ...]
    claims_benefit: bool
    winner: int
    n_made: int | None
    n_columns: int
    spreads: dict[str, Any]
    made: dict[str, Any]
    learnable: Answer
    interacting: Answer
    fewer_help: Answer
    how_few: Answer
    which: Answer
    wrong: Answer
    compared: Answer
    columns: tuple[Column, ...]
    rivals: tuple[Rival, ...]
    cautions: tuple[Caution, ...]
    curve: dict[str, Any]
    nulls: dict[str, Any]
    missing: dict[str, Any]
    plan: dict[str, Any]
    version: int = VERSION

    @property
    def chosen(self) -> list[str]:
        """Chosen columns of the table, best first; of new columns, those of the table that they are made from."""
        return list(dict.fromkeys(column.source for column in self.columns if column.chosen))

    @property
    def chosen_features(self) -> list[str]:
        """Features of the learner: the chosen columns, and the chosen categories of text columns."""
        return [column.name for column in self.columns if column.chosen]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, in the order of the questions."""
        return (self.learnable, self.interacting, self.fewer_help, self.how_few, self.which, self.wrong, self.compared)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return json.loads(self.to_json())

    def to_json(self) -> str:
        """The findings as JSON."""
        data = asdict(self) | {"chosen": self.chosen}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)

    def save(self, path: "str | Path") -> None:
        """Write the findings as JSON, with a checksum."""
        write_checked(path, self.to_dict())

    def __str__(self) -> str:
        lines = [self.headline, *self.verdict[1:], ""]
        lines += [f"{answer.question}\n  {answer.sentence}" for answer in self.answers]
        if self.cautions:
            lines += ["Warnings and notes", *(f"  {caution.sentence}" for caution in self.cautions)]
        return "\n".join(lines)
