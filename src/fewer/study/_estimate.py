"""About how long a plan will take, from folds of growing parts of the table that are timed.

One fold of a candidate can take minutes, and an estimate should not. So a candidate is timed on an eighth, a fourth, a
half of the rows and columns, and on all of them, as long as it stays within its share of the time for the estimate.
What was not reached follows from the last two times t(s1) < t(s2): t(1) = t(s2) s2**-a, where
a = log(t(s2) / t(s1)) / log(s2 / s1).
"""

import math
import time
import warnings
from dataclasses import replace

import joblib
import numpy as np

from fewer.evaluate import Fold
from fewer.study._errors import StudyError
from fewer.study._plan import Plan
from fewer.study._study_data import StudyData
from fewer.study._wording import counted
from fewer.study._work import Bench, FoldWork, do_fold

_SHARES = (0.125, 0.25, 0.5, 1.0)
# Smaller tables are not cut any further: their times are overhead.
_FEWEST_ROWS = 60
_FEWEST_COLUMNS = 50
# Where one time is known only, the method is slow: time then often grows with rows times the square of the columns, or
# the other way round.
_GROWTH_OF_SLOW = 3.0
_STEEPEST_GROWTH = 5.0
_SECONDS = 6.0


def time_estimate(plan: Plan, data: StudyData, *, n_workers: int | None = None) -> str:
    """A sentence on the number of fits and the time that they will take; it takes some seconds at most.

    Parameters
    ----------
    plan : Plan
        What would be done.
    data : StudyData
        The table.
    n_workers : int, default=None
        Workers; one for each core by default.

    Returns
    -------
    sentence : str
        With the slowest candidate named.
    """
    whole = Bench(plan, data)
    parts = {share: _part(whole, share) for share in _SHARES}
    seconds, failed = {}, []
    for number, candidate in enumerate(plan.candidates):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a fold has to say is said when the study runs
                seconds[candidate.name] = _seconds_of_a_fold(number, parts, _SECONDS / len(plan.candidates))
        except Exception as error:  # whatever a candidate does wrong, the others can still be timed
            failed.append(f"{candidate.name}: {error}")
    if not seconds:
        raise StudyError(f"No candidate can be run. {failed[0]}")
    workers = joblib.effective_n_jobs(n_workers or -1)
    folds = sum(seconds.values()) * plan.n_folds * plan.n_repeats
    slowest = max(seconds, key=lambda name: seconds[name])
    tests = (2 if plan.classify else 1) * plan.n_permutations * plan.n_folds
    n_fits = sum(len(candidate.sizes) + 1 for candidate in plan.candidates) * plan.n_folds * plan.n_repeats
    for_tests = (
        f", and up to {_words(tests * seconds[slowest] / workers)} for the tests, should the slowest ({slowest}) win"
        if tests
        else ""
    )
    lines = [
        f"  fits          {n_fits:,} models, or what gives the same numbers sooner",
        f"  time          about {_words(folds / workers)} for the candidates on {counted(workers, 'worker')}"
        f"{for_tests}",
        *(f"  fails         {each}" for each in failed),
    ]
    return "\n".join(lines)


def _seconds_of_a_fold(candidate: int, parts: dict[float, Bench], limit: float) -> float:
    """Seconds that one fold of a candidate takes on the whole table, measured or extrapolated."""
    work = FoldWork(candidate, 0, 0)
    do_fold(work, parts[_SHARES[0]])  # the first time includes imports and compilation, which happen once
    times: dict[float, float] = {}
    spent, growth, last = 0.0, _GROWTH_OF_SLOW, _SHARES[0]
    for share, bench in parts.items():
        if times and spent + times[last] * (share / last) ** growth > limit:
            break
        started = time.perf_counter()
        do_fold(work, bench)
        times[share] = time.perf_counter() - started
        spent += times[share]
        if len(times) > 1:
            growth = _growth(last, times[last], share, times[share])
        last = share
    return times[last] * last**-growth


def _growth(smaller: float, its_seconds: float, larger: float, seconds: float) -> float:
    """The exponent with which time grows from one share of the table to the other."""
    exponent = math.log(max(seconds, 1e-9) / max(its_seconds, 1e-9)) / math.log(larger / smaller)
    return min(max(exponent, 0.0), _STEEPEST_GROWTH)


def _part(whole: Bench, share: float) -> Bench:
    """The first fold with a share of its rows, of all classes alike, and of the columns."""
    if share == 1.0:
        return whole
    dataset = whole.data.dataset
    fold = whole.repeats[0][0]
    y = np.asarray(dataset.y)
    n_columns = max(min(dataset.n_columns, _FEWEST_COLUMNS), round(share * dataset.n_columns))
    # Spread over the table, because neighbouring columns are often of one kind.
    columns = np.linspace(0, dataset.n_columns - 1, n_columns).astype(int)
    train, test = (_some(rows, y, share, classify=whole.plan.classify) for rows in fold)
    rows = np.concatenate([train, test])
    data = replace(whole.data, dataset=dataset.take(rows).keep(dataset.columns[j] for j in columns))
    return Bench(whole.plan, data, [[Fold(np.arange(len(train)), np.arange(len(train), len(rows)))]])


def _some(rows: np.ndarray, y: np.ndarray, share: float, *, classify: bool) -> np.ndarray:
    """A share of the rows, but not of very few; the first of each class in turn, so that all classes are there."""
    n = max(min(len(rows), _FEWEST_ROWS), round(share * len(rows)))
    if not classify:
        return rows[:n]
    codes = np.unique(y[rows], return_inverse=True)[1]
    turn = np.empty(len(rows), dtype=int)
    for code in range(codes.max() + 1):
        of_class = np.flatnonzero(codes == code)
        turn[of_class] = np.arange(len(of_class)) * len(rows) // len(of_class)
    return rows[np.sort(np.argsort(turn, kind="stable")[:n])]


def _words(seconds: float) -> str:
    if seconds < 90:
        return counted(max(round(seconds), 1), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
