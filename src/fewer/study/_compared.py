"""The candidates side by side: their scores and their curves."""

from typing import Any

import numpy as np

from fewer._wording import counted
from fewer.evaluate import corrected_interval
from fewer.study._findings import Answer, Rival
from fewer.study._scores import AllScores


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


def compared_with(scores: AllScores, metric: str) -> Answer:
    """The winner beside the best learner with all columns, and the baseline."""
    simplest, best_all, winner = scores.simplest, scores.best_with_everything, scores.winner
    at_size = (
        f" with {counted(scores.size, 'new column' if winner.makes_columns else 'column')}" if winner.reduces else ""
    )
    sentence = (
        f"{_best_of(len(scores.reduced))}: {winner.name}{at_size} (mean {metric} "
        f"{scores.cells.scores[..., scores.choice.cell].mean():.3f}); best with all columns: "
        f"{best_all.name.removeprefix('all features, ')} ({best_all.score:.3f}); {simplest.name}: {simplest.score:.3f}."
    )
    how = (
        "All candidates were scored on the same folds, each with the number of columns that was best on the other "
        "folds. The mean score of the winner is slightly optimistic, because it was selected for it; the score in the "
        "headline is not, because there each choice was made on the other folds."
    )
    reached = scores.choice.fold_scores
    low, high = corrected_interval(reached, winner.confidence, winner.test_ratio)
    interval = low, min(high, winner.best_possible)
    return Answer("Compared with what?", "yes", sentence, float(reached.mean()), interval, how)


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
        "simplest": scores.simplest.score,
    }


def _best_of(n_ways: int) -> str:
    return f"Chosen from {counted(n_ways, 'combination')} of selection method and learner"
