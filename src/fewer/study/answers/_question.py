"""What a question of a study is: the work that it needs, and the answer that it makes of the finished work.

A study is a list of questions. Each is one module of ``fewer.study.questions``, or of another package, with an object
``QUESTION``; its panel in the report is the module of the same name in ``fewer.report.panels``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from fewer.study.answers._findings import Findings
    from fewer.study.answers._scores import AllScores
    from fewer.study.plan._plan import Plan
    from fewer.study.work._work import Bench


class Verdict(StrEnum):
    """An answer in a word or two, for programs."""

    YES = "yes"
    NO = "no"
    BETTER = "better"
    NOT_WORSE = "not worse"
    NOT_SHOWN = "not shown"
    NOT_TESTED = "not tested"

    __repr__ = str.__repr__


@dataclass(frozen=True)
class Answer:
    """The answer to one of the questions.

    Attributes
    ----------
    verdict : Verdict
        The answer for programs.
    number : float or None
        The figure behind it.
    interval : tuple of two floats or None
        Its uncertainty.
    evidence : dict
        What the figure was made from.
    reason : str
        Why it was not tested, if it was not.
    question : str
        What was asked.
    sentence : str
        The answer for people, made of the above when all questions are answered.
    how : str
        How the figure was obtained.
    """

    verdict: Verdict
    number: float | None = None
    interval: tuple[float, float] | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    question: str = field(default="", kw_only=True)
    sentence: str = field(default="", kw_only=True)
    how: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to show."""
        return True

    @property
    def parts(self) -> dict[str, Any]:
        """What a kind of answer has besides the above, by name."""
        common = {each.name for each in fields(Answer)}
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in common}


class Lead(NamedTuple):
    """What a question contributes to the first lines of the findings.

    The three most urgent lines of all questions are shown; notes follow the last of them. The mood of the first line is
    "critical", "nothing" (there is nothing to predict), "gain" or "".
    """

    urgency: int
    lines: tuple[str, ...]
    mood: str = ""
    note: str = ""


class Payloads(Protocol):
    """Finished work by key: a journal, or a mapping."""

    def __contains__(self, key: Any) -> bool: ...

    def __getitem__(self, key: str) -> dict[str, Any]: ...


class Pieces(NamedTuple):
    """Work for the engine: ``function(piece, bench)`` for pieces with a ``key`` each; those of a task go together."""

    description: str
    function: Callable[[Any, "Bench"], dict[str, Any]]
    tasks: Sequence[tuple[Any, ...]]

    @property
    def keys(self) -> list[str]:
        """Names in the journal."""
        return [piece.key for task in self.tasks for piece in task]


class Here(NamedTuple):
    """One piece of work in this process: ``function(bench, scores)``, which looks at all rows."""

    key: str
    function: Callable[["Bench", "AllScores"], dict[str, Any]]

    @property
    def keys(self) -> list[str]:
        """Its name in the journal."""
        return [self.key]


@dataclass(eq=False)
class Finished:
    """What the answers are made of: the plan, all finished work, and the answers to the questions before.

    Attributes
    ----------
    plan : Plan
        What was asked for.
    work : mapping of str to dict
        Finished work by key, as the journal has it.
    scores : AllScores
        Scores of all candidates.
    answers : dict of str to Answer
        Those to the questions before, by id.
    """

    plan: "Plan"
    work: Payloads
    scores: "AllScores"
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def final(self) -> dict[str, Any]:
        """The winner on all rows."""
        return self.work["final"]


def _nothing(plan: "Plan", scores: "AllScores", work: Payloads) -> Iterable[Pieces | Here]:
    return ()


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    id : str
        Its name in plans and findings, and that of its module.
    title : str
        What is asked, for people.
    answer : callable
        From :class:`Finished` to the :class:`Answer`, without sentences.
    work : callable
        From the plan, the scores and the finished work to the work that the answer needs, besides the scores; it may
        be a generator that looks at what is finished before it asks for more.
    place : int
        Questions are asked in this order.
    words : callable
        From the findings and the answer to its sentences by name: ``sentence`` and ``how``. Those of the questions in
        this package are in ``fewer.study.answers._sentences``.
    lead : callable
        From the findings and the answer to its :class:`Lead`, if it has one.
    """

    id: str
    title: str
    answer: Callable[[Finished], Answer]
    work: Callable[["Plan", "AllScores", Payloads], Iterable[Pieces | Here]] = _nothing
    place: int = 1000
    words: Callable[["Findings", Any], Mapping[str, Any]] | None = None
    lead: Callable[["Findings", Any], Lead | None] | None = None
