"""The last task: the winner, fitted once more on all rows, and what its columns are like."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer._estimators import columns_known_as
from fewer.extract import loadings, with_components
from fewer.study.answers._scores import AllScores, CandidateScores
from fewer.study.table._units import UnitPath, Units
from fewer.study.table._weights import fit_weighted
from fewer.study.work._preparation import PreparedColumn
from fewer.study.work._work import MOST_NAMES, Bench, columns_in_order, seed_of, weightiest

FINAL = "final"
_MOST_ROWS_SHOWN = 20
_MOST_MADE_SHOWN = 8
_MOST_TOP_FEATURES = 8
_MOST_SPREADS = 6
_MOST_GROUPS = 6
# Correlations are summed over blocks of so many cells.
_CELLS = 4_000_000


def do_final(bench: Bench, scores: AllScores) -> dict[str, Any]:
    """Columns of the winner on all rows, in order, with score and direction of effect.

    Where the winner makes new columns, all columns of the table are in use, in the order of their weight; where it
    keeps all columns, they are ranked by the best candidate that selects.
    """
    plan, dataset = bench.plan, bench.data.dataset
    ranker = scores.ranker
    chosen = plan.candidates[ranker.number]
    X, columns, units = bench.whole(chosen.for_counts)
    names = [column.name for column in columns]
    units = units or Units.of(names, {})
    y, weights = bench.rows(np.arange(dataset.n_rows))
    # All columns are more on all rows than in a fold where some are constant.
    size = scores.size if scores.winner.reduces else units.n
    assert chosen.reducer is not None
    reducer = chosen.reducer.reducer(seed=seed_of(plan, FINAL))
    n_made, made = None, {}
    unit_scores: np.ndarray | None
    if ranker.makes_columns:
        n_components = size if scores.winner.reduces else int(ranker.sizes[0])
        with columns_known_as(names):
            made_of = X[:, units.others]
            reducer = fit_weighted(with_components(reducer, n_components), made_of, y, weights)
            new = reducer.transform(made_of)
        correlations = np.zeros((len(names), new.shape[1]))
        if chosen.for_counts == "codes":
            correlations[units.others] = _correlation_ratios(made_of, new)
            X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)  # what follows describes columns of numbers
        else:
            correlations[units.others] = loadings(made_of, new)
        unit_scores = units.norms(np.linalg.norm(correlations, axis=1))
        order = weightiest(unit_scores)
        if scores.winner.reduces:
            made = _what_is_in(correlations, names, weightiest(np.linalg.norm(correlations, axis=1)))
            if chosen.for_counts == "raw":
                made |= _components(reducer, [names[place] for place in units.others])
            n_made, size = size, units.n
    else:
        with columns_known_as([names[place] for place in units.others]):
            fit_weighted(reducer, units.choosable(X, weights), y, weights)
        unit_scores = getattr(reducer, "scores_", None)
        if units.is_plain:
            order = _order(reducer, len(names), ranker)
        else:
            path = UnitPath.of(reducer, units)
            order, unit_scores = path.order, path.scores
        order = order[: max(size, MOST_NAMES)]
    target = _Target.of(np.asarray(dataset.y), classify=plan.classify)
    single = [unit for unit in order if len(units.members[unit]) == 1]
    places = {unit: int(units.members[unit][0]) for unit in single}
    shown = [int(place) for unit in order[:size] for place in units.members[unit]][:_MOST_SPREADS]
    near = [places[unit] for unit in single[: min(max(size, 50), MOST_NAMES)]]
    described = [_described(units.members[unit], columns, X, target) for unit in order]
    sources = {source for each in described[:size] for source in each["sources"]}
    return {
        "size": size,
        "n_made": n_made,
        "made": made,
        "n_prepared": units.n,
        "n_sources": len(sources) + len({columns[place].source for place in units.always}),
        "columns": [
            {
                "name": units.names[unit],
                "score": None if unit_scores is None else _number(unit_scores[unit]),
                **each,
            }
            for unit, each in zip(order, described, strict=True)
        ],
        "spreads": _spreads(X, names, shown, np.asarray(dataset.y), classify=plan.classify),
        "groups": _redundancy(X, names, near),
    }


def _described(places: np.ndarray, columns: list[PreparedColumn], X: Any, target: "_Target") -> dict[str, Any]:
    """The columns of the table in a unit, their features, and the direction of the one with the largest effect."""
    directions = [target.direction(_dense_column(X, place)) for place in places]
    sizes = [abs(each.get("correlation", each.get("difference")) or 0.0) for each in directions]
    largest = int(np.argmax(np.round(sizes, 10)))
    return {
        "source": columns[places[largest]].source,
        "sources": list(dict.fromkeys(columns[place].source for place in places)),
        "features": [columns[place].name for place in places],
        "strongest": columns[places[largest]].name,
        **directions[largest],
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


def _correlation_ratios(codes: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Correlation of each new column with its mean in the categories of each column (columns, new columns)."""
    centred = np.asarray(new, dtype=np.float64) - np.mean(new, axis=0)
    total = np.maximum((centred**2).sum(axis=0), 1e-300)
    found = np.empty((codes.shape[1], centred.shape[1]))
    for column, values in enumerate(codes.T):
        _, places, sizes = np.unique(values, return_inverse=True, return_counts=True)
        sums = np.zeros((len(sizes), centred.shape[1]))
        np.add.at(sums, places, centred)
        found[column] = np.sqrt((sums**2 / sizes[:, None]).sum(axis=0) / total)
    return found


def _what_is_in(correlations: np.ndarray, names: list[str], order: list[int]) -> dict[str, Any]:
    """Correlations of the first new columns with those of the table that weigh most in them."""
    shown = order[:_MOST_ROWS_SHOWN]
    return {
        "columns": [names[column] for column in shown],
        "loadings": [[float(value) for value in correlations[column, :_MOST_MADE_SHOWN]] for column in shown],
    }


def _components(reducer: Any, names: list[str]) -> dict[str, Any]:
    """Of a model of counts, the features that stand for each component; nothing of any other extractor."""
    from fewer.latent import top_features

    if not (hasattr(reducer, "components_") and hasattr(reducer, "weights_")):
        return {}
    found = top_features(reducer, n_features=_MOST_TOP_FEATURES, feature_names=names)
    return {
        "components": [
            {
                "share": float(weight),
                "features": [
                    {"name": name, "share": float(share), "lift": float(lift)}
                    for name, share, lift in zip(*features, strict=True)
                    if lift > 1
                ],
            }
            for weight, *features in zip(found.weights, found.names, found.shares, found.lifts, strict=True)
        ]
    }


def _order(reducer: Any, n_columns: int, ranker: CandidateScores) -> list[int]:
    """All columns, best first; those that the reducer never takes come last."""
    from fewer.evaluate import subset_path

    path = subset_path(reducer, n_columns)
    sizes = [int(each) for each in ranker.sizes[:-1] if path.order is not None or each in (path.subsets or {})]
    order = columns_in_order(path, sizes)
    return order + sorted(set(range(n_columns)).difference(order))


def _dense_column(X: Any, column: int) -> np.ndarray:
    values = X[:, column]
    return values.toarray().ravel() if hasattr(values, "toarray") else np.asarray(values)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True)
class _Target:
    """The target, ready to be compared with many columns: numbers, or the rows of each class."""

    numbers: np.ndarray
    rows_of: dict[str, np.ndarray]

    @classmethod
    def of(cls, y: np.ndarray, *, classify: bool) -> "_Target":
        if classify:
            return cls(np.empty(0), {str(label): y == label for label in np.unique(y)})
        return cls(y.astype(float), {})

    def direction(self, values: np.ndarray) -> dict[str, Any]:
        """Which way a column goes: with the target, or in which class it is highest and lowest.

        For numbers, the correlation; for classes, the mean of the standardised column in each class, and the classes
        with the highest and the lowest.
        """
        spread = values.std()
        standard = (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
        if not self.rows_of:
            numbers = self.numbers
            return {"correlation": _number(np.mean(standard * (numbers - numbers.mean())) / (numbers.std() or 1.0))}
        means = np.array([standard[rows].mean() for rows in self.rows_of.values()])
        classes, top, bottom = list(self.rows_of), int(np.argmax(means)), int(np.argmin(means))
        return {
            "highest_in": classes[top],
            "lowest_in": classes[bottom],
            "difference": float(means[top] - means[bottom]),
        }


def _redundancy(X: Any, names: list[str], order: list[int], threshold: float = 0.9) -> list[list[str]]:
    """Columns among the best that are redundant with one another: linked by correlations of at least 0.9 in size."""
    from scipy.sparse.csgraph import connected_components
    from sklearn.utils import gen_batches

    if not order:  # all of them belong to groups, such as the categories of a column
        return []
    means, spread = np.array([(values.mean(), values.std()) for values in (_dense_column(X, j) for j in order)]).T
    alive = np.flatnonzero(spread > 0)
    kept = np.asarray(order)[alive]
    products = np.zeros((len(alive), len(alive)))
    for rows in gen_batches(X.shape[0], max(1, _CELLS // max(1, len(alive)))):
        block = X[rows][:, kept]
        standard = ((block.toarray() if sparse.issparse(block) else block) - means[alive]) / spread[alive]
        products += standard.T @ standard
    linked = np.abs(products) / X.shape[0] >= threshold
    _, labels = connected_components(linked, directed=False)
    groups: dict[int, list[str]] = {}
    for place, label in zip(alive, labels, strict=True):
        groups.setdefault(int(label), []).append(names[order[place]])
    return [group for group in groups.values() if len(group) > 1]
