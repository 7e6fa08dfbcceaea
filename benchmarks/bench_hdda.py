"""Classes and clusters with subspaces of their own, beside QDA and Gaussian mixtures of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest


def flat_classes(n_rows: int, n_columns: int, n_classes: int, n_dims: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Classes with means of their own, each spread along ten directions of its own."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    for label in range(n_classes):
        axes = np.linalg.qr(rng.normal(size=(n_columns, n_dims)))[0]
        X[y == label] += 3 * rng.normal(size=(np.sum(y == label), n_dims)) @ axes.T + 0.3 * rng.normal(size=n_columns)
    return X, y


def classifiers(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Fit, and tell the training rows."""
    X, y = flat_classes(n_rows, n_columns, 5)

    def fewer() -> float:
        from fewer.extract import HDDA

        return HDDA().fit(X, y).score(X, y)

    def qda() -> float:
        from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

        return QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": qda}, objective=lambda score: score, tolerance=0.01)


def mixtures(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Five steps of EM from k-means; the objective is how many of the rows end in the cluster of their class."""
    X, y = flat_classes(n_rows, n_columns, 5)

    def matched(labels: np.ndarray) -> float:
        from sklearn.metrics import adjusted_rand_score

        return round(float(adjusted_rand_score(y, labels)), 2)

    def fewer(n_dims: Any) -> np.ndarray:
        from fewer.extract import HDDC

        return HDDC(5, n_dims=n_dims, max_iter=5, tol=0, random_state=0).fit(X).labels_

    def mixture() -> np.ndarray:
        from sklearn.mixture import GaussianMixture

        return GaussianMixture(5, max_iter=5, tol=0, random_state=0).fit(X).predict(X)

    ours = {"fewer, scree": lambda: fewer("scree"), "fewer, 10 dimensions": lambda: fewer(10)}
    return Contest(ours=ours, peers={"scikit-learn": mixture}, objective=matched, tolerance=0.05)


CASES = [
    Case("classes, 10,000 rows x 500 columns", lambda folder: classifiers(10_000, 500, folder), repeats=3),
    Case("clusters, 10,000 rows x 500 columns", lambda folder: mixtures(10_000, 500, folder), repeats=1),
]
