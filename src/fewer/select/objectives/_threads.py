"""Threads that share the candidates of a step; for kernels that let go of the interpreter's lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs


class CandidateThreads:
    """Calls a function on parts of the candidates side by side, and puts the results together."""

    def __init__(self, n_jobs: int | None) -> None:
        self._n_threads = effective_n_jobs(n_jobs)
        self._pool = ThreadPoolExecutor(self._n_threads) if self._n_threads > 1 else None

    def __call__(self, function: Callable[[np.ndarray], np.ndarray], candidates: np.ndarray) -> np.ndarray:
        candidates = np.asarray(candidates, dtype=np.int64)
        if self._pool is None or len(candidates) < self._n_threads:
            return function(candidates)
        return np.concatenate(list(self._pool.map(function, np.array_split(candidates, self._n_threads))))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
