"""Forward search beside scikit-learn and mlxtend, with the same estimator on the same folds.

All are given the same estimator; ``fewer`` recognises that it has a closed form. The peers would take hours for 20 of
200 columns, so they only take the first one or two. ``fewer`` does the same work, which is what the ratios are about,
and then (its second row) the whole search, whose first columns must be the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest


@dataclass(frozen=True)
class Learner:
    """A learner as scikit-learn has it."""

    name: str
    estimator: Callable[[], Any]


def _nearest() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1)


def _ridge() -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier()


def _discriminant() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _naive_bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


LEARNERS = (
    Learner("1-NN", _nearest),
    Learner("ridge", _ridge),
    Learner("LDA", _discriminant),
    Learner("naive Bayes", _naive_bayes),
)


def some_useful(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that a tenth of the columns tell apart, each a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, : n_columns // 10] += 0.8 * y[:, None]
    return X, y


def sonar() -> tuple[np.ndarray, np.ndarray]:
    """60 frequencies of echoes from rocks and mines."""
    from fewer.datasets import load

    data = load("sonar")
    return np.asarray(data.X), np.asarray(data.y)


def forward_search(
    learner: Learner, table: Callable[[], tuple[np.ndarray, np.ndarray]], first: int, whole: int, cv: Any, folder: Path
) -> Contest:
    """The first columns that each search takes, ascending."""
    X, y = table()

    def folds() -> Any:
        from sklearn.model_selection import LeaveOneOut

        return LeaveOneOut() if cv == "loo" else cv

    def fewer(size: int) -> tuple[int, ...]:
        from fewer.select import SequentialSearch

        search = SequentialSearch(learner.estimator(), n_features_to_select=size, cv=cv)
        return search.fit(X, y).subset_path_[first]

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import SequentialFeatureSelector

        search = SequentialFeatureSelector(learner.estimator(), n_features_to_select=first, cv=folds())
        return search.fit(X, y).get_support(indices=True)

    def mlxtend() -> list[int]:
        from mlxtend.feature_selection import SequentialFeatureSelector

        search = SequentialFeatureSelector(learner.estimator(), k_features=first, cv=folds(), scoring="accuracy")
        return sorted(search.fit(X, y).k_feature_idx_)

    return Contest(
        ours={"fewer": partial(fewer, first), f"fewer, all {whole} columns": partial(fewer, whole)},
        peers={"scikit-learn": scikit_learn, "mlxtend": mlxtend},
        objective=np.asarray,
        tolerance=0,
    )


CASES = [
    Case(
        f"{learner.name}: {first} of {n_columns} columns, {n_rows} rows, {folds}",
        partial(forward_search, learner, table, first, whole, cv),
        repeats=1,
    )
    for learner in LEARNERS
    for table, n_rows, n_columns, first, whole, cv, folds in (
        (partial(some_useful, 500, 200), 500, 200, 1, 20, 5, "5 folds"),
        (partial(some_useful, 40, 10), 40, 10, 2, 10, "loo", "leave-one-out"),
        (sonar, 208, 60, 2, 60, 5, "5 folds"),
    )
] + [
    Case(
        "1-NN: 1 of 60 columns, 208 rows, leave-one-out",
        partial(forward_search, LEARNERS[0], partial(some_useful, 208, 60), 1, 10, "loo"),
        repeats=1,
    )
]
