"""Run one case: warm up, check that the results agree, time, and compare."""

import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case, Contest, TooSlowError, UnavailableError
from benchmarks.timing import Clock, Timing, interleaved_timings

OWN_PACKAGES = ("fewer", "benchmarks")


@dataclass(frozen=True)
class Standing:
    """How one contender did. ``trouble`` says why there is no ratio, where there is none."""

    name: str
    ours: bool
    status: str  # "ok", "missing", "failed", "too slow", "disagrees" or "no peer"
    timing: Timing | None = None
    ratio: float | None = None
    objective: float | None = None
    peak_megabytes: float | None = None
    trouble: str = ""


@dataclass(frozen=True)
class CaseResult:
    """How all contenders of one case did. ``unavailable`` says why the case was not run, where it was not."""

    data: str
    standings: tuple[Standing, ...] = ()
    baseline: str | None = None
    unavailable: str = ""

    @property
    def sound(self) -> bool:
        """Whether everything that could run ran, and agreed."""
        return all(standing.status in ("ok", "missing", "too slow", "no peer") for standing in self.standings)


@dataclass
class _WarmedUp:
    """What the first, untimed run of each contender gave."""

    objectives: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    too_slow: dict[str, str] = field(default_factory=dict)


def run_case(
    case: Case,
    *,
    repeats: int = 7,
    clock: Clock = time.perf_counter,
    peak_megabytes: Callable[[str], float | None] = lambda contender: None,
) -> CaseResult:
    """Run a case in a folder of its own; ``peak_megabytes`` tells the memory that a contender needs."""
    with tempfile.TemporaryDirectory(prefix="fewer-bench-") as folder:
        try:
            contest = case.prepare(Path(folder))
        except UnavailableError as error:
            return CaseResult(case.data, unavailable=str(error))
        warmed_up = _warm_up(contest)
        able = {name: call for name, call in contest.contenders.items() if name in warmed_up.objectives}
        timings = interleaved_timings(able, repeats=case.repeats or repeats, clock=clock)
        memory = {name: peak_megabytes(name) for name in able}
    baseline = next((name for name in contest.peers if name in able), None)
    standings = tuple(
        _standing(name, contest, warmed_up, timings, baseline, memory.get(name)) for name in contest.contenders
    )
    return CaseResult(case.data, standings, baseline)


def _warm_up(contest: Contest) -> _WarmedUp:
    """Run each contender once, so that imports and compilation are done, and keep the objective of its result."""
    seen = _WarmedUp()
    for name, call in contest.contenders.items():
        try:
            seen.objectives[name] = np.asarray(contest.objective(call()))
        except ImportError as error:
            if name in contest.ours or (error.name or "").partition(".")[0] in OWN_PACKAGES:
                raise  # the code under test is broken, which is no missing peer
            seen.missing[name] = str(error)
        except TooSlowError as error:
            (seen.failed if name in contest.ours else seen.too_slow)[name] = str(error)
        except Exception as error:
            seen.failed[name] = "".join(traceback.format_exception_only(error)).strip()
    return seen


def _standing(
    name: str,
    contest: Contest,
    warmed_up: _WarmedUp,
    timings: dict[str, Timing],
    baseline: str | None,
    peak_megabytes: float | None,
) -> Standing:
    ours = name in contest.ours
    if name in warmed_up.missing:
        return Standing(name, ours, "missing", trouble=f"not installed: {warmed_up.missing[name]}")
    if name in warmed_up.failed:
        return Standing(name, ours, "failed", trouble=f"failed: {warmed_up.failed[name]}")
    if name in warmed_up.too_slow:
        return Standing(name, ours, "too slow", trouble=warmed_up.too_slow[name])
    reached = warmed_up.objectives[name]
    status, trouble, ratio = "ok", "", None
    if baseline is None:
        status, trouble = "no peer", "no peer could be run"
    else:
        trouble = disagreement(warmed_up.objectives[baseline], reached, contest.tolerance)
        if trouble:
            status, trouble = "disagrees", f"disagrees with {baseline}: {trouble}"
        else:
            ratio = timings[name].median / timings[baseline].median
    objective = float(reached) if reached.ndim == 0 and reached.dtype.kind in "biuf" else None
    return Standing(name, ours, status, timings[name], ratio, objective, peak_megabytes, trouble)


def disagreement(expected: np.ndarray, reached: np.ndarray, tolerance: float) -> str:
    """How two objectives differ, in words; empty when they agree. Missing numbers agree with missing numbers."""
    if expected.shape != reached.shape:
        return f"shape {reached.shape} instead of {expected.shape}"
    if expected.dtype.kind not in "biufc" or reached.dtype.kind not in "biufc":
        differ = int(np.sum(expected != reached))
        return f"{differ} of {expected.size} entries differ" if differ else ""
    # NaN and infinity must stand in the same places; the rest is compared by size.
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(reached)) or not np.array_equal(
        expected[~finite], reached[~finite], equal_nan=True
    ):
        return "NaN or infinite in different places"
    gap = _largest(np.subtract(reached, expected, dtype=np.result_type(reached, expected, float))[finite])
    if gap <= tolerance * _largest(expected[finite]):
        return ""
    if expected.ndim == 0:
        return f"{float(reached.real):.10g} instead of {float(expected.real):.10g}"
    return f"differs by up to {gap:.3g} where the largest entry is {_largest(expected[finite]):.3g}"


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))
