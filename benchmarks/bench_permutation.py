"""Label permutations of nearest neighbours, ridge, discriminants and naive Bayes, beside scikit-learn.

Both sides get the same permutations and the same stratified 10 folds, which follow the permuted labels, and have to
give the same score for each permutation that both do. We do 1,000, as a user would; scikit-learn needs minutes to
hours for that many, so it does only the first few, as the name of the case says: the ratio shown is the time for our
1,000 to its time for those few. ``python -m benchmarks.bench_permutation`` prints what a permutation costs on each
side.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest

LEARNERS = ("5-NN", "ridge", "LDA", "naive Bayes")
PERMUTATIONS = 1000
FEW = {"200 x 2,000": 5, "breast_cancer": 20}
"""Permutations for scikit-learn."""


def label_permutations(learner: str, data: str, folder: Path) -> Contest:
    """Scores under the permutations that both do."""
    ours, peer = contenders(learner, data)
    return Contest(ours={"fewer": ours}, peers={"scikit-learn": peer}, objective=np.asarray, tolerance=0)


def contenders(learner: str, data: str) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """Ours on all permutations, and scikit-learn on the first few; both return the observed score and those few."""
    from sklearn.model_selection import StratifiedKFold

    X, y = tables(data)
    few, cv, seed = FEW[data], StratifiedKFold(10), 0

    def fewer() -> np.ndarray:
        from fewer.evaluate import permutation_test

        state = np.random.RandomState(seed)  # the permutations that scikit-learn draws from this seed
        orders = [state.permutation(len(y)) for _ in range(PERMUTATIONS)]
        tested = permutation_test(
            classifier(learner), X, y, cv=cv, scoring="accuracy", permutations=orders, n_repeats=1
        )
        assert tested.route != "plain"
        return np.append(tested.observed, tested.null_errors[:few])

    def scikit_learn() -> np.ndarray:
        from sklearn.model_selection import permutation_test_score

        score, scores, _ = permutation_test_score(
            classifier(learner), X, y, cv=cv, scoring="accuracy", n_permutations=few, random_state=seed
        )
        return np.append(score, scores)

    return fewer, scikit_learn


def classifier(name: str) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    return {
        "5-NN": KNeighborsClassifier(),
        "ridge": RidgeClassifier(),
        "LDA": LinearDiscriminantAnalysis(),
        "naive Bayes": GaussianNB(),
    }[name]


def tables(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2000))
    X[y == 1, :20] += 0.5
    return X, y


CASES = [
    Case(
        f"{learner}, {data}: fewer {PERMUTATIONS:,} permutations, scikit-learn {few}",
        partial(label_permutations, learner, data),
        repeats=3,
    )
    for data, few in FEW.items()
    for learner in LEARNERS
]


def print_costs() -> None:
    """What a permutation costs on each side, from one run of each after a first, untimed one of ours."""
    for data, few in FEW.items():
        for learner in LEARNERS:
            ours, peer = contenders(learner, data)
            reached = ours()
            seconds = []
            for call in (ours, peer):
                start = time.perf_counter()
                agreed = np.array_equal(call(), reached)
                seconds.append(time.perf_counter() - start)
            own, theirs = seconds[0] / (PERMUTATIONS + 1), seconds[1] / (few + 1)  # the data themselves count as one
            print(
                f"{learner:12} {data:14} fewer {own * 1e3:8.3f} ms, scikit-learn {theirs * 1e3:8.1f} ms a permutation: "
                f"{theirs / own:6.0f} times faster, {'same scores' if agreed else 'SCORES DIFFER'}",
                flush=True,
            )


if __name__ == "__main__":
    print_costs()
