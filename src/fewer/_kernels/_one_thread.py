"""BLAS and OpenMP on one thread: for the same bits on every machine, and for small tables.

Products of small matrices take microseconds each. Waking a second thread for each takes longer than the product, and on
a busy machine a hundred times longer.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
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


@lru_cache(maxsize=1)
def _native_libraries(n_modules: int) -> Any:
    """The loaded libraries. To look for them takes as long as a small fit, so it is done again after imports only."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
