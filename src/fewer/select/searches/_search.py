"""Base of the searches: an objective goes in, a path of subsets comes out; callbacks stop it, a checkpoint keeps it.

:class:`SearchPath` holds what has been found, and :class:`Walker` takes the two steps that every search is made of: one
column more, one column less. A search defines how it walks (``_walk``) and which size it keeps (``_kept_size``); the
rest is here.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping

from fewer._estimators import (
    HasMethods,
    Interval,
    StrOptions,
    clearly_better,
    first_of_best,
    fit_context,
    fit_steps,
    note_slow,
    validated,
    warn_caller,
    without_rounding,
)
from fewer.select._selector import Selector, ranks_of_order
from fewer.select.objectives._cross_validated_score import NAMED_OBJECTIVES, as_objective
from fewer.select.objectives._objective import Objective, PlainScorer, Subset, SubsetScorer
from fewer.select.searches._checkpoint import RecalledScorer, opened


def reaches(score: float, target_score: float | None) -> bool:
    """Whether a score reaches the target, but for rounding; never without a target."""
    return target_score is not None and not clearly_better(target_score, score)


class SearchStep(NamedTuple):
    """One step of a search.

    Attributes
    ----------
    action : {"started", "added", "removed", "restored", "found"}
        What was done: "started" from a subset, "restored" the best known one of this size, or "found" a better one.
    column : int or None
        Which column was added or removed.
    size : int
        Columns in the subset afterwards.
    score : float
        Its objective.
    """

    action: str
    column: int | None
    size: int
    score: float


@dataclass
class SearchPath:
    """The best subset of every size, and how the search came to them."""

    n_columns: int
    subsets: dict[int, Subset] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    history: list[SearchStep] = field(default_factory=list)
    n_evaluations: int = 0
    complete: bool = True
    """Whether the search came to its end, rather than to a limit."""
    tried: np.ndarray = field(init=False)
    """J of a subset tried with the column (which one, the search decides); NaN for columns never tried."""

    def __post_init__(self) -> None:
        self.tried = np.full(self.n_columns, np.nan)

    def note(self, step: SearchStep, subset: list[int]) -> None:
        """Write a step down, and keep its subset if it is the best of its size."""
        self.history.append(step)
        if step.size not in self.scores or clearly_better(step.score, self.scores[step.size]):
            self.scores[step.size] = step.score
            self.subsets[step.size] = tuple(sorted(subset))

    @property
    def best_size(self) -> int:
        """The size with the highest J; of equals, but for rounding, the smallest."""
        return self.best_size_up_to(self.n_columns)

    def best_size_up_to(self, limit: int) -> int:
        """The same among sizes up to a limit; the smallest size, if all are above."""
        allowed = {size: score for size, score in self.scores.items() if size <= limit}
        if not allowed:
            return min(self.scores)
        highest = max(allowed.values())
        return min(size for size, score in allowed.items() if not clearly_better(highest, score))

    def smallest_reaching(self, target_score: float | None) -> int | None:
        """The smallest size with a subset that reaches the target score; None if there is none."""
        return min((size for size, score in self.scores.items() if reaches(score, target_score)), default=None)


class Walker:
    """Takes the best step in one of the two directions, and writes it down."""

    def __init__(self, scorer: SubsetScorer, n_columns: int) -> None:
        self.scorer = scorer
        self.path = SearchPath(n_columns)

    @property
    def size(self) -> int:
        return len(self.scorer.subset)

    def best_addition(self, skip: int | None = None, *, main: bool = True) -> tuple[int, float]:
        """The column to add, and J with it; (-1, -inf) when there is none. ``main`` notes J of all that were tried."""
        inside = np.zeros(self.path.n_columns, dtype=bool)
        inside[self.scorer.subset] = True
        return self._best(np.flatnonzero(~inside), self.scorer.score_added, skip, main)

    def best_removal(self, skip: int | None = None, *, main: bool = True) -> tuple[int, float]:
        """The column to take away, and J without it; (-1, -inf) when there is none."""
        return self._best(np.sort(self.scorer.subset), self.scorer.score_removed, skip, main)

    def _best(
        self, candidates: np.ndarray, score: Callable[[np.ndarray], np.ndarray], skip: int | None, main: bool
    ) -> tuple[int, float]:
        candidates = candidates[candidates != skip] if skip is not None else candidates
        if not len(candidates):
            return -1, -np.inf
        scores = self.scores_of(candidates, score)
        if main:
            self.path.tried[candidates] = scores
        best = int(first_of_best(scores))
        return int(candidates[best]), float(scores[best])

    def scores_of(self, candidates: np.ndarray, score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """J of the candidates of one step, which must be numbers."""
        scores = np.asarray(score(candidates), dtype=float)
        self.path.n_evaluations += len(candidates)
        if np.isnan(scores).any():
            raise ValueError(
                f"The objective is not a number for columns {tuple(self.scorer.subset)} changed by column "
                f"{candidates[np.isnan(scores)][0]}; subsets can only be compared by numbers."
            )
        return scores

    def add(self, column: int, score: float) -> None:
        self.scorer.add(column)
        self.path.note(SearchStep("added", column, self.size, score), self.scorer.subset)

    def remove(self, column: int, score: float) -> None:
        self.scorer.remove(column)
        self.path.note(SearchStep("removed", column, self.size, score), self.scorer.subset)

    def start_with(self, columns: list[int]) -> float:
        """Begin with these columns; returns J."""
        self.scorer.move_to(columns)
        score = self.scorer.score()
        self.path.n_evaluations += 1
        if np.isnan(score):
            raise ValueError(
                f"The objective is not a number for the {self.size} columns to start with; subsets can only be "
                "compared by numbers."
            )
        self.path.note(SearchStep("started", None, self.size, score), self.scorer.subset)
        return score

    def start_full(self) -> float:
        """Begin with all columns; returns J."""
        return self.start_with(list(range(self.path.n_columns)))

    def restore(self, size: int) -> float:
        """Go to the best known subset of this size; returns J."""
        self.scorer.move_to(self.path.subsets[size])
        score = self.path.scores[size]
        self.path.history.append(SearchStep("restored", None, size, score))
        return score


def column_scores(path: SearchPath) -> np.ndarray:
    """For each column J of the smallest subset of the path that holds it, or of the last one tried with it."""
    scores = path.tried.copy()
    for size in sorted(path.subsets, reverse=True):
        scores[list(path.subsets[size])] = path.scores[size]
    return scores


def column_ranking(path: SearchPath, chosen: Subset, merit: np.ndarray) -> np.ndarray:
    """Places from 1: the chosen columns first, then by the number of subsets of the path that hold a column.

    For nested paths this is the order of entry, or of removal backwards. Columns in equally many subsets stand in the
    order of their merit.
    """
    inside = np.zeros(path.n_columns, dtype=bool)
    inside[list(chosen)] = True
    times_held = np.zeros(path.n_columns, dtype=int)
    for subset in path.subsets.values():
        times_held[list(subset)] += 1
    return ranks_of_order(np.lexsort((np.arange(path.n_columns), -without_rounding(merit), -times_held, ~inside)))


def ranking_by_trials(path: SearchPath, chosen: Subset) -> np.ndarray:
    """Places from 1: the chosen columns first, and each group in the order of J of what was tried with them."""
    inside = np.isin(np.arange(path.n_columns), chosen)
    return ranks_of_order(np.lexsort((np.arange(path.n_columns), -without_rounding(path.tried), ~inside)))


OnStep = Callable[[SearchPath], bool]

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "objective": [HasMethods(["start"]), HasMethods(["fit"]), callable, StrOptions(set(NAMED_OBJECTIVES))],
    "target_score": [Interval(Real, None, None, closed="neither"), None],
    "cv": ["cv_object", StrOptions({"loo"})],
    "scoring": [str, callable, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "checkpoint": [str, os.PathLike, None],
}


class Search(CallbackSupportMixin, Selector):
    """Base of all searches."""

    # Groups are for the splitter, which asks for them itself.
    __metadata_request__fit = {"groups": UNUSED}

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, groups=None):
        """Search the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse, or with missing values, if the objective takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the objective needs it.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together in the folds of the objective, if ``cv`` is a number or a splitter that asks
            for groups.

        Returns
        -------
        self : object
            The fitted selector.
        """
        objective = self._objective()
        taken: dict[str, Any] = {
            "accept_sparse": ("csc", "csr") if objective.takes_sparse else False,
            "ensure_all_finite": "allow-nan" if objective.takes_nan else True,
        }
        if y is None and not objective.needs_y:
            X = validated(self, X, **taken)
        else:
            X, y = validated(self, X, y, **taken)
        self._warn_of_idle_scoring()
        self._check(objective, X.shape[1])
        options = {} if groups is None else self._groups_for(objective, X, groups)
        n_steps = self._n_steps(X.shape[1])
        with (
            fit_steps(self, X, y, n_steps=n_steps) as after_step,
            self._started(objective, X, y, options, after_step.note) as (scorer, seed),
        ):

            def attributes(path):
                return self._attributes(path) | {"fast_route_": scorer.fast_route}

            def on_step(path):
                last = path.history[-1]
                name = f"{last.action}-{'subset' if last.column is None else 'column'}"
                return after_step(name, lambda: attributes(path))

            self._set(attributes(self._walk(scorer, X.shape[1], on_step, seed)))
        return self

    @contextmanager
    def _started(
        self, objective: Objective, X: Any, y: Any, options: dict[str, Any], show: Callable[[str], None]
    ) -> Iterator[tuple[SubsetScorer, int | None]]:
        """The scorer, on what an earlier session knows already if there is a checkpoint, and the seed of the walk."""
        seed = None
        if self._is_random():
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        known = None
        if self.checkpoint is not None:
            known = opened(self.checkpoint, self, objective, X, y, seed, options.get("groups"))
        try:
            scorer = objective.start(X, y, n_jobs=self.n_jobs, random_state=self.random_state, **options)
        except BaseException:
            if known is not None:
                known.close()
            raise
        self._note_if_slow(scorer, X.shape[1], show)
        with scorer if known is None else RecalledScorer(scorer, known) as started:
            yield started, seed if known is None else known.seed

    def _groups_for(self, objective: Objective, X: Any, groups: Any) -> dict[str, Any]:
        """The groups as an option of ``objective.start``, if it has folds to draw."""
        groups = check_array(groups, ensure_2d=False, dtype=None, input_name="groups")
        check_consistent_length(X, groups)
        if "groups" in signature(objective.start).parameters:
            return {"groups": groups}
        warn_caller(f"groups= is not used: {type(objective).__name__} draws no folds.")
        return {}

    def _note_if_slow(self, scorer: SubsetScorer, n_columns: int, show: Callable[[str], None]) -> None:
        """Have it logged and shown, after the first subset, where fits will take more than a minute."""
        n_subsets, route = self._n_subsets(n_columns), scorer.fast_route
        if isinstance(scorer, PlainScorer) and n_subsets is not None:
            n_workers = effective_n_jobs(self.n_jobs)
            what = f"{type(self).__name__} ({n_subsets:,} subsets)"
            scorer.after_first = lambda seconds: note_slow(what, seconds * n_subsets / n_workers, route, show)

    def get_metadata_routing(self):
        """Which metadata ``fit`` takes: groups, where the splitter asks for them, as in GridSearchCV.

        Returns
        -------
        routing : MetadataRouter
            As in scikit-learn's user guide.
        """
        router = MetadataRouter(owner=self)
        cv = getattr(self._objective(), "cv", None)
        if hasattr(cv, "split"):
            router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _objective(self) -> Objective:
        return as_objective(self.objective, cv=self.cv, scoring=self.scoring)

    def _warn_of_idle_scoring(self) -> None:
        """Say so where the user asks for a score that the objective does not look at."""
        scoring = getattr(self, "scoring", None)
        if scoring is not None and not hasattr(self.objective, "fit"):
            shown = repr(scoring) if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)
            warn_caller(
                f"scoring={shown} is not used: it is for searches by an estimator, and this objective has a measure of "
                "its own."
            )

    def _is_random(self) -> bool:
        """Whether the walk draws anything."""
        return False

    def _check(self, objective: Objective, n_columns: int) -> None:
        """Refuse what cannot be searched."""

    def _n_steps(self, n_columns: int) -> int | None:
        """How many steps there will be, if that is known beforehand."""
        return None

    def _n_subsets(self, n_columns: int) -> int | None:
        """How many subsets will be scored, at least, if that is known beforehand."""
        return None

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        """The search itself."""
        raise NotImplementedError

    def _kept_size(self, path: SearchPath) -> int:
        """The size of the subset that is kept: the smallest that reaches the target score, or else the best."""
        smallest = path.smallest_reaching(self.target_score)
        return path.best_size if smallest is None else smallest

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        """Score and place of each column."""
        return column_scores(path), column_ranking(path, path.subsets[kept], path.tried)

    def _attributes(self, path: SearchPath) -> dict[str, Any]:
        """What the path says, as the attributes of a fitted selector."""
        kept = self._kept_size(path)
        scores, ranking = self._columns(path, kept)
        return {
            "subset_path_": {size: path.subsets[size] for size in sorted(path.subsets)},
            "path_scores_": {size: path.scores[size] for size in sorted(path.scores)},
            "history_": list(path.history),
            "n_evaluations_": path.n_evaluations,
            "n_features_to_select_": kept,
            "scores_": scores,
            "ranking_": ranking,
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        objective = self._objective()
        tags.input_tags.sparse = objective.takes_sparse
        tags.input_tags.allow_nan = objective.takes_nan
        tags.target_tags.required = objective.needs_y
        return tags
