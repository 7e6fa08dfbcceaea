"""Columns as levels, and conditional probability tables of a classifier that is a graph.

Columns have levels 0, 1, ...: measurements are cut, codes are taken as they are. What is missing or was never seen in
training has level -1. The class C is a parent of every column, so that

    P(c, x) = P(c) prod_j theta_j(x_j | parents of j, c).

A table has the axes (configuration of the parents, level, class), and entries are logarithms. *By counting*, theta is a
share of rows; shares of 0 become 1e-5, and rows sum to 1. *By conditional likelihood*, with ``theta = softmax(beta)``
over levels and ``W_mc = P(c | x_m)``,

    d/dbeta_i|h  sum_m log P(c_m | x_m) = a_i|h - theta_i|h sum_l a_l|h,   a_i|h = sum_m 1[i, h]_m (1[c_m = c] - W_mc).

Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian network
classifiers. Journal of Machine Learning Research 11, 2323-2360.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy.special import logsumexp

from fewer._estimators import known_column, warn_caller
from fewer._kernels._cuts import Discretisation, column_cuts
from fewer._kernels._scipy_solvers import minimize
from fewer._wording import counted

MOST_VALUES = 10
"""With ``discrete="auto"``, columns of at most so many values are taken as codes."""


@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """How entries become levels.

    Attributes
    ----------
    marks : list of ndarray
        Sorted values of a column of codes, or cuts of one of measurements.
    discrete : ndarray of bool
        Which columns hold codes.
    """

    marks: list[np.ndarray]
    discrete: np.ndarray

    @property
    def n_levels(self) -> np.ndarray:
        """Levels of each column."""
        return np.array([len(each) for each in self.marks], dtype=np.int64) + ~self.discrete

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Level of each entry, ``(n_rows, n_columns)``; -1 where it is missing or a value that was not seen."""
        found = np.empty(X.shape, dtype=np.int64)
        for column, (marks, discrete) in enumerate(zip(self.marks, self.discrete, strict=True)):
            entries = X[:, column]
            levels = np.searchsorted(marks, entries)
            if discrete:
                known = marks[np.minimum(levels, len(marks) - 1)] == entries
                levels = np.where(known, levels, -1)
            found[:, column] = np.where(np.isnan(entries), -1, levels)
        return found


def column_coding(
    X: np.ndarray, classes: np.ndarray, *, discrete: Any, method: Discretisation, n_bins: int
) -> ColumnCoding:
    """Coding of a complete table, by its classes where cuts depend on them."""
    n_columns = X.shape[1]
    if isinstance(discrete, str):  # "auto"
        values = [np.unique(column) for column in X.T]
        mask = np.array([len(each) <= MOST_VALUES for each in values])
    else:
        mask = np.broadcast_to(np.asarray(discrete, dtype=bool), n_columns).copy()
        values = [np.unique(column) if each else np.zeros(0) for column, each in zip(X.T, mask, strict=True)]
    measured = np.flatnonzero(~mask)
    cuts = column_cuts(X[:, measured], classes, method=method, n_bins=n_bins) if len(measured) else []
    marks = [each.astype(np.float64) for each in values]
    for column, own in zip(measured, cuts, strict=True):
        marks[column] = own
    return ColumnCoding(marks, mask)


def check_mask(discrete: Any, n_columns: int) -> None:
    """Refuse a mask of another length."""
    if not isinstance(discrete, str | bool) and np.shape(discrete) != (n_columns,):
        raise ValueError(
            f"discrete has shape {np.shape(discrete)}, and X {n_columns} columns: give 'auto', True, False or a mask."
        )


def complete_rows(X: np.ndarray, y: np.ndarray, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows without missing values; how many are left out is reported."""
    missing = np.isnan(X)
    rows = missing.any(axis=1)
    if not rows.any():
        return X, y
    worst = int(missing.sum(axis=0).argmax())
    name = known_column(worst, X.shape[1])
    if rows.all() or len(np.unique(y[~rows])) < len(np.unique(y)):
        raise ValueError(
            f"Input X contains NaN in {counted(int(rows.sum()), 'row')}, most often in column {name}, so that "
            f"{'no row is' if rows.all() else 'not every class has a row that is'} complete. {who} learns from rows "
            "without missing values: impute them first, or drop that column."
        )
    warn_caller(
        f"{counted(int(rows.sum()), 'row')} of {len(X):,} {'has' if rows.sum() == 1 else 'have'} missing values, most "
        f"often in column {name}; {who} learns from the others. In new rows missing values are summed out exactly."
    )
    return X[~rows], y[~rows]


FLOOR = 1e-5
"""What a share of 0 becomes (the paper's value)."""
_TIE = 1e-9
"""Log probabilities closer than this are equal: the first class wins, whatever rounding says."""


@njit(cache=True, nogil=True)
def log_tables(child, n_child, configuration, n_configurations, classes, n_classes, fold, n_folds, cell_prior):
    """Tables by counting, ``(n_folds, configuration, level, class)``; with several folds, each without its own rows.

    ``cell_prior`` is added to each count; where it is 0, shares of 0 become 1e-5 instead.
    """
    counts = np.zeros((n_folds, n_configurations, n_child, n_classes))
    for row in range(len(child)):
        counts[fold[row], configuration[row], child[row], classes[row]] += 1
    tables = np.empty((n_folds, n_configurations, n_child, n_classes))
    for f in range(n_folds):
        for q in range(n_configurations):
            for c in range(n_classes):
                total = 0.0
                for level in range(n_child):
                    count = counts[f, q, level, c]
                    if n_folds > 1:
                        count = -count
                        for other in range(n_folds):
                            count += counts[other, q, level, c]
                    tables[f, q, level, c] = count
                    total += count
                shares = 0.0
                for level in range(n_child):
                    if cell_prior > 0:
                        share = (tables[f, q, level, c] + cell_prior) / (total + n_child * cell_prior)
                    elif total == 0:
                        share = 1.0 / n_child
                    else:
                        share = max(tables[f, q, level, c] / total, FLOOR)
                    tables[f, q, level, c] = share
                    shares += share
                for level in range(n_child):
                    tables[f, q, level, c] = np.log(tables[f, q, level, c] / shares)
    return tables


@njit(cache=True, nogil=True)
def factor(tables, child, configuration, fold):
    """Log theta of each row's entry for each class."""
    found = np.empty((len(child), tables.shape[3]))
    for row in range(len(child)):
        for c in range(tables.shape[3]):
            found[row, c] = tables[fold[row], configuration[row], child[row], c]
    return found


@njit(cache=True, nogil=True)
def is_right(joint, label):
    """Whether a class has the largest log probability; of equal ones the first counts."""
    right = True
    for c in range(len(joint)):
        tie = _TIE if c > label else -_TIE
        right = right and (c == label or joint[c] <= joint[label] + tie)
    return right


@njit(cache=True, nogil=True)
def n_errors(rest, tables, child, configuration, classes, fold, order, limit):
    """Rows that are classified wrong with a factor added to ``rest``; ``limit + 1`` as soon as there are more."""
    wrong = 0
    joint = np.empty(rest.shape[1])
    for row in order:
        for c in range(len(joint)):
            joint[c] = rest[row, c] + tables[fold[row], configuration[row], child[row], c]
        if not is_right(joint, classes[row]):
            wrong += 1
            if wrong > limit:
                break
    return wrong


@njit(cache=True, nogil=True)
def errors_first(joint, classes, order):
    """Write the rows into an order in which those classified wrong come first; returns how many these are."""
    wrong = 0
    for row in range(len(classes)):
        if not is_right(joint[row], classes[row]):
            order[wrong] = row
            wrong += 1
    place = wrong
    for row in range(len(classes)):
        if is_right(joint[row], classes[row]):
            order[place] = row
            place += 1
    return wrong


@njit(cache=True, nogil=True)
def conditional_log_likelihood(joint, classes):
    """Sum of ``log P(c_m | x_m)`` over the rows."""
    likelihood = 0.0
    for row in range(len(classes)):
        largest = joint[row].max()
        total = 0.0
        for c in range(joint.shape[1]):
            total += np.exp(joint[row, c] - largest)
        likelihood += joint[row, classes[row]] - largest - np.log(total)
    return likelihood


def configurations(codes: np.ndarray, n_levels: np.ndarray, parents: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Number of the parents' joint level in each row, and how many there are. ``codes`` has a row for each column."""
    found, size = np.zeros(codes.shape[1], dtype=np.int64), 1
    for parent in parents:
        found = found * n_levels[parent] + codes[parent]
        size *= int(n_levels[parent])
    return found, size


@dataclass(frozen=True, eq=False)
class Network:
    """A graph with its tables.

    Attributes
    ----------
    parents : list of tuple of int
        Parents of each column among the columns.
    n_levels : ndarray of shape (n_columns,)
        Levels of each column.
    log_prior : ndarray of shape (n_classes,)
        Log probability of each class.
    tables : list of ndarray
        Log theta of each column, (configuration, level, class).
    """

    parents: list[tuple[int, ...]]
    n_levels: np.ndarray
    log_prior: np.ndarray
    tables: list[np.ndarray]

    @property
    def n_parameters(self) -> int:
        """Probabilities that are free."""
        n_classes = len(self.log_prior)
        return n_classes - 1 + sum(len(table) * (table.shape[1] - 1) * n_classes for table in self.tables)

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """``log P(c, x)`` of each row and class; columns with level -1 are summed out. A row of codes is a column."""
        missing = codes < 0
        if not missing.any():
            return self._of_complete(codes)
        found = np.empty((codes.shape[1], len(self.log_prior)))
        patterns, which = np.unique(missing, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            rows = np.flatnonzero(which.ravel() == number)
            found[rows] = self._with_missing(codes[:, rows], patterns[:, number])
        return found

    def _of_complete(self, codes: np.ndarray) -> np.ndarray:
        joint = np.repeat(self.log_prior[None], codes.shape[1], axis=0)
        for column, parents in enumerate(self.parents):
            configuration, _ = configurations(codes, self.n_levels, parents)
            joint += self.tables[column][configuration, codes[column]]
        return joint

    def _with_missing(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The same for rows in which the same columns are missing, by eliminating these one by one.

        A missing column without observed descendants sums to 1, so that it is left out. Children go before parents.
        """
        order = children_first(self.parents)
        needed = ~missing
        for column in order:
            if needed[column]:
                needed[list(self.parents[column])] = True
        joint = np.repeat(self.log_prior[None], codes.shape[1], axis=0)
        factors: list[tuple[tuple[int, ...], np.ndarray]] = []
        for column in np.flatnonzero(needed).tolist():
            scope = (*self.parents[column], column)
            hidden = tuple(each for each in scope if missing[each])
            table = self._restricted(column, scope, codes, hidden)
            if hidden:
                factors.append((hidden, np.exp(table)))
            else:
                joint += table
        for column in order:
            if missing[column] and needed[column]:
                joined = [each for each in factors if column in each[0]]
                factors = [each for each in factors if column not in each[0]]
                scope, product = _summed_out(joined, column)
                if scope:
                    factors.append((scope, product))
                else:
                    joint += np.log(product)
        return joint

    def _restricted(self, column: int, scope: tuple[int, ...], codes: np.ndarray, hidden: tuple[int, ...]) -> Any:
        """Log theta at what is observed: (row, hidden columns ..., class)."""
        n_hidden = len(hidden)
        table = self.tables[column].reshape([self.n_levels[each] for each in scope] + [len(self.log_prior)])
        index = []
        for each in scope:
            shape = [1] * (n_hidden + 2)
            if each in hidden:
                shape[1 + hidden.index(each)] = self.n_levels[each]
                index.append(np.arange(self.n_levels[each]).reshape(shape))
            else:
                shape[0] = codes.shape[1]
                index.append(codes[each].reshape(shape))
        return table[(*index, np.arange(len(self.log_prior)))]


def _summed_out(factors: list[tuple[tuple[int, ...], np.ndarray]], column: int) -> tuple[tuple[int, ...], np.ndarray]:
    """Product of factors, summed over one column; axes are (row, columns ..., class)."""
    scope = sorted({each for own, _ in factors for each in own})
    axis = {each: place + 2 for place, each in enumerate(scope)}
    operands: list[Any] = []
    for own, values in factors:
        operands += [values, [0, *(axis[each] for each in own), 1]]
    left = tuple(each for each in scope if each != column)
    return left, np.einsum(*operands, [0, *(axis[each] for each in left), 1])


def children_first(parents: list[tuple[int, ...]]) -> list[int]:
    """All columns, each before its parents; an error names a cycle."""
    waiting = np.bincount([each for own in parents for each in own], minlength=len(parents))
    ready, order = [column for column in range(len(parents)) if waiting[column] == 0], []
    while ready:
        column = ready.pop()
        order.append(column)
        for parent in parents[column]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready.append(parent)
    if len(order) < len(parents):
        raise ValueError(f"The edges have a cycle among columns {np.flatnonzero(waiting).tolist()}.")
    return order


def counted_network(
    codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, n_classes: int, parents: Any, cell_prior: float
) -> Network:
    """The network of given parents with tables by counting."""
    fold = np.zeros(len(classes), dtype=np.int64)
    tables = []
    for column, own in enumerate(parents):
        configuration, size = configurations(codes, n_levels, own)
        table = log_tables(
            codes[column], int(n_levels[column]), configuration, size, classes, n_classes, fold, 1, cell_prior
        )
        tables.append(table[0])
    shares = np.bincount(classes, minlength=n_classes) + cell_prior
    return Network([tuple(own) for own in parents], n_levels, np.log(shares / shares.sum()), tables)


@njit(cache=True, nogil=True)
def _likelihood_slopes(log_theta, cells, classes, n_classes):
    """Conditional log-likelihood, and ``a`` of every cell; ``cells[column, row]`` is where a row's classes begin.

    The last ``n_classes`` entries are the log prior.
    """
    n_columns, n_rows = cells.shape
    slopes = np.zeros(len(log_theta))
    joint = np.empty(n_classes)
    prior = len(log_theta) - n_classes
    likelihood = 0.0
    for row in range(n_rows):
        for c in range(n_classes):
            joint[c] = log_theta[prior + c]
        for column in range(n_columns):
            for c in range(n_classes):
                joint[c] += log_theta[cells[column, row] + c]
        largest = joint.max()
        total = 0.0
        for c in range(n_classes):
            total += np.exp(joint[c] - largest)
        likelihood += joint[classes[row]] - largest - np.log(total)
        for c in range(n_classes):
            joint[c] = (1.0 if c == classes[row] else 0.0) - np.exp(joint[c] - largest) / total
            slopes[prior + c] += joint[c]
        for column in range(n_columns):
            for c in range(n_classes):
                slopes[cells[column, row] + c] += joint[c]
    return likelihood, slopes


@dataclass(frozen=True, eq=False)
class ConditionalLikelihood:
    """The conditional log-likelihood of rows as a function of beta, one vector for all tables and the prior."""

    network: Network
    cells: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, network: Network, codes: np.ndarray, classes: np.ndarray) -> "ConditionalLikelihood":
        n_classes, start, cells = len(network.log_prior), 0, []
        for column, parents in enumerate(network.parents):
            configuration, _ = configurations(codes, network.n_levels, parents)
            cells.append(start + (configuration * network.n_levels[column] + codes[column]) * n_classes)
            start += network.tables[column].size
        return cls(network, np.array(cells, dtype=np.int64).reshape(len(cells), len(classes)), classes)

    def start(self) -> np.ndarray:
        """Log of the network's own tables."""
        return np.concatenate([*(table.ravel() for table in self.network.tables), self.network.log_prior])

    def network_of(self, beta: np.ndarray) -> Network:
        """The network with tables ``softmax(beta)``."""
        tables, begin = [], 0
        for table in self.network.tables:
            own = beta[begin : begin + table.size].reshape(table.shape)
            tables.append(own - logsumexp(own, axis=1, keepdims=True))
            begin += table.size
        prior = beta[begin:] - logsumexp(beta[begin:])
        return Network(self.network.parents, self.network.n_levels, prior, tables)

    def value_and_gradient(self, beta: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum over rows, and its derivative by beta."""
        network, n_classes = self.network_of(beta), len(self.network.log_prior)
        log_theta = np.concatenate([*(table.ravel() for table in network.tables), network.log_prior])
        value, slopes = _likelihood_slopes(log_theta, self.cells, self.classes, n_classes)
        begin = 0
        for table in network.tables:
            own = slopes[begin : begin + table.size].reshape(table.shape)
            own -= np.exp(table) * own.sum(axis=1, keepdims=True)
            begin += table.size
        return value, slopes  # slopes of the prior sum to 0, so that nothing is taken from them


def discriminative_network(
    network: Network,
    codes: np.ndarray,
    classes: np.ndarray,
    *,
    alpha: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-6,
    on_step: Callable[[Network], bool] = lambda network: False,
) -> tuple[Network, int, bool]:
    """Tables that maximise the conditional likelihood, from those of a network; iterations; whether they converged."""
    likelihood = ConditionalLikelihood.of(network, codes, classes)

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = likelihood.value_and_gradient(beta)
        return (alpha * beta @ beta - value) / len(classes), (2 * alpha * beta - slopes) / len(classes)

    def callback(beta: np.ndarray) -> None:
        if on_step(likelihood.network_of(beta)):
            raise StopIteration

    found = minimize(
        loss, likelihood.start(), jac=True, method="L-BFGS-B", callback=callback,
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-15, "maxcor": 20, "maxfun": 20 * max_iter},
    )  # fmt: skip
    return likelihood.network_of(found.x), int(found.nit), found.nit < max_iter
