"""Keep tasks that run side by side from asking for more cores than there are.

``workers x threads <= cores``: each task gets its share of the cores, for BLAS and OpenMP as well as for joblib calls
inside the task.
"""

import functools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",  # what joblib.cpu_count() says, so that n_jobs=-1 in a task means its share
)
_capped = threading.local()


def cores() -> int:
    """Cores that this process may use."""
    import joblib

    return joblib.cpu_count()


def thread_environment(budget: int) -> dict[str, str]:
    """Environment of a worker whose libraries may use ``budget`` threads; a lower limit set by the user stays."""

    def lower(variable: str) -> str:
        asked = os.environ.get(variable, "")
        return asked if asked.isdigit() and 0 < int(asked) <= budget else str(budget)

    return {variable: lower(variable) for variable in _THREAD_VARIABLES}


@contextmanager
def within(budget: int) -> Iterator[None]:
    """Hold BLAS, OpenMP and nested joblib calls of this thread to ``budget`` threads."""
    import joblib

    _cap_native_threads(budget)
    with joblib.parallel_config(backend=_nested_backend(budget)):
        yield


def _cap_native_threads(budget: int) -> None:
    """Lower, never raise, the threads of each native library that is loaded.

    Not undone afterwards: the setting is global to the process in some libraries, so tasks in neighbouring threads of a
    Dask worker would undo each other's. Looking through the loaded libraries takes about a millisecond, so it happens
    again only when new modules were imported.
    """
    state = (budget, len(sys.modules))
    if getattr(_capped, "state", None) == state:
        return
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().lib_controllers:
        if library.num_threads is not None and library.num_threads > budget:
            library.set_num_threads(budget)
    _capped.state = (budget, len(sys.modules))


def _nested_backend(budget: int):
    backend = _share_class()(nesting_level=1)
    backend.budget = budget
    return backend


@functools.cache
def _share_class() -> type:
    from joblib.parallel import ThreadingBackend

    class Share(ThreadingBackend):
        """Threads for joblib calls inside a task: as many as were asked for, up to the share of the task."""

        budget = 1

        def effective_n_jobs(self, n_jobs: int) -> int:
            return min(super().effective_n_jobs(n_jobs), self.budget)

    return Share
