"""Results as a JSON file, with the machine and the versions that they belong to."""

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.contest import CaseResult, Standing

_ALWAYS = ("fewer", "numpy", "scipy", "scikit-learn", "numba", "polars")


def write_results(
    path: Path,
    bench: str,
    cases: Iterable[CaseResult],
    repeats: int,
    clock: str = "wall",
    *,
    keep_others: bool = False,
) -> None:
    """Write the results of one bench, readable on their own years later; of a part of it, into those of the whole."""
    cases = list(cases)
    if keep_others and path.exists():
        _replace_cases(path, [_case(case) for case in cases])
        return
    peers = {standing.name for case in cases for standing in case.standings if not standing.ours}
    document = {
        "bench": bench,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine_facts(),
        "versions": versions((*_ALWAYS, *sorted(peers))),
        "repeats": repeats,
        "clock": clock,
        "cases": [_case(case) for case in cases],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, document)


def _replace_cases(path: Path, cases: list[dict[str, Any]]) -> None:
    """Put cases in the place of those of their name; what the file says of the machine is that of the whole run."""
    document = json.loads(path.read_text(encoding="utf-8"))
    new = {case["data"]: case for case in cases}
    document["cases"] = [new.pop(case["data"], case) for case in document["cases"]] + list(new.values())
    _write(path, document)


def _write(path: Path, document: dict[str, Any]) -> None:
    beside = path.with_suffix(".part")  # a run that is stopped here leaves the former results whole
    beside.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    beside.replace(path)


def machine_facts() -> dict[str, Any]:
    """What a reader needs to know of the machine to judge a time: processor, cores, memory, BLAS."""
    from threadpoolctl import threadpool_info

    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gigabytes": _memory_gigabytes(),
        "python": sys.version.split()[0],
        "thread_pools": [
            {key: pool.get(key) for key in ("internal_api", "version", "num_threads")} for pool in threadpool_info()
        ],
    }


def machine_in_words(document: Mapping[str, Any]) -> str:
    """A sentence on the machine and the versions of a file of results, and its day."""
    machine = document["machine"]
    return (
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gigabytes']} GB, "
        f"{machine['system']}; Python {machine['python']}. "
        + ", ".join(f"{name} {version}" for name, version in document["versions"].items())
        + f". {document['when'][:10]}"
    )


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that are installed; names that are none (a variant of a peer) are left out."""
    found = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except (PackageNotFoundError, ValueError):
            continue
    return found


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "data": case.data,
        "baseline": case.baseline,
        "unavailable": case.unavailable or None,
        "contenders": [_standing(standing) for standing in case.standings],
    }


def _standing(standing: Standing) -> dict[str, Any]:
    fields = asdict(standing)
    timing = standing.timing
    fields["timing"] = timing and {
        "median": timing.median,
        "quartiles": list(timing.quartiles),
        "seconds": list(timing.seconds),
    }
    if standing.objective is not None and not math.isfinite(standing.objective):
        fields["objective"] = str(standing.objective)  # JSON has no NaN
    return fields


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _memory_gigabytes() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None
