"""Columns that enter and leave a subset together, and columns that are in every subset.

A unit is what a size counts: a column of the table with all its categories, or a group of columns that the user has
named. A column of categories has the score of its best category, so that one useful category among many is enough. A
group has the mean of the scores of its columns, so that a large group has no advantage; for columns that are scaled
alike and scored by shares of variance, that is the trace statistic of a multivariate test (Dempster 1958). Where a
selector gives an order only, places count as scores, from the last.

Columns that are always in are no candidates. Selectors rank the others by what is left of them after a linear
regression on those that are always in, fitted on the same rows, so that a column gets no credit for what is known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from fewer.evaluate import subset_path


class ColumnOrder(BaseEstimator):
    """A selector that knows its order of columns: it is never fitted."""

    def __init__(self, ranking_: np.ndarray) -> None:
        self.ranking_ = ranking_

    def fit(self, X: Any, y: Any = None) -> "ColumnOrder":
        """Nothing is learnt."""
        return self


@dataclass(frozen=True)
class Units:
    """The units of some prepared columns.

    Attributes
    ----------
    names : tuple of str
        Names of the units, in the order of their first columns.
    members : tuple of ndarray
        Places of the columns of each.
    always : ndarray
        Places of the columns that are in every subset.
    sources : tuple of str
        Column of the table that each is made of.
    """

    names: tuple[str, ...]
    members: tuple[np.ndarray, ...]
    always: np.ndarray
    sources: tuple[str, ...]

    @classmethod
    def of(cls, sources: Sequence[str], groups: Mapping[str, str], always: Iterable[str] = ()) -> "Units":
        """Units of prepared columns.

        Parameters
        ----------
        sources : sequence of str
            Column of the table that each is made of.
        groups : mapping of str to str
            Group of a column of the table; others are their own.
        always : iterable of str
            Columns of the table that are in every subset.

        Examples
        --------
        >>> units = Units.of(["age", "colour", "colour", "size"], {}, ["age"])
        >>> units.names, [places.tolist() for places in units.members], units.always.tolist()
        (('colour', 'size'), [[1, 2], [3]], [0])
        """
        fixed = set(always)
        found: dict[str, list[int]] = {}
        for place, source in enumerate(sources):
            if source not in fixed:
                found.setdefault(groups.get(source, source), []).append(place)
        kept = [place for place, source in enumerate(sources) if source in fixed]
        return cls(tuple(found), tuple(map(np.array, found.values())), np.array(kept, dtype=int), tuple(sources))

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.names)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every unit is one column, and no column is always in."""
        return not len(self.always) and all(len(places) == 1 for places in self.members)

    @cached_property
    def others(self) -> np.ndarray:
        """Places of the columns to choose from."""
        return np.sort(np.concatenate(self.members)) if self.members else np.empty(0, dtype=int)

    def choosable(self, X: Any, weights: np.ndarray | None = None) -> Any:
        """What a selector ranks: the columns that are not always in, without what these explain of them."""
        if not len(self.always):
            return X
        rest = X[:, self.others]
        if sparse.issparse(X):
            return rest
        known = np.column_stack([np.ones(len(X)), X[:, self.always]])
        roots = np.ones((len(X), 1)) if weights is None else np.sqrt(weights)[:, None]
        return rest - known @ np.linalg.lstsq(roots * known, roots * rest, rcond=None)[0]

    def maker(self, reducer: Any) -> Any:
        """What makes new columns of those to choose from, beside the columns that are always in."""
        from sklearn.compose import ColumnTransformer

        if not len(self.always):
            return reducer
        parts = [("always", "passthrough", self.always.tolist()), ("new", reducer, self.others.tolist())]
        return ColumnTransformer(parts, sparse_threshold=0)

    def joint_scores(self, scores: np.ndarray) -> np.ndarray:
        """The score of each unit, from those of the columns to choose from.

        Examples
        --------
        >>> units = Units.of(["colour", "colour", "x", "y"], {"x": "axes", "y": "axes"})
        >>> units.joint_scores(np.array([0.9, 0.1, 0.8, 0.6]))
        array([0.9, 0.7])
        """
        source, unit_of_source = self._sources
        best = np.full(len(unit_of_source), -np.inf)
        np.maximum.at(best, source, np.asarray(scores, dtype=float))
        return np.bincount(unit_of_source, best, self.n) / np.bincount(unit_of_source, minlength=self.n)

    @cached_property
    def _sources(self) -> tuple[np.ndarray, np.ndarray]:
        """For each column to choose from, the number of its column of the table; for each of these, its unit."""
        unit_of = np.empty(len(self.sources), dtype=int)
        for unit, places in enumerate(self.members):
            unit_of[places] = unit
        numbers: dict[str, int] = {}
        source = np.array([numbers.setdefault(self.sources[place], len(numbers)) for place in self.others], dtype=int)
        unit_of_source = np.empty(len(numbers), dtype=int)
        unit_of_source[source] = unit_of[self.others]
        return source, unit_of_source

    def norms(self, weights: np.ndarray) -> np.ndarray:
        """The norm of the weights of the columns of each unit."""
        return np.array([np.linalg.norm(weights[places]) for places in self.members])

    def frozen(self, order: Sequence[int]) -> Any:
        """The order of all columns as a fitted selector, and how many columns each number of units has."""
        in_order = np.concatenate([self.always, *(self.members[unit] for unit in order)]).astype(int)
        ranking = np.empty(len(in_order), dtype=int)
        ranking[in_order] = np.arange(1, len(in_order) + 1)
        ends = len(self.always) + np.cumsum([len(self.members[unit]) for unit in order])
        return FrozenEstimator(ColumnOrder(ranking)), [int(end) for end in ends]


@dataclass(frozen=True)
class UnitPath:
    """Subsets of units, from the smallest to all.

    Attributes
    ----------
    units : Units
        What is chosen from.
    order : list of int
        Units by their joint score, best first.
    scores : ndarray or None
        These scores, where the selector has any.
    subsets : mapping of int to ndarray, or None
        The columns of each size, of a selector of single columns whose subsets are not nested.
    """

    units: Units
    order: list[int]
    scores: np.ndarray | None
    subsets: Mapping[int, np.ndarray] | None = None

    @classmethod
    def of(cls, selector: Any, units: Units) -> "UnitPath":
        """The path of a selector that was fitted on ``units.choosable``."""
        path, scores = subset_path(selector, len(units.others)), getattr(selector, "scores_", None)
        columns = _order(path)
        place = np.empty(len(columns))
        place[columns] = len(columns) - np.arange(len(columns))
        if scores is not None:
            scores = np.asarray(scores, dtype=float)
            if scores.shape != place.shape or not np.isfinite(scores).all() or np.any(np.diff(scores[columns]) > 1e-12):
                scores = None
        if units.is_plain:
            return cls(units, [int(column) for column in columns], scores, path.subsets if path.order is None else None)
        joint = units.joint_scores(place if scores is None else scores)
        order = [int(unit) for unit in np.argsort(-np.round(joint, 10), kind="stable")]
        return cls(units, order, None if scores is None else joint)

    def sizes(self, wanted: Iterable[int]) -> list[int]:
        """Those of these numbers of units that are less than all, and that there is a subset of."""
        known = self.subsets if self.subsets is not None else range(self.units.n)
        return sorted({int(size) for size in wanted if size < self.units.n and size in known})

    def columns(self, size: int) -> np.ndarray:
        """The columns that are always in, and those of the first units, in the order of the table."""
        if self.subsets is not None:
            return np.sort(self.subsets[size])
        parts = [self.units.always, *(self.units.members[unit] for unit in self.order[:size])]
        return np.sort(np.concatenate(parts).astype(int))


def _order(path: Any) -> np.ndarray:
    """All columns of a path, best first; of a path without an order, by the smallest subset that has them."""
    if path.order is not None:
        return np.asarray(path.order)
    order = list(dict.fromkeys(int(column) for size in sorted(path.subsets) for column in path.subsets[size]))
    return np.array(order + sorted(set(range(path.n_features)).difference(order)))
