"""Label permutations of a ridge classifier: every labelling is one more right-hand side.

With centred columns and penalty a, ``M = a (K + a I)^{-1} - 11'/n`` maps targets to residuals (K: inner products of
the rows). M knows nothing of labels; the fit without a fold follows from it (see ``fewer._kernels._left_out_fits``).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._kernels._left_out_fits import left_out_by_normal_equations, left_out_by_residuals
from fewer._kernels._read_only import read_only

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
