"""Rows shared out among threads, for kernels that let go of the interpreter's lock.

Each row's result is written to a place of its own, so that the number of threads never changes a bit of it. Plain
threads do: Numba's own ones cannot be used from two threads at once, nor after a fork.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

# Below this much work a thread costs more than it saves.
_WORK_FOR_A_THREAD = 200_000


def in_threads(kernel: Callable[..., None], indptr: np.ndarray, *arguments: Any, cost: int = 1) -> None:
    """Call ``kernel(start, stop, indptr, *arguments)`` for ranges of rows that hold about as many entries each.

    ``cost`` is the number of steps that one entry takes. The kernel must be compiled with ``nogil=True``.
    """
    n_rows = len(indptr) - 1
    n_parts = min(1 + int(indptr[-1]) * cost // _WORK_FOR_A_THREAD, max(n_rows, 1))
    n_parts = n_parts if n_parts == 1 else min(n_parts, _n_threads())
    if n_parts == 1:
        kernel(0, n_rows, indptr, *arguments)
        return
    # Parts of equal work: rows cost something even when they are empty.
    work = np.asarray(indptr, dtype=np.float64) + np.arange(n_rows + 1)
    bounds = np.searchsorted(work, np.linspace(0, work[-1], n_parts + 1))
    bounds[0], bounds[-1] = 0, n_rows
    with ThreadPoolExecutor(n_parts - 1) as pool:
        parts = [pool.submit(kernel, start, stop, indptr, *arguments) for start, stop in pairwise(bounds[1:])]
        kernel(0, bounds[1], indptr, *arguments)
        for part in parts:
            part.result()


@cache
def _n_threads() -> int:
    """Threads that this process may use; the engine and joblib set the limits of their workers where these look."""
    import joblib
    import numba

    return max(1, min(getattr(numba.config, "NUMBA_NUM_THREADS", 1), joblib.cpu_count()))
