"""What all searches share: an objective goes in, a path of subsets comes out; callbacks stop it, a checkpoint keeps it.

A search defines how it walks (``_walk``) and which size it keeps (``_kept_size``); the rest is here.
"""

import os
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from fewer._estimators import fit_steps, validated, warn_caller
from fewer.select._selector import Selector
from fewer.select.objectives._as_objective import NAMED_OBJECTIVES, as_objective
from fewer.select.objectives._objective import Objective, SubsetScorer
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

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Search the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse, or with holes, if the objective takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the objective needs it.

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
        with fit_steps(self, X, y, n_steps=self._n_steps(X.shape[1])) as after_step:

            def on_step(path):
                last = path.history[-1]
                name = f"{last.action}-{'subset' if last.column is None else 'column'}"
                return after_step(name, lambda: self._attributes(path))

            self._set(self._attributes(self._searched(objective, X, y, on_step)))
        return self

    def _searched(self, objective: Objective, X: Any, y: Any, on_step: OnStep) -> SearchPath:
        """The path, on what an earlier session knows already if there is a checkpoint."""
        seed = None
        if self._is_random():
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if self.checkpoint is None:
            with objective.start(X, y, n_jobs=self.n_jobs, random_state=self.random_state) as scorer:
                return self._walk(scorer, X.shape[1], on_step, seed)
        known = opened(self.checkpoint, self, objective, X, y, seed)
        try:
            scorer = objective.start(X, y, n_jobs=self.n_jobs, random_state=self.random_state)
        except BaseException:
            known.close()
            raise
        with RecalledScorer(scorer, known) as recalled:
            return self._walk(recalled, X.shape[1], on_step, known.seed)

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
