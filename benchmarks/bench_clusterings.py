"""Clusterings compared, corrected for chance, beside scikit-learn."""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def adjusted(n_rows: int, n_clusters: int, folder: Path) -> Contest:
    """Adjusted mutual information of two random labelings that agree on half of the rows."""
    rng = np.random.default_rng(0)
    first, other = rng.integers(n_clusters, size=(2, n_rows))
    second = np.where(rng.random(n_rows) < 0.5, first, other)

    def fewer() -> float:
        from fewer.evaluate import adjusted_mutual_info

        return adjusted_mutual_info(first, second)

    def peer() -> float:
        from sklearn.metrics import adjusted_mutual_info_score

        return float(adjusted_mutual_info_score(first, second, average_method="max"))

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": peer}, objective=lambda score: score, tolerance=1e-9)


CASES = [
    Case("100,000 rows, 300 x 300 clusters", lambda folder: adjusted(100_000, 300, folder), repeats=3),
    Case("1,000 rows, 20 x 20 clusters", lambda folder: adjusted(1_000, 20, folder)),
]
