"""Held-out predictions of the procedure behind the first line, of all columns, and of the baseline, on every fold.

On each fold, a *procedure* is what the other folds of the repeat choose: ``winner`` is the candidate and the number of
columns that the rule takes there, ``all columns`` the learner that is best there with all of them, and ``baseline``
the one that does not look at the features. So no row has a say in what predicts it. On the folds of the first repeat,
some candidates predict as well: the winner with the shipped number of columns, whose responses serve calibration, and
the others with that of their best mean.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import columns_known_as, predicted
from fewer._kernels._one_thread import one_thread
from fewer.study.answers._question import Payloads, Pieces
from fewer.study.answers._scores import AllScores, CandidateScores
from fewer.study.plan._plan import Plan
from fewer.study.plan._scoring import scorer_named
from fewer.study.table._weights import fit_weighted, weighted_score
from fewer.study.work._notes import quiet_about_rare_classes
from fewer.study.work._work import Bench, FoldWork, learner_of, seed_of

PROCEDURES = ("winner", "all columns", "baseline")
MOST_RIVALS = 5
# What a learner says besides a class, and what the file calls it.
_RESPONSES = {"predict_proba": "probability", "decision_function": "decision"}
RESPONSE = ("response", "classes", "values")

Cell = tuple[int, int]


@dataclass(frozen=True)
class PredictionWork:
    """Held-out predictions on one fold: cells of the procedures, and of some candidates; a number of columns each."""

    repeat: int
    fold: int
    procedures: tuple[Cell, ...]
    candidates: tuple[Cell, ...] = ()

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"held-out rows/{self.repeat}/{self.fold}"


def prediction_works(plan: Plan, scores: AllScores) -> list[PredictionWork]:
    """One piece for each fold of each repeat."""
    others = sorted(
        (each for each in (*scores.reduced, *scores.with_everything) if each.number != scores.winner.number),
        key=lambda each: (-round(each.score, 10), each.number),
    )
    candidates = (
        (scores.winner.number, scores.size),
        *((each.number, _best_size(each)) for each in others[:MOST_RIVALS]),
    )
    everything = int(scores.baseline.sizes[-1])
    works = []
    for repeat in range(plan.n_repeats):
        for fold in range(plan.n_folds):
            cell = scores.choice.by_fold[repeat, fold]
            chosen = int(scores.cells.candidates[cell]), int(scores.cells.sizes[cell])
            with_all = scores.with_everything[scores.best_with_everything_by_fold[repeat, fold]].number
            procedures = chosen, (with_all, everything), (scores.baseline.number, everything)
            works.append(PredictionWork(repeat, fold, procedures, candidates if repeat == 0 else ()))
    return works


def prediction_pieces(plan: Plan, scores: AllScores) -> Pieces:
    """The same for the engine."""
    return Pieces("Predicting held-out rows", do_predictions, [(piece,) for piece in prediction_works(plan, scores)])


def _best_size(each: CandidateScores) -> int:
    means = each.scores[..., each.choices].mean(axis=(0, 1))
    return int(each.sizes[np.argmax(np.round(means, 10))])


class FittedCell(NamedTuple):
    """A candidate with a number of columns, fitted on the rows held in; rows and columns that it predicts from."""

    model: Any
    X_test: Any
    names: list[str]
    X_train: Any
    size: int


def fitted_cell(bench: Bench, repeat: int, fold: int, cell: Cell) -> FittedCell:
    """As it was fitted for its score."""
    from sklearn.pipeline import make_pipeline

    from fewer.extract import with_components

    number, size = cell
    candidate, piece = bench.plan.candidates[number], FoldWork(number, repeat, fold)
    y, weights = bench.rows(bench.repeats[repeat][fold].train)
    seed = seed_of(bench.plan, piece.key)
    rows = bench.prepared(repeat, fold, counts=candidate.for_counts, impute=not candidate.takes_missing)
    learner = learner_of(candidate, bench.plan, bench.data.dataset.y, seed)
    size = min(size, rows.n_units)
    with columns_known_as(rows.names), quiet_about_rare_classes():
        if candidate.reducer is not None and candidate.makes_columns:
            maker = with_components(candidate.reducer.reducer(seed=seed), size)
            learner = make_pipeline(maker if rows.units is None else rows.units.maker(maker), learner)
        elif candidate.is_baseline:
            rows = rows.of_baseline()
        elif candidate.reducer is not None and size < rows.n_units:
            selector, _ = bench.fitted_selector(piece, rows)
            rows = rows.keep(rows.path(selector).columns(size))
        model = fit_weighted(learner, rows.X_train, y, weights)
        return FittedCell(model, rows.X_test, rows.names, rows.X_train, size)


def do_predictions(work: PredictionWork, bench: Bench) -> dict[str, Any]:
    """Numbers of the rows held out, from 1 in the table as it was given, their truth, and what each predicts."""
    y, fold = np.asarray(bench.data.dataset.y), bench.repeats[work.repeat][work.fold]
    found: dict[Cell, dict[str, Any]] = {}
    for cell in sorted({*work.procedures, *work.candidates}):  # those with the same selector follow one another
        with one_thread():
            held_in = fitted_cell(bench, work.repeat, work.fold, cell)
            found[cell] = {
                "candidate": cell[0],
                "size": held_in.size,
                "predicted": _plain(predicted(held_in.model, held_in.X_test), classify=bench.plan.classify),
            }
            if bench.plan.classify and cell in (*work.procedures, *work.candidates[:1]):
                found[cell] |= response_of(held_in.model, held_in.X_test)
            if cell in work.procedures:
                found[cell]["scores"] = _scores(held_in, bench.rows(fold.test), bench.plan)
    shipped = {name: found[cell][name] for cell in work.candidates[:1] for name in RESPONSE if name in found[cell]}
    places = np.arange(len(y)) if bench.data.dataset.rows is None else bench.data.dataset.rows
    return {
        "rows": [int(place) + 1 for place in places[fold.test]],
        "truth": _plain(y[fold.test], classify=bench.plan.classify),
        **weights_in(bench, fold.test),
        "procedures": [found[cell] for cell in work.procedures],
        "predictions": [found[cell]["predicted"] for cell in (work.procedures[0], *work.candidates)],
        **({"shipped": shipped} if shipped else {}),
    }


def weights_in(bench: Bench, rows: np.ndarray) -> dict[str, list[float]]:
    """The weights of rows, for the journal; nothing where all count alike."""
    weights = bench.rows(rows)[1]
    return {} if weights is None else {"weights": [_short(weight) for weight in weights]}


def _plain(predicted: np.ndarray, *, classify: bool) -> list[Any]:
    return [str(label) for label in predicted] if classify else [_short(value) for value in predicted]


def _short(value: float) -> float:
    """Six digits: those after them depend on the processor."""
    return float(f"{value:.6g}")


def response_of(model: Any, X: Any) -> dict[str, Any]:
    """Probabilities of the classes, or else decision values; of two classes, those of the second one."""
    classes = [str(label) for label in model.classes_]
    for name, called in _RESPONSES.items():
        if hasattr(model, name):
            values = np.asarray(getattr(model, name)(X), dtype=float)
            values = values.reshape(len(values), -1)
            if len(classes) == 2:
                values, classes = values[:, -1:], classes[1:]
            if values.shape[1] == len(classes) and np.isfinite(values).all():
                return {"response": called, "classes": classes, "values": [[_short(v) for v in row] for row in values]}
    return {}


def _scores(fitted: FittedCell, rows: tuple[np.ndarray, np.ndarray | None], plan: Plan) -> dict[str, float | None]:
    """Each metric on the rows held out; None where it is not defined on them."""
    import warnings

    found: dict[str, float | None] = {}
    for name in plan.metrics:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = weighted_score(scorer_named(name), fitted.model, fitted.X_test, *rows)
        except (ValueError, AttributeError):
            score = np.nan
        found[name] = score if np.isfinite(score) else None
    return found


def predictions_frame(plan: Plan, scores: AllScores, work: Payloads) -> Any:
    """All held-out predictions of the three procedures as a polars frame, one row for each row of a fold."""
    import polars as pl

    parts = []
    for piece in prediction_works(plan, scores):
        payload = work[piece.key]
        for name, procedure in zip(PROCEDURES, payload.get("procedures", []), strict=False):
            columns = {
                "procedure": name,
                "candidate": plan.candidates[procedure["candidate"]].name,
                "n_columns": 0 if name == "baseline" else procedure["size"],
                "repeat": piece.repeat + 1,
                "fold": piece.fold + 1,
                "row": payload["rows"],
                "truth": payload["truth"],
                "prediction": procedure["predicted"],
                **({"weight": payload["weights"]} if "weights" in payload else {}),
            }
            values = np.array(procedure.get("values", []))
            for place, label in enumerate(procedure.get("classes", [])):
                columns[f"{procedure['response']} {label}"] = values[:, place]
            parts.append(pl.DataFrame(columns))
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def parquet_of(frame: Any) -> bytes:
    """The bytes of a Parquet file."""
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
