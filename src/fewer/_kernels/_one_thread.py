"""BLAS and OpenMP on one thread: for the same bits on every machine, and for small tables.

Products of small matrices take microseconds each. Waking a second thread for each takes longer than the product, and on
a busy machine a hundred times longer.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any


def one_thread(user_api: str | None = None, *, when: bool = True) -> AbstractContextManager[Any]:
    """Limit the native libraries to one thread inside of a ``with`` statement.

    Parameters
    ----------
    user_api : {"blas", "openmp"} or None, default=None
        Which libraries; None for both.
    when : bool, default=True
        False leaves all threads as they are.
    """
    return _native_libraries(len(sys.modules)).limit(limits=1, user_api=user_api) if when else nullcontext()


@contextmanager
def scipy_on_one_thread() -> Iterator[None]:
    """Limit the BLAS that SciPy's wheel brings to one thread; NumPy's keeps its threads.

    For solvers of SciPy that call back into NumPy: each of the two has threads that go on spinning after a call, and
    keep those of the other from running. Where both share one BLAS, nothing is limited.
    """
    library = _blas_of_scipy(len(sys.modules))
    n_threads = 1 if library is None else library.get_num_threads()
    if n_threads == 1:
        yield
        return
    library.set_num_threads(1)
    try:
        yield
    finally:
        library.set_num_threads(n_threads)


@lru_cache(maxsize=1)
def _blas_of_scipy(n_modules: int) -> Any:
    """The library in the folder ``scipy.libs``, or inside of the package; None if there is none."""
    for library in _native_libraries(n_modules).lib_controllers:
        folder = Path(library.filepath).parent
        if library.user_api == "blas" and (folder.name == "scipy.libs" or folder.parent.name == "scipy"):
            return library
    return None


@lru_cache(maxsize=1)
def _native_libraries(n_modules: int) -> Any:
    """The loaded libraries. To look for them takes as long as a small fit, so it is done again after imports only."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
