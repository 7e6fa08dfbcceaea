"""Iterative solvers of SciPy that call back into NumPy, with SciPy's BLAS on one thread.

Between two calls they solve systems of some ten unknowns. SciPy's BLAS wakes its threads even for these (L-BFGS-B since
SciPy 1.15, by triangular solves), which then spin while NumPy's threads have a product to do.
"""

from typing import Any

from fewer._kernels._one_thread import scipy_on_one_thread


def minimize(*args: Any, **options: Any) -> Any:
    """As ``scipy.optimize.minimize``."""
    from scipy import optimize

    with scipy_on_one_thread():
        return optimize.minimize(*args, **options)


def eigsh(*args: Any, **options: Any) -> Any:
    """As ``scipy.sparse.linalg.eigsh``."""
    from scipy.sparse import linalg

    with scipy_on_one_thread():
        return linalg.eigsh(*args, **options)


def svds(*args: Any, **options: Any) -> Any:
    """As ``scipy.sparse.linalg.svds``."""
    from scipy.sparse import linalg

    with scipy_on_one_thread():
        return linalg.svds(*args, **options)
