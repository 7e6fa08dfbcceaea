"""How few? The number of columns that the rule chooses, and the scores over the number of columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewer.study.answers._question import Answer, Finished, Here, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.model._final import FINAL, do_final
from fewer.study.plan._plan import Parsimony, Plan

TITLE = "How few?"
# Shares of the gain given up for fewer columns, for which the report shows score and columns.
_PARSIMONIES = (0.0, 0.03, 0.05, 0.1)


@dataclass(frozen=True)
class SizeAnswer(Answer):
    """How few, with the curve: mean score and standard error at each size, of the best candidate and of each."""

    curve: dict[str, Any] = field(default_factory=dict)


def answer(done: Finished) -> SizeAnswer:
    """The chosen number of columns, and those that the folds chose."""
    return answered(done.plan, done.scores, done.final, size_curves(done.scores))


def answered(plan: Plan, scores: AllScores, final: dict[str, Any], curve: dict[str, Any] | None = None) -> SizeAnswer:
    """The answer from the scores of all candidates."""
    chosen = scores.cells.sizes[scores.choice.by_fold]
    low, high = (float(value) for value in np.quantile(chosen, [0.1, 0.9]))
    tried = {parsimony: scores.choice_at(parsimony) for parsimony in _parsimonies(plan)}
    evidence = {
        "n_sources": final["n_sources"],
        "by_fold": [float(each) for each in chosen.ravel()],
        "by_parsimony": [
            {
                "parsimony": parsimony,
                "size": int(scores.cells.sizes[choice.cell]),
                "score": float(choice.fold_scores.mean()),
                "candidate": plan.candidates[scores.cells.candidates[choice.cell]].name,
            }
            for parsimony, choice in tried.items()
        ],
    }
    return SizeAnswer(Verdict.YES, float(final["n_made"] or final["size"]), (low, high), evidence, curve=curve or {})


def _parsimonies(plan: Plan) -> list[Parsimony]:
    """Those that the report shows: some shares, the plan's, and the rule of one standard error."""
    shares = {*_PARSIMONIES} if plan.parsimony == "one_se" else {*_PARSIMONIES, plan.parsimony}
    return [*sorted(shares), "one_se"]


def size_curves(scores: AllScores) -> dict[str, Any]:
    """Mean score and its standard error at each size: of the best candidate at each size, and of all that reduce."""

    def of(name: str, sizes: np.ndarray, table: np.ndarray) -> dict[str, Any]:
        flat = table.reshape(-1, len(sizes))
        error = flat.std(axis=0, ddof=1) * np.sqrt(1 / len(flat) + scores.test_ratio)
        return {
            "name": name,
            "sizes": [int(size) for size in sizes],
            "mean": flat.mean(axis=0).tolist(),
            "standard_error": error.tolist(),
        }

    cells = scores.cells
    means = cells.scores.mean(axis=(0, 1))
    sizes = np.unique(cells.sizes)
    best = np.array([max(np.flatnonzero(cells.sizes == size), key=lambda cell: means[cell]) for size in sizes])
    frontier = of("best candidate", sizes, cells.scores[..., best])
    names = {each.number: each.name for each in scores.candidates}
    frontier["candidates"] = [names[cells.candidates[cell]] for cell in best]
    curves = [of(each.name, each.sizes[each.choices], each.scores[..., each.choices]) for each in scores.reduced]
    return {
        "frontier": frontier,
        "candidates": curves,
        "chosen": {"size": scores.size, "mean": float(means[scores.choice.cell])},
        "baseline": scores.baseline.score,
    }


QUESTION = Question("how_few", TITLE, answer, lambda plan, scores, work: [Here(FINAL, do_final)], place=40)
