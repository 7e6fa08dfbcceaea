"""Where the time of a study went."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewer.study import Findings


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
