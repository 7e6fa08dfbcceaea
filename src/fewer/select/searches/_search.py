"""What all searches share: an objective goes in, a path of subsets comes out; callbacks stop it, a checkpoint keeps it.

A search defines how it walks (``_walk``) and which size it keeps (``_kept_size``); the rest is here.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping

from fewer._estimators import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    fit_steps,
    note_slow,
    validated,
    warn_caller,
)
from fewer.select._selector import Selector
from fewer.select.objectives._as_objective import NAMED_OBJECTIVES, as_objective
from fewer.select.objectives._objective import Objective, PlainScorer, SubsetScorer
from fewer.select.searches._checkpoint import RecalledScorer, opened
from fewer.select.searches._path import SearchPath, column_ranking, column_scores

OnStep = Callable[[SearchPath], bool]

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "objective": [HasMethods(["start"]), HasMethods(["fit"]), callable, StrOptions(set(NAMED_OBJECTIVES))],
    "enough": [Interval(Real, None, None, closed="neither"), None],
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
            Training table; sparse, or with holes, if the objective takes that.
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
            self._started(objective, X, y, options) as (scorer, seed),
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
        self, objective: Objective, X: Any, y: Any, options: dict[str, Any]
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
        self._note_if_slow(scorer, X.shape[1])
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

    def _note_if_slow(self, scorer: SubsetScorer, n_columns: int) -> None:
        """Have it logged, after the first subset, where fits will take more than a minute."""
        n_subsets, route = self._n_subsets(n_columns), scorer.fast_route
        if isinstance(scorer, PlainScorer) and n_subsets is not None:
            n_workers = effective_n_jobs(self.n_jobs)
            what = f"{type(self).__name__} ({n_subsets:,} subsets)"
            scorer.after_first = lambda seconds: note_slow(what, seconds * n_subsets / n_workers, route)

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
        """The size of the subset that is kept: the smallest that is good enough, or else the best."""
        smallest = path.smallest_that(self.enough)
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
