"""Minimise ``g'd + d'X'HXd/2 + sum_j c_j (|w_j + d_j| + ridge (w_j + d_j)^2 / 2)`` on the rows, without its matrix.

Coordinates are minimised one by one, which finds out which coefficients are not zero. Then the equations of these, with
their signs held, are solved together by conjugate gradients: a pass over their columns for each step, and few steps
where coordinates one by one would take hundreds of passes.
"""

import numpy as np

from fewer.learn.sparse._columns import DenseSet, SparseSet

SMALLEST_CURVATURE = 1e-12
_PASSES_BETWEEN = 5
_SLOW = 0.6
_TOGETHER_AT_MOST = 40


def minimise_on_rows(
    table: DenseSet | SparseSet,
    first: np.ndarray,
    second: np.ndarray,
    coefficients: np.ndarray,
    strengths: np.ndarray,
    ridge: float,
    tol: float,
    budget: float,
) -> tuple[int, bool]:
    """Minimise in place, until the gaps of a pass over all columns sum to ``tol``, or ``budget`` entries are visited.

    Slopes and curvatures of the rows are those where the model was made. Returns the entries visited, and whether the
    tolerance was reached.
    """
    size = coefficients.size
    curved, curvatures = table.curved(second)
    np.maximum(curvatures, SMALLEST_CURVATURE, out=curvatures)
    curvatures += ridge * strengths
    residual = first.copy()
    moving, n_moving = np.arange(size), size
    spent, n_passes, patience, before = 0, 0, _PASSES_BETWEEN, np.inf
    while True:
        everything = n_moving == size
        total, visited, n_moving = table.descend(
            curved, moving[:n_moving], coefficients, strengths, ridge, curvatures, residual, not everything
        )
        spent += visited
        if everything and total <= tol:
            return spent, True
        if spent > budget:
            return spent, False
        settled = not everything and total <= 0.3 * tol
        if settled or n_moving == 0:
            moving, n_moving = np.arange(size), size
        if settled:
            continue
        n_passes += 1
        if n_passes < patience:
            continue
        if total > _SLOW * before:
            visited, far = _solve_in_use(
                table, second, curvatures, coefficients, strengths, ridge, residual, min(0.1, 0.3 * tol / total)
            )
            spent += visited
            patience = _PASSES_BETWEEN if far else 2 * patience
        n_passes, before = 0, total


def _solve_in_use(
    table: DenseSet | SparseSet,
    second: np.ndarray,
    curvatures: np.ndarray,
    coefficients: np.ndarray,
    strengths: np.ndarray,
    ridge: float,
    residual: np.ndarray,
    share: float,
) -> tuple[int, bool]:
    """Go towards the joint solution of the coefficients in use with their signs held; the entries visited.

    Those that would change sign go to zero if that is better than before; if not, all go as far as the first of them.
    Returns whether signs let it go far, too.
    """
    used = np.flatnonzero((coefficients != 0.0) | (strengths == 0.0))
    columns, start, prices = table.part(used), coefficients[used], strengths[used]
    slopes, bends = np.empty(used.size), ridge * prices
    columns.products(residual, slopes)
    slopes += bends * start
    downhill = -slopes - prices * np.sign(start)
    steps, image, n_turns = _conjugate_steps(
        columns, second, bends, curvatures[used], downhill, share, min(_TOGETHER_AT_MOST, 2 * used.size)
    )

    def change(steps: np.ndarray, image: np.ndarray) -> float:
        bend = 0.5 * float(np.dot(second * image, image) + bends @ steps**2)
        return bend + float(slopes @ steps + prices @ (np.abs(start + steps) - np.abs(start)))

    crossing = (prices > 0.0) & ((start + steps) * start < 0.0)
    far = True
    if crossing.any():
        first_zero = float((-start[crossing] / steps[crossing]).min())
        beyond, excess = np.where(crossing, start + steps, 0.0), np.empty(image.size)
        columns.combination(beyond, excess)
        bounded, bounded_image = np.where(crossing, -start, steps), image - excess
        if change(bounded, bounded_image) <= change(first_zero * steps, first_zero * image):
            steps, image = bounded, bounded_image
        else:
            steps, image, far = first_zero * steps, first_zero * image, first_zero > 0.5
    residual += second * image
    start += steps
    start[(np.abs(start) <= 1e-15 * np.abs(steps)) & (prices > 0.0)] = 0.0
    coefficients[used] = start
    return (2 * n_turns + 2) * columns.n_stored, far


def _conjugate_steps(
    columns: DenseSet | SparseSet,
    second: np.ndarray,
    bends: np.ndarray,
    curvatures: np.ndarray,
    downhill: np.ndarray,
    share: float,
    at_most: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Steps that solve ``(X'HX + diag(bends)) steps = downhill`` to a share; their image on the rows; their number."""
    steps, image = np.zeros(downhill.size), np.zeros(second.size)
    along, back = np.empty(second.size), np.empty(downhill.size)
    rest = downhill.copy()
    direction = rest / curvatures
    goal = share * np.abs(rest).sum()
    product = float(rest @ direction)
    for turn in range(at_most):
        columns.combination(direction, along)
        weighted = second * along
        bend = float(weighted @ along + bends @ direction**2)
        if not bend > 1e-14 * product:
            return steps, image, turn
        length = product / bend
        image += length * along
        columns.products(weighted, back)
        steps += length * direction
        rest -= length * (back + bends * direction)
        if np.abs(rest).sum() <= goal:
            return steps, image, turn + 1
        scaled = rest / curvatures
        before, product = product, float(rest @ scaled)
        direction = scaled + (product / before) * direction
    return steps, image, at_most
