"""About how long a plan will take, from folds of growing parts of the table that are timed.

One fold of a candidate can take minutes, and an estimate should not. So a candidate is timed on parts of the rows and
columns, from a small one to the whole table, as long as it stays within its share of the time for the estimate. What
was not reached follows from the last two parts, with c1 < c2 cells that took t1 and t2 seconds: the whole table with c
cells takes t2 (c / c2)**b, where b = log(t2 / t1) / log(c2 / c1).
"""

import math
import time
import warnings
from dataclasses import replace

import joblib
import numpy as np

from fewer._wording import counted
from fewer.evaluate import Fold
from fewer.study._errors import StudyError
from fewer.study.plan._budget import Measured, limit_in_words, time_words, within_budget
from fewer.study.plan._plan import Plan
from fewer.study.table._study_data import StudyData
from fewer.study.work._null_test import nulls_of
from fewer.study.work._reference import do_null, tested_rows
from fewer.study.work._work import Bench, FoldWork, NullWork, do_fold

_SHARES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
# No part is smaller.
_FEWEST_ROWS = 60
_FEWEST_COLUMNS = 50
# Time grows about as the cells do. Less is overhead, which will not last; a product of rows and a square of columns, or
# of columns and a square of rows, is their power of 1.5.
_GROWTH = (0.7, 1.5)
# With reading the table, the plan and the tests, an answer takes less than 10 seconds.
_SECONDS = 2.0
# The tests are timed on so many cells of a larger table.
_CELLS = 200_000


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
        With the candidates that fail.
    """
    whole = Bench(plan, data)
    parts = _parts(whole)
    seconds: dict[int, float] = {}
    failed: list[str] = []
    left = _SECONDS
    warm: set[str] = set()
    for number, candidate in enumerate(plan.candidates):
        if left <= 0 and number - len(failed) > 1:
            break
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a fold warns when the study runs
                limit = left / (len(plan.candidates) - number)
                seconds[number] = _seconds_of_a_fold(FoldWork(number, 0, 0), parts, limit, warm)
        except Exception as error:  # whatever a candidate does wrong, the others can still be timed
            failed.append(f"{candidate.name}: {error}")
        left = max(left - (time.perf_counter() - started), 0.0)
    if not seconds:
        raise StudyError(f"No candidate can be run. {failed[0]}")
    # Those that there was no time for are taken to be as slow as the others, without the baseline, on average.
    known = list(seconds.values())[1:] or list(seconds.values())
    untimed = range(len(seconds) + len(failed), len(plan.candidates))
    seconds |= dict.fromkeys(untimed, sum(known) / len(known))
    workers = joblib.effective_n_jobs(n_workers or -1)
    folds = sum(seconds.values()) * plan.n_folds * plan.n_repeats
    n_tests = len(nulls_of(plan))
    permutation = _seconds_of_a_permutation(whole) if n_tests else 0.0
    n_fits = sum(max(len(candidate.sizes), 1) for candidate in plan.candidates) * plan.n_folds * plan.n_repeats
    tests = n_tests * plan.n_permutations * permutation / workers
    for_tests = f", and up to {time_words(tests)} for the tests" if n_tests else ""
    lines = [
        f"  fits          {n_fits:,} models at most",
        f"  time          about {time_words(folds / workers)} for the candidates on {counted(workers, 'worker')}"
        f"{for_tests}",
        *(_limit(plan, Measured(seconds, permutation, workers)) if plan.budget is not None else []),
        *(f"  fails         {each}" for each in failed),
    ]
    return "\n".join(lines)


def _limit(plan: Plan, measured: Measured) -> list[str]:
    """The line on what the time limit would leave out."""
    settled, in_full = within_budget(plan, measured), measured.of_a_study(plan)
    return [f"  with limit    {limit_in_words(plan, settled, measured.of_a_study(settled), in_full)}"]


def _seconds_of_a_fold(work: FoldWork, parts: list[Bench], limit: float, warm: set[str]) -> float:
    """Seconds that one fold of a candidate takes on the last part, the whole table: measured or extrapolated."""
    candidate = parts[0].plan.candidates[work.candidate]
    used = {repr(candidate.reducer), repr(candidate.learner)}
    if not used <= warm:
        do_fold(work, parts[0])  # the first time includes imports and compilation, which happen once
        warm |= used
    seconds, cells, spent, growth = 0.0, 0, 0.0, _GROWTH[1]
    for place, part in enumerate(parts):
        before, cells_before = seconds, cells
        cells = _cells_of(part)
        if place > 1 and spent + before * (cells / cells_before) ** growth > limit:
            break
        started = time.perf_counter()
        do_fold(work, part)
        seconds = time.perf_counter() - started
        spent += seconds
        if place:
            growth = math.log(max(seconds, 1e-9) / max(before, 1e-9)) / math.log(cells / cells_before)
            growth = min(max(growth, _GROWTH[0]), _GROWTH[1])
    else:
        return seconds
    return before * (_cells_of(parts[-1]) / cells_before) ** growth


def _cells_of(part: Bench) -> int:
    """Cells of the first fold: of very many rows, a sample."""
    return sum(map(len, part.repeats[0][0])) * part.data.dataset.n_columns


def _seconds_of_a_permutation(whole: Bench) -> float:
    """Seconds that the statistic of the tests takes on one randomised table: measured, or extrapolated from a part."""
    data = tested_rows(whole.data, whole.plan)
    n_columns, X = data.dataset.n_columns, data.dataset.X
    n_cells = X.nnz if data.dataset.is_sparse else data.dataset.n_rows * n_columns
    timed = n_columns if n_cells <= _CELLS else max(min(n_columns, _FEWEST_COLUMNS), n_columns * _CELLS // n_cells)
    part = max(min(timed, _FEWEST_COLUMNS), timed // 4)
    _seconds_with_columns(data, whole.plan, part)  # the first time includes imports and compilation
    seconds = _seconds_with_columns(data, whole.plan, timed)
    if timed == n_columns:
        return seconds
    of_part = _seconds_with_columns(data, whole.plan, part)
    growth = math.log(max(seconds, 1e-9) / max(of_part, 1e-9)) / math.log(timed / part) if timed > part else 1.0
    return seconds * (n_columns / timed) ** min(max(growth, 0.0), _GROWTH[1])


def _seconds_with_columns(data: StudyData, plan: Plan, n_columns: int) -> float:
    """Seconds of one permutation with so many columns, spread over the table."""
    columns = np.linspace(0, data.dataset.n_columns - 1, n_columns).astype(int)
    some = replace(data, dataset=data.dataset.keep(data.dataset.columns[j] for j in columns))
    started = time.perf_counter()
    do_null(NullWork("labels", 0), Bench(plan, some, []))
    return time.perf_counter() - started


def _parts(whole: Bench) -> list[Bench]:
    """The first fold with growing shares of its rows, of all classes alike, and of the columns; last the whole."""
    dataset, fold = whole.data.dataset, whole.repeats[0][0]
    y = np.asarray(dataset.y)
    parts: list[Bench] = []
    for share in _SHARES[:-1]:
        n_columns = max(min(dataset.n_columns, _FEWEST_COLUMNS), round(share * dataset.n_columns))
        # Spread over the table, because neighbouring columns are often of one kind.
        columns = np.linspace(0, dataset.n_columns - 1, n_columns).astype(int)
        train, test = (_some(rows, y, share, classify=whole.plan.classify) for rows in fold)
        rows = np.concatenate([train, test])
        shape = len(rows), n_columns
        if shape == dataset.shape or (parts and shape == parts[-1].data.dataset.shape):
            continue
        data = replace(whole.data, dataset=dataset.take(rows).keep(dataset.columns[j] for j in columns))
        parts.append(Bench(whole.plan, data, [[Fold(np.arange(len(train)), np.arange(len(train), len(rows)))]]))
    return [*parts, whole]


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
