"""How good are the predictions? Every metric, ROC and precision-recall curves, calibration, or residuals, held out.

A curve is that of a fold, read at fixed places of its horizontal axis, and averaged over the folds: values of different
models are never put into one order. Probabilities mean the same whichever model gives them, so calibration counts all
held-out rows together: in tenths of the predicted probability p, the share of rows that belong to the class. Calibrated
probabilities are those of the shipped candidate on the first repeat, by sigmoids of the other folds.
"""

from typing import Any

import numpy as np

from fewer._wording import metric_words
from fewer.evaluate import corrected_interval
from fewer.study.answers._question import Answer, Finished, Question, Verdict
from fewer.study.answers._scores import best_possible
from fewer.study.model._calibration import Responses, weights_of
from fewer.study.model._calibration_check import in_bins
from fewer.study.plan._plan import Plan, costs_in
from fewer.study.work._predictions import PROCEDURES, prediction_pieces, prediction_works

TITLE = "How good are the predictions?"
_PLACES = np.linspace(0, 1, 41)
_MOST_CLASSES = 6
_MOST_POINTS = 500


def answer(done: Finished) -> Answer:
    """The metrics of the three procedures, and the curves of their held-out predictions."""
    pieces = [done.work[piece.key] for piece in prediction_works(done.plan, done.scores)]
    return answered(done.plan, pieces, done.scores.test_ratio)


def answered(plan: Plan, pieces: list[dict[str, Any]], test_ratio: float) -> Answer:
    """The answer from the pieces of all folds, repeat by repeat."""
    failed = next((piece["failure"] for piece in pieces if "failure" in piece), None)
    if failed is not None:
        return Answer(Verdict.NOT_TESTED, reason=failed)
    metrics = [_metric(name, plan, pieces, test_ratio) for name in plan.metrics]
    evidence: dict[str, Any] = {"metrics": metrics, "classes": _counts(pieces[: plan.n_folds]) if plan.classify else {}}
    if plan.classify:
        evidence["curves"] = _curves(plan, pieces, test_ratio)
        evidence["calibration"] = _calibration(plan, pieces)
        evidence["calibrated"] = _calibrated(plan, pieces[: plan.n_folds])
    else:
        evidence["residuals"] = _residuals(pieces[: plan.n_folds])
    first = metrics[0]["winner"]
    return Answer(Verdict.YES, first["mean"], first["interval"], evidence)


def _metric(name: str, plan: Plan, pieces: list[dict[str, Any]], test_ratio: float) -> dict[str, Any]:
    """Mean and interval of a metric for each procedure; no figures where it is not defined on some fold."""
    found: dict[str, Any] = {"metric": name, "says": metric_words(name)}
    for place, procedure in enumerate(PROCEDURES):
        scores = [piece["procedures"][place]["scores"][name] for piece in pieces]
        found[procedure] = {"mean": None, "interval": None}
        if None not in scores:
            folds = np.array(scores, dtype=float).reshape(plan.n_repeats, plan.n_folds)
            low, high = corrected_interval(folds, plan.confidence, test_ratio)
            found[procedure] = {"mean": float(folds.mean()), "interval": (low, min(high, best_possible(name)))}
    return found


def _counts(pieces: list[dict[str, Any]]) -> dict[str, int]:
    """Rows of each class."""
    labels, counts = np.unique([label for piece in pieces for label in piece["truth"]], return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


def _of_class(piece: dict[str, Any], procedure: int, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Which held-out rows belong to a class, the value that a procedure gives them for it, and their weights."""
    found = piece["procedures"][procedure]
    weights = weights_of(piece)
    truth = np.array([each == label for each in piece["truth"]])
    if label not in found.get("classes", []) or not (weights[truth].any() and weights[~truth].any()):
        return None
    return truth, np.array(found["values"])[:, found["classes"].index(label)], weights


def _classes(plan: Plan, pieces: list[dict[str, Any]]) -> list[str]:
    """The second of two classes; of more, the most frequent ones, each against the rest."""
    counts = _counts(pieces[: plan.n_folds])
    if len(counts) <= 2:
        return [list(counts)[-1]]
    return sorted(sorted(counts, key=lambda label: -counts[label])[:_MOST_CLASSES])


def _curves(plan: Plan, pieces: list[dict[str, Any]], test_ratio: float) -> list[dict[str, Any]]:
    """ROC and precision-recall curves: of the winner for each class, and of all columns where there are two."""
    classes = _classes(plan, pieces)
    found = []
    for procedure in range(2 if len(classes) == 1 else 1):
        for label in classes:
            folds = [pair for piece in pieces if (pair := _of_class(piece, procedure, label)) is not None]
            if len(folds) < 2:
                continue
            curve: dict[str, Any] = {"procedure": PROCEDURES[procedure], "label": label, "n_folds": len(folds)}
            curve["share"] = float(np.mean([np.average(truth, weights=weights) for truth, _, weights in folds]))
            for name, of_fold in (("roc", roc_of_fold), ("precision_recall", precision_of_fold)):
                lines, areas = zip(*(of_fold(*pair) for pair in folds), strict=True)
                means, ends = _band(np.array(lines), plan.confidence, test_ratio, plan.n_folds)
                area = float(np.mean(areas))
                curve[name] = {"mean": means, "low": ends[0], "high": ends[1], "area": area}
            found.append(curve)
    return found


def _band(
    lines: np.ndarray, confidence: float, test_ratio: float, n_folds: int
) -> tuple[list[float], list[list[float]]]:
    """Mean over the folds at each place, and the ends of its interval, within 0 and 1."""
    whole = len(lines) % n_folds == 0 and len(lines) >= n_folds
    shaped = lines.reshape(-1, n_folds if whole else len(lines), lines.shape[1])
    ends = np.array([corrected_interval(shaped[..., place], confidence, test_ratio) for place in range(lines.shape[1])])
    rounded = np.round(np.clip(ends.T, 0, 1), 4).tolist()
    return np.round(lines.mean(axis=0), 4).tolist(), rounded


def roc_of_fold(truth: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """The highest true positive rate at fixed false positive rates, and the area below the curve."""
    from sklearn.metrics import auc, roc_curve

    false, true, _ = roc_curve(truth, values, drop_intermediate=False, sample_weight=weights)
    found = np.interp(_PLACES, false, true)
    found[0] = true[false == 0].max()
    return found, float(auc(false, true))


def precision_of_fold(
    truth: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Precision at the highest threshold that reaches each recall, and the average precision."""
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(truth, values, sample_weight=weights)
    average = max(0.0, float(-np.sum(np.diff(recall) * precision[:-1])))  # as average_precision_score has it
    precision, recall = precision[-2::-1], recall[-2::-1]  # from the highest threshold on
    reached = np.searchsorted(recall, np.maximum(_PLACES, recall[0]) - 1e-12)
    return precision[reached], average


def _calibration(plan: Plan, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean probability and share of the class in bins of equal numbers of rows; each class against the rest."""
    probabilities, hits, weights = [], [], []
    for piece in pieces:
        winner = piece["procedures"][0]
        if winner.get("response") != "probability":
            continue
        probabilities.append(np.array(winner["values"]).ravel())
        hits.append(np.array([[truth == label for label in winner["classes"]] for truth in piece["truth"]]).ravel())
        weights.append(np.repeat(weights_of(piece), len(winner["classes"])))
    if not probabilities:
        return {}
    p, hit, weight = np.concatenate(probabilities), np.concatenate(hits), np.concatenate(weights)
    return in_bins(p, hit, weight, plan.n_repeats, plan.confidence) | {"n_folds": len(probabilities)}


def _calibrated(plan: Plan, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """The same of calibrated probabilities of the shipped candidate, and the sigmoids that go with its model."""
    responses = Responses.of_pieces(pieces)
    if responses is None:
        return {}
    truth, weights = np.concatenate(responses.truth), np.concatenate(responses.weights)
    chances = np.concatenate(responses.held_out())
    hits = truth[:, None] == np.array(responses.classes)
    costs = None if plan.cost is None else costs_in(plan.cost)
    others = np.concatenate([1 - chances, chances], axis=1) if len(responses.classes) == 1 else chances
    inside = np.concatenate([~hits, hits], axis=1) if len(responses.classes) == 1 else hits
    shares = np.average(inside, axis=0, weights=weights)
    of_hits = np.repeat(weights, hits.shape[1])
    return {
        **in_bins(chances.ravel(), hits.ravel(), of_hits, 1, plan.confidence),
        "n_folds": len(pieces),
        "log_loss": float(np.average(-np.log(np.maximum(others[inside], 1e-15)), weights=weights)),
        "log_loss_of_shares": float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum()),
        "calibration": responses.calibration(costs).to_dict(),
        "cost": None if costs is None else responses.held_out_cost(*costs),
    }


def _residuals(pieces: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Predictions and residuals (truth minus prediction) of the first repeat; of many rows, some."""
    predicted, truth = (
        np.concatenate([np.asarray(values, dtype=float) for values in parts])
        for parts in ([piece["procedures"][0]["predicted"] for piece in pieces], [piece["truth"] for piece in pieces])
    )
    shown = np.linspace(0, len(truth) - 1, min(len(truth), _MOST_POINTS)).astype(int)
    residuals = np.round(truth - predicted, 10)
    return {"predicted": predicted[shown].tolist(), "residuals": residuals[shown].tolist()}


QUESTION = Question(
    "predictions", TITLE, answer, lambda plan, scores, work: [prediction_pieces(plan, scores)], place=65
)
