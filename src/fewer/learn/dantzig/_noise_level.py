"""The noise of a sparse model, when nobody knows it: the penalty asks for sigma, and the residuals give it.

The universal penalty at ``sigma`` leaves residuals of root mean square ``sigma``: that fixed point, found from above.
Shrunken coefficients leave too much, so the columns found are fitted anew by least squares.
"""

from collections.abc import Callable

import numpy as np

from fewer.learn.dantzig._dantzig_problem import Moments
from fewer.learn.dantzig._penalty_level import penalty_level


def noise_level(solve: Callable[[float], np.ndarray], table: Moments, n_rows: int, intercept: bool) -> float:
    """Standard deviation of the noise; ``solve`` gives the coefficients at a penalty."""
    problem, products = table.problem, table.problem.products
    unit = penalty_level("universal", n_rows, max(products.size, 1), 1.0)
    sigma = np.sqrt(table.target_square)
    coef = np.zeros(products.size)
    for _ in range(50):
        coef = solve(unit * sigma)
        square = table.target_square - 2 * products @ coef + coef @ problem.times(coef)
        before, sigma = sigma, np.sqrt(max(square, 0.0))
        if sigma >= before * (1 - 1e-4):
            break
    columns = np.flatnonzero(coef)
    freedom = n_rows - columns.size - intercept
    if columns.size == 0 or freedom < 1:
        return float(sigma)
    refitted = np.linalg.lstsq(problem.block(columns, columns), products[columns], rcond=None)[0]
    left = max(table.target_square - products[columns] @ refitted, 0.0)
    return float(np.sqrt(left * n_rows / freedom))
