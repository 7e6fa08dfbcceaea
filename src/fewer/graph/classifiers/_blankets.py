"""Markov blankets of the class as graphs: which moves lead from one to the next, and how probable each is.

A blanket has parents of the class, children, and further parents of children. It is stored as the parents of the class
and of each child (beside the class itself); every other column is scored without parents. With a pseudo-count a for
each cell, over *all* columns and the class (node i, configuration j of its parents, level k):

    log P(D | G) = sum_ij [lgamma(a_ij) - lgamma(a_ij + N_ij) + sum_k (lgamma(a + N_ijk) - lgamma(a))]

Moves add, delete or reverse one arc. A column that is no child any more loses the arcs that lead to it.

Visweswaran, S. and Cooper, G. F. (2010). Learning instance-specific predictive models. Journal of Machine Learning
Research 11, 3333-3369.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from numba import njit

CLASS = -1
"""The class among the nodes of a graph."""
MISSING = -2
"""Level of a missing entry; -1 is a value that was not seen in training."""
_FACTOR_1 = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_2 = np.uint64(0xD6E8FEB86659FD93)
_S32 = np.uint64(32)

Columns = frozenset[int]


@dataclass(frozen=True)
class MarkovBlanketStructure:
    """A graph around the class.

    Attributes
    ----------
    parents : frozenset of int
        Columns that are parents of the class.
    children : tuple of (int, frozenset of int)
        Each child with its parents beside the class, by column.
    """

    parents: Columns = frozenset()
    children: tuple[tuple[int, Columns], ...] = ()

    def to_lists(self) -> list:
        """The same as plain lists, which can be saved."""
        return [sorted(self.parents), [[child, sorted(own)] for child, own in self.children]]

    @classmethod
    def of_lists(cls, parents: list[int], children: list) -> "MarkovBlanketStructure":
        """From what ``to_lists`` gives."""
        return cls(frozenset(parents), tuple((child, frozenset(own)) for child, own in children))

    @property
    def columns(self) -> Columns:
        """All columns of the blanket."""
        return self.parents.union(*({child} | own for child, own in self.children))

    def families(self) -> tuple[tuple[int, Columns], ...]:
        """The class (-1) and each child with their parents; the class is one of every child's."""
        return ((CLASS, self.parents), *self.children)

    def moves(self, n_columns: int) -> Iterator[tuple[Columns, dict[int, Columns | None]]]:
        """What every move leads to: parents of the class, and the children that change (None: no child any more)."""
        families = dict(self.children)
        for column in range(n_columns):
            if column in self.parents:
                yield self.parents - {column}, {}
                yield self.parents - {column}, {column: frozenset()}
            elif column in families:
                yield self.parents, {column: None}
                yield self.parents | {column}, {column: None}
            else:
                yield self.parents | {column}, {}
                yield self.parents, {column: frozenset()}
        above = ancestors(families)
        for child, own in self.children:
            for column in range(n_columns):
                if column in own:
                    rest = own - {column}
                    yield self.parents, {child: rest}
                    # Another way from the column to the child would close a cycle with the arc reversed.
                    if column in families and not any(column in above[each] for each in rest if each in above):
                        yield self.parents, {child: rest, column: families[column] | {child}}
                elif column != child and child not in above.get(column, ()):
                    yield self.parents, {child: own | {column}}

    def successors(self, n_columns: int) -> Iterator["MarkovBlanketStructure"]:
        """Every graph that one move leads to."""
        families = dict(self.children)
        for parents, changed in self.moves(n_columns):
            children = [(child, own) for child, own in (families | changed).items() if own is not None]
            yield MarkovBlanketStructure(parents, tuple(sorted(children)))


def ancestors(families: dict[int, Columns]) -> dict[int, Columns]:
    """All children from which arcs lead to each child, directly or not."""
    found: dict[int, Columns] = {}

    def above(child: int) -> Columns:
        if child not in found:
            near = families[child] & families.keys()
            found[child] = near.union(*(above(each) for each in near))
        return found[child]

    for child in families:
        above(child)
    return found


def is_acyclic(families: dict[int, Columns]) -> bool:
    """Whether arcs among children close no cycle; other columns have no parents."""
    waiting = {child: own & families.keys() for child, own in families.items()}
    while waiting:
        free = {child for child, own in waiting.items() if not own}
        if not free:
            return False
        waiting = {child: own - free for child, own in waiting.items() if child not in free}
    return True


def all_blankets(n_columns: int) -> Iterator[MarkovBlanketStructure]:
    """Every blanket of the class among a few columns."""
    for roles in product("PCO", repeat=n_columns):
        parents = frozenset(column for column in range(n_columns) if roles[column] == "P")
        children = [column for column in range(n_columns) if roles[column] == "C"]
        # Columns outside may become parents of children, so that each blanket comes up once.
        choices = [
            [
                frozenset(own)
                for size in range(n_columns)
                for own in combinations([column for column in range(n_columns) if column != child], size)
            ]
            for child in children
        ]
        for own in product(*choices):
            families = dict(zip(children, own, strict=True))
            if is_acyclic(families):
                yield MarkovBlanketStructure(parents, tuple(sorted(families.items())))


@njit(cache=True, nogil=True)
def family_score(codes, node, n_node, parents, cell_prior):
    """Log marginal likelihood of one node given its parents; configurations that do not occur add nothing.

    ``codes`` has a row for each node, ``parents`` are rows.
    """
    n_rows = codes.shape[1]
    keys = np.zeros(n_rows, dtype=np.uint64)
    for parent in parents:
        for row in range(n_rows):
            key = (keys[row] ^ (keys[row] >> _S32)) * _FACTOR_1
            keys[row] = (key ^ (key >> _S32)) * _FACTOR_2 + np.uint64(codes[parent, row] + 1)
    order = np.argsort(keys)
    counts = np.zeros(n_node, dtype=np.int64)
    base, base_row = math.lgamma(cell_prior), math.lgamma(cell_prior * n_node)
    score, start = 0.0, 0
    while start < n_rows:
        stop = start
        counts[:] = 0
        while stop < n_rows and keys[order[stop]] == keys[order[start]]:
            counts[codes[node, order[stop]]] += 1
            stop += 1
        score += base_row - math.lgamma(cell_prior * n_node + stop - start)
        for count in counts:
            if count:
                score += math.lgamma(cell_prior + count) - base
        start = stop
    return score


@njit(cache=True, nogil=True)
def _row_families(codes, row_codes, n_levels, nodes, starts, parents, wanted, cell_prior, found):
    """Write ``log theta`` of some families at a row, for each class; the last row of ``codes`` is the class.

    ``theta = (a + N_ijk) / (r a + N_ij)``; a level or configuration that was never seen has a count of 0. The parents
    of family f, beside the class, are ``parents[starts[f] : starts[f + 1]]``.
    """
    target, n_rows = codes.shape[0] - 1, codes.shape[1]
    n_classes = n_levels[target]
    hits, totals = np.empty(n_classes), np.empty(n_classes)
    for family in wanted:
        node = nodes[family]
        if node != target and row_codes[node] == MISSING:
            found[family] = 0  # summed over all levels of the node, theta is 1
            continue
        hits[:] = 0
        totals[:] = 0
        for row in range(n_rows):
            same = True
            for place in range(starts[family], starts[family + 1]):
                same = same and codes[parents[place], row] == row_codes[parents[place]]
            if same:
                totals[codes[target, row]] += 1
                if node != target and codes[node, row] == row_codes[node]:
                    hits[codes[target, row]] += 1
        n_all = totals.sum()
        for c in range(n_classes):
            if node == target:
                found[family, c] = np.log((cell_prior + totals[c]) / (n_classes * cell_prior + n_all))
            else:
                found[family, c] = np.log((cell_prior + hits[c]) / (n_levels[node] * cell_prior + totals[c]))


class BlanketScores:
    """Blankets that were met on a training table, by number, with their scores; every family is counted once.

    A family is a node with its parents; a blanket is kept as the numbers of its families, that of the class first.

    Parameters
    ----------
    codes : ndarray of shape (n_columns + 1, n_rows)
        Levels of the columns, and the classes in the last row.
    n_levels : ndarray of shape (n_columns + 1,)
        Numbers of levels.
    cell_prior : float
        Pseudo-count of each cell.
    """

    def __init__(self, codes: np.ndarray, n_levels: np.ndarray, cell_prior: float):
        if (codes < 0).any() or (codes >= np.reshape(n_levels, (-1, 1))).any():
            raise ValueError("Levels must be 0, 1, ... below their number: compiled loops count into tables by them.")
        self.codes, self.n_levels, self.cell_prior = codes, n_levels, cell_prior
        self.n_columns = len(codes) - 1
        self.scores: list[float] = []
        self._keys: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._families: list[tuple[int, Columns]] = []
        self._family_numbers: dict[tuple[int, Columns], int] = {}
        self._gains: list[float] = []
        self._successors: dict[int, np.ndarray] = {}
        # Columns outside of a blanket have no parents; a child adds the difference from that.
        self._alone = [self._score(column, []) for column in range(self.n_columns)]
        self._outside = sum(self._alone)

    def _score(self, node: int, parents: list[int]) -> float:
        own = np.array(parents, dtype=np.int64)
        return family_score(self.codes, node, int(self.n_levels[node]), own, self.cell_prior)

    def _family(self, node: int, parents: Columns) -> int:
        key = node, parents
        number = self._family_numbers.get(key)
        if number is None:
            if node == CLASS:
                gain = self._score(self.n_columns, sorted(parents))
            else:
                gain = self._score(node, [*sorted(parents), self.n_columns]) - self._alone[node]
            number = self._family_numbers[key] = len(self._gains)
            self._families.append(key)
            self._gains.append(gain)
        return number

    def _numbered(self, of_class: int, of_children: list[int]) -> int:
        key = (of_class, *sorted(of_children))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self.scores.append(self._outside + sum(self._gains[family] for family in key))
        return number

    def number(self, model: MarkovBlanketStructure) -> int:
        """Number of a blanket, new or met before."""
        return self._numbered(self._family(CLASS, model.parents), [self._family(*each) for each in model.children])

    def model(self, number: int) -> MarkovBlanketStructure:
        """The blanket of a number."""
        (_, parents), *children = (self._families[family] for family in self._keys[number])
        return MarkovBlanketStructure(parents, tuple(sorted(children)))

    def score(self, model: MarkovBlanketStructure) -> float:
        """Log probability of the training table, all columns included."""
        return self.scores[self.number(model)]

    def scores_of(self, numbers: np.ndarray) -> np.ndarray:
        """Scores of blankets by number."""
        return np.array([self.scores[number] for number in numbers])

    def successors(self, number: int) -> np.ndarray:
        """Numbers of the blankets that one move leads to, each once."""
        if number not in self._successors:
            model, (of_class, *of_children) = self.model(number), self._keys[number]
            places = {self._families[family][0]: family for family in of_children}
            found = []
            for parents, changed in model.moves(self.n_columns):
                kept = [family for child, family in places.items() if child not in changed]
                new = [self._family(child, own) for child, own in changed.items() if own is not None]
                own_class = of_class if parents is model.parents else self._family(CLASS, parents)
                found.append(self._numbered(own_class, kept + new))
            self._successors[number] = np.array(list(dict.fromkeys(found)), dtype=np.int64)
        return self._successors[number]

    def climb(self) -> list[int]:
        """From the blanket without columns, always to the best successor, as long as that is better."""
        path = [self.number(MarkovBlanketStructure())]
        while True:
            found = self.successors(path[-1])
            scores = self.scores_of(found)
            if not len(found) or scores.max() <= self.scores[path[-1]] + 1e-9:
                return path
            path.append(int(found[scores.argmax()]))

    def family_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Node of each family, where its parents begin, and the parents."""
        nodes = np.array([self.n_columns if node == CLASS else node for node, _ in self._families], dtype=np.int64)
        sizes = [len(own) for _, own in self._families]
        parents = [column for _, own in self._families for column in own]
        return nodes, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.array(parents, dtype=np.int64)

    def log_share(self, column: int, level: int) -> float:
        """Log probability of a level of a column without parents."""
        counts = np.bincount(self.codes[column], minlength=int(self.n_levels[column])) + self.cell_prior
        return float(np.log(counts[level] / counts.sum()))

    @property
    def n_families(self) -> int:
        """Families that were met."""
        return len(self._gains)

    def families_of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Families of blankets one after the other, and where each blanket begins."""
        keys = [self._keys[number] for number in numbers]
        sizes = np.array([len(key) for key in keys])
        return np.fromiter(chain.from_iterable(keys), dtype=np.int64, count=sizes.sum()), np.cumsum(sizes) - sizes


class RowProba:
    """``P(c | x, G)`` of one row in any blanket, with every family looked up once.

    Missing entries (``MISSING``) are summed out of each blanket: those of children without children of their own have
    no effect, and all levels are tried for the others.
    """

    def __init__(self, scores: BlanketScores, row_codes: np.ndarray):
        self._scores, self._row_codes = scores, row_codes
        self._found = np.zeros((0, int(scores.n_levels[-1])))
        self._known = np.zeros(0, dtype=bool)
        self._missing = frozenset(np.flatnonzero(row_codes == MISSING).tolist())
        self._completed: dict[tuple[tuple[int, int], ...], RowProba] = {}

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """A row for each blanket."""
        joint = self._summed_out(numbers) if self._missing else self._log_joint(numbers)
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True)

    def _log_joint(self, numbers: np.ndarray) -> np.ndarray:
        """Log probability of each class with the children's levels, given the other columns."""
        scores = self._scores
        families, starts = scores.families_of(numbers)
        more = scores.n_families - len(self._known)
        if more:
            self._known = np.pad(self._known, (0, more))
            self._found = np.vstack([self._found, np.zeros((more, self._found.shape[1]))])
            self._arrays = scores.family_arrays()
        wanted = np.unique(families)
        wanted = wanted[~self._known[wanted]]
        if len(wanted):
            _row_families(
                scores.codes, self._row_codes, scores.n_levels, *self._arrays, wanted, scores.cell_prior, self._found
            )
            self._known[wanted] = True
        return np.add.reduceat(self._found[families], starts)

    def _summed_out(self, numbers: np.ndarray) -> np.ndarray:
        """The same, summed over the levels of missing columns; those without parents have their own distribution."""
        groups: dict[tuple[int, ...], list[int]] = {}
        children = []
        for place, number in enumerate(numbers):
            model = self._scores.model(number)
            given = model.parents.union(*(own for _, own in model.children))
            groups.setdefault(tuple(sorted(self._missing & given)), []).append(place)
            children.append({child for child, _ in model.children})
        joint = np.empty((len(numbers), self._found.shape[1]))
        for columns, places in groups.items():
            parts = []
            for levels in product(*(range(int(self._scores.n_levels[column])) for column in columns)):
                own = self._with(columns, levels)._log_joint(numbers[places])
                for column, level in zip(columns, levels, strict=True):
                    without_parents = np.array([column not in children[place] for place in places])
                    own = own + np.where(without_parents, self._scores.log_share(column, level), 0.0)[:, None]
                parts.append(own)
            joint[places] = np.logaddexp.reduce(parts)
        return joint

    def _with(self, columns: tuple[int, ...], levels: tuple[int, ...]) -> "RowProba":
        """The row with given levels of some missing columns."""
        key = tuple(zip(columns, levels, strict=True))
        if key not in self._completed:
            codes = self._row_codes.copy()
            codes[list(columns)] = levels
            self._completed[key] = RowProba(self._scores, codes)
        return self._completed[key]
