"""Discriminant directions of wide and of tall tables, and a path of ridges, beside scikit-learn's LDA."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest


def classes_apart(n_rows: int, n_columns: int, n_classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :50] += 1.5 * rng.normal(size=(n_classes, 50))[y]
    return X, y


def n_directions(fitted: tuple[Any, np.ndarray]) -> int:
    """How many directions there are. How good they are depends on the ridge, which the peers do not have."""
    model, X = fitted
    return model.transform(X).shape[1]


def directions(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """One fit; peers have no ridge on the scatter, so that theirs is the nearest that they offer."""
    X, y = classes_apart(n_rows, n_columns)
    wide = n_columns > n_rows

    def fitted(make: Callable[[], Any]) -> Callable[[], tuple[Any, np.ndarray]]:
        return lambda: (make().fit(X, y), X[:500])

    def fewer() -> Any:
        from fewer.extract import RegularizedFisher

        return RegularizedFisher(alpha=100.0)

    def fewer_path() -> Any:
        from fewer.extract import RegularizedFisherCV

        return RegularizedFisherCV(alphas=np.logspace(-2, 6, 50))

    def lda(**options: Any) -> Callable[[], Any]:
        def make() -> Any:
            from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

            return LinearDiscriminantAnalysis(**options)

        return make

    peers = {"scikit-learn, svd": fitted(lda(solver="svd"))}
    if not wide:  # its matrix of columns by columns would take gigabytes, and minutes
        peers["scikit-learn, eigen with shrinkage"] = fitted(lda(solver="eigen", shrinkage=0.01))
    ours = {"fewer": fitted(fewer), "fewer, 50 ridges": fitted(fewer_path)}
    return Contest(ours=ours, peers=peers, objective=n_directions, tolerance=0)


CASES = [
    Case("LDA, 100 rows x 20,000 columns", lambda folder: directions(100, 20_000, folder)),
    Case("LDA, 50,000 rows x 500 columns", lambda folder: directions(50_000, 500, folder), repeats=3),
]
