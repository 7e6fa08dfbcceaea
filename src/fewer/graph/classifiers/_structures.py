"""Which columns depend on which within the classes: trees by information, and searches by classification rate.

*By information*: the maximum spanning tree with weights ``I(X_i; X_j | C)`` (generative). *By rate*: the share of the
training rows that are classified right decides about each edge. An *order* of the columns makes that quick: a column
may only have earlier ones as parents, so that each is looked at once. Orders:

    omi     X_j = argmax I(C; X | X_1, ..., X_{j-1}), from the best pair on
    omisp   X_j = argmax_X max_i I(C; X | X_i) over earlier X_i, for few rows
    ocr     X_j = argmax rate of P(C | X, X_1, ..., X_{j-1})
    ro      random

Entropies are sums over observed configurations: ``I(C; A | B) = H(A, B) + H(C, B) - H(C, A, B) - H(B)``.

An evaluation replaces one factor of the rows' log probabilities, looks at rows first that are classified wrong so far,
and ends once the best rate cannot be reached. Equal rates are decided by the conditional likelihood, then by order.

Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian network
classifiers. Journal of Machine Learning Research 11, 2323-2360.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fewer.graph.classifiers._tables import (
    conditional_log_likelihood,
    configurations,
    counted_network,
    discriminative_network,
    errors_first,
    factor,
    log_tables,
    n_errors,
)

_ROUNDING = 1e-12
_N_DISCRIMINATIVE = 20
"""Iterations of the discriminative parameters before each evaluation of `omi-crcl`."""


@njit(cache=True, nogil=True)
def _sum_xlogx(counts):
    total = 0.0
    for count in counts.ravel():
        if count > 0:
            total += count * np.log(count)
    return total


@njit(cache=True, nogil=True)
def _pair_sums(codes, n_levels, classes, n_classes, with_pair, with_class):
    """``sum c log c`` over the joint counts of each pair of columns, and of each pair with the class."""
    n_columns, n_rows = codes.shape
    for first in range(n_columns):
        for second in range(first + 1):
            counts = np.zeros((n_levels[first] * n_levels[second], n_classes))
            for row in range(n_rows):
                counts[codes[first, row] * n_levels[second] + codes[second, row], classes[row]] += 1
            with_class[first, second] = with_class[second, first] = _sum_xlogx(counts)
            with_pair[first, second] = with_pair[second, first] = _sum_xlogx(counts.sum(axis=1))


class PairInformation(NamedTuple):
    """In nats, for all pairs of columns.

    ``about_class[i, j]`` is I(C; X_i, X_j), with I(C; X_i) on the diagonal; ``given_class[i, j]`` is I(X_i; X_j | C).
    """

    about_class: np.ndarray
    given_class: np.ndarray

    def conditional(self) -> np.ndarray:
        """``I(C; X_j | X_i)`` at [i, j]."""
        return self.about_class - self.about_class.diagonal()[:, None]


def pair_information(codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, n_classes: int) -> PairInformation:
    """Information in pairs of columns (rows of ``codes``), by counting."""
    n_columns, n_rows = codes.shape
    pair, triple = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    _pair_sums(codes, n_levels, classes, n_classes, pair, triple)
    counts = np.bincount(classes, minlength=n_classes)
    own = _sum_xlogx(counts.astype(float))
    log_n = np.log(n_rows)
    about = log_n - (own + pair - triple) / n_rows
    alone = triple.diagonal()
    given = (own + triple - alone[:, None] - alone) / n_rows
    return PairInformation(np.where(about > _ROUNDING, about, 0.0), np.where(given > _ROUNDING, given, 0.0))


def spanning_tree(weights: np.ndarray) -> list[tuple[int, ...]]:
    """Parents in a maximum spanning tree, directed away from column 0 (Prim); equal weights go to the first column.

    Edges without weight are left out, so that it may be a forest.
    """
    parents: list[tuple[int, ...]] = [() for _ in weights]
    best, origin = weights[0].copy(), np.zeros(len(weights), dtype=int)
    outside = np.arange(len(weights)) > 0
    while outside.any():
        column = int(np.flatnonzero(outside)[best[outside].argmax()])
        if best[column] > 0:
            parents[column] = (int(origin[column]),)
        outside[column] = False
        closer = outside & (weights[column] > best)
        best[closer], origin[closer] = weights[column][closer], column
    return parents


@njit(cache=True, nogil=True)
def _refined(codes, n_levels, classes, n_classes, rows, starts, candidates):
    """For each candidate column: sum of (c log c) differences that H(C | X, B) needs, and rows of the largest classes.

    ``rows`` lists the rows by their configuration of B, and ``starts`` where each configuration begins.
    """
    entropies, hits = np.empty(len(candidates)), np.empty(len(candidates), dtype=np.int64)
    for place in range(len(candidates)):
        column = candidates[place]
        counts = np.zeros((n_levels[column], n_classes))
        total, right = 0.0, 0
        for group in range(len(starts) - 1):
            for at in range(starts[group], starts[group + 1]):
                counts[codes[column, rows[at]], classes[rows[at]]] += 1
            for at in range(starts[group], starts[group + 1]):
                level = codes[column, rows[at]]
                size, largest = 0.0, 0.0
                for c in range(n_classes):
                    count = counts[level, c]
                    if count > 0:
                        total -= count * np.log(count)
                        size += count
                        largest = max(largest, count)
                        counts[level, c] = 0
                if size > 0:
                    total += size * np.log(size)
                    right += int(largest)
        entropies[place], hits[place] = total / len(rows), right
    return entropies, hits


class Configurations:
    """Rows by their joint levels in some columns, which grow one by one."""

    def __init__(self, codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, n_classes: int):
        self._table = codes, n_levels, classes, n_classes
        self.groups = np.zeros(codes.shape[1], dtype=np.int64)

    def add(self, column: int) -> None:
        codes, n_levels, _, _ = self._table
        self.groups = np.unique(self.groups * n_levels[column] + codes[column], return_inverse=True)[1].ravel()

    def with_each(self, candidates: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """``H(C | X, B)`` of each candidate, and the rows that the most frequent class of each configuration has."""
        codes, n_levels, classes, n_classes = self._table
        rows = np.argsort(self.groups, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.groups))])
        return _refined(codes, n_levels, classes, n_classes, rows, starts, np.array(candidates, dtype=np.int64))


def information_order(
    codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, n_classes: int, kind: str, pairs: PairInformation
) -> list[int]:
    """Order of the columns: "omi", "omisp" or "ocr". Ties go to the column that tells more alone, then the first."""
    n_columns = len(codes)
    alone = pairs.about_class.diagonal()
    if n_columns == 1:
        return [0]
    joint = Configurations(codes, n_levels, classes, n_classes)
    order: list[int] = []
    if kind in ("omi", "omisp"):
        both = np.where(np.eye(n_columns, dtype=bool), -1.0, pairs.about_class)
        first, second = np.unravel_index(both.argmax(), both.shape)
        order = [int(first), int(second)] if alone[first] >= alone[second] else [int(second), int(first)]
    for column in order:
        joint.add(column)
    conditional = pairs.conditional()
    saturated = kind == "omisp"
    while len(order) < n_columns:
        rest = [column for column in range(n_columns) if column not in order]
        if saturated:  # every configuration has one class only, or there are too few rows to ask
            worth = [conditional[order, column].max() for column in rest]
            keys = [np.round(worth, 12), alone[rest]]
        else:
            entropies, hits = joint.with_each(rest)
            keys = [-np.round(entropies, 12), alone[rest]]
            if kind == "ocr":
                keys = [hits, *keys]
        column = rest[max(range(len(rest)), key=lambda place: tuple(float(key[place]) for key in keys))]
        order.append(column)
        joint.add(column)
        saturated = saturated or min(entropies) < _ROUNDING
    return order


@dataclass(frozen=True, eq=False)
class Choice:
    """A column with some parents, how many rows are then classified wrong, and how to get the likelihood."""

    n_wrong: int
    column: int
    parents: tuple[int, ...]
    joint: Callable[[], np.ndarray]
    classes: np.ndarray

    @cached_property
    def likelihood(self) -> float:
        """Conditional log-likelihood; only asked for where rates are equal."""
        return conditional_log_likelihood(self.joint(), self.classes)

    def beats(self, other: "Choice | None") -> bool:
        """Fewer rows wrong, or as many and a clearly higher likelihood."""
        if other is None or self.n_wrong != other.n_wrong:
            return other is None or self.n_wrong < other.n_wrong
        return self.likelihood > other.likelihood + 1e-9 * abs(other.likelihood)


class RateSearch:
    """A graph that grows edge by edge, with the log probabilities of all rows at hand.

    Parameters
    ----------
    codes : ndarray of shape (n_columns, n_rows)
        Levels.
    n_levels : ndarray of shape (n_columns,)
        Their numbers.
    classes : ndarray of shape (n_rows,)
        Codes of the classes.
    n_classes : int
        Number of classes.
    fold : ndarray of shape (n_rows,)
        With several folds a row is classified by the tables of the other folds; with one, by those of all rows.
    cell_prior : float
        Added to each count.
    discriminative : bool
        Whether parameters are trained by conditional likelihood before each evaluation.
    """

    def __init__(self, codes, n_levels, classes, n_classes, fold, cell_prior, discriminative=False):
        self.codes, self.n_levels, self.classes, self.n_classes = codes, n_levels, classes, n_classes
        self.fold, self.n_folds, self.cell_prior = fold, int(fold.max()) + 1, cell_prior
        self.discriminative = discriminative
        self.parents: list[tuple[int, ...]] = [() for _ in codes]
        self.order = np.arange(len(classes))
        none = np.zeros_like(classes)
        prior = log_tables(classes, n_classes, none, 1, none, 1, fold, self.n_folds, cell_prior)[:, 0, :, 0]
        self.joint = prior[fold] + sum(self.factor(column, ()) for column in range(len(codes)))
        self._look_again()

    def _look_again(self) -> None:
        if self.discriminative:
            self.n_wrong = self._trained().n_wrong
        else:
            self.n_wrong = errors_first(self.joint, self.classes, self.order)

    def _tables(self, column: int, parents: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        configuration, size = configurations(self.codes, self.n_levels, parents)
        tables = log_tables(
            self.codes[column], int(self.n_levels[column]), configuration, size, self.classes, self.n_classes,
            self.fold, self.n_folds, self.cell_prior,
        )  # fmt: skip
        return tables, configuration

    def factor(self, column: int, parents: tuple[int, ...]) -> np.ndarray:
        """Log theta of a column in each row, for each class."""
        tables, configuration = self._tables(column, parents)
        return factor(tables, self.codes[column], configuration, self.fold)

    def best(
        self, column: int, sets: Iterable[tuple[int, ...]], best: Choice | None = None, *, limit: int | None = None
    ) -> Choice | None:
        """The set of parents of a column with which most rows are classified right, if it beats ``best``.

        At most ``limit`` rows may be wrong; by default, fewer than now.
        """
        limit = self.n_wrong - 1 if limit is None else limit
        rest = None if self.discriminative else self.joint - self.factor(column, self.parents[column])
        for parents in sets:
            at_most = limit if best is None else min(limit, best.n_wrong)
            if self.discriminative:
                choice = self._trained(column, parents)
            else:
                choice = self._evaluated(rest, column, parents, at_most)
            if choice.n_wrong <= at_most and choice.beats(best):
                best = choice
        return best

    def _evaluated(self, rest: Any, column: int, parents: tuple[int, ...], limit: int) -> Choice:
        tables, configuration = self._tables(column, parents)
        child = self.codes[column]
        wrong = n_errors(rest, tables, child, configuration, self.classes, self.fold, self.order, limit)

        def joint() -> np.ndarray:
            return rest + factor(tables, child, configuration, self.fold)

        return Choice(wrong, column, parents, joint, self.classes)

    def _trained(self, column: int = -1, parents: tuple[int, ...] = ()) -> Choice:
        """The same with discriminative parameters, on all rows."""
        graph = [parents if each == column else own for each, own in enumerate(self.parents)]
        network = counted_network(self.codes, self.n_levels, self.classes, self.n_classes, graph, self.cell_prior)
        network, _, _ = discriminative_network(network, self.codes, self.classes, max_iter=_N_DISCRIMINATIVE)
        joint = network.log_joint(self.codes)
        wrong = errors_first(joint, self.classes, np.empty_like(self.order))
        return Choice(wrong, column, parents, lambda: joint, self.classes)

    def accept(self, choice: Choice) -> None:
        """Take the parents that were chosen."""
        if not self.discriminative:
            self.joint += self.factor(choice.column, choice.parents)
            self.joint -= self.factor(choice.column, self.parents[choice.column])
        self.parents[choice.column] = choice.parents
        self._look_again()

    def is_ancestor(self, column: int, of: int) -> bool:
        """Whether a column is another one or among its ancestors, so that an edge to it would close a cycle."""
        reached, todo = {of}, [of]
        while todo:
            for parent in self.parents[todo.pop()]:
                if parent not in reached:
                    reached.add(parent)
                    todo.append(parent)
        return column in reached


OnStep = Callable[[], bool]


def search_in_order(
    search: RateSearch,
    order: list[int],
    max_parents: int,
    candidates: np.ndarray | None,
    literal: bool,
    on_step: OnStep,
) -> None:
    """Parents of each column among the earlier ones; kept if the rate rises.

    ``candidates[i, j]`` says whether i may become a parent of j. As the paper's listing has it (``literal``), the first
    two edges are kept without a test.
    """
    for place in range(1, len(order)):
        column = order[place]
        earlier = [each for each in order[:place] if candidates is None or candidates[each, column]]
        sets = (each for size in range(1, max_parents + 1) for each in combinations(earlier, size))
        choice = search.best(column, sets, limit=len(search.classes) if literal and place <= 2 else None)
        if choice is not None:
            search.accept(choice)
        if on_step():
            return


def search_all_edges(search: RateSearch, max_parents: int, on_step: OnStep) -> None:
    """From no edges, again and again the one that raises the rate most, among all that close no cycle."""
    n_columns = len(search.codes)
    while True:
        best: Choice | None = None
        for column in range(n_columns):
            own = search.parents[column]
            if len(own) < max_parents:
                others = (each for each in range(n_columns) if each not in own and not search.is_ancestor(column, each))
                best = search.best(column, ((*own, each) for each in others), best)
        if best is None:
            return
        search.accept(best)
        if on_step():
            return


def search_super_parents(search: RateSearch, max_parents: int, on_step: OnStep) -> None:
    """The column that serves best as a further parent of all others becomes one of its best child; until no gain."""
    n_columns = len(search.codes)
    # What each column would add to the log probabilities, and to whose parents; a round changes few of these.
    added: list[set[tuple[int, tuple[int, ...]]]] = [set() for _ in range(n_columns)]
    gains = np.zeros((n_columns, *search.joint.shape))
    while True:
        best_key, best_parent = (len(search.classes) + 1, np.inf), -1
        for parent in range(n_columns):
            possible = {
                (each, own)
                for each, own in enumerate(search.parents)
                if len(own) < max_parents and parent not in own and not search.is_ancestor(each, parent)
            }
            for sign, children in ((1, possible - added[parent]), (-1, added[parent] - possible)):
                for each, own in sorted(children):
                    gains[parent] += sign * (search.factor(each, (*own, parent)) - search.factor(each, own))
            added[parent] = possible
            if possible:
                joint = search.joint + gains[parent]
                wrong = errors_first(joint, search.classes, np.empty_like(search.order))
                key = wrong, -conditional_log_likelihood(joint, search.classes)
                if key < best_key:
                    best_key, best_parent = key, parent
        best: Choice | None = None
        for each, own in sorted(added[best_parent]):
            best = search.best(each, [(*own, best_parent)], best)
        if best is None:
            return
        search.accept(best)
        if on_step():
            return


def nearest_candidates(given_class: np.ndarray, n_candidates: int | None) -> np.ndarray | None:
    """For each column the columns with the largest ``I(X_i; X_j | C)``, as a mask; None for all."""
    if n_candidates is None or n_candidates >= len(given_class):
        return None
    weights = np.where(np.eye(len(given_class), dtype=bool), -1.0, given_class)
    chosen = np.argsort(-weights, axis=0, kind="stable")[:n_candidates]
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, chosen, True, axis=0)
    return mask
