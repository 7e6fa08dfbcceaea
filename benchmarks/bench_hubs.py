"""How often each row is a nearest neighbour, beside brute force of scikit-learn."""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def occurrences(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """10-occurrences of normal rows, by the same neighbours."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))

    def fewer() -> np.ndarray:
        from fewer.evaluate import k_occurrences

        return k_occurrences(X, 10, solver="exact").n_occurrences

    def brute() -> np.ndarray:
        from sklearn.neighbors import NearestNeighbors

        neighbours = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X).kneighbors(return_distance=False)
        return np.bincount(neighbours.ravel(), minlength=n_rows)

    # Distances that rounding makes equal may change a count by one.
    return Contest(
        ours={"fewer": fewer}, peers={"scikit-learn": brute}, objective=lambda counts: counts, tolerance=0.01
    )


CASES = [
    Case("20,000 rows x 100 columns", lambda folder: occurrences(20_000, 100, folder), repeats=3),
    Case("5,000 rows x 1,000 columns", lambda folder: occurrences(5_000, 1_000, folder), repeats=3),
]
