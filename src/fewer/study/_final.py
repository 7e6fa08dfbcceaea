"""The last piece of work: the winner, fitted once more on all rows, and what its columns are like."""

from typing import Any

import numpy as np

from fewer._estimators import columns_known_as
from fewer.extract import loadings, with_components
from fewer.study._preparation import preparation, prepared_columns
from fewer.study._scores import AllScores, CandidateScores
from fewer.study._work import MOST_NAMES, Bench, columns_in_order, seed_of, weightiest

FINAL = "final"
_MOST_ROWS_SHOWN = 20
_MOST_MADE_SHOWN = 8
_MOST_SPREADS = 6
_MOST_GROUPS = 6


def do_final(bench: Bench, scores: AllScores) -> dict[str, Any]:
    """Columns of the winner on all rows, in order, with score and direction of effect.

    Where the winner makes new columns, all columns of the table are in use, in the order of their weight; where it
    keeps all columns, they are in the order of the best way to reduce.
    """
    plan, dataset = bench.plan, bench.data.dataset
    ranker = scores.ranker
    chosen = plan.candidates[ranker.number]
    prepare = preparation(dataset, plan.impute, seed=plan.seed, counts=chosen.for_counts)
    X = prepare.fit_transform(dataset.X)
    names, sources = (list(each) for each in zip(*prepared_columns(prepare, dataset), strict=True))
    # All columns are more on all rows than in a fold where some are constant.
    size = scores.size if scores.winner.reduces else len(names)
    assert chosen.reducer is not None
    reducer = chosen.reducer.reducer(seed=seed_of(plan, FINAL))
    n_made, made = None, {}
    if ranker.makes_columns:
        n_components = size if scores.winner.reduces else int(ranker.sizes[0])
        with columns_known_as(names):
            new = with_components(reducer, n_components).fit(X, dataset.y).transform(X)
        correlations = loadings(X, new)
        column_scores = np.linalg.norm(correlations, axis=1)
        order = weightiest(column_scores)
        if scores.winner.reduces:
            n_made, made, size = size, _what_is_in(correlations, names, order), len(names)
    else:
        with columns_known_as(names):
            reducer.fit(X, dataset.y)
        column_scores = getattr(reducer, "scores_", None)
        order = _order(reducer, len(names), ranker)[: max(size, MOST_NAMES)]
    return {
        "size": size,
        "n_made": n_made,
        "made": made,
        "n_prepared": len(names),
        "n_sources": len({sources[column] for column in order[:size]}),
        "test_ratio": scores.test_ratio,
        "columns": [
            {
                "name": names[column],
                "source": sources[column],
                "score": None if column_scores is None else _number(column_scores[column]),
                **direction(_dense_column(X, column), np.asarray(dataset.y), classify=plan.classify),
            }
            for column in order
        ],
        "spreads": _spreads(X, names, order[: min(size, _MOST_SPREADS)], np.asarray(dataset.y), classify=plan.classify),
        "groups": _redundancy(X, names, order[: min(max(size, 50), MOST_NAMES)]),
    }


def _spreads(X: Any, names: list[str], order: list[int], y: np.ndarray, *, classify: bool) -> dict[str, Any]:
    """Quartiles of some columns in each class, or in thirds of the target."""
    labels, codes = np.unique(y, return_inverse=True)
    if not classify:
        codes = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
        labels = np.array(["low target", "middle target", "high target"])
    largest = np.argsort(-np.bincount(codes, minlength=len(labels)), kind="stable")[:_MOST_GROUPS]
    shown = sorted(code for code in largest if (codes == code).any())
    columns = np.column_stack([_dense_column(X, column) for column in order])
    return {
        "columns": [names[column] for column in order],
        "groups": [str(labels[code]) for code in shown],
        "quartiles": [np.quantile(columns[codes == code], [0.25, 0.5, 0.75], axis=0).T.tolist() for code in shown],
    }


def _what_is_in(correlations: np.ndarray, names: list[str], order: list[int]) -> dict[str, Any]:
    """Correlations of the first new columns with those of the table that weigh most in them."""
    shown = order[:_MOST_ROWS_SHOWN]
    return {
        "columns": [names[column] for column in shown],
        "loadings": [[float(value) for value in correlations[column, :_MOST_MADE_SHOWN]] for column in shown],
    }


def _order(reducer: Any, n_columns: int, ranker: CandidateScores) -> list[int]:
    """All columns, best first; those that the reducer never takes come last."""
    from fewer.evaluate import subset_path

    path = subset_path(reducer, n_columns)
    sizes = [int(each) for each in ranker.sizes[:-1] if path.order is not None or each in (path.subsets or {})]
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
