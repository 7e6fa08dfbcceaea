"""Which rows are wrong: held-out predictions behind the score of the first line, on the folds of one repeat.

Each fold is predicted by the candidate and the number of columns that the rule chooses on the other folds. Some
candidates predict it as well: the winner with the shipped number of columns, the others with that of their best mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._estimators import columns_known_as
from fewer._kernels._one_thread import one_thread
from fewer._wording import counted, listed
from fewer.study._plan import Plan
from fewer.study._question import Answer, Finished, Payloads, Pieces, Question, Verdict
from fewer.study._scores import AllScores, CandidateScores
from fewer.study._work import Bench, FoldWork, learner_of, seed_of

TITLE = "Which rows are wrong?"
_MOST_RIVALS = 5
# Of more rows, single ones are not listed.
_MOST_ROWS = 20_000
_MOST_LISTED = 20


@dataclass(frozen=True)
class PredictionWork:
    """Held-out predictions of some candidates, each with its number of columns, on one fold of the first repeat."""

    fold: int
    cells: tuple[tuple[int, int], ...]

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"held-out rows/{self.fold}"


def prediction_works(plan: Plan, scores: AllScores) -> list[PredictionWork]:
    """One piece for each fold: what the other folds choose, then the winner and the best of the others."""
    others = sorted(
        (each for each in (*scores.reduced, *scores.with_everything) if each.number != scores.winner.number),
        key=lambda each: (-round(each.score, 10), each.number),
    )
    cells = [(scores.winner.number, scores.size), *((each.number, _best_size(each)) for each in others[:_MOST_RIVALS])]
    by_fold = scores.choice.by_fold[0]
    chosen = [(int(scores.cells.candidates[cell]), int(scores.cells.sizes[cell])) for cell in by_fold]
    return [PredictionWork(fold, (chosen[fold], *cells)) for fold in range(plan.n_folds)]


def _best_size(each: CandidateScores) -> int:
    means = each.scores[..., each.choices].mean(axis=(0, 1))
    return int(each.sizes[np.argmax(np.round(means, 10))])


def do_predictions(work: PredictionWork, bench: Bench) -> dict[str, Any]:
    """Numbers of the rows held out, from 1 in the table as it was given, their truth, and what each predicts."""
    from sklearn.pipeline import make_pipeline

    from fewer.evaluate import subset_path
    from fewer.extract import with_components

    y, fold = np.asarray(bench.data.dataset.y), bench.repeats[0][work.fold]
    found: dict[tuple[int, int], list[Any]] = {}
    for number, size in sorted(set(work.cells)):  # those with the same selector follow one another
        candidate = bench.plan.candidates[number]
        piece = FoldWork(number, 0, work.fold)
        seed = seed_of(bench.plan, piece.key)
        with one_thread():
            rows = bench.prepared(0, work.fold, counts=candidate.for_counts)
            train, test = rows.X_train, rows.X_test
            learner = learner_of(candidate, bench.plan, y, seed)
            with columns_known_as(rows.names):
                if candidate.reducer is not None and candidate.makes_columns:
                    made = with_components(candidate.reducer.reducer(seed=seed), size)
                    learner = make_pipeline(made, learner)
                elif candidate.reducer is not None and size < train.shape[1]:
                    selector, _ = bench.fitted_selector(piece, rows)
                    columns = subset_path(selector, train.shape[1]).columns(size)
                    train, test = train[:, columns], test[:, columns]
                predicted = learner.fit(train, y[fold.train]).predict(test)
        found[number, size] = _plain(predicted, classify=bench.plan.classify)
    places = np.arange(len(y)) if bench.data.dataset.rows is None else bench.data.dataset.rows
    return {
        "rows": [int(place) + 1 for place in places[fold.test]],
        "truth": _plain(y[fold.test], classify=bench.plan.classify),
        "predictions": [found[cell] for cell in work.cells],
    }


def _plain(predicted: np.ndarray, *, classify: bool) -> list[Any]:
    return [str(label) for label in predicted] if classify else [float(f"{value:.6g}") for value in predicted]


def which_rows(plan: Plan, pieces: list[dict[str, Any]]) -> Answer:
    """How the errors of the procedure are distributed, and which rows all candidates predict incorrectly."""
    failed = next((piece["failure"] for piece in pieces if "failure" in piece), None)
    if failed is not None:
        return Answer(TITLE, Verdict.NOT_TESTED, f"Not tested: {failed}", None, None, "", {})
    rows, truth = ([value for piece in pieces for value in piece[name]] for name in ("rows", "truth"))
    predictions = [
        [value for piece in pieces for value in piece["predictions"][number]]
        for number in range(len(pieces[0]["predictions"]))
    ]
    how = (
        "Predictions for held-out rows on the folds of the first repeat. As for the cross-indexed score, which is the "
        "mean over all repeats, each fold is predicted with the selection method, learner and number of columns chosen "
        "on the other folds. To find rows that are hard for every model, the winner and up to "
        f"{_MOST_RIVALS} other candidates predicted them, too."
    )
    if plan.classify:
        return _wrong_classes(how, rows, truth, predictions, plan.n_repeats)
    return _wrong_numbers(how, rows, truth, predictions[0])


def _wrong_classes(how: str, rows: list[int], truth: list[str], predictions: list[list[str]], n_repeats: int) -> Answer:
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
    worst = min((each for each in per_class if each["rows"]), key=lambda each: each["recall"])
    n_wrong = int(confusion.sum() - right.sum())
    everyone = "the winner" if len(predictions) == 2 else f"all {len(predictions) - 1} candidates"
    n_always = f"{len(wrong):,}" if wrong else "none"
    always = f"; {n_always} of them by {everyone}" if len(predictions) > 1 else ""
    n_rows = counted(len(truth), "held-out row")
    where = f" in the first of {n_repeats} repeats" if n_repeats > 1 else ""
    sentence = (
        f"{n_wrong:,} of {n_rows} {'is' if n_wrong == 1 else 'are'} predicted incorrectly{where}{always}. Lowest "
        f"recall: class {worst['label']}, {worst['recall']:.2f} of {counted(worst['rows'], 'row')}."
        if n_wrong
        else f"None{where}: all {n_rows} are predicted correctly."
    )
    evidence = {
        "labels": labels,
        "confusion": confusion.tolist(),
        "per_class": per_class,
        "always_wrong": [{"row": row, "truth": true, "predicted": predicted} for row, true, predicted in listed_rows],
        "n_always_wrong": len(wrong),
    }
    return Answer(TITLE, Verdict.YES, sentence, float(n_wrong), None, how, evidence)


def _wrong_numbers(how: str, rows: list[int], truth: list[float], predicted: list[float]) -> Answer:
    residuals = np.asarray(truth, dtype=float) - np.asarray(predicted)
    order = np.argsort(-np.abs(residuals), kind="stable")[:_MOST_LISTED]
    middle, nine_tenths = (float(value) for value in np.quantile(np.abs(residuals), [0.5, 0.9]))
    shown = np.linspace(0, len(truth) - 1, min(len(truth), 1000)).astype(int)
    evidence: dict[str, Any] = {
        "truth": [float(truth[place]) for place in shown],
        "predicted": [float(predicted[place]) for place in shown],
        "largest": [
            {"row": rows[place], "truth": float(truth[place]), "predicted": float(predicted[place])} for place in order
        ],
    }
    named = listed([str(each["row"]) for each in evidence["largest"][:3]], 3)
    sentence = (
        f"The absolute error is at most {middle:.4g} for half of the rows and at most {nine_tenths:.4g} for 90%. The "
        f"largest errors are in rows {named}."
    )
    return Answer(TITLE, Verdict.YES, sentence, middle, None, how, evidence)


def work(plan: Plan, scores: AllScores, done: Payloads) -> Iterator[Pieces]:
    """Held-out predictions, fold by fold."""
    yield Pieces("Predicting held-out rows", do_predictions, [(piece,) for piece in prediction_works(plan, scores)])


def answer(done: Finished) -> Answer:
    """Which held-out rows are predicted incorrectly."""
    return which_rows(done.plan, [done.work[piece.key] for piece in prediction_works(done.plan, done.scores)])


QUESTION = Question("wrong", TITLE, answer, work, place=60)
