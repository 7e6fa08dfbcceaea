"""One thread for the arithmetic of a study, so that sums come in one order and give the same bits everywhere."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP to one thread, inside of a ``with`` statement."""
    return _native_libraries(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _native_libraries(n_modules: int) -> Any:
    """The libraries that are loaded. To look takes as long as a small fit, so it is done when modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
