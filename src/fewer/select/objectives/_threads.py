"""Threads that share the candidates of a step; for kernels that let go of the interpreter's lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs

_ENTRIES_AT_ONCE = 2**23


class CandidateThreads:
    """Calls a function on parts of the candidates side by side, and puts the results together.

    ``n_rows`` says how many rows the function predicts for each candidate, so that parts stay small.
    """

    def __init__(self, n_jobs: int | None, n_rows: int = 0) -> None:
        self._n_threads = effective_n_jobs(n_jobs)
        self._block = max(1, _ENTRIES_AT_ONCE // n_rows) if n_rows else None
        self._pool = ThreadPoolExecutor(self._n_threads) if self._n_threads > 1 else None

    def __call__(self, function: Callable[[np.ndarray], np.ndarray], candidates: np.ndarray) -> np.ndarray:
        candidates = np.asarray(candidates, dtype=np.int64)
        n_parts = 1 if self._pool is None or len(candidates) < self._n_threads else self._n_threads
        if self._block is not None:
            n_parts = max(n_parts, -(-len(candidates) // self._block))
        if n_parts == 1:
            return function(candidates)
        parts = np.array_split(candidates, n_parts)
        return np.concatenate(list((map if self._pool is None else self._pool.map)(function, parts)))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
