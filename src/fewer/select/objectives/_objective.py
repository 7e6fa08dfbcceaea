"""What a search for columns maximises: an objective ``J(subset)``.

An objective is a small description (which neighbours, which folds). ``start(X, y)`` gives a :class:`SubsetScorer`,
which holds one subset of the columns and gives J of its neighbours: with one column more, or one less. Objectives that
can update what they know column by column override these; for all others :class:`PlainScorer` needs J of a list of
subsets and nothing else.

:class:`FoldMeasure` scores the predictions of many candidates at once; :class:`CandidateThreads` shares candidates
among threads, for kernels that release the interpreter's lock.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from fewer._estimators import FastRoute, fold_scores

Subset = tuple[int, ...]


class SubsetScorer(ABC):
    """A subset of the columns, and the objective of all subsets that are one column away.

    Attributes
    ----------
    subset : list of int
        The columns of the current subset, in the order in which they came; empty at first.
    fast_route : FastRoute
        Whether what is known of a subset serves those that are one column away.
    """

    fast_route = FastRoute(True, "the objective is updated column by column")

    def __init__(self, close: Callable[[], Any] = lambda: None) -> None:
        self.subset: list[int] = []
        self._close = close

    @abstractmethod
    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        """The objective of the current subset with each of these columns added by itself."""

    @abstractmethod
    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        """The objective of the current subset with each of these columns taken away by itself."""

    def add(self, column: int) -> None:
        """Add a column to the current subset."""
        self.subset.append(column)

    def remove(self, column: int) -> None:
        """Take a column away from the current subset."""
        self.subset.remove(column)

    def score(self) -> float:
        """The objective of the current subset, which must not be empty."""
        last = self.subset[-1]
        self.remove(last)
        score = float(self.score_added(np.array([last]))[0])
        self.add(last)
        return score

    def move_to(self, subset: Iterable[int]) -> None:
        """Make this the current subset."""
        wanted = list(subset)
        for column in [column for column in self.subset if column not in set(wanted)]:
            self.remove(column)
        for column in [column for column in wanted if column not in set(self.subset)]:
            self.add(column)

    def close(self) -> None:
        """Let go of workers, if there are any."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PlainScorer(SubsetScorer):
    """Scores every subset afresh, by a function from subsets (ascending columns) to their objectives.

    ``after_first``, if it is set, is called with the seconds that the first subset took.
    """

    fast_route = FastRoute(False, "the objective scores every subset afresh")
    after_first: Callable[[float], Any] | None = None

    def __init__(
        self, scores_of: Callable[[Sequence[Subset]], Sequence[float]], close: Callable[[], Any] = lambda: None
    ) -> None:
        super().__init__(close)
        self._scores_of = scores_of

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._scores([[*self.subset, column] for column in candidates])

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        return self._scores([[kept for kept in self.subset if kept != column] for column in candidates])

    def score(self) -> float:
        return float(self._scores([self.subset])[0])

    def _scores(self, subsets: Sequence[Sequence[int]]) -> np.ndarray:
        ascending = [tuple(sorted(int(column) for column in subset)) for subset in subsets]
        if self.after_first is None or not ascending:
            return np.asarray(self._scores_of(ascending), dtype=float)
        started = time.perf_counter()
        first = list(self._scores_of(ascending[:1]))
        self.after_first(time.perf_counter() - started)
        self.after_first = None
        return np.asarray([*first, *self._scores_of(ascending[1:])], dtype=float)


@dataclass
class Objective(ABC):
    """Base class of objectives: a dataclass whose fields are its parameters.

    It is cloned and searched over like an estimator. A new objective defines ``start``; one that cannot update column
    by column returns a :class:`PlainScorer`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from fewer.select import Objective, PlainScorer, SequentialSearch
    >>> @dataclass
    ... class Correlation(Objective):
    ...     '''Squared correlation between the target and the sum of the columns.'''
    ...     def start(self, X, y, *, n_jobs=None, random_state=None):
    ...         return PlainScorer(lambda subsets: [np.corrcoef(X[:, s].sum(axis=1), y)[0, 1] ** 2 for s in subsets])
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> SequentialSearch(Correlation(), n_features_to_select=2).fit(X, X[:, 1] + X[:, 3]).get_support()
    array([False,  True, False,  True])
    """

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse."""
        return False

    @property
    def takes_nan(self) -> bool:
        """Whether X may have missing values."""
        return False

    @property
    def needs_y(self) -> bool:
        """Whether there must be a target."""
        return True

    @property
    def monotone(self) -> bool:
        """Whether J never falls when a column is added."""
        return False

    @abstractmethod
    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> SubsetScorer:
        """A scorer for these rows, with the empty subset."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, with those of nested estimators as ``name__parameter``."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters, in the names of ``get_params``."""
        known = self.get_params(deep=False)
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {own!r}; it has {', '.join(known)}.")
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self


@dataclass
class FunctionObjective(Objective):
    """A function ``(X, y) -> float`` of the table with the columns of a subset."""

    function: Callable[[Any, Any], float]

    @property
    def needs_y(self) -> bool:
        """The function knows."""
        return False

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> PlainScorer:
        return PlainScorer(lambda subsets: [self.function(X[:, list(subset)], y) for subset in subsets])


class FoldMeasure:
    """From predictions (candidates, rows), those of a fold together, to their mean score over the folds.

    Parameters
    ----------
    scoring : str or scorer
        As for ``fewer._estimators.fold_scores``.
    truths : sequence of ndarray
        Codes of the classes, or numbers, of the test rows of each fold.
    labels : ndarray or None, default=None
        The classes that codes stand for; None for numbers.
    """

    def __init__(self, scoring: Any, truths: Sequence[np.ndarray], labels: np.ndarray | None = None) -> None:
        self._scoring = scoring
        self._starts = np.cumsum([0, *(len(truth) for truth in truths[:-1])])
        self._truth = np.concatenate(truths)
        # A score that is given by name and knows no labels is the same for codes.
        self._labels = None if isinstance(scoring, str) and scoring in ("accuracy", "balanced_accuracy") else labels
        self._has_classes = labels is not None

    def __call__(self, predicted: np.ndarray) -> np.ndarray:
        """Scores of the candidates; NaN where a prediction is not known (a code of -1, or NaN)."""
        unclear = (predicted < 0 if self._has_classes else np.isnan(predicted)).any(axis=1)
        scores = np.full(len(predicted), np.nan)
        if not unclear.all():
            clear, truth = predicted[~unclear] if unclear.any() else predicted, self._truth
            if self._labels is not None:
                clear, truth = self._labels[clear], self._labels[truth]
            scores[~unclear] = fold_scores(self._scoring, truth, clear, self._starts).mean(axis=1)
        return scores


_ENTRIES_AT_ONCE = 2**23


class CandidateThreads:
    """Calls a function on parts of the candidates side by side, and puts the results together.

    ``n_rows`` says how many rows the function predicts for each candidate, so that parts stay small.
    """

    def __init__(self, n_jobs: int | None, n_rows: int = 0) -> None:
        self._n_threads = effective_n_jobs(n_jobs)
        self._block = max(1, _ENTRIES_AT_ONCE // n_rows) if n_rows else None
        self._pool = ThreadPoolExecutor(self._n_threads) if self._n_threads > 1 else None

    def __call__(self, function: Callable[[np.ndarray], np.ndarray], candidates: np.ndarray) -> np.ndarray:
        candidates = np.asarray(candidates, dtype=np.int64)
        n_parts = 1 if self._pool is None or len(candidates) < self._n_threads else self._n_threads
        if self._block is not None:
            n_parts = max(n_parts, -(-len(candidates) // self._block))
        if n_parts == 1:
            return function(candidates)
        parts = np.array_split(candidates, n_parts)
        return np.concatenate(list((map if self._pool is None else self._pool.map)(function, parts)))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
