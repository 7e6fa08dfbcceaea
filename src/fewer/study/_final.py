"""The last piece of work: the winner, fitted once more on all rows, and what its columns are like."""

from typing import Any

import numpy as np

from fewer._estimators import columns_known_as
from fewer.extract import loadings, with_components
from fewer.study._preparation import preparation, prepared_names
from fewer.study._scores import AllScores, CandidateScores
from fewer.study._work import MOST_NAMES, Bench, columns_in_order, seed_of, weightiest

FINAL = "final"
_MOST_ROWS_SHOWN = 20
_MOST_MADE_SHOWN = 8


def smallest_good_size(winner: CandidateScores) -> int:
    """The smallest size that is within one standard error of the best one, fold by fold.

    The error is that of the difference on the same folds, with the correction for training sets that overlap.
    """
    sizes = winner.sizes[winner.choices]
    flat = winner.scores[..., winner.choices].reshape(-1, len(sizes))
    top = int(np.argmax(np.round(flat.mean(axis=0), 10)))
    behind = flat[:, [top]] - flat
    error = behind.std(axis=0, ddof=1) * np.sqrt(1 / len(flat) + winner.test_ratio)
    return int(sizes[np.flatnonzero(behind.mean(axis=0) <= error + 1e-12)[0]])


def do_final(bench: Bench, scores: AllScores) -> dict[str, Any]:
    """Columns of the winner on all rows, in order, with score and direction of effect.

    Where the winner makes new columns, all columns of the table are in use, in the order of their weight.
    """
    plan, dataset = bench.plan, bench.data.dataset
    winner = scores.winner
    assert winner.indexed is not None
    chosen = plan.candidates[winner.number]
    prepare = preparation(dataset, plan.impute, seed=plan.seed, counts=chosen.for_counts)
    X = prepare.fit_transform(dataset.X)
    names = prepared_names(prepare, dataset)
    # All columns are more on all rows than in a fold where some are constant.
    all_of_a_fold = int(winner.sizes[-1])
    size, smallest = (
        len(names) if each == all_of_a_fold else each
        for each in (int(winner.indexed.nearest_size), smallest_good_size(winner))
    )
    assert chosen.reducer is not None
    reducer = chosen.reducer.reducer(seed=seed_of(plan, FINAL))
    n_made, made = None, {}
    if winner.makes_columns:
        with columns_known_as(names):
            new = with_components(reducer, size).fit(X, dataset.y).transform(X)
        correlations = loadings(X, new)
        column_scores = np.linalg.norm(correlations, axis=1)
        order = weightiest(column_scores)
        n_made, made, size = size, _what_is_in(correlations, names, order), len(names)
    else:
        with columns_known_as(names):
            reducer.fit(X, dataset.y)
        column_scores = getattr(reducer, "scores_", None)
        order = _order(reducer, len(names), winner)[: max(size, MOST_NAMES)]
    return {
        "size": size,
        "n_made": n_made,
        "made": made,
        "smallest_size": smallest,
        "n_prepared": len(names),
        "test_ratio": scores.test_ratio,
        "columns": [
            {
                "name": names[column],
                "score": None if column_scores is None else _number(column_scores[column]),
                **direction(_dense_column(X, column), np.asarray(dataset.y), classify=plan.classify),
            }
            for column in order
        ],
        "groups": _redundancy(X, names, order[: min(max(size, 50), MOST_NAMES)]),
    }


def _what_is_in(correlations: np.ndarray, names: list[str], order: list[int]) -> dict[str, Any]:
    """Correlations of the first new columns with those of the table that weigh most in them."""
    shown = order[:_MOST_ROWS_SHOWN]
    return {
        "columns": [names[column] for column in shown],
        "loadings": [[float(value) for value in correlations[column, :_MOST_MADE_SHOWN]] for column in shown],
    }


def _order(reducer: Any, n_columns: int, winner: CandidateScores) -> list[int]:
    """All columns, best first; those that the reducer never takes come last."""
    from fewer.evaluate import subset_path

    path = subset_path(reducer, n_columns)
    sizes = [int(each) for each in winner.sizes[:-1] if path.order is not None or each in (path.subsets or {})]
    order = columns_in_order(path, [*sizes, n_columns])
    return order + sorted(set(range(n_columns)).difference(order))


def _dense_column(X: Any, column: int) -> np.ndarray:
    values = X[:, column]
    return values.toarray().ravel() if hasattr(values, "toarray") else np.asarray(values)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def direction(values: np.ndarray, y: np.ndarray, *, classify: bool) -> dict[str, Any]:
    """Which way a column goes: with the target, or in which class it is highest and lowest.

    For numbers and for two classes (the second counts as high), the correlation; for more classes, the mean of the
    standardised column in each class, and the classes with the highest and the lowest.
    """
    spread = values.std()
    standard = (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
    if not classify:
        target = y.astype(float)
        return {"correlation": _number(np.mean(standard * (target - target.mean())) / (target.std() or 1.0))}
    classes = np.unique(y)
    means = np.array([standard[y == label].mean() for label in classes])
    top, bottom = int(np.argmax(means)), int(np.argmin(means))
    return {
        "highest_in": str(classes[top]),
        "lowest_in": str(classes[bottom]),
        "difference": float(means[top] - means[bottom]),
    }


def _redundancy(X: Any, names: list[str], order: list[int], threshold: float = 0.9) -> list[list[str]]:
    """Columns among the best that stand in for one another: linked by correlations of at least 0.9 in size."""
    values = np.column_stack([_dense_column(X, column) for column in order])
    spread = values.std(axis=0)
    alive = np.flatnonzero(spread > 0)
    standard = (values[:, alive] - values[:, alive].mean(axis=0)) / spread[alive]
    linked = np.abs(standard.T @ standard) / len(values) >= threshold
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(linked, directed=False)
    groups: dict[int, list[str]] = {}
    for place, label in zip(alive, labels, strict=True):
        groups.setdefault(int(label), []).append(names[order[place]])
    return [group for group in groups.values() if len(group) > 1]
