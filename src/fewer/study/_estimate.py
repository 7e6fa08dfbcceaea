"""About how long a plan will take: one fold of every candidate, timed."""

import time
import warnings

import joblib

from fewer.study._errors import StudyError
from fewer.study._plan import Plan
from fewer.study._study_data import StudyData
from fewer.study._wording import counted
from fewer.study._work import Bench, FoldWork, do_fold


def time_estimate(plan: Plan, data: StudyData, *, n_workers: int | None = None) -> str:
    """A sentence on the number of fits and the time that they will take, from one timed fold of each candidate.

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
    bench = Bench(plan, data)
    seconds, failed = {}, []
    for number, candidate in enumerate(plan.candidates):
        work = FoldWork(number, 0, 0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a fold has to say is said when the study runs
                do_fold(work, bench)  # the first time includes compilation, which happens once
                started = time.perf_counter()
                do_fold(work, bench)
        except Exception as error:  # whatever a candidate does wrong, the others can still be timed
            failed.append(f"{candidate.name}: {error}")
            continue
        seconds[candidate.name] = time.perf_counter() - started
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


def _words(seconds: float) -> str:
    if seconds < 90:
        return counted(max(round(seconds), 1), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
