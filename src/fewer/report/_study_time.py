"""Where the time of a study went."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewer.study import Findings

_KINDS = {"fold": "comparing candidates", "null": "permutation tests"}


def seconds_by_candidate(findings: "Findings", seconds: Mapping[str, float]) -> dict[str, float]:
    """Time of all folds of each candidate, from the times of the journal."""
    names = [candidate["name"] for candidate in findings.plan["candidates"]]
    spent: dict[str, float] = {}
    for key, value in seconds.items():
        kind, _, rest = key.partition("/")
        if kind == "fold":
            name = names[int(rest.split("/")[0])]
            spent[name] = spent.get(name, 0.0) + value
    return spent


def seconds_by_kind(seconds: Mapping[str, float]) -> dict[str, float]:
    """Time of each kind of work, in words, from the times of the journal."""
    spent: dict[str, float] = {}
    for key, value in seconds.items():
        kind = _KINDS.get(key.partition("/")[0], "last fit and checks")
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
