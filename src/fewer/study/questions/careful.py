"""Cautions: properties of the table and of the scores that limit what the results mean."""

import shlex
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.study.answers._question import Answer, Finished, Here, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.plan._budget import BUDGET
from fewer.study.plan._plan import Plan
from fewer.study.table._coded import decoded, words_of
from fewer.study.table._weights import takes_weights
from fewer.study.work._work import MOST_TEST_ROWS, MOST_TRAINING_ROWS, Bench

if TYPE_CHECKING:
    from fewer.io import Dataset
    from fewer.overview import Description

TITLE = "Warnings and notes"
# Its name in the journal.
CAUTIONS = "cautions"

_FEW_ROWS = 30
_RARE_CLASS = 0.1
_LEVEL = 0.01
_UNSTABLE = 0.5
_LEVELS = ("critical", "warning", "note")


@dataclass(frozen=True)
class Caution:
    """A limit of the results.

    Attributes
    ----------
    level : {"critical", "warning", "note"}
        A critical one takes the place of the first line.
    topic : str
        What it is about.
    evidence : dict
        What it was seen from.
    sentence : str
        What was seen and what to do.
    headline : str
        The first line of a critical one.
    """

    level: str
    topic: str
    evidence: dict[str, Any] = field(default_factory=dict)
    sentence: str = ""
    headline: str = ""


@dataclass(frozen=True)
class CarefulAnswer(Answer):
    """What to be careful about, the critical first."""

    cautions: tuple[Caution, ...] = ()


def answer(done: Finished) -> CarefulAnswer:
    """All cautions, also those that the answers before give rise to."""
    found = [Caution(**each) for each in done.work[CAUTIONS]["cautions"]]
    found += [*instability(done.answers.get("which")), *weights(done.plan), *time_limit(done)]
    found.sort(key=lambda each: _LEVELS.index(each.level))
    return CarefulAnswer(Verdict.YES if found else Verdict.NO, cautions=tuple(found))


def do_cautions(bench: Bench, scores: AllScores) -> dict[str, Any]:
    """All cautions that the table and the scores give rise to."""
    from fewer.overview import describe

    dataset = bench.data.dataset
    tied = bench.data.groups is not None or bench.data.in_order_of_time
    description = describe(replace(decoded(dataset), dropped=bench.data.dropped), times=bench.data.times)
    found = [
        *_giveaways(description),
        *([] if tied else _groups_ignored(description)),
        *([] if tied else _time_ignored(description)),
        *_failures(scores),
        *_rows(dataset),
        *_target_read_as(dataset),
        *_classes_left_out(bench),
        *_classes(dataset),
        *_repeated_rows(description, grouped=bench.data.groups is not None),
        *_repeated_columns(description),
        *_missing_values(dataset),
        *_hubs(description),
        *_sampled_rows(bench),
        *_left_out(bench),
    ]
    return {"cautions": [asdict(each) for each in found]}


def caution(level: str, topic: str, **evidence: Any) -> list[Caution]:
    """One caution."""
    return [Caution(level, topic, evidence)]


def _giveaways(description: "Description") -> list[Caution]:
    found = description.leaking_columns
    if not found:
        return []
    names, best = [each.column for each in found], found[0]
    if best.level == "warning":
        return caution("warning", "target leakage", columns=names)
    return caution(best.level, "target leakage", columns=names, score=best.score, measure=best.measure)


def _groups_ignored(description: "Description") -> list[Caution]:
    """A caution where rows of one group, such as a patient, are in different folds."""
    if not description.groups:
        return []
    found = description.groups[0]
    return caution(
        found.level,
        "groups ignored",
        column=found.column,
        option=f"--groups {shlex.quote(found.column)}",
        n_groups=found.values,
        resemblance=found.resemblance,
        chance=found.chance,
        measure=found.measure,
        plain_score=found.plain_score,
        grouped_score=found.grouped_score,
    )


def _time_ignored(description: "Description") -> list[Caution]:
    """A caution where rows are predicted from later ones."""
    if not description.time:
        return []
    found = description.time[0]
    return caution(
        found.level,
        "time ignored",
        column=found.column,
        option=f"--time {shlex.quote(found.column)}",
        measure=found.measure,
        plain_score=found.plain_score,
        ordered_score=found.ordered_score,
    )


def _failures(scores: AllScores) -> list[Caution]:
    return [
        each
        for name, reason in scores.failures.items()
        for each in caution("warning", "failure", candidate=name, reason=reason)
    ]


def _rows(dataset: "Dataset") -> list[Caution]:
    n, p = dataset.shape
    if n < _FEW_ROWS:
        return caution("warning", "few rows", rows=n)
    return caution("warning", "wide", rows=n, columns=p) if p > 10 * n else []


def _target_read_as(dataset: "Dataset") -> list[Caution]:
    """Whole numbers may be classes, counts or a scale: what they were taken for, and the option that changes it."""
    return caution("note", "target", task=dataset.task, reason=dataset.task_reason) if dataset.other_task else []


def _classes_left_out(bench: Bench) -> list[Caution]:
    rare = bench.data.classes_left_out
    return caution("warning", "classes left out", classes=[list(pair) for pair in rare]) if rare else []


def _classes(dataset: "Dataset") -> list[Caution]:
    if dataset.classes is None:
        return []
    labels, counts = np.unique(np.asarray(dataset.y), return_counts=True)
    rarest, n_rows = int(np.argmin(counts)), int(counts.sum())
    rows = int(counts[rarest])
    if rows / n_rows >= _RARE_CLASS and rows >= 10:
        return []
    return caution("warning", "imbalance", label=str(labels[rarest]), rows=rows, n_rows=n_rows, n_classes=len(labels))


def _repeated_rows(description: "Description", *, grouped: bool) -> list[Caution]:
    rows = description.duplicate_rows
    if not rows.repeats or grouped:
        return []
    return caution(
        rows.level,
        "repeated rows",
        rows=int(rows.repeats),
        n_rows=description.rows,
        measure=rows.measure,
        plain_score=rows.plain_score,
        grouped_score=rows.grouped_score,
    )


def _repeated_columns(description: "Description") -> list[Caution]:
    groups = [list(group) for group in description.duplicates]
    groups += [list(group.columns) for group in description.near_duplicates]
    return caution("note", "repeated columns", groups=groups[:50], n_groups=len(groups)) if groups else []


def _missing_values(dataset: "Dataset") -> list[Caution]:
    """Missing values, and whether they depend on the target."""
    if not dataset.has_missing:
        return []
    counts = np.asarray(dataset.missing_by_column)
    words = set(words_of(dataset))
    of_words = {name in words for name, count in zip(dataset.columns, counts, strict=True) if count}
    found = caution(
        "note",
        "missing values",
        share=float(counts.sum() / (dataset.n_rows * dataset.n_columns)),
        n_columns=int(np.count_nonzero(counts)),
        numbers=False in of_words,
        categories=True in of_words,
    )
    dependent = missing_with_target(dataset)
    return found + (caution("warning", "missing values depend on the target", columns=dependent) if dependent else [])


def missing_with_target(dataset: "Dataset") -> list[str]:
    """Columns whose missing values depend on the target, with a false discovery rate of 1%."""
    from scipy.stats import false_discovery_control
    from sklearn.feature_selection import f_classif, f_regression

    mask = dataset.missing
    columns = np.flatnonzero(np.asarray(dataset.missing_by_column) > 0)
    table = np.asarray(mask[:, columns].todense() if dataset.is_sparse else mask[:, columns], dtype=float)
    varies = table.std(axis=0) > 0
    columns, table = columns[varies], table[:, varies]
    if not len(columns):
        return []
    test = f_regression if dataset.classes is None else f_classif
    p_values = test(table, dataset.y)[1]
    dependent = false_discovery_control(np.nan_to_num(p_values, nan=1.0)) <= _LEVEL
    return [dataset.columns[column] for column in columns[dependent]]


def _hubs(description: "Description") -> list[Caution]:
    """Whether a few rows are the neighbours of very many, and many rows of none."""
    found = description.hubness
    if found is None or found.level == "none":
        return []
    return caution(
        found.level,
        "hubs",
        skewness=found.skewness,
        never_listed=found.never_listed,
        most_listed=found.most_listed,
        neighbours=found.neighbours,
        dimension=found.dimension,
    )


def _sampled_rows(bench: Bench) -> list[Caution]:
    if bench.data.dataset.n_rows * (1 - 1 / bench.plan.n_folds) <= MOST_TRAINING_ROWS:
        return []
    return caution("note", "sampled rows", training_rows=MOST_TRAINING_ROWS, test_rows=MOST_TEST_ROWS)


def _left_out(bench: Bench) -> list[Caution]:
    left_out = bench.data.left_out
    return caution("note", "left out", columns=[[each.name, each.left_out] for each in left_out]) if left_out else []


def weights(plan: Plan) -> list[Caution]:
    """Which methods rank columns without the weights of the rows."""
    if plan.weights is None:
        return []
    reducers = {each.labels[0]: each.reducer for each in plan.candidates if each.reducer is not None}
    without = [name for name, recipe in reducers.items() if not takes_weights(recipe.reducer(seed=plan.seed))]
    return caution("warning" if without else "note", "weights", column=plan.weights, without=without)


def instability(which: Answer | None) -> list[Caution]:
    """A caution where the folds agree poorly on the columns."""
    value = which.number if which is not None else None
    return [] if value is None or value >= _UNSTABLE else caution("warning", "unstable", stability=value)


def time_limit(done: Finished) -> list[Caution]:
    """A note where something was left out to keep the time limit."""
    if BUDGET not in done.work:
        return caution("note", "time limit") if done.plan.skipped else []
    decided = done.work[BUDGET]
    falls_short = decided["falls_short"] or done.plan.n_permutations < decided["asked"]["n_permutations"]
    return caution("note", "time limit", **decided) if falls_short else []


QUESTION = Question("careful", TITLE, answer, lambda plan, scores, work: [Here(CAUTIONS, do_cautions)], place=80)
