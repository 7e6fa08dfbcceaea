"""The ridge solution of a table that is large both ways: products with the table, and no matrix of them.

``(X'HX + alpha I) W = X'H E Pi^{-1/2}`` for fewer columns than rows, ``(HXX'H + alpha I) W = H E Pi^{-1/2}`` otherwise;
conjugate gradients for all classes at once, scaled by the diagonal.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer.extract._centred import centred_columns_times
from fewer.extract.fisher._class_scores import Groups, scores_matrix

_TOLERANCE = 1e-10
_MOST_STEPS = 2000
_ENTRIES, _MOST_SIGNS = 10_000, 100


class Descent(NamedTuple):
    """Solution, the classes on its side, the matrix times the solution, and how far the residual came down.

    The trace of the inverse is estimated, from random vectors; the total is the trace of the matrix without the ridge.
    """

    weights: np.ndarray
    classes: np.ndarray
    images: np.ndarray
    by_columns: bool
    trace: float
    residual: float
    total: float

    @property
    def converged(self) -> bool:
        return self.residual <= _TOLERANCE


def ridge_by_gradients(X: Any, mean: np.ndarray, groups: Groups, alpha: float) -> Descent:
    """The ridge solution on the smaller side, and what is needed to rotate it into directions."""
    by_columns = X.shape[1] <= X.shape[0]
    X = X.astype(np.float64, copy=False)  # single precision would not come down to the tolerance
    axis = 0 if by_columns else 1
    squares = np.asarray(X.multiply(X).sum(axis=axis) if sparse.issparse(X) else np.square(X).sum(axis=axis)).ravel()
    if by_columns:
        classes = (np.sqrt(groups.sizes)[:, None] * (groups.means(X) - mean)).T
        diagonal = squares - X.shape[0] * mean**2 + alpha

        def image(weights: np.ndarray) -> np.ndarray:
            return centred_columns_times(X, np.asarray(X @ weights))
    else:
        classes = scores_matrix(groups)
        diagonal = squares - 2 * np.asarray(X @ mean) + mean @ mean + alpha

        def image(weights: np.ndarray) -> np.ndarray:
            products = np.asarray(X @ centred_columns_times(X, weights))
            return products - products.mean(axis=0)

    # Signs z have the trace as the mean of z'A^{-1}z, to a few parts in a hundred over thousands of entries.
    n_signs = max(1, min(_ENTRIES // len(classes), _MOST_SIGNS))
    signs = np.random.RandomState(0).choice([-1.0, 1.0], size=(len(classes), n_signs))
    if not by_columns:
        signs -= signs.mean(axis=0)  # along the constant direction the inverse is 1 / alpha, known and large
    solved, residual = _descended(
        lambda w: image(w) + alpha * w, np.hstack([classes, signs]), np.maximum(diagonal, alpha)
    )
    weights, of_signs = solved[:, :-n_signs], solved[:, -n_signs:]
    trace = float(np.einsum("ij,ij->", signs, of_signs)) / n_signs + (0 if by_columns else 1 / alpha)
    total = float((diagonal - alpha).sum())
    return Descent(weights, classes, image(weights), by_columns, trace, residual, total)


def _descended(matrix: Any, targets: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, float]:
    """Solutions for all targets, and the largest of their residuals as a share of the target's length."""
    weights = np.zeros_like(targets)
    residuals = targets.copy()
    lengths = np.linalg.norm(targets, axis=0)
    lengths[lengths == 0] = 1
    scaled = residuals / diagonal[:, None]
    directions, inner = scaled, np.einsum("ij,ij->j", residuals, scaled)
    for _ in range(_MOST_STEPS):
        if (np.linalg.norm(residuals, axis=0) <= _TOLERANCE * lengths).all():
            break
        images = matrix(directions)
        curvature = np.einsum("ij,ij->j", directions, images)
        steps = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0)
        weights += steps * directions
        residuals -= steps * images
        scaled = residuals / diagonal[:, None]
        before, inner = inner, np.einsum("ij,ij->j", residuals, scaled)
        directions = scaled + np.divide(inner, before, out=np.zeros_like(inner), where=before > 0) * directions
    return weights, float((np.linalg.norm(residuals, axis=0) / lengths).max())
