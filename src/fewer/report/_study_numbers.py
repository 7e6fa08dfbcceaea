"""The number behind each answer as it is shown, how the time of a study was spent, and names made safe to show.

Names from the user's data must not control a terminal, and must not be read as markup.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewer._wording import interval_words, metric_words, printable

if TYPE_CHECKING:
    from fewer.study import Answer, Findings

_KINDS = {"fold": "comparing candidates", "null": "permutation tests"}


@dataclass(frozen=True)
class Shown:
    """A number for people: what it is called, itself, and its uncertainty."""

    label: str
    value: str
    interval: str = ""


def metric_of(findings: "Findings") -> str:
    """What the score is called."""
    return metric_words(findings.plan.scoring)


def unit_of(findings: "Findings") -> str:
    """What sizes count: columns of the table, groups of them, or new columns."""
    return "new columns" if findings.n_made is not None else given_unit(findings)


def given_unit(findings: "Findings") -> str:
    """What there is to choose from: columns of the table, or groups of them."""
    return f"{findings.unit}s"


def number_of(findings: "Findings", answer: "Answer", label: str, written: "Callable[[float], str]") -> Shown | None:
    """The number of an answer with its interval, if it has one."""
    if answer.number is None:
        return None
    if answer.interval is None:
        return Shown(label, written(answer.number))
    return Shown(label, written(answer.number), interval_words(answer.interval, findings.plan.confidence, written))


def seconds_by_candidate(seconds: Mapping[str, float]) -> dict[int, float]:
    """Time of all folds of each candidate, by its place in the plan, from the times of the journal."""
    spent: dict[int, float] = {}
    for key, value in seconds.items():
        kind, _, rest = key.partition("/")
        if kind == "fold":
            number = int(rest.split("/")[0])
            spent[number] = spent.get(number, 0.0) + value
    return spent


def seconds_by_kind(seconds: Mapping[str, float]) -> dict[str, float]:
    """Time of each kind of work, in words, from the times of the journal."""
    spent: dict[str, float] = {}
    for key, value in seconds.items():
        kind = _KINDS.get(key.partition("/")[0], "final fit and checks")
        spent[kind] = spent.get(kind, 0.0) + value
    return spent


def duration(seconds: float) -> str:
    """A time for people: 0.35 s, 1.2 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def shortened_inside(text: str, most: int) -> str:
    """Both ends of a text that is longer than allowed: names with the same beginning often differ at the end."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}…{text[-end:]}"


def plotly_text(text: str, most: int = 36) -> str:
    """A short text for a figure. Plotly reads tags in text, so what looks like one is made harmless."""
    text = shortened_inside(printable(text), most)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
