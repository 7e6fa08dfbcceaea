"""Gradients on a wide table, and on a tall one: conjugate gradients beside the factors of the whole matrix."""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def gradients(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Directions of the mean outer product; there is no other package, so the peer is the textbook solution.

    It solves for all coefficients at once, in the coordinates of the span of the rows.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    index = X[:, :5].sum(axis=1)
    y = index + 0.1 * rng.normal(size=n_rows)

    def fewer() -> np.ndarray:
        from fewer.extract import GradientOuterProduct

        return GradientOuterProduct(1).fit(X, y).feature_scores_

    def scipy() -> np.ndarray:
        from scipy import linalg
        from scipy.spatial.distance import cdist

        centred = X - X.mean(axis=0)
        _, sizes, axes = linalg.svd(centred, full_matrices=False)
        axes = axes[sizes > 1e-10 * sizes[0]]
        rows = centred @ axes.T
        distances = cdist(rows, rows)
        kernel = np.exp(-(distances**2) / (2 * np.median(distances[np.triu_indices(n_rows, 1)]) ** 2))
        rank = rows.shape[1]
        steps = rows[None] - rows[:, None]
        weighted = kernel[:, :, None] * steps
        matrix = np.zeros((n_rows, rank + 1, n_rows, rank + 1))
        squares = np.einsum("ija,ijb->iab", weighted, steps)
        matrix[:, 1:, :, 1:] = np.einsum("iab,il->ialb", squares, kernel)
        matrix[:, 1:, :, 0] = -np.einsum("ija,jl->ial", weighted, kernel)
        matrix[:, 0, :, 1:] = -np.einsum("ija,il->jla", weighted, kernel)
        matrix[:, 0, :, 0] = kernel.sum(axis=0)[:, None] * kernel
        n_unknowns = n_rows * (rank + 1)
        matrix = matrix.reshape(n_unknowns, n_unknowns)
        matrix[np.diag_indices(n_unknowns)] += 1e-4 * n_rows**2
        target = y - y.mean()
        sums = np.column_stack([kernel.T @ target, -target[:, None] * weighted.sum(axis=1)])
        coefficients = linalg.solve(matrix, sums.ravel()).reshape(n_rows, rank + 1)
        slopes = kernel @ coefficients[:, 1:] @ axes
        return np.mean(slopes**2, axis=0)

    return Contest(ours={"fewer": fewer}, peers={"scipy": scipy}, objective=np.asarray, tolerance=1e-3)


CASES = [
    Case("60 rows x 5,000 columns", lambda folder: gradients(60, 5000, folder), repeats=3),
    Case("300 rows x 12 columns", lambda folder: gradients(300, 12, folder), repeats=3),
]
