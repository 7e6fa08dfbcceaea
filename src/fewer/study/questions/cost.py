"""What do the decisions cost? Held-out rows with costs of the two kinds of errors, with fewer columns and with all.

A decision calls the share q of the rows with the highest score positive; with costs a of a positive row that is not
called and b of a negative one that is, n rows cost ``(a FN + b FP) / n`` each. For every fold, q is the one that costs
least on the other folds, and candidate, learner and number of columns are those that the other folds choose.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._kernels._one_thread import one_thread
from fewer.evaluate import corrected_interval
from fewer.study.answers._question import Answer, Finished, Payloads, Pieces, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.model._calibration import weights_of
from fewer.study.plan._plan import Plan, costs_in
from fewer.study.work._predictions import fitted_cell, weights_in
from fewer.study.work._work import Bench

TITLE = "What do the decisions cost?"
_PROCEDURES = ("fewer", "all")
_SHARES = np.linspace(0, 1, 41)
RATIOS = tuple(np.round(np.arange(0.1, 0.95, 0.1), 1).tolist())
"""Shares of the positive rows in the cost of always being wrong, for which costs are shown."""


@dataclass(frozen=True)
class CostWork:
    """Scores of held-out rows on one fold, from the cells that the other folds choose: fewer columns, and all."""

    repeat: int
    fold: int
    cells: tuple[tuple[int, int], ...]

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"cost/{self.repeat}/{self.fold}"


def cost_works(plan: Plan, scores: AllScores) -> list[CostWork]:
    """One piece for each fold of each repeat; none without costs."""
    if plan.cost is None:
        return []
    works = []
    for repeat, fold in np.ndindex(plan.n_repeats, plan.n_folds):
        cell = scores.choice.by_fold[repeat, fold]
        best = scores.with_everything[scores.best_with_everything_by_fold[repeat, fold]]
        chosen = int(scores.cells.candidates[cell]), int(scores.cells.sizes[cell])
        works.append(CostWork(repeat, fold, (chosen, (best.number, int(best.sizes[-1])))))
    return works


def do_cost(work: CostWork, bench: Bench) -> dict[str, Any]:
    """Which held-out rows are positive, and the score that each cell gives them."""
    y, fold = np.asarray(bench.data.dataset.y), bench.repeats[work.repeat][work.fold]
    positive = np.unique(y)[1]
    with one_thread():
        found = [[float(f"{value:.6g}") for value in _scores_of(cell, work, bench)] for cell in work.cells]
    truth = [int(label == positive) for label in y[fold.test]]
    scored = dict(zip(_PROCEDURES, found, strict=True))
    return {"positive": str(positive), "truth": truth, **weights_in(bench, fold.test), **scored}


def _scores_of(cell: tuple[int, int], work: CostWork, bench: Bench) -> np.ndarray:
    """Decision values or probabilities of the rows held out: the larger, the more a row looks positive."""
    model, test, *_ = fitted_cell(bench, work.repeat, work.fold, cell)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(test), dtype=float)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(test), dtype=float)[:, 1]
    name = bench.plan.candidates[cell[0]].name
    raise ValueError(f"{name} gives neither probabilities nor decision values, by which rows are ordered")


def ranks(scores: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Place of each row from the highest score (near 0) to the lowest (near 1); the same for equal scores.

    It is the share of rows, or of their weights, with a higher score, plus half of those with the same.

    Examples
    --------
    >>> ranks(np.array([5.0, 1.0, 1.0, 9.0]))
    array([0.375, 0.75 , 0.75 , 0.125])
    """
    _, place = np.unique(-np.asarray(scores), return_inverse=True)
    of_value = np.bincount(place, weights)
    return ((np.cumsum(of_value) - of_value / 2) / of_value.sum())[place]


def cheapest_share(
    places: np.ndarray, positive: np.ndarray, fn: float, fp: float, weights: np.ndarray | None = None
) -> float:
    """Share of the rows to call positive that costs least.

    Examples
    --------
    >>> cheapest_share(np.array([0.125, 0.375, 0.625, 0.875]), np.array([1, 0, 1, 0]), 5, 1)
    0.75
    """
    order = np.argsort(places, kind="stable")
    sorted_places, calls = places[order], np.where(positive == 1, -fn, fp)[order]
    calls = calls if weights is None else calls * weights[order]
    costs = np.concatenate([[0.0], np.cumsum(calls)])  # of calling the first 0, 1, ... rows, above calling none
    ends = np.concatenate([[True], sorted_places[1:] > sorted_places[:-1], [True]])  # equal rows are called together
    best = int(np.argmin(np.where(ends, np.round(costs, 10), np.inf)))
    if best in (0, len(order)):
        return float(best > 0)
    return float((sorted_places[best - 1] + sorted_places[best]) / 2)


FoldRows = tuple[np.ndarray, np.ndarray, np.ndarray]


def _together(folds: list[FoldRows]) -> list[np.ndarray]:
    """Places of the rows of some folds, which of them are positive, and their weights."""
    return [np.concatenate(part) for part in zip(*folds, strict=True)]


def costs_of_folds(folds: list[list[FoldRows]], fn: float, fp: float) -> dict[str, Any]:
    """Cost of a row of each fold, at the share that costs least on the other folds of the repeat.

    A fold is the places of its rows, which of them are positive, and their weights.
    """
    costs, errors = _held_out(folds, fn, fp)
    places, positive, weights = _together([each for repeat in folds for each in repeat])
    n_positive, n_negative = (max(weights[positive == label].sum(), 1e-12) for label in (1, 0))
    total = n_positive + n_negative
    # Where always being wrong costs 1, the better constant decision costs min(ratio, 1 - ratio).
    of_ratios = [
        np.mean(_held_out(folds, ratio * total / n_positive, (1 - ratio) * total / n_negative)[0])
        / min(ratio, 1 - ratio)
        for ratio in RATIOS
    ]
    return {
        "share": cheapest_share(places, positive, fn, fp, weights),
        "by_fold": np.reshape(costs, (len(folds), -1)).tolist(),
        "cost": float(np.mean(costs)),
        "recall": float(1 - errors[0] / n_positive),
        "false_positive_rate": float(errors[1] / n_negative),
        "curve": [
            float(np.average(np.where(positive == 1, fn * (places >= share), fp * (places < share)), weights=weights))
            for share in _SHARES
        ],
        "of_ratios": [float(cost) for cost in of_ratios],
    }


def _held_out(folds: list[list[FoldRows]], fn: float, fp: float) -> tuple[list[float], np.ndarray]:
    """Cost of a row of each fold, at the share that costs least on the others; weights of both kinds of errors."""
    costs, errors = [], np.zeros(2)
    for repeat in folds:
        for held_out, (places, positive, weights) in enumerate(repeat):
            seen, known, of_seen = _together([each for number, each in enumerate(repeat) if number != held_out])
            share = cheapest_share(seen, known, fn, fp, of_seen)
            missed = weights[(places >= share) & (positive == 1)].sum()
            called = weights[(places < share) & (positive == 0)].sum()
            costs.append((fn * missed + fp * called) / weights.sum())
            errors += missed, called
    return costs, errors


def _fold_rows(payload: dict[str, Any], procedure: str) -> FoldRows:
    """What a fold's decisions are made of."""
    weights = weights_of(payload)
    return ranks(np.array(payload[procedure]), weights), np.array(payload["truth"]), weights


@dataclass(frozen=True)
class CostAnswer(Answer):
    """What the decisions cost; shown if costs were given."""

    @property
    def is_shown(self) -> bool:
        """Whether costs were given."""
        return bool(self.evidence or self.reason)


def answer(done: Finished) -> CostAnswer:
    """What fewer columns cost, and what all of them do."""
    plan, scores = done.plan, done.scores
    works = cost_works(plan, scores)
    if plan.cost is None:
        return CostAnswer(Verdict.NOT_TESTED)
    payloads = [done.work[work.key] for work in works]
    failed = next((payload["failure"] for payload in payloads if "failure" in payload), None)
    if failed is not None:
        return CostAnswer(Verdict.NOT_TESTED, reason=failed)
    fn, fp = costs_in(plan.cost)
    by_repeat = [payloads[start : start + plan.n_folds] for start in range(0, len(payloads), plan.n_folds)]
    found = {
        name: costs_of_folds(
            [[_fold_rows(each, name) for each in repeat] for repeat in by_repeat],
            fn,
            fp,
        )
        for name in _PROCEDURES
    }
    few, everything = (found[name] for name in _PROCEDURES)
    difference = np.array(few["by_fold"]) - np.array(everything["by_fold"])
    interval = corrected_interval(difference, plan.confidence, scores.test_ratio)
    weights = np.concatenate([weights_of(payload) for payload in by_repeat[0]])
    share = float(np.average([label for payload in by_repeat[0] for label in payload["truth"]], weights=weights))
    constant = min(fn * share, fp * (1 - share))
    verdict = Verdict.BETTER if interval[1] < 0 else Verdict.NO if interval[0] > 0 else Verdict.NOT_SHOWN
    evidence = {
        **found,
        "difference": float(difference.mean()),
        "difference_interval": interval,
        "constant": constant,
        "positive": payloads[0]["positive"],
        "shares": _SHARES.tolist(),
        "ratios": list(RATIOS),
        "ratio": fn * share / (fn * share + fp * (1 - share)),
        "fn": fn,
        "fp": fp,
    }
    return CostAnswer(verdict, few["cost"], None, evidence)


def work(plan: Plan, scores: AllScores, done: Payloads) -> Iterator[Pieces]:
    """Scores of held-out rows, if there are costs."""
    if plan.cost is not None:
        yield Pieces("Scoring held-out rows", do_cost, [(piece,) for piece in cost_works(plan, scores)])


QUESTION = Question("cost", TITLE, answer, work, place=65)
