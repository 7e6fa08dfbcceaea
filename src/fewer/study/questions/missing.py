"""Missing values of a table: how many, where, what they depend on, how well they can be imputed, and whether to.

A learner that takes missing values as they are is compared with itself behind the imputer of the study, on the same
folds, and with the best other learner behind the imputer.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._kernels._one_thread import one_thread
from fewer.catalogue import imputer_named
from fewer.evaluate import corrected_interval
from fewer.study.answers._question import Answer, Finished, Here, Question, Verdict
from fewer.study.plan._recipes import seeded
from fewer.study.plan._scoring import scorer_named
from fewer.study.table._coded import words_of
from fewer.study.work._work import Bench, FoldWork, learner_of, seed_of

if TYPE_CHECKING:
    from fewer.complete import CompletionScore
    from fewer.io import Dataset
    from fewer.study.answers._scores import AllScores, CandidateScores

TITLE = "Missing values"
MISSING = "missing"

# Of a larger table, imputation is judged on at most so many rows and columns.
ROWS = 1000
COLUMNS = 200
_REPEATS = 4
_HIDDEN = 0.1
_MOST_SHOWN = 30
# Tried beside the imputer of the study where that looks at one column at a time.
_BY_OTHERS = "PCAMissing"
# Learners that impute nothing are fitted once more behind the imputer, at most so many times each.
_MOST_FITS = 10


def do_missing(bench: Bench, scores: "AllScores") -> dict[str, Any]:
    """Plain data for the panel of the report; empty without missing values in columns of numbers."""
    if not bench.data.dataset.has_missing:
        return {}
    table, names = _numbers(bench.data.dataset)
    missing = np.isnan(table)
    if not missing.any():
        return {}
    from fewer.complete import missing_pattern

    shares = missing.mean(axis=0)
    most = np.argsort(-shares, kind="stable")[:_MOST_SHOWN]
    most = most[shares[most] > 0]
    pattern = missing_pattern(table)
    return {
        "share": float(missing.mean()),
        "n_cells": int(missing.sum()),
        "n_columns": int(np.count_nonzero(shares)),
        "n_numeric": len(names),
        "n_complete_rows": int(pattern.n_complete_rows),
        "n_patterns": int(pattern.n_patterns),
        "columns": [{"name": names[column], "share": float(shares[column])} for column in most],
        "dependent": [
            {
                "name": names[column],
                "on": names[pattern.witnesses[column]],
                "larger": float(pattern.larger[column]),
                "p_value": float(pattern.p_values[column]),
            }
            for column in pattern.dependent[:_MOST_SHOWN]
        ],
        "n_dependent": len(pattern.dependent),
        "filled": _filled_in(table, bench),
        "not_imputed": [
            _with_and_without(bench, scores, each)
            for each in scores.with_everything
            if bench.plan.candidates[each.number].takes_missing
        ],
    }


def _with_and_without(bench: Bench, scores: "AllScores", own: "CandidateScores") -> dict[str, Any]:
    """Scores of a learner with all columns, missing values as they are and imputed, and of the best other learner."""
    plan, y = bench.plan, np.asarray(bench.data.dataset.y)
    n_repeats = max(1, min(plan.n_repeats, _MOST_FITS // plan.n_folds))
    imputed = np.empty((n_repeats, plan.n_folds))
    for repeat, fold in np.ndindex(imputed.shape):
        rows, held = bench.prepared(repeat, fold), bench.repeats[repeat][fold]
        seed = seed_of(plan, FoldWork(own.number, repeat, fold).key)
        with one_thread():
            learner = learner_of(plan.candidates[own.number], plan, y, seed).fit(rows.X_train, y[held.train])
            imputed[repeat, fold] = scorer_named(plan.scoring)(learner, rows.X_test, y[held.test])
    as_is = own.scores[:n_repeats, :, 0]
    others = [each for each in scores.with_everything if not plan.candidates[each.number].takes_missing]
    best = max(others, key=lambda each: (round(each.score, 10), -each.number), default=None)
    return {
        "learner": own.labels[1],
        "score": own.score,
        "imputed": {"score": float(imputed.mean()), **_difference(as_is - imputed, own)},
        "other": best
        and {"learner": best.labels[1], "score": best.score, **_difference(own.fold_scores - best.fold_scores, own)},
    }


def _difference(differences: np.ndarray, own: "CandidateScores") -> dict[str, Any]:
    """Mean gain of not imputing, and its interval."""
    interval = corrected_interval(differences, own.confidence, own.test_ratio)
    return {"gain": float(differences.mean()), "interval": [float(end) for end in interval]}


def _numbers(dataset: "Dataset") -> tuple[np.ndarray, list[str]]:
    """Columns of numbers as an array with NaN for missing values, and their names; none of a sparse table."""
    if dataset.is_sparse:
        return np.empty((dataset.n_rows, 0)), []
    words = set(words_of(dataset))
    names = [name for name in dataset.columns if name not in words]
    return np.asarray(dataset.keep(names).X, dtype=float), names


def _filled_in(table: np.ndarray, bench: Bench) -> list[dict[str, Any]]:
    """Errors at known entries that were hidden: of the study's imputer, and of one that asks the other columns."""
    from fewer.complete import completion_score

    rng = np.random.default_rng(bench.plan.seed)
    observed = np.flatnonzero((~np.isnan(table)).sum(axis=0) > 1)
    with_missing = observed[np.isnan(table[:, observed]).any(axis=0)]
    without = np.setdiff1d(observed, with_missing)
    columns = np.sort(np.concatenate([rng.permutation(with_missing), rng.permutation(without)])[:COLUMNS].astype(int))
    rows = np.sort(rng.permutation(len(table))[:ROWS])
    known = table[np.ix_(rows, columns)]
    known = known[:, (~np.isnan(known)).sum(axis=0) > 1]
    if known.size == 0 or np.count_nonzero(~np.isnan(known)) < 2 * known.shape[1]:
        return []
    spread = np.nanstd(known, axis=0)
    known = (known - np.nanmean(known, axis=0)) / np.where(spread > 0, spread, 1.0)
    chosen = imputer_named(bench.plan.impute)
    names = [chosen.name] if chosen.from_others else [chosen.name, _BY_OTHERS]
    found = []
    for name in names:
        try:
            imputer = seeded(imputer_named(name).build(), bench.plan.seed)
            score = completion_score(imputer, known, _HIDDEN, _REPEATS, random_state=bench.plan.seed)
        except (ValueError, ArithmeticError):  # too little is known to judge by
            continue
        found.append(_plain(name, score))
    return found


def _plain(name: str, score: "CompletionScore") -> dict[str, Any]:
    interval, gain = score.interval, score.gain_interval
    return {
        "imputer": name,
        "error": score.error,
        "interval": [float(end) for end in interval],
        "mean_error": score.mean_error,
        "gain": score.gain,
        "gain_interval": [float(end) for end in gain],
        "n_hidden": score.n_hidden,
        "n_repeats": len(score.errors),
    }


@dataclass(frozen=True)
class MissingAnswer(Answer):
    """How much is missing, and how well it can be imputed; the evidence is empty without missing values."""

    @property
    def is_shown(self) -> bool:
        """Whether numbers are missing."""
        return bool(self.evidence)


def answer(done: Finished) -> MissingAnswer:
    """What is missing."""
    found = done.work[MISSING]
    return MissingAnswer(Verdict.YES if found else Verdict.NO, evidence=found)


QUESTION = Question(MISSING, TITLE, answer, lambda plan, scores, work: [Here(MISSING, do_missing)], place=90)
