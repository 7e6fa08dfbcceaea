"""The candidates side by side: their scores, their ranks over the folds, and their curves."""

from typing import Any

import numpy as np

from fewer.evaluate import compare_methods, corrected_interval
from fewer.study._findings import Answer, Rival
from fewer.study._plan import Plan
from fewer.study._scores import AllScores, CandidateScores


def rivals_of(scores: AllScores) -> tuple[Rival, ...]:
    """All candidates as they did, best first."""
    best = scores.winner.fold_scores
    found = []
    for each in scores.candidates:
        behind = best - each.fold_scores
        indexed = each.indexed
        found.append(
            Rival(
                name=each.name,
                score=each.score,
                interval=each.interval,
                size=None if indexed is None else indexed.size,
                benefit=None if indexed is None else indexed.benefit,
                benefit_interval=None if indexed is None else indexed.interval,
                behind=float(behind.mean()),
                behind_interval=corrected_interval(behind, each.confidence, each.test_ratio),
            )
        )
    return tuple(sorted(found, key=lambda rival: -rival.score))


def compared_with(scores: AllScores, metric: str, plan: Plan) -> tuple[dict[str, Any], Answer]:
    # The folds of one repeat share no held-out row; more repeats would count the same rows again.
    table = np.column_stack([each.fold_scores[0] for each in scores.candidates])
    names = [each.name for each in scores.candidates]
    comparison = compare_methods(table, methods=names, alpha=plan.level)
    difference = float(comparison.critical_difference)
    as_data = {
        "methods": names,
        "mean_ranks": [float(rank) for rank in comparison.mean_ranks],
        "critical_difference": difference if np.isfinite(difference) else None,
        "cliques": [list(clique) for clique in comparison.cliques],
        "p_value": float(comparison.p_value) if np.isfinite(comparison.p_value) else None,
        "n_folds": plan.n_folds,
    }
    simplest = scores.simplest
    best_all = scores.best_with_everything
    sentence = (
        f"{_best_of(len(scores.reduced))}: {scores.winner.name} ({metric} {scores.winner.score:.3f}); "
        f"best with all features: {best_all.name.removeprefix('all features, ')} ({best_all.score:.3f}); "
        f"{simplest.name}: {simplest.score:.3f}."
    )
    how = (
        "Every candidate was scored on the same folds. The winner's own score is a little too good, because it was "
        "picked for it; the score in the first line is not, because there the winner was picked anew on the other "
        "folds. Ranks are compared over the folds of the first repeat (Friedman, Nemenyi), because more repeats hold "
        "out the same rows again."
    )
    return as_data, Answer("Compared with what?", "yes", sentence, scores.winner.score, scores.winner.interval, how)


def size_curves(scores: AllScores) -> dict[str, Any]:
    """Mean score and its standard error at each size, for every candidate that reduces."""

    def of(each: CandidateScores) -> dict[str, Any]:
        sizes = each.sizes[each.choices]
        flat = each.scores[..., each.choices].reshape(-1, len(sizes))
        error = flat.std(axis=0, ddof=1) * np.sqrt(1 / len(flat) + each.test_ratio)
        return {
            "name": each.name,
            "sizes": [int(size) for size in sizes],
            "mean": flat.mean(axis=0).tolist(),
            "standard_error": error.tolist(),
        }

    return {
        "winner": of(scores.winner),
        "others": [of(each) for each in scores.reduced if each is not scores.winner],
        "simplest": scores.simplest.score,
    }


def _best_of(n_ways: int) -> str:
    return "The one way to reduce" if n_ways == 1 else f"Best of {n_ways} ways to reduce"
