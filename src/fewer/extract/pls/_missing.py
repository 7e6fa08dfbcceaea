"""NIPALS on a table with holes: every sum of the loop runs over the entries that are there.

    w_j = sum_i x_ij u_i / sum_i u_i^2,   t_i = sum_j x_ij w_j / sum_j w_j^2,   p_j = sum_i x_ij t_i / sum_i t_i^2,

each over observed entries only, so that a hole counts as if it lay on the line that the others draw. Scores are then
only nearly orthogonal, and a row's score is the less sure the more of it is missing.
"""

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.extract.pls._factors import NOTHING_LEFT, Factors, Watch, keep_going


def observed_part(X: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The table centred and scaled, with 0 for holes; and where it is observed, as 1 and 0."""
    there = ~np.isnan(X)
    return np.where(there, (X - mean) / scale, 0.0), there.astype(np.float64)


def nipals_with_holes(
    table: np.ndarray,
    there: np.ndarray,
    Y: np.ndarray,
    n_components: int,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """Components of a table with 0 for holes, which it changes."""
    Y = Y.copy()
    floor = NOTHING_LEFT * float(np.linalg.norm(table) * np.linalg.norm(Y))
    short = NOTHING_LEFT * float(np.linalg.norm(table))
    found: list[tuple[np.ndarray, ...]] = []
    while len(found) < n_components and np.linalg.norm(table.T @ Y) > floor:
        weight, score = _leading(table, there, Y, max_iter, tol)
        square = float(score @ score)
        if np.sqrt(square) <= short:
            break
        x_loading, y_loading = _over(table.T @ score, there.T @ score**2), Y.T @ score / square
        table -= there * np.outer(score, x_loading)
        Y -= np.outer(score, y_loading)
        found.append((weight, x_loading, y_loading, score))
        if watch(len(found)):
            break
    n_rows, n_columns = table.shape
    sizes = (n_columns, n_columns, Y.shape[1], n_rows)
    weights, x_loadings, y_loadings, scores = (
        np.array([each[place] for each in found]).reshape(-1, size).T for place, size in enumerate(sizes)
    )
    # Each score is found on what the earlier ones have left of a row, so that rows without holes go along these.
    steps = np.triu(x_loadings.T @ weights, 1) + np.eye(len(found))
    rotations = linalg.solve_triangular(steps, weights.T, trans="T", unit_diagonal=True, check_finite=False).T
    return Factors(weights, rotations, x_loadings, y_loadings, scores, np.einsum("nk,nk->k", scores, scores))


def scores_with_holes(table: np.ndarray, there: np.ndarray, weights: np.ndarray, x_loadings: np.ndarray) -> np.ndarray:
    """Scores of new rows with 0 for holes, one component after the other; it changes the table."""
    scores = np.empty((len(table), weights.shape[1]))
    for place, (weight, loading) in enumerate(zip(weights.T, x_loadings.T, strict=True)):
        scores[:, place] = _over(table @ weight, there @ weight**2)
        table -= there * np.outer(scores[:, place], loading)
    return scores


def _leading(
    table: np.ndarray, there: np.ndarray, Y: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and score on which the loop settles."""
    u, before, change = Y[:, np.einsum("nm,nm->m", Y, Y).argmax()], None, np.inf
    for _ in range(max_iter):
        weight = _over(table.T @ u, there.T @ u**2)
        weight *= np.sign(weight[np.abs(weight).argmax()]) / np.linalg.norm(weight)
        score = _over(table @ weight, there @ weight**2)
        if Y.shape[1] == 1:
            return weight, score
        target = Y.T @ score
        u = Y @ (target / np.linalg.norm(target))
        if before is not None:
            change = float(np.linalg.norm(score - before) / np.linalg.norm(score))
            if change < tol:
                return weight, score
        before = score
    warn_caller(
        f"The score of a component still changes by {change:.1e} of its length after {max_iter} rounds, above "
        f"tol={tol:g}; raise max_iter or tol.",
        ConvergenceWarning,
    )
    return weight, score


def _over(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Quotient, and 0 where nothing is observed."""
    return np.divide(sums, squares, out=np.zeros_like(sums), where=squares > 0)
