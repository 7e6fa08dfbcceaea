"""Where predictions are wrong: held-out predictions behind the score of the first line, on the folds of one repeat.

Some candidates predict the same folds, so that rows which are hard for every model are found.
"""

from typing import Any

import numpy as np

from fewer.study.answers._question import Answer, Finished, Question, Verdict
from fewer.study.plan._plan import Plan
from fewer.study.work._predictions import prediction_pieces, prediction_works

TITLE = "Where are predictions wrong?"
# Of more rows, single ones are not listed.
_MOST_ROWS = 20_000
_MOST_LISTED = 20


def which_rows(plan: Plan, pieces: list[dict[str, Any]]) -> Answer:
    """How the errors of the procedure are distributed, and which rows all candidates predict incorrectly."""
    failed = next((piece["failure"] for piece in pieces if "failure" in piece), None)
    if failed is not None:
        return Answer(Verdict.NOT_TESTED, reason=failed)
    rows, truth = ([value for piece in pieces for value in piece[name]] for name in ("rows", "truth"))
    predictions = [
        [value for piece in pieces for value in piece["predictions"][number]]
        for number in range(len(pieces[0]["predictions"]))
    ]
    if plan.classify:
        return _wrong_classes(rows, truth, predictions)
    return _wrong_numbers(rows, truth, predictions[0])


def _wrong_classes(rows: list[int], truth: list[str], predictions: list[list[str]]) -> Answer:
    labels = sorted({*truth, *predictions[0]})
    place = {label: number for number, label in enumerate(labels)}
    confusion = np.zeros((len(labels), len(labels)), dtype=int)
    for true, predicted in zip(truth, predictions[0], strict=True):
        confusion[place[true], place[predicted]] += 1
    n_true, n_predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), np.diag(confusion)
    per_class: list[dict[str, Any]] = [
        {
            "label": label,
            "rows": int(n_true[code]),
            "recall": float(right[code] / n_true[code]) if n_true[code] else None,
            "precision": float(right[code] / n_predicted[code]) if n_predicted[code] else None,
        }
        for code, label in enumerate(labels)
    ]
    wrong = [
        (row, true, predicted[0])
        for row, true, *predicted in zip(rows, truth, *predictions, strict=True)
        if all(each != true for each in predicted)
    ]
    listed_rows = sorted(wrong)[:_MOST_LISTED] if len(rows) <= _MOST_ROWS else []
    evidence = {
        "labels": labels,
        "confusion": confusion.tolist(),
        "per_class": per_class,
        "always_wrong": [{"row": row, "truth": true, "predicted": predicted} for row, true, predicted in listed_rows],
        "n_always_wrong": len(wrong),
        "n_others": len(predictions) - 1,
    }
    return Answer(Verdict.YES, float(confusion.sum() - right.sum()), None, evidence)


def _wrong_numbers(rows: list[int], truth: list[float], predicted: list[float]) -> Answer:
    residuals = np.asarray(truth, dtype=float) - np.asarray(predicted)
    order = np.argsort(-np.abs(residuals), kind="stable")[:_MOST_LISTED]
    middle, nine_tenths = (float(value) for value in np.quantile(np.abs(residuals), [0.5, 0.9]))
    shown = np.linspace(0, len(truth) - 1, min(len(truth), 1000)).astype(int)
    evidence: dict[str, Any] = {
        "nine_tenths": nine_tenths,
        "truth": [float(truth[place]) for place in shown],
        "predicted": [float(predicted[place]) for place in shown],
        "largest": [
            {"row": rows[place], "truth": float(truth[place]), "predicted": float(predicted[place])} for place in order
        ],
    }
    return Answer(Verdict.YES, middle, None, evidence)


def answer(done: Finished) -> Answer:
    """Which held-out rows are predicted incorrectly."""
    works = prediction_works(done.plan, done.scores)
    return which_rows(done.plan, [done.work[piece.key] for piece in works if piece.repeat == 0])


QUESTION = Question("wrong", TITLE, answer, lambda plan, scores, work: [prediction_pieces(plan, scores)], place=60)
