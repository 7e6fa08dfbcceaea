"""Cautions: properties of the table and of the scores that limit what the results mean."""

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._wording import counted, listed, two_digits
from fewer.catalogue import imputer_named
from fewer.study._budget import budget_in_words
from fewer.study._coded import decoded, words_of
from fewer.study._plan import Plan
from fewer.study._preparation import preparation
from fewer.study._question import Answer, Finished, Here, Question, Verdict
from fewer.study._scores import AllScores
from fewer.study._verdict import TARGET
from fewer.study._work import MOST_TEST_ROWS, MOST_TRAINING_ROWS, Bench

if TYPE_CHECKING:
    from fewer.io import Dataset
    from fewer.overview import Description

TITLE = "Warnings and notes"
# Its name in the journal.
CAUTIONS = "cautions"

_FEW_ROWS = 30
_RARE_CLASS = 0.1
_HUB_SKEWNESS = 1.4
_HUB_NEIGHBOURS = 10
_HUB_ROWS = 2000
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
    sentence : str
        What was seen and what to do.
    evidence : dict
        What it was seen from.
    headline : str
        The first line of a critical one.
    """

    level: str
    topic: str
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)
    headline: str = ""


@dataclass(frozen=True)
class CarefulAnswer(Answer):
    """What to be careful about, the critical first."""

    cautions: tuple[Caution, ...] = ()


def answer(done: Finished) -> CarefulAnswer:
    """All cautions, also those that the answers before give rise to."""
    found = [Caution(**each) for each in done.work[CAUTIONS]["cautions"]]
    found += [*instability(done.answers.get("which")), *categories(done.plan, done.final)]
    found += time_limit(done)
    found.sort(key=lambda each: _LEVELS.index(each.level))
    verdict = Verdict.YES if found else Verdict.NO
    return CarefulAnswer(
        TITLE, verdict, found[0].sentence if found else "No problems were found.", cautions=tuple(found)
    )


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
        *_rows(dataset, scores),
        *_target_read_as(dataset),
        *_classes_left_out(bench),
        *_classes(dataset, bench.plan.scoring),
        *_repeated_rows(description, grouped=bench.data.groups is not None),
        *_repeated_columns(description),
        *_missing_values(dataset, bench.plan.impute),
        *_hubs(dataset, bench.plan.seed),
        *_sampled_rows(bench),
        *_left_out(bench),
    ]
    return {"cautions": found}


def caution(level: str, topic: str, sentence: str, *, headline: str = "", **evidence: Any) -> dict[str, Any]:
    """One caution as plain data; a critical one has a short sentence for the first line of the findings."""
    return {"level": level, "topic": topic, "sentence": sentence, "evidence": evidence, "headline": headline}


def _giveaways(description: "Description") -> list[dict[str, Any]]:
    found = description.leaking_columns
    if not found:
        return []
    names, one, level = [each.column for each in found], len(found) == 1, found[0].level
    shown = f"{listed(names)} alone {'predicts' if one else 'predict'} the target almost perfectly"
    if level == "warning":
        sentence = f"{shown}, and so do the other columns: the target is easy to predict."
        return [caution(level, "target leakage", sentence, columns=names)]
    best = found[0]
    others = counted(len(found) - 1, "other column")
    more = f", and so {'does' if len(found) == 2 else 'do'} {others}" if not one else ""
    return [
        caution(
            level,
            "target leakage",
            f"{shown}. If {'it is' if one else 'they are'} known only after the outcome, that is target leakage: all "
            f"scores are too optimistic. Drop {'it' if one else 'them'} (--drop) and run the study again.",
            headline=f"{best.column} alone predicts the target almost perfectly ({best.measure} {best.score:.3f})"
            f"{more}: check whether {'it is' if one else 'they are'} known before the outcome.",
            columns=names,
            score=best.score,
            measure=best.measure,
        )
    ]


def _groups_ignored(description: "Description") -> list[dict[str, Any]]:
    """A caution where rows of one group, such as a patient, are in different folds."""
    if not description.groups:
        return []
    found = description.groups[0]
    option = f"--groups {shlex.quote(found.column)}"
    scores = _both_ways(found.measure, found.plain_score, found.grouped_score, "folds that keep its rows together")
    return [
        caution(
            found.level,
            "groups ignored",
            f"{found.column} identifies {found.values:,} groups of similar rows: for {found.resemblance:.0%} of the "
            f"rows the nearest row is in the same group ({found.chance:.0%} by chance).{scores} If new rows come from "
            f"other groups, use {option}; dropping the column does not help.",
            headline=_too_good(found.level, f"Rows of one {found.column} are in different folds", scores, option),
            column=found.column,
            option=option,
            resemblance=found.resemblance,
            chance=found.chance,
            measure=found.measure,
            plain_score=found.plain_score,
            grouped_score=found.grouped_score,
        )
    ]


def _time_ignored(description: "Description") -> list[dict[str, Any]]:
    """A caution where rows are predicted from later ones."""
    if not description.time:
        return []
    found = description.time[0]
    option = f"--time {shlex.quote(found.column)}"
    scores = _both_ways(found.measure, found.plain_score, found.ordered_score, "earlier rows only")
    return [
        caution(
            found.level,
            "time ignored",
            f"{found.column} orders the rows by time, but random folds predict rows from later ones.{scores} To "
            f"predict later rows from earlier ones, use {option}.",
            headline=_too_good(found.level, "Rows are predicted from later ones", scores, option),
            column=found.column,
            option=option,
            measure=found.measure,
            plain_score=found.plain_score,
            ordered_score=found.ordered_score,
        )
    ]


def _both_ways(measure: str | None, plain: float | None, kept: float | None, how: str) -> str:
    """The scores of a quick model with random folds and with others, as a sentence."""
    if measure is None:
        return ""
    return f" A quick model reaches {measure} {plain:.3f} with random folds, {kept:.3f} with {how}."


def _too_good(level: str, why: str, scores: str, option: str = "") -> str:
    """The sentence for the first line, if it is critical."""
    if level != "critical":
        return ""
    cure = f"run the study again with {option}" if option else "remove the duplicates"
    shown = f" (a{scores[2:-1]})" if scores else ""
    return f"{why}, so scores are too optimistic{shown}: {cure}."


def _failures(scores: AllScores) -> list[dict[str, Any]]:
    return [
        caution("warning", "failure", f"The candidate {name} could not be run: {reason}", candidate=name)
        for name, reason in scores.failures.items()
    ]


def _rows(dataset: "Dataset", scores: AllScores) -> list[dict[str, Any]]:
    n, p = dataset.shape
    if n < _FEW_ROWS:
        return [
            caution(
                "warning",
                "few rows",
                f"There are only {n} rows, so all results are rough: one row more or less in a fold changes them.",
                rows=n,
            )
        ]
    if p > 10 * n:
        return [
            caution(
                "warning",
                "wide",
                f"There are {p / n:.0f} times as many columns as rows, so some columns fit by chance, and another "
                "sample would give a partly different list. Columns that are chosen in most folds are more reliable.",
                rows=n,
                columns=p,
            )
        ]
    return []


def _target_read_as(dataset: "Dataset") -> list[dict[str, Any]]:
    """Whole numbers may be classes, counts or a scale: what they were taken for, and the option that changes it."""
    if not dataset.other_task:
        return []
    return [caution("note", TARGET, f"Target {dataset.target}: {dataset.task_reason}.", task=dataset.task)]


def _classes_left_out(bench: Bench) -> list[dict[str, Any]]:
    rare = bench.data.classes_left_out
    if not rare:
        return []
    classes = "class is" if len(rare) == 1 else "classes are"
    n_rows = sum(n for _, n in rare)
    rows = "this row was" if n_rows == 1 else f"these {n_rows} rows were"
    return [
        caution(
            "warning",
            "classes left out",
            f"{listed([f'{label} ({n})' for label, n in rare])}: too few rows to train and test on, so "
            f"{rows} left out and the {classes} not predicted.",
            classes=[list(pair) for pair in rare],
        )
    ]


def _classes(dataset: "Dataset", scoring: str) -> list[dict[str, Any]]:
    if dataset.classes is None:
        return []
    labels, counts = np.unique(np.asarray(dataset.y), return_counts=True)
    rarest = int(np.argmin(counts))
    share = counts[rarest] / counts.sum()
    if share >= _RARE_CLASS and counts[rarest] >= 10:
        return []
    advice = (
        "Use balanced_accuracy, which weights all classes equally."
        if scoring == "accuracy" and share < 0.5 / len(counts)
        else "Results for this class depend on these few rows."
    )
    return [
        caution(
            "warning",
            "imbalance",
            f"The class {labels[rarest]} has {counts[rarest]} of {counts.sum()} rows ({share:.0%}). {advice}",
            label=str(labels[rarest]),
            rows=int(counts[rarest]),
        )
    ]


def _repeated_rows(description: "Description", *, grouped: bool) -> list[dict[str, Any]]:
    rows = description.duplicate_rows
    if not rows.repeats or grouped:
        return []
    scores = _both_ways(rows.measure, rows.plain_score, rows.grouped_score, "folds that keep equal rows together")
    count = f"{rows.repeats:,} of {description.rows:,} rows {'repeats an' if rows.repeats == 1 else 'repeat'} earlier "
    count += "one" if rows.repeats == 1 else "ones"
    return [
        caution(
            rows.level,
            "repeated rows",
            f"{count}. Copies of a row in training and test folds make scores too optimistic.{scores} Remove them, or "
            "keep them together with --groups.",
            headline=_too_good(rows.level, count, scores),
            rows=int(rows.repeats),
            measure=rows.measure,
            plain_score=rows.plain_score,
            grouped_score=rows.grouped_score,
        )
    ]


def _repeated_columns(description: "Description") -> list[dict[str, Any]]:
    groups = [list(group) for group in description.duplicates]
    groups += [list(group.columns) for group in description.near_duplicates]
    if not groups:
        return []
    return [
        caution(
            "note",
            "repeated columns",
            f"{counted(len(groups), 'group')} of (nearly) duplicate columns, such as {listed(groups[0], 3)}. "
            "Which column of a group is chosen is random.",
            groups=groups[:50],
        )
    ]


def _missing_values(dataset: "Dataset", impute: str) -> list[dict[str, Any]]:
    """Missing values, and whether they depend on the target."""
    if not dataset.has_missing:
        return []
    counts = np.asarray(dataset.missing_by_column)
    share = counts.sum() / (dataset.n_rows * dataset.n_columns)
    numbers = f"numbers were imputed by {imputer_named(impute).says}"
    categories = "missing categories became a category of their own"
    words = set(words_of(dataset))
    of_words = {name in words for name, count in zip(dataset.columns, counts, strict=True) if count}
    if of_words == {True}:
        filled = categories
    else:
        filled = f"{numbers}, {categories}" if True in of_words else numbers
    found = [
        caution(
            "note",
            "missing values",
            f"{share:.1%} of the cells are missing, in {counted(int(np.count_nonzero(counts)), 'column')}; inside "
            f"the folds, {filled}.",
            share=float(share),
        )
    ]
    dependent = missing_with_target(dataset)
    if dependent:
        found.append(
            caution(
                "warning",
                "missing values depend on the target",
                f"In {listed(dependent)}, values are missing more often for some values of the target than for others. "
                "That a value is missing may itself predict the target; imputation removes this information.",
                columns=dependent,
            )
        )
    return found


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


def _hubs(dataset: "Dataset", seed: int) -> list[dict[str, Any]]:
    """Whether a few rows are the neighbours of very many: distances are then less informative."""
    skewness = hubness(dataset, seed)
    if skewness is None or skewness < _HUB_SKEWNESS:
        return []
    return [
        caution(
            "note",
            "hubs",
            f"With all columns, a few rows are nearest neighbours of very many others (hubness, "
            f"skewness {skewness:.1f}): nearest neighbours and clusters are less reliable. Fewer columns often help.",
            skewness=skewness,
        )
    ]


def hubness(dataset: "Dataset", seed: int) -> float | None:
    """Skewness of how often each row is among the 10 nearest of the others; None for small tables."""
    from scipy.stats import skew
    from sklearn.neighbors import NearestNeighbors

    if dataset.n_rows < 5 * _HUB_NEIGHBOURS or dataset.is_sparse:
        return None
    if dataset.n_rows > _HUB_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(dataset.n_rows, _HUB_ROWS, replace=False))
        dataset = dataset.take(rows)
    X = preparation(dataset).fit_transform(dataset.X)
    neighbours = (
        NearestNeighbors(n_neighbors=_HUB_NEIGHBOURS, algorithm="brute").fit(X).kneighbors(return_distance=False)
    )
    return float(skew(np.bincount(neighbours.ravel(), minlength=len(X))))


def _sampled_rows(bench: Bench) -> list[dict[str, Any]]:
    if bench.data.dataset.n_rows * (1 - 1 / bench.plan.n_folds) <= MOST_TRAINING_ROWS:
        return []
    return [
        caution(
            "note",
            "sampled rows",
            f"Candidates were compared on samples of the rows: up to {MOST_TRAINING_ROWS:,} training rows and "
            f"{MOST_TEST_ROWS:,} test rows in each fold. The model is fitted on all rows.",
            training_rows=MOST_TRAINING_ROWS,
            test_rows=MOST_TEST_ROWS,
        )
    ]


def _left_out(bench: Bench) -> list[dict[str, Any]]:
    left_out = bench.data.left_out
    if not left_out:
        return []
    words = "; ".join(f"{name} ({why})" for name, why in left_out[:5])
    more = f", and {len(left_out) - 5} more" if len(left_out) > 5 else ""
    return [caution("note", "left out", f"Columns left out: {words}{more}.", columns=[list(pair) for pair in left_out])]


def instability(which: Answer | None) -> list[Caution]:
    """A caution where the folds agree poorly on the columns."""
    value = which.number if which is not None else None
    if value is None or value >= _UNSTABLE:
        return []
    return [
        Caution(
            "warning",
            "unstable",
            f"The choice of columns is unstable (stability {two_digits(value)}, where 1 is identical in all folds): "
            "other rows would give a different list of about the same score.",
            {"stability": value},
        )
    ]


def time_limit(done: Finished) -> list[Caution]:
    """A note on what was left out to keep the time limit."""
    said = budget_in_words(done.plan, done.work)
    return [Caution("note", "time limit", said, {"candidates": list(done.plan.skipped)})] if said else []


def categories(plan: Plan, final: dict[str, Any]) -> list[Caution]:
    """Why there are more columns to choose from than the table has."""
    if final["n_prepared"] <= plan.n_columns:
        return []
    return [
        Caution(
            "note",
            "categories",
            f"{plan.n_columns:,} columns of the table became {final['n_prepared']:,} by one-hot encoding: each "
            "category of a text column has a column of its own. Counts of chosen columns are columns of the table.",
            {"columns": plan.n_columns, "prepared": final["n_prepared"]},
        )
    ]


QUESTION = Question("careful", TITLE, answer, lambda plan, scores, work: [Here(CAUTIONS, do_cautions)], place=80)
