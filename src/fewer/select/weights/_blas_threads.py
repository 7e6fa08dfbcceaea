"""As many BLAS threads as a table is worth.

An eigenvector of a small table takes many products of microseconds each. Waking a second thread for each takes longer
than the product, and on a busy machine a hundred times longer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_SMALL = 2**19
"""Entries up to which one thread is as fast as several."""


@contextmanager
def worthwhile_threads(X: Any) -> Iterator[None]:
    """One BLAS thread while a small table is worked on; as set for a larger one."""
    if X.shape[0] * X.shape[1] > _SMALL:
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    """The loaded libraries; looking for them takes some milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
