"""What is known of hidden components on average, as linear constraints or penalties on their posteriors q.

    E_q[phi] <= b,    E_q[phi] = sum_i sum_y q_i(y) phi_i(y),

row by row of ``phi``; and group sparsity, ``alpha sum_{g,t} max_{i in g} q_i(t)``. A constraint is a small object that
knows neither rows nor models: it becomes a *term* of the projection (`_projection.py`) when the rows are there.
Constraints combine freely, in a list.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from fewer._kernels._arrays import read_only
from fewer.catalogue import method


class Setting(NamedTuple):
    """What a constraint is resolved against: numbers of rows and components, and the columns of a frame by name."""

    n_rows: int
    n_components: int
    column: Callable[[str], np.ndarray]


class LinearRows(NamedTuple):
    """Rows of ``E_q[phi] <= b``: a sparse matrix (m, n k), bounds (m,), and which of them are equations."""

    phi: sparse.csr_array
    b: np.ndarray
    equality: np.ndarray


def _row_numbers(rows: Any, setting: Setting) -> np.ndarray:
    """Row numbers from a mask, from numbers, or from the name of a column and the value that it has in these rows."""
    if isinstance(rows, tuple) and len(rows) == 2 and isinstance(rows[0], str):
        name, value = rows
        found = np.flatnonzero(np.asarray(setting.column(name) == value, dtype=bool))
        if not len(found):
            raise ValueError(f"A constraint is about the rows in which column {name!r} is {value!r}; there are none.")
        return found
    given = np.asarray(rows)
    if given.dtype == bool:
        if given.shape != (setting.n_rows,):
            raise ValueError(f"A constraint has a mask of {given.size} rows, and the table has {setting.n_rows}.")
        given = np.flatnonzero(given)
    if given.size == 0:
        raise ValueError("A constraint is about no row at all.")
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise ValueError(
            "rows of a constraint must be a mask, row numbers, or the name of a column and a value such as "
            f"('bag', 'A'), not {rows!r}."
        )
    if given.min() < 0 or given.max() >= setting.n_rows:
        raise ValueError(f"A constraint is about row {int(given.max())}, and the table has {setting.n_rows} rows.")
    return np.unique(given)


def _checked_component(component: Any, setting: Setting) -> int:
    if not 0 <= int(component) < setting.n_components:
        raise ValueError(
            f"A constraint is about component {component}, and the components are numbered 0 to "
            f"{setting.n_components - 1}."
        )
    return int(component)


def _shares_of(rows: np.ndarray, component: int, weight: float, setting: Setting) -> sparse.csr_array:
    """One row of phi: ``weight`` for the given rows in the given component."""
    places = rows * setting.n_components + component
    data = (np.full(len(rows), weight), (np.zeros(len(rows), dtype=np.int64), places))
    return sparse.csr_array(data, shape=(1, setting.n_rows * setting.n_components))


class Constraint:
    """Base of all: which columns of a frame it names, and its rows or penalty for a table."""

    def column_names(self) -> set[str]:
        """Columns of a frame that it is about; the model does not use them."""
        return set()

    @property
    def holds_elsewhere(self) -> bool:
        """Whether it can be applied to rows of another table, since it finds them by the name of a column."""
        return False

    def linear_rows(self, setting: Setting) -> LinearRows | None:
        """Its rows of ``E_q[phi] <= b``; None for a penalty."""
        raise NotImplementedError


@dataclass
class ProportionConstraint(Constraint):
    """Share of rows in a component, at least ``lower`` and at most ``upper``.

    Parameters
    ----------
    rows : array-like or tuple (str, value)
        A mask, row numbers, or the name of a column and the value that it has in these rows: ``("bag", "A")``.
    component : int
        Number of the component.
    lower : float, default=0.0
        Smallest mean of ``q(component)`` over the rows.
    upper : float, default=1.0
        Largest mean. The same as ``lower`` makes it an equation.

    Examples
    --------
    At least 75% of bag A are of component 1.

    >>> from fewer.latent import ProportionConstraint
    >>> ProportionConstraint(("bag", "A"), component=1, lower=0.75)
    ProportionConstraint(rows=('bag', 'A'), component=1, lower=0.75, upper=1.0)
    """

    rows: Any
    component: int
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise ValueError(f"A share is between 0 <= lower <= upper <= 1, not {self.lower} and {self.upper}.")

    def column_names(self) -> set[str]:
        return _name_of(self.rows)

    @property
    def holds_elsewhere(self) -> bool:
        return bool(self.column_names())

    def linear_rows(self, setting: Setting) -> LinearRows:
        rows = _row_numbers(self.rows, setting)
        component = _checked_component(self.component, setting)
        share = _shares_of(rows, component, 1 / len(rows), setting)
        if self.lower == self.upper:
            return LinearRows(share, np.array([self.upper]), np.array([True]))
        parts, bounds = [], []
        if self.lower > 0:
            parts, bounds = [-share], [-self.lower]
        if self.upper < 1:
            parts, bounds = [*parts, share], [*bounds, self.upper]
        if not parts:
            return _no_rows(setting)
        return LinearRows(sparse.csr_array(sparse.vstack(parts)), np.array(bounds), np.zeros(len(bounds), dtype=bool))


@dataclass
class AtMostCount(Constraint):
    """Expected number of rows in a component, at most ``count``.

    Parameters
    ----------
    rows : array-like or tuple (str, value)
        A mask, row numbers, or the name of a column and the value that it has in these rows.
    component : int
        Number of the component.
    count : float, default=1.0
        Largest sum of ``q(component)`` over the rows.

    Examples
    --------
    >>> from fewer.latent import AtMostCount
    >>> AtMostCount([0, 1, 2], component=0)
    AtMostCount(rows=[0, 1, 2], component=0, count=1.0)
    """

    rows: Any
    component: int
    count: float = 1.0

    def column_names(self) -> set[str]:
        return _name_of(self.rows)

    @property
    def holds_elsewhere(self) -> bool:
        return bool(self.column_names())

    def linear_rows(self, setting: Setting) -> LinearRows:
        rows = _row_numbers(self.rows, setting)
        share = _shares_of(rows, _checked_component(self.component, setting), 1.0, setting)
        return LinearRows(share, np.array([float(self.count)]), np.array([False]))


@dataclass
class LinearConstraint(Constraint):
    """Any linear function of the posteriors: ``sum_i sum_y q_i(y) phi_i(y) <= b``, or ``=``.

    Parameters
    ----------
    phi : array-like of shape (n_samples, n_components) or (m, n_samples, n_components), or str
        What each row counts in each component, of one constraint or of several. The name of a column: its values count
        in ``component``, so that its total there is bounded.
    b : float or array-like of shape (m,)
        Bounds.
    component : int, default=None
        With the name of a column: the component.
    equality : bool, default=False
        Whether the sums have to be equal to ``b``.

    Examples
    --------
    >>> from fewer.latent import LinearConstraint, kl_project
    >>> kl_project([[0.5, 0.3, 0.2]], LinearConstraint([[1, 0, 0]], 0.2), log=False).q.round(2)
    array([[0.2 , 0.48, 0.32]])
    """

    phi: Any
    b: Any
    component: int | None = None
    equality: bool = False

    def column_names(self) -> set[str]:
        return {self.phi} if isinstance(self.phi, str) else set()

    @property
    def holds_elsewhere(self) -> bool:
        return isinstance(self.phi, str)

    def linear_rows(self, setting: Setting) -> LinearRows:
        shape = (setting.n_rows, setting.n_components)
        if isinstance(self.phi, str):
            if self.component is None:
                raise ValueError(f"LinearConstraint({self.phi!r}) names a column: say in which component.")
            phi = np.zeros(shape)
            values = setting.column(self.phi)
            try:
                phi[:, _checked_component(self.component, setting)] = values.astype(np.float64)
            except (TypeError, ValueError):
                component = _checked_component(self.component, setting)
                raise ValueError(
                    f"LinearConstraint({self.phi!r}) needs numbers, whose total in component {component} is bounded, "
                    f"and the column holds {values[0]!r}. For a share of rows, use ProportionConstraint."
                ) from None
        else:
            phi = np.asarray(self.phi, dtype=np.float64)
        phi = phi[None] if phi.ndim == 2 else phi
        if phi.ndim != 3 or phi.shape[1:] != shape:
            raise ValueError(f"phi of a LinearConstraint has shape {phi.shape}; rows and components are {shape}.")
        if not np.isfinite(phi).all():
            raise ValueError("phi of a LinearConstraint has missing or infinite entries.")
        bounds = np.broadcast_to(np.asarray(self.b, dtype=np.float64), len(phi)).copy()
        return LinearRows(sparse.csr_array(phi.reshape(len(phi), -1)), bounds, np.full(len(phi), bool(self.equality)))


@dataclass
class L1LinfSparsity(Constraint):
    """Rows of one group share few components: penalty ``alpha sum_{g,t} max_{i in g} q_i(t)``.

    A group may be all occurrences of a word, all visits of a patient, all rows with one value of a category. The sum is
    1 for a group whose rows have the same posterior, and at most the number of components; so a large ``alpha`` makes
    posteriors within a group equal.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or str
        Group of each row, or the name of the column that holds it.
    alpha : float, default=10.0
        Strength of the penalty; sigma in the paper.
    min_count : int, default=10
        Groups of at most this many rows are not penalised.

    Examples
    --------
    >>> from fewer.latent import L1LinfSparsity
    >>> L1LinfSparsity("word", alpha=32)
    L1LinfSparsity(groups='word', alpha=32, min_count=10)
    """

    groups: Any
    alpha: float = 10.0
    min_count: int = 10

    def column_names(self) -> set[str]:
        return {self.groups} if isinstance(self.groups, str) else set()

    @property
    def holds_elsewhere(self) -> bool:
        return isinstance(self.groups, str)

    def linear_rows(self, setting: Setting) -> None:
        return None

    def grouped_rows(self, setting: Setting) -> "GroupedRows":
        """Rows of the groups that are penalised, group by group."""
        if self.alpha < 0 or self.min_count < 0:
            raise ValueError(
                f"alpha and min_count of L1LinfSparsity must be at least 0, not {self.alpha} and {self.min_count}."
            )
        labels = setting.column(self.groups) if isinstance(self.groups, str) else np.asarray(self.groups)
        if labels.shape != (setting.n_rows,):
            raise ValueError(f"groups of L1LinfSparsity has shape {labels.shape}, and there are {setting.n_rows} rows.")
        return grouped_rows(labels, self.min_count)


def _name_of(rows: Any) -> set[str]:
    return {rows[0]} if isinstance(rows, tuple) and len(rows) == 2 and isinstance(rows[0], str) else set()


def _no_rows(setting: Setting) -> LinearRows:
    nothing = sparse.csr_array((0, setting.n_rows * setting.n_components))
    return LinearRows(nothing, np.zeros(0), np.zeros(0, dtype=bool))


class GroupedRows(NamedTuple):
    """Row numbers group by group, and where groups begin and end."""

    rows: np.ndarray
    indptr: np.ndarray


def grouped_rows(labels: np.ndarray, min_count: int) -> GroupedRows:
    """Rows of groups with more than ``min_count`` of them."""
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    large = sizes > min_count
    rows = order[large[codes[order]]]
    return GroupedRows(rows, np.concatenate([[0], np.cumsum(sizes[large])]))


@method(
    tasks=["evaluation"],
    when="How many states the rows of one group (occurrences of a word, visits of a patient) have on average.",
    cost="O(n k) time",
    handles=(),
)
def l1linf_score(posteriors: Any, groups: Any) -> float:
    """Mean over groups of the sum over components of the largest posterior in the group.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_components)
        Such as ``predict_proba`` gives.
    groups : array-like of shape (n_samples,)
        Group of each row.

    Returns
    -------
    score : float
        1 where all rows of a group have the same posterior, at most the number of components.

    Examples
    --------
    >>> from fewer.latent import l1linf_score
    >>> l1linf_score([[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]], ["run", "run", "the", "the"])
    1.5
    """
    shares = np.asarray(posteriors, dtype=np.float64)
    labels = np.asarray(groups)
    if shares.ndim != 2 or len(labels) != len(shares):
        raise ValueError(f"posteriors has shape {shares.shape}, and groups {labels.shape}: one group for each row.")
    rows, indptr = grouped_rows(labels, 0)
    return float(np.maximum.reduceat(shares[rows], indptr[:-1], axis=0).sum(axis=1).mean())


@dataclass
class SparsityTerm:
    """The penalty as a term of the dual: ``lambda_{git} >= 0`` with ``sum_{i in g} lambda_{git} <= alpha``."""

    groups: GroupedRows
    n_rows: int
    n_components: int
    alpha: float
    penalised: bool = field(default=True, init=False)

    @property
    def size(self) -> int:
        return len(self.groups.rows) * self.n_components

    @property
    def offset(self) -> np.ndarray:
        return np.zeros(self.size)

    @property
    def largest_penalty(self) -> float:
        return self.alpha * (len(self.groups.indptr) - 1) * self.n_components

    def adjoint(self, dual: np.ndarray) -> np.ndarray:
        shift = np.zeros((self.n_rows, self.n_components))
        shift[self.groups.rows] = dual.reshape(-1, self.n_components)
        return shift

    def apply(self, q: np.ndarray) -> np.ndarray:
        return q[self.groups.rows].ravel()

    def nearest(self, dual: np.ndarray, step: float) -> np.ndarray:
        """Projection of every vector of a group and component on ``{v >= 0, sum v <= alpha}``."""
        found = dual.reshape(-1, self.n_components).copy()
        _project_capped(found, read_only(self.groups.indptr), self.alpha)
        return found.ravel()

    def dual_penalty(self, dual: np.ndarray) -> float:
        return 0.0

    def penalty(self, moments: np.ndarray) -> float:
        if not self.size:
            return 0.0
        shares = moments.reshape(-1, self.n_components)
        return float(self.alpha * np.maximum.reduceat(shares, self.groups.indptr[:-1], axis=0).sum())

    def violation(self, moments: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def excess(self, moments: np.ndarray) -> float:
        return 0.0


@njit(cache=True, nogil=True)
def _project_capped(values, indptr, cap):
    n_columns = values.shape[1]
    for group in range(len(indptr) - 1):
        first, last = indptr[group], indptr[group + 1]
        for column in range(n_columns):
            total = 0.0
            for row in range(first, last):
                values[row, column] = max(values[row, column], 0.0)
                total += values[row, column]
            if total <= cap:
                continue
            ordered = np.sort(values[first:last, column])[::-1]
            running, threshold = 0.0, 0.0
            for place in range(last - first):
                running += ordered[place]
                level = (running - cap) / (place + 1)
                if level < ordered[place]:
                    threshold = level
            for row in range(first, last):
                values[row, column] = max(values[row, column] - threshold, 0.0)
