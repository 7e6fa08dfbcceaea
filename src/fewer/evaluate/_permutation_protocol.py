"""The statistic of a permutation test: the cross-validated error of a whole procedure on one data set.

The same protocol runs on the data as they are and on every randomised version of them: the folds are drawn again for
each (a stratified splitter follows the randomised labels), a fresh clone is fitted on the other folds, and the error
is the mean over the folds. What is random in it, folds that are shuffled without a seed and estimators without a
``random_state``, gets a seed of its own for each data set, so that results do not depend on who computes what.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

REPEAT, PERMUTATION = 0, 1
"""What a seed is for: a repeat on the original data, or a randomised version."""


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """The root of all seeds of one test."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    raise ValueError(f"random_state must be an int, a Generator, a RandomState or None, not {random_state!r}.")


def run_seeds(root: np.random.SeedSequence, purpose: int, index: int) -> tuple[np.random.SeedSequence, np.ndarray]:
    """Seeds of one data set: one to draw it, two integers to draw its folds and to seed its estimators."""
    draw, run = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, purpose, index)).spawn(2)
    return draw, run.generate_state(2)


@dataclass(frozen=True)
class Protocol:
    """How a procedure is judged on one data set.

    Attributes
    ----------
    estimator : estimator
        The whole procedure; cloned for each fold.
    cv : splitter
        Its splits may depend on the labels.
    score : callable
        ``score(fitted, X, y)``, one number.
    groups : ndarray or None
        Rows are exchanged inside of these only.
    open_seeds : tuple of str
        Parameters of the estimator that hold a random state without a fixed seed.
    open_folds : bool
        Whether the splitter shuffles without a fixed seed.
    as_error : bool
        Whether 1 minus the score is reported.
    """

    estimator: Any
    cv: Any
    score: Callable[[Any, Any, Any], float]
    groups: np.ndarray | None
    open_seeds: tuple[str, ...]
    open_folds: bool
    as_error: bool

    @property
    def is_random(self) -> bool:
        """Whether two runs on the same data can differ."""
        return self.open_folds or bool(self.open_seeds)

    @property
    def fold_groups(self) -> np.ndarray | None:
        """The groups, for a splitter that asks for them; others would warn that they ignore them."""
        from fewer._estimators import GroupsConsumerMixin

        own = type(self.cv).__module__.startswith("sklearn.")
        return None if own and not isinstance(self.cv, GroupsConsumerMixin) else self.groups

    def splitter(self, seed: int) -> Any:
        """The splitter, with its seed when it has none of its own."""
        return _with_seed(self.cv, seed) if self.open_folds else self.cv

    def fold_scores(self, X: Any, y: np.ndarray, seeds: np.ndarray, only: Any = None) -> np.ndarray:
        """Score on each fold, or on some of them by number."""
        from sklearn.base import clone

        from fewer._estimators import safe_split

        seeded = {
            name: int(seed)
            for name, seed in zip(
                self.open_seeds, np.random.SeedSequence(int(seeds[1])).generate_state(len(self.open_seeds)), strict=True
            )
        }
        scores = []
        for number, (train, test) in enumerate(self.splitter(int(seeds[0])).split(X, y, self.fold_groups)):
            if only is not None and number not in only:
                continue
            model = clone(self.estimator)
            if seeded:
                model.set_params(**seeded)
            X_train, y_train = safe_split(model, X, y, train)
            X_test, y_test = safe_split(model, X, y, test, train)
            scores.append(self.score(model.fit(X_train, y_train), X_test, y_test))
        return np.asarray(scores, dtype=float)

    def value(self, fold_scores: np.ndarray) -> float:
        """What is reported of the scores of all folds."""
        mean = float(np.mean(fold_scores))
        return 1.0 - mean if self.as_error else mean

    def statistic(self, X: Any, y: np.ndarray, seeds: np.ndarray) -> float:
        """The error (or score) of the procedure on one data set."""
        return self.value(self.fold_scores(X, y, seeds))


def accuracy(model: Any, X: Any, y: np.ndarray) -> float:
    """Share of rows whose label is predicted."""
    return float(np.mean(np.asarray(model.predict(X)) == y))


def protocol_for(estimator: Any, y: np.ndarray, cv: Any, scoring: Any, groups: Any) -> Protocol:
    """The protocol that the arguments of :func:`permutation_test` describe."""
    from sklearn.base import is_classifier
    from sklearn.metrics import check_scoring

    if isinstance(scoring, str) and scoring == "error" and not is_classifier(estimator):
        raise ValueError(
            f'scoring="error" counts wrong labels, and {type(estimator).__name__} does not predict labels; choose a '
            'score where higher is better, such as scoring="r2" or scoring="neg_mean_absolute_error".'
        )
    counts_labels = isinstance(scoring, str) and scoring in ("error", "accuracy")
    splitter = _splitter(cv, y, is_classifier(estimator))
    return Protocol(
        estimator=estimator,
        cv=splitter,
        score=accuracy if counts_labels else check_scoring(estimator, scoring=scoring),
        groups=None if groups is None else np.asarray(groups),
        open_seeds=_open_seeds(estimator),
        open_folds=_shuffles_without_seed(splitter),
        as_error=counts_labels and scoring == "error",
    )


def _splitter(cv: Any, y: np.ndarray, classifier: bool) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    if cv is None:
        rarest = int(np.unique(y, return_counts=True)[1].min()) if classifier else len(y)
        cv = min(10, max(2, rarest))
    if isinstance(cv, int | np.integer):
        return StratifiedKFold(int(cv), shuffle=True) if classifier else KFold(int(cv), shuffle=True)
    return check_cv(cv, y, classifier=classifier)


def _shuffles_without_seed(splitter: Any) -> bool:
    if not hasattr(splitter, "random_state") or isinstance(splitter.random_state, int | np.integer):
        return False
    return bool(getattr(splitter, "shuffle", True))


def _open_seeds(estimator: Any) -> tuple[str, ...]:
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be a scikit-learn estimator, such as DecisionTreeClassifier(), not {estimator!r}."
        )
    return tuple(
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and not isinstance(value, int | np.integer)
    )


def _with_seed(splitter: Any, seed: int) -> Any:
    seeded = copy.copy(splitter)
    seeded.random_state = seed
    return seeded
