"""What a column adds to a subset in a linear model, or takes away with it, for every fold and all columns at once.

Let ``<a, b>`` be the inner product of two centred columns over the training rows of a fold (centred within groups of
rows, such as classes), plus ``ridge`` for a column with itself, and G the matrix of these on the subset S. The partial
column of a candidate x is what S does not explain of it::

    x - S w,   w = G^-1 <S, x>,   with square  s = <x, x> - <S, x>' w.

For the column j of S, it is ``S G^-1 e_j`` (in other units), with ``s = 1 / (G^-1)_jj``. Every linear rule after the
change follows from the one before it, the partial column and 1/s. Products with a new column cost O(n p); G is
factorised afresh after each move, so that nothing drifts.

Ridge regression, discriminants and distances are linear rules of this kind (:class:`LinearScorer`).

*Kernels*: a column more or less moves the prediction of a row by its partial column (what the other columns do not
explain of it) times a coefficient, so that a candidate costs O(1) for each row and class.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._numpy_lapack import solve_cholesky, solve_triangular
from fewer.select._target import Split
from fewer.select.objectives._objective import SubsetScorer

_FEW_PARTS = 256


class Fit(NamedTuple):
    """The subset in one fold: its columns but for those that the others determine, and the Cholesky factor of G."""

    columns: np.ndarray
    factor: np.ndarray


class Change(NamedTuple):
    """One column more (``own`` says which), or one less (``own`` is None), for each of many candidates."""

    columns: np.ndarray
    own: np.ndarray | None
    weights: np.ndarray
    inverses: np.ndarray
    """1 / s; negative where a column is taken away, and 0 where it changes nothing."""

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The partial columns at these rows (rows, candidates)."""
        explained = rows[:, self.columns] @ self.weights
        return -explained if self.own is None else rows[:, self.own] - explained


class SubsetProducts:
    """Inner products of the columns of a subset with all columns, in the training rows of every fold.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Table. It is centred within groups over all rows, so that little is left to subtract for each fold.
    order : ndarray of shape (n_rows,)
        The order in which its rows are kept; what follows, and ``rows``, are in this order.
    groups : ndarray of shape (n_rows,)
        Group of each row, from 0.
    training : list of ndarray of int
        Training rows of each fold.
    ridge : float or ndarray of shape (n_folds, n_columns)
        Added to the square of every column.
    tol : float
        A column whose partial square is less than this part of its square is taken for determined by the others.
    """

    def __init__(
        self,
        X: np.ndarray,
        order: np.ndarray,
        groups: np.ndarray,
        training: Sequence[np.ndarray],
        *,
        ridge: float | np.ndarray,
        tol: float,
    ) -> None:
        n_groups, n_folds = int(groups.max()) + 1, len(training)
        self._ridge, self._tol = np.broadcast_to(np.asarray(ridge, dtype=float), (n_folds, X.shape[1])), tol
        self.centres, self.rows = _centred(X, order, groups)
        self._member = np.zeros((n_folds, len(X)))
        for fold, rows in enumerate(training):
            self._member[fold, rows] = 1.0
        self._parts = _parts(self._member)
        self.counts = np.zeros((n_folds, n_groups))
        self.offsets = np.zeros((n_folds, n_groups, X.shape[1]))  # means of the training rows, from the centres
        for group in range(n_groups):
            members = self._member * (groups == group)
            self.counts[:, group] = members.sum(axis=1)
            self.offsets[:, group] = (members @ self.rows) / np.maximum(self.counts[:, group], 1)[:, None]
        by_part = np.stack([np.einsum("ij,ij->j", self.rows[part], self.rows[part]) for part in self._parts])
        squares = self._of_parts() @ by_part
        self.squares = squares - np.einsum("fg,fgp->fp", self.counts, self.offsets**2)
        # What is left of a column that is constant within groups is rounding.
        rounding = len(X) * (4 * np.finfo(float).eps * np.maximum(X.max(axis=0), -X.min(axis=0))) ** 2
        self.squares[self.squares <= rounding] = 0.0
        self._products: dict[int, np.ndarray] = {}
        self._fits: tuple[tuple[int, ...], list[Fit]] | None = None

    def _of_parts(self) -> np.ndarray:
        """Which parts of the rows are training rows (folds, parts)."""
        return self._member[:, [part.start for part in self._parts]]

    def with_target(self, target: np.ndarray) -> np.ndarray:
        """Inner products (folds, columns, targets) of all columns with targets, where all rows are one group."""
        by_fold = [self.rows.T @ (member[:, None] * target) for member in self._member]
        return np.stack(by_fold) - self.offsets[:, 0, :, None] * (self._member @ target)[:, None, :]

    def add(self, column: int) -> None:
        """Take the products with a column in."""
        values = self.rows[:, column]
        if len(self._parts) <= _FEW_PARTS:
            by_part = np.stack([values[part] @ self.rows[part] for part in self._parts])
            products = self._of_parts() @ by_part
        else:
            products = (self._member * values) @ self.rows
        means = self.offsets[:, :, column] * self.counts
        self._products[column] = products - np.einsum("fg,fgp->fp", means, self.offsets)

    def remove(self, column: int) -> None:
        """Forget the products with a column."""
        del self._products[column]

    def fits(self, subset: Sequence[int]) -> list[Fit]:
        """The factor of each fold; columns of the subset count in their order."""
        key = tuple(subset)
        if self._fits is None or self._fits[0] != key:
            columns = np.array(key, dtype=np.int64)
            self._fits = key, [self._fit(fold, columns) for fold in range(len(self._member))]
        return self._fits[1]

    def _fit(self, fold: int, columns: np.ndarray) -> Fit:
        if not len(columns):
            return Fit(columns, np.empty((0, 0)))
        gram = np.stack([self._products[column][fold, columns] for column in columns])
        np.fill_diagonal(gram, self.squares[fold, columns] + self._ridge[fold, columns])
        kept, factor = _independent(gram, self._tol)
        return Fit(columns[kept], factor)

    def added(self, fold: int, fit: Fit, candidates: np.ndarray) -> Change:
        """Each candidate added by itself."""
        squares, ridge = self.squares[fold, candidates], self._ridge[fold, candidates]
        if len(fit.columns):
            products = np.stack([self._products[column][fold, candidates] for column in fit.columns])
            half = solve_triangular(fit.factor, products)
            weights = solve_triangular(fit.factor, half, transposed=True)
            partial = np.maximum(squares - (half**2).sum(axis=0), 0.0) + ridge
        else:
            weights, partial = np.empty((0, len(candidates))), squares + ridge
        tells = partial > self._tol * (squares + ridge)
        return Change(fit.columns, candidates, weights, np.where(tells, 1 / np.where(tells, partial, 1.0), 0.0))

    def removed(self, fit: Fit, candidates: np.ndarray) -> Change:
        """Each candidate, which must be one of the columns of the fit, removed by itself."""
        inverse = solve_cholesky(fit.factor, np.eye(len(fit.columns)))
        place = {int(column): at for at, column in enumerate(fit.columns)}
        at = np.array([place[int(column)] for column in candidates])
        return Change(fit.columns, None, -inverse[:, at], -1 / inverse[at, at])

    def inverse_trace(self, fold: int, fit: Fit) -> float:
        """Trace of the inverse of the correlations of the columns of the fit."""
        if not len(fit.columns):
            return 0.0
        half = solve_triangular(fit.factor, np.eye(len(fit.columns)))
        return float((half**2).sum(axis=0) @ (self.squares[fold] + self._ridge[fold])[fit.columns])

    def trace_added(self, fold: int, change: Change) -> np.ndarray:
        """What each candidate adds to this trace: nothing if it does not vary, infinity if the others determine it."""
        squares = self.squares[fold] + self._ridge[fold]
        own = squares[change.own] + squares[change.columns] @ change.weights**2
        determined = np.where(squares[change.own] == 0, 0.0, np.inf)
        return np.where(change.inverses > 0, own * change.inverses, determined)

    def nothing(self, fit: Fit) -> Change:
        """A change that is none."""
        return Change(fit.columns, None, np.zeros((len(fit.columns), 1)), np.zeros(1))


def _centred(X: np.ndarray, order: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of the groups, and the rows in their order less these; column by column, with one copy of the table."""
    sizes = np.bincount(groups)
    centres, rows = np.empty((len(sizes), X.shape[1])), np.empty(X.shape, order="F")
    for column in range(X.shape[1]):
        values = X[order, column]
        # The mean of numbers that are far from zero, and close together, is most exact from one of them.
        centres[:, column] = values[0] + np.bincount(groups, weights=values - values[0]) / sizes
        rows[:, column] = values - centres[groups, column]
    return centres, rows


def _parts(member: np.ndarray) -> list[slice]:
    """Runs of rows that are in the same training sets."""
    cuts = np.flatnonzero((member[:, 1:] != member[:, :-1]).any(axis=0)) + 1
    return [slice(*ends) for ends in zip([0, *cuts], [*cuts, member.shape[1]], strict=True)]


def rows_by_fold(splits: Sequence[Split], n_rows: int) -> np.ndarray:
    """An order of the rows in which those of the same training sets stand together."""
    codes = np.zeros(n_rows, dtype=np.int64)
    for train, _ in splits:
        member = np.zeros(n_rows, dtype=np.int64)
        member[train] = 1
        codes = np.unique(2 * codes + member, return_inverse=True)[1]
    return np.argsort(codes, kind="stable")


def _independent(gram: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Which columns the ones before them do not determine, and the factor of these."""
    try:
        factor = np.linalg.cholesky(gram)
        if (np.diag(factor) ** 2 > tol * np.diag(gram)).all():
            return np.arange(len(gram)), factor
    except np.linalg.LinAlgError:
        pass
    kept: list[int] = []
    factor = np.zeros_like(gram)
    for column in range(len(gram)):
        size = len(kept)
        products = gram[kept, column]
        row = solve_triangular(factor[:size, :size], products) if size else products
        partial = gram[column, column] - row @ row
        if partial > tol * gram[column, column]:
            factor[size, :size], factor[size, size] = row, np.sqrt(partial)
            kept.append(column)
    return np.array(kept, dtype=np.int64), factor[: len(kept), : len(kept)]


_ENTRIES_AT_ONCE = 2**23


class LinearScorer(SubsetScorer):
    """Keeps the products of the subset's columns; who derives from it turns changes into scores."""

    def __init__(self, products: SubsetProducts) -> None:
        super().__init__()
        self._products = products
        self._block = max(1, _ENTRIES_AT_ONCE // len(products.rows))

    @abstractmethod
    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        """J after each change, given the factors of the subset before it and the changes, one of each for a fold."""

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._in_blocks(np.asarray(candidates, dtype=np.int64), self._added)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        candidates = np.asarray(candidates, dtype=np.int64)
        fits = self._products.fits(self.subset)
        if all(len(fit.columns) == len(self.subset) for fit in fits):
            return self._in_blocks(candidates, self._removed)
        # A column that others determined may matter again when one of them leaves.
        return np.concatenate([self._without(int(column)) for column in candidates])

    def add(self, column: int) -> None:
        super().add(column)
        self._products.add(column)

    def remove(self, column: int) -> None:
        super().remove(column)
        self._products.remove(column)

    def _added(self, candidates: np.ndarray) -> np.ndarray:
        fits = self._products.fits(self.subset)
        return self._scores(fits, [self._products.added(fold, fit, candidates) for fold, fit in enumerate(fits)])

    def _removed(self, candidates: np.ndarray) -> np.ndarray:
        fits = self._products.fits(self.subset)
        return self._scores(fits, [self._products.removed(fit, candidates) for fit in fits])

    def _without(self, column: int) -> np.ndarray:
        fits = self._products.fits([kept for kept in self.subset if kept != column])
        return self._scores(fits, [self._products.nothing(fit) for fit in fits])

    def _in_blocks(self, candidates: np.ndarray, scores: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        starts = range(0, len(candidates), self._block)
        return np.concatenate([scores(candidates[start : start + self._block]) for start in starts])


class LeftOutScorer(LinearScorer):
    """The same for rules that tell from one fit on all rows how the one without a row would be.

    Where the fit depends on a single row they cannot, and give NaN; then fits without each row are made, one by one.
    """

    @abstractmethod
    def _one_by_one(self) -> LinearScorer:
        """A scorer that fits without each row."""

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._completed(super().score_added(candidates), candidates, "score_added")

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        return self._completed(super().score_removed(candidates), candidates, "score_removed")

    def _completed(self, scores: np.ndarray, candidates: np.ndarray, question: str) -> np.ndarray:
        unclear = np.isnan(scores)
        if unclear.any():
            one_by_one = self._one_by_one()
            one_by_one.move_to(self.subset)
            scores[unclear] = getattr(one_by_one, question)(np.asarray(candidates)[unclear])
        return scores


def as_slice(rows: np.ndarray) -> slice | np.ndarray:
    """The same rows as a slice, where that is possible: no copy is needed then."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return rows


def places_in(order: np.ndarray, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Where rows stand in an order, ascending."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return [np.sort(place[each]) for each in rows]


# A row that is left out of its own fit has no prediction by this formula when the fit depends on that row alone.
_NO_LEVERAGE_LEFT = 1e-10


@njit(cache=True, nogil=True)
def classes_after(decisions, shifts, coefficients, offsets):
    """The class (rows, candidates) with the highest decision value after the change; of equals the first.

    ``decisions`` is (rows, classes) before the change; ``shifts`` (rows, candidates); ``coefficients`` and ``offsets``
    (candidates, classes).
    """
    n_rows, n_candidates = shifts.shape
    n_classes = decisions.shape[1]
    found = np.empty((n_rows, n_candidates), dtype=np.int32)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            best, winner = -np.inf, -1
            for one in range(n_classes):
                value = decisions[row, one] + shift * coefficients[candidate, one] + offsets[candidate, one]
                if value > best:
                    best, winner = value, one
            found[row, candidate] = winner
    return found


@njit(cache=True, nogil=True)
def left_out_classes(targets, residuals, leverage_left, shifts, coefficients, inverses):
    """The class (rows, candidates) that the least-squares fit without a row gives it; -1 where it needs that row.

    ``targets`` and ``residuals`` are (rows, targets): a single target tells class 1 from class 0 by its sign, several
    stand for a class each, of which the highest wins. ``leverage_left`` is ``1 - h``.
    """
    n_rows, n_candidates = shifts.shape
    n_targets = targets.shape[1]
    found = np.full((n_rows, n_candidates), -1, dtype=np.int32)
    for row in range(n_rows):
        for candidate in range(n_candidates):
            shift = shifts[row, candidate]
            left = leverage_left[row] - shift * shift * inverses[candidate]
            if not left > _NO_LEVERAGE_LEFT:
                continue
            best, winner = (0.0, 0) if n_targets == 1 else (-np.inf, -1)
            for target in range(n_targets):
                residual = (residuals[row, target] - shift * coefficients[candidate, target]) / left
                value = targets[row, target] - residual
                if value > best:
                    best, winner = value, (1 if n_targets == 1 else target)
            found[row, candidate] = winner
    return found


def left_out_values(targets, residuals, leverage_left, shifts, coefficients, inverses):
    """What the fit without a row predicts for it (rows, candidates); NaN where that depends on this row alone."""
    left = leverage_left[:, None] - shifts**2 * inverses
    clear = left > _NO_LEVERAGE_LEFT
    after = (residuals[:, None] - shifts * coefficients) / np.where(clear, left, 1.0)
    return np.where(clear, targets[:, None] - after, np.nan)


@njit(cache=True, nogil=True)
def left_out_discriminant_classes(distances, products, places, centres, inverses, classes, sizes, log_shares):
    """The class (rows, candidates) that discriminant analysis without a row gives it; -1 where it needs that row.

    In the metric of the scatter W within classes, and for row i of class g with deviation ``d = x_i - m_g``:
    ``distances`` holds ``|x_i - m_k|^2`` and ``products`` ``<d, x_i - m_k>``, (rows, classes). ``places`` (rows,
    candidates) and ``centres`` (classes, candidates) are the coordinates that a candidate adds, ``inverses`` the metric
    of these. Without row i, W loses ``c d d'`` with ``c = n_g / (n_g - 1)``, and m_g moves away from x_i.
    """
    n_rows, n_candidates = places.shape
    n_classes = distances.shape[1]
    found = np.full((n_rows, n_candidates), -1, dtype=np.int32)
    for row in range(n_rows):
        own = classes[row]
        if sizes[own] < 2:  # without the row there is no such class, and its scatter is none
            factor = 0.0
        else:
            factor = sizes[own] / (sizes[own] - 1.0)
        for candidate in range(n_candidates):
            inverse = inverses[candidate]
            place = places[row, candidate]
            deviation = place - centres[own, candidate]
            spread = distances[row, own] + deviation * deviation * inverse
            left = 1.0 - factor * spread
            if not left > _NO_LEVERAGE_LEFT:
                continue
            best, winner = -np.inf, -1
            for one in range(n_classes):
                if one == own:
                    if sizes[own] < 2:
                        continue
                    distance = factor * factor * spread / left
                    share = np.log((sizes[own] - 1.0) / (n_rows - 1.0))
                else:
                    gap = place - centres[one, candidate]
                    product = products[row, one] + deviation * gap * inverse
                    distance = distances[row, one] + gap * gap * inverse + factor * product * product / left
                    share = log_shares[one]
                value = share - 0.5 * (n_rows - 1.0) * distance
                if value > best:
                    best, winner = value, one
            found[row, candidate] = winner
    return found
