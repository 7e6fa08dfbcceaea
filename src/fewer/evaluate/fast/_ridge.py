"""Closed forms of ridge: every labelling is one more right-hand side, and one Cholesky factor serves all leading sets.

**Label permutations.** With centred columns and penalty a, ``M = a (K + a I)^{-1} - 11'/n`` maps targets to residuals
(K: inner products of the rows). M does not depend on labels; the fit without a fold follows from it (see
``_kernels.py``).

**Paths of nested subsets.** With centred columns in their order, ``G = X'X + alpha I = L L'``. The leading blocks of L
are the factors of the smaller sets, and forward substitution only looks back, so with ``u = L^-1 X'y`` and
``V = L^-1 X_test'`` the prediction of the first s columns is ``sum_{j <= s} V[j] u[j]``: all sizes cost as much as the
largest. Sets with more columns than rows use the inner products of rows, ``K_s = sum_{j <= s} x_j x_j'``, which grow
column by column.

**Paths with the penalty chosen by leave-one-out.** With centred columns X of a subset, ``X'X = V diag(v) V'`` and
``Z = X V``, the fit with penalty a has the values ``Z diag(1 / (v + a)) Z'y``, and the row i left out the error

    e_i(a) = (y_i - fitted_i) / (1 - 1/n - sum_j Z_ij^2 / (v_j + a)),

so that one decomposition serves all penalties (Golub, Heath and Wahba 1979). That of ``X'X`` is taken of its leading
block. With more columns than rows, the inner products of rows ``K = Q diag(k) Q'`` grow column by column instead, and
``e(a) = M y / diag(M)`` with ``M = Q diag(a / (k + a)) Q' - 11'/n``. Weights multiply rows by their roots.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fewer._kernels._numpy_lapack import solve_spd, solve_triangular
from fewer.evaluate.fast import Routes, row_blocks

WORST_CONDITION = 1e12
"""Beyond this the plain fit itself is rounding."""


@dataclass(frozen=True)
class LeftOutFits:
    """Least-squares fits of many targets without the rows of a fold.

    Either the residual matrix M, or the columns Z (the first of ones, when there is an intercept) with ``G = Z'Z`` plus
    penalty.
    """

    residual_matrix: np.ndarray | None
    columns: np.ndarray | None
    gram: np.ndarray | None

    def __call__(self, Y: np.ndarray, folds: np.ndarray, n_folds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fitted values of left-out rows, ``Y'HY`` of the rows that stay, and the log determinants of M_FF.

        Y has the shape (n_labellings, n_rows, n_targets).
        """
        from fewer._kernels._arrays import read_only
        from fewer.evaluate.fast._kernels import left_out_by_normal_equations, left_out_by_residuals

        fitted = np.zeros_like(Y)
        explained = np.zeros((len(Y), n_folds, Y.shape[2], Y.shape[2]))
        log_dets = np.empty((len(Y), n_folds))
        folds = np.ascontiguousarray(folds, dtype=np.int64)
        same = bool((folds == folds[0]).all())
        if self.residual_matrix is not None:
            MY = np.ascontiguousarray(np.einsum("ij,ljt->lit", self.residual_matrix, Y, optimize=True))
            residual_matrix = read_only(self.residual_matrix)
            left_out_by_residuals(residual_matrix, MY, Y, folds, n_folds, same, fitted, explained, log_dets)
            # Products of the rows that stay, less their residual products.
            explained = products_of_rest(Y, folds, n_folds) - (np.swapaxes(Y, 1, 2) @ MY)[:, None] + explained
            return fitted, explained, log_dets
        assert self.columns is not None
        assert self.gram is not None
        ZY = np.ascontiguousarray(np.einsum("ic,lit->lct", self.columns, Y, optimize=True))
        columns, gram = read_only(self.columns), read_only(self.gram)
        left_out_by_normal_equations(columns, gram, ZY, Y, folds, n_folds, same, fitted, explained, log_dets)
        return fitted, explained, log_dets - np.linalg.slogdet(self.gram)[1]


def products_of_rest(Y: np.ndarray, folds: np.ndarray, n_folds: int) -> np.ndarray:
    """``Y'Y`` over the rows outside each fold."""
    whole = np.swapaxes(Y, 1, 2) @ Y
    left_out = np.empty((len(Y), n_folds, *whole.shape[1:]))
    for fold in range(n_folds):
        own = Y * (folds == fold)[:, :, None]
        left_out[:, fold] = np.swapaxes(own, 1, 2) @ own
    return whole[:, None] - left_out


def residual_matrix(X: np.ndarray, alpha: float, intercept: bool) -> tuple[np.ndarray, float]:
    """M for a positive penalty, and the condition of the system that it solves."""
    centred = X - X.mean(axis=0) if intercept else X
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values = np.maximum(values, 0.0)
    M = (vectors * (alpha / (values + alpha))) @ vectors.T
    if intercept:
        M -= 1.0 / len(X)
    return M, float((values[-1] + alpha) / (values[0] + alpha))


@dataclass(frozen=True)
class RidgeRoute:
    """Fits without each fold, and the margin below which rounding could change a label."""

    fits: LeftOutFits
    margin: float
    name: str = "shared ridge solves"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and folds with a decision too close to call."""
        signs = np.where(labels[:, :, None] == np.arange(1 if n_classes == 2 else 0, n_classes), 1.0, -1.0)
        decisions, _, log_dets = self.fits(signs, folds, n_folds)
        if n_classes == 2:
            predicted = (decisions[:, :, 0] > 0).astype(np.int64)
            gaps = np.abs(decisions[:, :, 0])
        else:
            predicted = decisions.argmax(axis=2)
            ranked = np.partition(decisions, n_classes - 2, axis=2)
            gaps = ranked[:, :, -1] - ranked[:, :, -2]
        doubtful = np.isneginf(log_dets)
        for fold in range(n_folds):
            own = folds == fold
            doubtful[:, fold] |= (own & (gaps < self.margin)).any(axis=1)
            doubtful[:, fold] |= _one_class_left(labels, own, n_classes)
        return predicted, doubtful


def _one_class_left(labels: np.ndarray, left_out: np.ndarray, n_classes: int) -> np.ndarray:
    kept = np.stack([((labels == label) & ~left_out).any(axis=1) for label in range(n_classes)])
    return kept.sum(axis=0) < 2


def ridge_route(learner: Any, X: np.ndarray, n_train: int | None) -> RidgeRoute | None:
    """Route of a RidgeClassifier with an exact solver, one positive penalty and no weights."""
    n_rows, n_columns = X.shape
    left_out = n_rows / 10 if n_train is None else n_rows - n_train
    if n_columns > min(left_out, n_rows / 2) and n_rows <= 4000:
        M, condition = residual_matrix(X, float(learner.alpha), learner.fit_intercept)
        fits = LeftOutFits(M, None, None)
    else:
        fits, condition = _normal_equations(X, float(learner.alpha), learner.fit_intercept)
    if condition > WORST_CONDITION:
        return None
    return RidgeRoute(fits, max(1e-8, 1e-14 * condition))


def _normal_equations(X: np.ndarray, alpha: float, intercept: bool) -> tuple[LeftOutFits, float]:
    centred = X - X.mean(axis=0) if intercept else X
    values = np.linalg.eigvalsh(centred.T @ centred)
    condition = float((values[-1] + alpha) / (max(values[0], 0.0) + alpha))
    scales = np.sqrt((centred**2).mean(axis=0))
    varies = scales > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    Z = centred[:, varies] / scales[varies]
    penalty = alpha / scales[varies] ** 2
    if intercept:
        Z, penalty = np.column_stack([np.ones(len(X)), Z]), np.concatenate([[0.0], penalty])
    Z = np.ascontiguousarray(Z)
    return LeftOutFits(None, Z, Z.T @ Z + np.diag(penalty)), condition


def paths_of(predictions: Callable[..., np.ndarray]) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
    """Classes and values of the test rows for each size, from ``predictions(model, path, test, sizes)`` of targets.

    Classes are regressed on -1 and 1, one target for each; for two classes, that of the second one.
    """

    def class_path(
        model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
    ) -> np.ndarray:
        from sklearn.utils.class_weight import compute_sample_weight

        classes, codes = np.unique(y, return_inverse=True)
        targets = np.where(codes[:, None] == np.arange(1 if len(classes) == 2 else 0, len(classes)), 1.0, -1.0)
        weights = compute_sample_weight(model.class_weight, y) if model.class_weight else None
        path = CentredPath(train, targets, order, weights, intercept=model.fit_intercept)
        decisions = predictions(model, path, test, sizes)
        if len(classes) == 2:
            return classes[(decisions[:, :, 0] > 0).astype(np.intp)]
        return classes[decisions.argmax(axis=2)]

    def value_path(
        model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
    ) -> np.ndarray:
        path = CentredPath(train, y[:, None].astype(float), order, None, intercept=model.fit_intercept)
        return predictions(model, path, test, sizes)[:, :, 0]

    return class_path, value_path


class CentredPath:
    """Training rows with their columns in an order, centred, each times the root of its weight; their targets, too."""

    def __init__(
        self, train: np.ndarray, targets: np.ndarray, order: np.ndarray, weights: np.ndarray | None, *, intercept: bool
    ) -> None:
        self._train, self._order = train, order
        self._middle, self.offset = np.zeros(train.shape[1]), np.zeros(targets.shape[1])
        if intercept:
            shares = np.full(len(train), 1 / len(train)) if weights is None else weights / weights.sum()
            self._middle, self.offset = shares @ train, shares @ targets
        self.root = np.ones((len(train), 1)) if weights is None else np.sqrt(weights)[:, None]
        self.targets = (targets - self.offset) * self.root

    def narrow_and_wide(self, sizes: list[int]) -> tuple[list[int], list[int]]:
        """Sizes up to the number of rows, for which inner products of columns serve, and the others."""
        n_rows = len(self.targets)
        return [size for size in sizes if size <= n_rows], [size for size in sizes if size > n_rows]

    def leading(self, table: np.ndarray, size: int, scale: np.ndarray | float = 1.0) -> np.ndarray:
        """Leading columns of some rows, centred."""
        columns = self._order[:size]
        taken = table[:, columns]
        taken -= self._middle[columns]
        taken *= scale
        return taken

    def training_rows(self, size: int) -> np.ndarray:
        """Leading columns of the training rows."""
        return self.leading(self._train, size, self.root)

    def products_with_targets(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Inner products of the leading columns with one another, and with the targets."""
        products, with_targets = np.zeros((size, size)), np.zeros((size, self.targets.shape[1]))
        for rows in row_blocks(self._train):
            block = self.leading(self._train[rows], size, self.root[rows])
            products += block.T @ block
            with_targets += block.T @ self.targets[rows]
        return products, with_targets


def _predictions(model: Any, path: CentredPath, test: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Predictions (sizes, test rows, targets)."""
    alpha = float(model.alpha)
    found: list[np.ndarray] = []
    narrow, wide = path.narrow_and_wide(sizes)
    if narrow:
        products, with_targets = path.products_with_targets(narrow[-1])
        found += _from_columns(products, with_targets, path.leading(test, narrow[-1]), narrow, alpha)
    if wide:
        found += _from_rows(path.training_rows(wide[-1]), path.targets, path.leading(test, wide[-1]), wide, alpha)
    return np.stack(found) + path.offset


def _from_columns(products, with_targets, test, sizes: list[int], alpha: float) -> Iterator[np.ndarray]:
    products[np.diag_indices_from(products)] += alpha
    factor = np.linalg.cholesky(products)
    weights = solve_triangular(factor, with_targets)
    rows = solve_triangular(factor, test.T)
    prediction = np.zeros((len(test), with_targets.shape[1]))
    for start, stop in pairwise([0, *sizes]):
        prediction = prediction + rows[start:stop].T @ weights[start:stop]
        yield prediction


def _from_rows(train, targets, test, sizes: list[int], alpha: float) -> Iterator[np.ndarray]:
    products = np.zeros((len(train), len(train)))
    test_products = np.zeros((len(test), len(train)))
    for start, stop in pairwise([0, *sizes]):
        added = train[:, start:stop]
        products += added @ added.T
        test_products += test[:, start:stop] @ added.T
        shifted = products.copy()
        shifted[np.diag_indices_from(shifted)] += alpha
        yield test_products @ solve_spd(shifted, targets)


ROUTES = Routes(ridge_route, *paths_of(_predictions))


def _predictions_by_loo(model: Any, path: CentredPath, test: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Predictions (sizes, test rows, targets)."""
    alphas = np.atleast_1d(np.asarray(model.alphas, dtype=float))
    root = path.root[:, 0] / np.linalg.norm(path.root) if model.fit_intercept else np.zeros(len(path.root))
    found: list[np.ndarray] = []
    narrow, wide = path.narrow_and_wide(sizes)
    if narrow:
        found += _from_columns_by_loo(path, test, narrow, alphas, root)
    if wide:
        found += _from_rows_by_loo(path, test, wide, alphas, root)
    return np.stack(found) + path.offset


def _from_columns_by_loo(
    path: CentredPath, test: np.ndarray, sizes: list[int], alphas: np.ndarray, root: np.ndarray
) -> Iterator[np.ndarray]:
    products, with_targets = path.products_with_targets(sizes[-1])
    rows, test_rows = path.training_rows(sizes[-1]), path.leading(test, sizes[-1])
    for size in sizes:
        values, vectors = np.linalg.eigh(products[:size, :size])
        shrink = 1 / (np.maximum(values, 0.0)[:, None] + alphas)  # (columns, penalties)
        scores = rows[:, :size] @ vectors
        fits = np.einsum("ca,ct->act", shrink, vectors.T @ with_targets[:size])
        left = path.targets - np.matmul(scores, fits)  # (penalties, rows, targets)
        kept = 1 - root[:, None] ** 2 - scores**2 @ shrink
        best = _best(left / kept.T[:, :, None])
        yield test_rows[:, :size] @ (vectors @ fits[best])


def _from_rows_by_loo(
    path: CentredPath, test: np.ndarray, sizes: list[int], alphas: np.ndarray, root: np.ndarray
) -> Iterator[np.ndarray]:
    rows, test_rows = path.training_rows(sizes[-1]), path.leading(test, sizes[-1])
    products, test_products = np.zeros((len(rows), len(rows))), np.zeros((len(test), len(rows)))
    for start, stop in pairwise([0, *sizes]):
        added = rows[:, start:stop]
        products += added @ added.T
        test_products += test_rows[:, start:stop] @ added.T
        values, vectors = np.linalg.eigh(products)
        shares = alphas / (np.maximum(values, 0.0)[:, None] + alphas)  # (rows, penalties)
        with_targets = vectors.T @ path.targets
        left = np.matmul(vectors, np.einsum("ra,rt->art", shares, with_targets))
        kept = vectors**2 @ shares - root[:, None] ** 2
        best = _best(left / kept.T[:, :, None])
        yield test_products @ (left[best] / alphas[best])


def _best(errors: np.ndarray) -> int:
    """The penalty with the smallest mean square of the errors (penalties, rows, targets); the first one of equals."""
    return int(np.argmin(np.mean(errors**2, axis=(1, 2))))


ROUTES_BY_LOO = Routes(None, *paths_of(_predictions_by_loo))
