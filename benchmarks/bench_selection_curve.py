"""Held-out accuracy for 50 numbers of columns, ranked inside of 5 folds, beside scikit-learn's cross_val_score."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest, UnavailableError

N_SIZES = 50


def curve(table: Callable[[], tuple[np.ndarray, np.ndarray]], learner: str, folder: Path) -> Contest:
    """Scores of all folds and sizes; they must be equal."""
    from sklearn.base import clone
    from sklearn.feature_selection import SelectKBest
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    X, y = table()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    sizes = fifty_sizes(X.shape[1])
    model = learners()[learner]

    def fewer() -> np.ndarray:
        from fewer.evaluate import selection_curve

        return selection_curve(SelectKBest(), model, X, y, sizes=sizes, cv=folds).scores[0].T

    def scikit_learn() -> np.ndarray:
        return np.array([cross_val_score(make_pipeline(SelectKBest(k=k), model), X, y, cv=folds) for k in sizes])

    def ranked_once() -> np.ndarray:
        scores = []
        for train, test in folds.split(X, y):
            order = np.argsort(-SelectKBest().fit(X[train], y[train]).scores_, kind="stable")
            kept = [np.sort(order[:size]) for size in sizes]
            fits = [clone(model).fit(X[train][:, columns], y[train]) for columns in kept]
            scores.append([fit.score(X[test][:, columns], y[test]) for fit, columns in zip(fits, kept, strict=True)])
        return np.array(scores).T

    return Contest(
        ours={"fewer": fewer},
        peers={"scikit-learn": scikit_learn, "scikit-learn, ranked once a fold": ranked_once},
        objective=np.asarray,
        tolerance=1e-12,
    )


def fifty_sizes(n_columns: int) -> np.ndarray:
    """Fifty numbers of columns up to all: evenly spaced among few columns, in growing steps among many."""
    if n_columns <= 2 * N_SIZES:
        return np.unique(np.linspace(1, n_columns, N_SIZES).astype(int))
    steps = next(n for n in range(N_SIZES, 10 * N_SIZES) if len(_growing(n_columns, n)) >= N_SIZES)
    return _growing(n_columns, steps)


def _growing(n_columns: int, n: int) -> np.ndarray:
    return np.unique(np.geomspace(1, n_columns, n).round().astype(int))


def learners() -> dict[str, Any]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    return {
        "k-NN": KNeighborsClassifier(5),
        "ridge": RidgeClassifier(),
        "LDA": LinearDiscriminantAnalysis(),
        "naive Bayes": GaussianNB(),
    }


def sonar() -> tuple[np.ndarray, np.ndarray]:
    """Sonar, its four decimals blurred, because two rows that are equally near are a matter of taste."""
    from fewer.datasets import PackageMissingError, load

    try:
        dataset = load("sonar")
    except PackageMissingError as error:
        raise UnavailableError(str(error)) from error
    X = np.asarray(dataset.X, dtype=float)
    return X + 1e-6 * np.random.default_rng(0).normal(size=X.shape), np.asarray(dataset.y, dtype=str)


def wide() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 5_000))
    X[:, :20] += 0.5 * y[:, None]
    return X, y


CASES = [
    Case(f"{learner}, {name}", partial(curve, table, learner))
    for name, table in (("sonar 208 x 60", sonar), ("100 rows x 5,000 columns", wide))
    for learner in ("k-NN", "ridge", "LDA", "naive Bayes")
]
