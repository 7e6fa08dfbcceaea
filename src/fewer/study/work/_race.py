"""Racing: candidates and sizes that are clearly behind get no more folds.

A cell is a candidate with a number of columns. On some folds, with the best cell b, mean scores ``m``, the baseline 0,
and the variance of the differences to b pooled over all cells, ``s**2``, a cell c is behind when

    m_b - m_c > g(m_b, m_0) + z s sqrt(1 / n + rho)

with n folds, rho the test rows over the training rows, z standard errors (``Plan.racing``), and g what the rule of the
study may give up (``Rule.given_up``) with a parsimony of 0.1 at least, because the report shows what it chooses with
that much. A cell is out when it is behind whichever of the finished folds is left out, from the third fold on: no
single fold decides, so that a choice for a fold hardly depends on the scores there, and the estimate of the study stays
unbiased.

The race stops for nothing else: it looks after the third and each later fold of the first repeat, and after each later
repeat, at finished folds only, so that any number of workers, and a study that was resumed, come to the same. The
baseline gets all folds, because the study compares with it, and so does the best cell of those with fewer columns. The
study compares with the best learner with all columns, too: from the end of the first repeat on, a learner with all
columns is out when it is behind the best of these with g = 0, and no selection method with this learner is left.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.study.answers._decision import Rule
from fewer.study.answers._scores import rule_of
from fewer.study.plan._budget import by_reducer
from fewer.study.plan._plan import Plan
from fewer.study.work._work import FoldWork

if TYPE_CHECKING:
    from fewer.study.files._journal import Journal

# A candidate with a number of columns; None for all of them.
Cell = tuple[int, int | None]

_FEWEST_FOLDS = 3
_LEAST_PARSIMONY = 0.1
_DIGITS = 10


def fold_rounds(journal: "Journal | Mapping[str, Any]", plan: Plan) -> Iterator[list[tuple[FoldWork, ...]]]:
    """The work on the folds, round by round; the journal must have all of a round when the next one is asked for.

    All candidates of a fold with the same reducer are one task, and reduce once.
    """
    sizes = _all_sizes(plan)
    folds = [(repeat, fold) for repeat in range(plan.n_repeats) for fold in range(plan.n_folds)]
    # Rounds are single folds, but for the first, and then whole repeats.
    repeats = range(plan.n_folds, len(folds) + 1, plan.n_folds)
    ends = [*range(_FEWEST_FOLDS, plan.n_folds + 1), *repeats] if plan.races else [len(folds)]
    done = 0
    for end in dict.fromkeys(ends):
        if done:
            sizes = _still_in(journal, plan, sizes, folds[:done])
        yield _tasks(plan, sizes, folds[done:end])
        done = end


def work_of_fold(plan: Plan, fold: int) -> list[tuple[FoldWork, ...]]:
    """The work of all candidates on one of the first folds of the first repeat, before any is out."""
    return _tasks(plan, _all_sizes(plan), [(0, fold)])


def timing_rounds(plan: Plan, n_workers: int) -> Iterator[list[tuple[FoldWork, ...]]]:
    """The work on the first fold, in rounds: first what no study can do without, then a few candidates at a time."""
    sizes = _all_sizes(plan)
    work = [FoldWork(number, 0, 0, sizes[number]) for number in sizes]
    reduced = next(each.candidate for each in work if plan.candidates[each.candidate].reducer is not None)
    learner = plan.candidates[reduced].learner
    needed = [
        each
        for each in work
        if plan.candidates[each.candidate].is_baseline
        or each.candidate == reduced
        or (plan.candidates[each.candidate].reducer is None and plan.candidates[each.candidate].learner == learner)
    ]
    yield [(each,) for each in needed]
    others = [each for each in work if each not in needed]
    for start in range(0, len(others), n_workers):
        yield [(each,) for each in others[start : start + n_workers]]


def _all_sizes(plan: Plan) -> dict[int, tuple[int, ...]]:
    return {number: each.sizes for number, each in enumerate(plan.candidates) if number not in plan.skipped}


def _tasks(
    plan: Plan, sizes: Mapping[int, tuple[int, ...]], folds: list[tuple[int, int]]
) -> list[tuple[FoldWork, ...]]:
    groups = [[number for number in numbers if number in sizes] for numbers in by_reducer(plan).values()]
    return [
        tuple(FoldWork(number, repeat, fold, sizes[number]) for number in numbers)
        for repeat, fold in folds
        for numbers in groups
        if numbers
    ]


def _still_in(
    journal: "Journal | Mapping[str, Any]",
    plan: Plan,
    sizes: Mapping[int, tuple[int, ...]],
    folds: list[tuple[int, int]],
) -> dict[int, tuple[int, ...]]:
    """Sizes of each candidate that stay in the race after these folds; candidates without any are left out."""
    by_cell: dict[Cell, list[float]] = {}
    failed = set()
    for number in sizes:
        for repeat, fold in folds:
            found = journal[FoldWork(number, repeat, fold).key]
            if "failure" in found:
                failed.add(number)
                break
            whole = plan.candidates[number].reducer is None
            for size, score in zip(found["sizes"], found["scores"], strict=True):
                by_cell.setdefault((number, None if whole else size), []).append(score)
    cells = [cell for cell, scores in by_cell.items() if len(scores) == len(folds) and cell[0] not in failed]
    baseline = next(number for number, each in enumerate(plan.candidates) if each.is_baseline)
    racing = [cell for cell in cells if cell[0] != baseline]
    if (baseline, None) not in cells or not racing:
        return dict(sizes)  # there is no study without the baseline, nor with it alone
    out = out_of_race(
        np.array([by_cell[cell] for cell in racing]).T,
        np.array(by_cell[baseline, None]),
        np.array([size is None for _, size in racing]),
        rule=rule_of(plan, max(float(plan.parsimony), _LEAST_PARSIMONY)),
        standard_errors=plan.racing,
        test_ratio=1 / (plan.n_folds - 1),
    )
    left = {cell for cell, is_out in zip(racing, out, strict=True) if not is_out}
    if len(folds) >= plan.n_folds and any(size is None for _, size in left):
        left -= _with_all_behind(plan, by_cell, left, baseline)
    kept = {
        number: tuple(size for size in of_candidate if (number, size) in left)
        for number, of_candidate in sizes.items()
        if number not in failed
    }
    return {number: each for number, each in kept.items() if each or (number, None) in left or number == baseline}


def _with_all_behind(plan: Plan, by_cell: Mapping[Cell, list[float]], left: set[Cell], baseline: int) -> set[Cell]:
    """Learners with all columns that are behind the best of these, and that no selection method left has."""
    needed = {repr(plan.candidates[number].learner) for number, size in left if size is not None}
    with_all = sorted(number for number, size in left if size is None)
    behind = out_of_race(
        np.array([by_cell[number, None] for number in with_all]).T,
        np.array(by_cell[baseline, None]),
        np.zeros(len(with_all), dtype=bool),
        rule=rule_of(plan, 0.0),
        # Of a few cells, the best one, whose difference to itself has no variance, is a large part.
        standard_errors=plan.racing * (len(with_all) / max(len(with_all) - 1, 1)) ** 0.5,
        test_ratio=1 / (plan.n_folds - 1),
    )
    return {
        (number, None)
        for number, is_out in zip(with_all, behind, strict=True)
        if is_out and repr(plan.candidates[number].learner) not in needed
    }


def out_of_race(
    scores: np.ndarray,
    baseline: np.ndarray,
    stays: np.ndarray,
    *,
    rule: Rule,
    standard_errors: float,
    test_ratio: float,
) -> np.ndarray:
    """Cells that are behind whichever fold is left out, from scores (n_folds, n_cells) and baselines (n_folds,).

    Those that ``stays`` marks are not out, nor is the best of the others.
    """
    others = ~np.eye(len(scores), dtype=bool)
    behind = [_behind(scores[i], baseline[i], rule, standard_errors, test_ratio) for i in others]
    out = ~stays & np.all(behind, axis=0)
    if not stays.all():
        out[np.argmax(np.where(stays, -np.inf, np.round(scores.mean(axis=0), _DIGITS)))] = False
    return out


def _behind(
    scores: np.ndarray, baseline: np.ndarray, rule: Rule, standard_errors: float, test_ratio: float
) -> np.ndarray:
    means = np.round(scores.mean(axis=0), _DIGITS)
    best = int(np.argmax(means))
    pooled = np.sqrt(np.var(scores[:, [best]] - scores, axis=0, ddof=1).mean())
    given_up = rule.given_up(float(means[best]), float(baseline.mean()))
    limit = given_up + standard_errors * pooled * np.sqrt(1 / len(scores) + test_ratio)
    return np.asarray(np.round(means[best] - means - limit, _DIGITS) > 0)
