"""Forward search with nearest neighbours, beside scikit-learn and mlxtend on the same folds."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest, UnavailableError


def some_useful(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that a tenth of the columns tell apart, each a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, : n_columns // 10] += 0.8 * y[:, None]
    return X, y


def forward_search(n_rows: int, n_columns: int, size: int, cv: Any, folder: Path) -> Contest:
    """The columns that each search takes, as a mask."""
    X, y = some_useful(n_rows, n_columns)

    def folds() -> Any:
        from sklearn.model_selection import LeaveOneOut

        return LeaveOneOut() if cv == "loo" else cv

    def fewer() -> np.ndarray:
        from fewer.select import NearestNeighbourObjective, SequentialSearch

        return SequentialSearch(NearestNeighbourObjective(cv=cv), n_features_to_select=size).fit(X, y).get_support()

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import SequentialFeatureSelector
        from sklearn.neighbors import KNeighborsClassifier

        learner = KNeighborsClassifier(1)
        return SequentialFeatureSelector(learner, n_features_to_select=size, cv=folds()).fit(X, y).get_support()

    def mlxtend() -> np.ndarray:
        from mlxtend.feature_selection import SequentialFeatureSelector
        from sklearn.neighbors import KNeighborsClassifier

        search = SequentialFeatureSelector(KNeighborsClassifier(1), k_features=size, cv=folds(), scoring="accuracy")
        mask = np.zeros(n_columns, dtype=bool)
        mask[list(search.fit(X, y).k_feature_idx_)] = True
        return mask

    return Contest(
        ours={"fewer": fewer},
        peers={"scikit-learn": scikit_learn, "mlxtend": mlxtend},
        objective=np.flatnonzero,
        tolerance=0,
    )


def long_forward_search(n_rows: int, n_columns: int, size: int, cv: Any, folder: Path) -> Contest:
    """The same, where the peers take so long that it is only done when asked for."""
    if not os.environ.get("FEWER_LONG_BENCH"):
        raise UnavailableError("takes the peers many minutes: set FEWER_LONG_BENCH=1 to run it")
    return forward_search(n_rows, n_columns, size, cv, folder)


CASES = [
    Case("3 of 10 columns, 40 rows, leave-one-out", partial(forward_search, 40, 10, 3, "loo"), repeats=1),
    Case("3 of 30 columns, 500 rows, 5 folds", partial(forward_search, 500, 30, 3, 5), repeats=1),
    Case("20 of 200 columns, 500 rows, 5 folds", partial(long_forward_search, 500, 200, 20, 5), repeats=1),
]
