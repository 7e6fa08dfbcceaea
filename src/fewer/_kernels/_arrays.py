"""Arrays as kernels see them: read-only views, copies, and ranges of rows for threads.

Numba compiles a kernel once for arrays that can be written to, and again for those that cannot (of a frame, a file,
another process), so what a kernel only reads is given to it read-only, always. ``copy_into`` does what
``target[:] = source`` does, which Numba takes two seconds longer to compile. With `in_threads`, each row's result is
written to a place of its own, so that the number of threads never changes a bit of it; plain threads do, as Numba's own
ones cannot be used from two threads at once, nor after a fork.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

# Below this much work a thread costs more than it saves.
_WORK_FOR_A_THREAD = 200_000


@njit(cache=True, nogil=True)
def copy_into(target, source):
    """Write one vector over another of the same size."""
    for place in range(source.size):
        target[place] = source[place]


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers, which cannot be changed through this view."""
    view = array.view()
    view.flags.writeable = False
    return view


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
