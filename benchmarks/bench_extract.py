"""Choosing the number of principal components, and unmixing sources, beside scikit-learn."""

from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest


def enough_directions(X: np.ndarray | sparse.csr_array, folder: Path) -> Contest:
    """The number of directions that loses less than 5% of the variance, and the loss itself."""

    def fewer() -> list[float]:
        from fewer.extract import ReconstructionPCA

        model = ReconstructionPCA(epsilon=0.05, random_state=0).fit(X)
        return [model.n_components_, model.discarded_ratio_]

    def scikit_learn() -> list[float]:
        from sklearn.decomposition import PCA

        # A sparse table has to be made dense: scikit-learn does not choose the number of directions on it.
        model = PCA(n_components=0.95).fit(X.toarray() if isinstance(X, sparse.csr_array) else X)
        return [model.n_components_, 1 - model.explained_variance_ratio_.sum()]

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=1e-6)


def unmixing(n_rows: int, folder: Path) -> Contest:
    """Sources found again: the smallest correlation with a true one, rounded to what both can reach."""
    from fewer.datasets import make_independent_sources

    X, _, truth = make_independent_sources(
        n_rows, sources=("uniform", "laplace", "normal"), n_sensors=20, random_state=0
    )

    def smallest_match(found: np.ndarray) -> float:
        correlations = np.abs(np.corrcoef(found.T, truth["sources"].T)[:3, 3:])
        return round(float(correlations.max(axis=1).min()), 1)

    def fewer() -> np.ndarray:
        from fewer.extract import KurtosisICA

        return KurtosisICA(n_components=3).fit_transform(X)

    def scikit_learn() -> np.ndarray:
        from sklearn.decomposition import FastICA

        return FastICA(n_components=3, whiten_solver="eigh", random_state=0).fit_transform(X)

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=smallest_match, tolerance=0)


def low_rank(n_rows: int, n_columns: int, rank: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    return signal + 0.1 * rng.normal(size=(n_rows, n_columns))


def topical_counts(n_rows: int, n_columns: int) -> sparse.csr_array:
    """Rare words whose counts shrink quickly with their rank, as in a bag of words."""
    counts = sparse.random_array((n_rows, n_columns), density=0.01, rng=np.random.default_rng(0), format="csr")
    return (counts @ sparse.diags_array(10.0 / np.arange(1, n_columns + 1))).tocsr()


CASES = [
    Case("PCA, 100,000 rows x 100 columns", lambda folder: enough_directions(low_rank(100_000, 100, 10), folder)),
    Case("PCA, 60 rows x 20,000 columns", lambda folder: enough_directions(low_rank(60, 20_000, 10), folder)),
    Case("PCA, 2,000 x 1,500", lambda folder: enough_directions(low_rank(2_000, 1_500, 10), folder)),
    Case("PCA, sparse 3,000 x 5,000", lambda folder: enough_directions(topical_counts(3_000, 5_000), folder)),
    Case("ICA, 100,000 rows x 20 sensors", lambda folder: unmixing(100_000, folder)),
]
