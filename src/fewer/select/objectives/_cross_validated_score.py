"""The cross-validated score of any estimator, as the objective of a search.

Estimators with a closed form are scored without fits. A scaler is fitted on the training rows of every fold.
Discriminants do not depend on it. Ridge regression on columns times c with a penalty alpha is that on the columns as
they are with ``alpha / c^2``. Distances and densities of scaled columns are those of the columns times c.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags

from fewer._estimators import (
    DISCRIMINANT,
    NAIVE_BAYES,
    NEIGHBOURS,
    OCCURRENCES,
    RIDGE,
    FastRoute,
    closed_form,
    column_scales,
    plain_table,
)
from fewer.engine import Engine
from fewer.select._target import Split, fixed_splits
from fewer.select.objectives._decision_table import (
    ClassEntropyObjective,
    ConflictsObjective,
    DescriptionLengthObjective,
    InconsistencyObjective,
)
from fewer.select.objectives._discriminant import DiscriminantScorer, LeaveOneOutDiscriminantScorer, scaled_columns
from fewer.select.objectives._naive_bayes import NaiveBayesScorer, OccurrenceScorer
from fewer.select.objectives._nearest_neighbour import NearestNeighbourScorer
from fewer.select.objectives._objective import FunctionObjective, Objective, PlainScorer, Subset, SubsetScorer
from fewer.select.objectives._ridge import LeaveOneOutRidgeScorer, RidgeScorer


@dataclass
class CrossValidatedScore(Objective):
    """Mean score of an estimator over one fixed set of folds.

    Nearest neighbours, ridge, linear discriminant analysis and Gaussian naive Bayes of scikit-learn, alone or behind a
    scaler of columns, are not fitted for each subset: a closed form gives the same scores far sooner. The scorer's
    ``fast_route`` reports whether one was taken, and if not, why.

    Parameters
    ----------
    estimator : estimator
        A classifier, regressor or pipeline; each subset gets a clone for each fold.
    cv : int, "loo", splitter or iterable, default=5
        The folds: a number of them (stratified for a classifier), leave-one-out, a splitter of scikit-learn or pairs of
        training and test rows.
    scoring : str, callable or None, default=None
        What to maximise, as in scikit-learn; the estimator's own score by default.
    share_work : bool, default=True
        Take the closed form where there is one; the result is the same. False is for comparison.

    See Also
    --------
    NearestNeighbourObjective : Nearest neighbours, without an estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from fewer.select import CrossValidatedScore
    >>> X, y = load_iris(return_X_y=True)
    >>> with CrossValidatedScore(LinearDiscriminantAnalysis()).start(X, y) as scorer:
    ...     scorer.score_added([0, 1, 2, 3]).round(3)
    array([0.733, 0.547, 0.953, 0.96 ])
    """

    estimator: Any
    cv: Any = 5
    scoring: Any = None
    share_work: bool = True

    @property
    def takes_sparse(self) -> bool:
        """Whether the estimator takes sparse tables."""
        return bool(get_tags(self.estimator).input_tags.sparse)

    @property
    def takes_nan(self) -> bool:
        """Whether the estimator takes missing values."""
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @property
    def needs_y(self) -> bool:
        """Whether the estimator needs a target."""
        return bool(get_tags(self.estimator).target_tags.required)

    def start(
        self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None, groups: Any = None
    ) -> SubsetScorer:
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,) or None
            Target.
        n_jobs : int or None, default=None
            Worker processes that share the candidates of a step.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together, where ``cv`` is a number or asks for groups.

        Returns
        -------
        scorer : SubsetScorer
            Has the closed form, or fits a clone for every subset and fold.
        """
        classifier = is_classifier(self.estimator)
        y = None if y is None else np.asarray(y)
        if classifier and len(np.unique(y)) < 2:
            raise ValueError("y has one class only; at least two classes are needed.")
        splits = fixed_splits(self.cv, X, y, classifier=classifier, random_state=random_state, groups=groups)
        trial = Trial(X, y, splits, clone(self.estimator), check_scoring(self.estimator, scoring=self.scoring))
        found: SubsetScorer | FastRoute = FastRoute(False, "share_work=False asks for fits")
        if self.share_work:
            found = closed_form_scorer(self.estimator, self.scoring, X, y, splits, n_jobs=n_jobs)
        if isinstance(found, SubsetScorer):
            return ClosedFormScorer(found, trial)
        n_workers = effective_n_jobs(n_jobs)
        if n_workers == 1:
            scorer = PlainScorer(lambda subsets: [trial.mean_score(subset) for subset in subsets])
        else:
            engine = Engine.local(n_workers)
            scorer = PlainScorer(partial(_scores_on_engine, engine, trial), engine.close)
        scorer.fast_route = found
        return scorer


class ClosedFormScorer(SubsetScorer):
    """A closed form, and fits for the subsets that it cannot score (NaN)."""

    def __init__(self, scorer: SubsetScorer, trial: "Trial") -> None:
        super().__init__(scorer.close)
        self._scorer, self._trial = scorer, trial
        self._n_scored = self._n_fitted = 0
        self.subset = scorer.subset

    @property
    def fast_route(self) -> FastRoute:  # type: ignore[override]
        """The closed form, and how many subsets had to be fitted all the same."""
        taken, reason = self._scorer.fast_route
        if self._n_fitted:
            fitted = f"{self._n_fitted:,} of {self._n_scored:,} subsets were fitted"
            reason += f"; {fitted}, for collinear or constant columns or class means"
        return FastRoute(taken, reason)

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        subsets = [[*self.subset, column] for column in candidates]
        return self._completed(self._scorer.score_added(np.asarray(candidates, dtype=np.int64)), subsets)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        subsets = [[kept for kept in self.subset if kept != column] for column in candidates]
        return self._completed(self._scorer.score_removed(np.asarray(candidates, dtype=np.int64)), subsets)

    def add(self, column: int) -> None:
        self._scorer.add(column)

    def remove(self, column: int) -> None:
        self._scorer.remove(column)

    def _completed(self, scores: np.ndarray, subsets: Sequence[list[int]]) -> np.ndarray:
        unclear = np.flatnonzero(np.isnan(scores))
        self._n_scored += len(scores)
        self._n_fitted += len(unclear)
        for place in unclear.tolist():
            scores[place] = self._trial.mean_score(tuple(sorted(int(column) for column in subsets[place])))
        return scores


@dataclass
class Trial:
    """What every candidate is tried on."""

    X: Any
    y: np.ndarray | None
    splits: list[Split]
    estimator: Any
    scorer: Callable[..., float]

    def mean_score(self, subset: Subset) -> float:
        """Mean score over the folds of clones fitted on these columns."""
        columns = self.X[:, list(subset)]
        scores = []
        for train, test in self.splits:
            seen, unseen = ((), ()) if self.y is None else ((self.y[train],), (self.y[test],))
            fitted = clone(self.estimator).fit(columns[train], *seen)
            scores.append(self.scorer(fitted, columns[test], *unseen))
        return float(np.mean(scores))


def _mean_score(subset: Subset, trial: Trial) -> float:
    return trial.mean_score(subset)


def _scores_on_engine(engine: Engine, trial: Trial, subsets: Sequence[Subset]) -> list[float]:
    outcomes = engine.run(_mean_score, list(subsets), shared=trial, labels=lambda subset: f"columns {subset}").collect()
    for outcome in outcomes:
        if not outcome.ok:
            raise ValueError(f"The estimator could not be scored on {outcome.label}: {outcome.failure}.")
    if len(outcomes) < len(subsets):
        raise KeyboardInterrupt
    return [outcome.value for outcome in outcomes]


LARGEST = 4e9
"""Bytes that the distances between all rows may take."""


class Problem(NamedTuple):
    """What a closed form is asked for."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    splits: list[Split]
    scales: np.ndarray | None
    scoring: Any
    n_jobs: int | None

    @property
    def leaves_one_out(self) -> bool:
        """Whether every row is left out once, by itself."""
        single = all(len(test) == 1 and len(train) == len(self.y) - 1 for train, test in self.splits)
        return single and np.array_equal(np.concatenate([test for _, test in self.splits]), np.arange(len(self.y)))


def closed_form_scorer(
    estimator: Any, scoring: Any, X: Any, y: Any, splits: list[Split], *, n_jobs: int | None
) -> SubsetScorer | FastRoute:
    """The scorer of an estimator that has a closed form, or the reason why it has to be fitted."""
    form = closed_form(estimator, scoring, "search")
    if isinstance(form, FastRoute):
        return form
    table = plain_table(X)
    if isinstance(table, FastRoute):
        return table
    if y is None or np.ndim(y) != 1:
        return FastRoute(False, "closed forms are for one target")
    scales = np.stack([column_scales(form.steps, table[train]) for train, _ in splits]) if form.steps else None
    if scoring is None:
        scoring = "accuracy" if is_classifier(form.model) else "r2"
    found = _SCORERS[form.name](Problem(form.model, table, np.asarray(y), splits, scales, scoring, n_jobs))
    if isinstance(found, str):
        return FastRoute(False, found)
    found.fast_route = form.route
    return found


def _neighbours(problem: Problem) -> SubsetScorer | str:
    model, splits = problem.model, problem.splits
    smallest = min(len(train) for train, _ in splits)
    if model.n_neighbors > smallest:
        return f"n_neighbors={model.n_neighbors} is more than the {smallest} training rows of a fold"
    if 20 * len(problem.y) * sum(len(test) for _, test in splits) > LARGEST:
        return f"the distances between all rows would take more than {LARGEST / 1e9:.0f} GB"
    return NearestNeighbourScorer(
        problem.X,
        problem.y,
        splits,
        model.n_neighbors,
        classes=is_classifier(model),
        scoring=problem.scoring,
        by_distance=model.weights == "distance",
        scales=problem.scales,
        n_jobs=problem.n_jobs,
    )


def _ridge(problem: Problem) -> SubsetScorer:
    model, alpha = problem.model, float(problem.model.alpha)
    options = {"classes": is_classifier(model), "scoring": problem.scoring}
    if problem.leaves_one_out and problem.scales is None and len(problem.y) > 2:
        return LeaveOneOutRidgeScorer(problem.X, problem.y, alpha, **options)
    penalties = alpha if problem.scales is None else alpha / problem.scales**2
    return RidgeScorer(problem.X, problem.y, problem.splits, penalties, **options)


def _discriminant(problem: Problem) -> SubsetScorer | str:
    labels, codes = np.unique(problem.y, return_inverse=True)
    if any(len(np.unique(codes[train])) < 2 for train, _ in problem.splits):
        return "the training rows of a fold hold one class only"
    options = {"scoring": problem.scoring, "labels": labels, "tol": float(problem.model.tol), "strict": True}
    if problem.leaves_one_out:
        return LeaveOneOutDiscriminantScorer(scaled_columns(problem.X), codes, **options)
    return DiscriminantScorer(scaled_columns(problem.X), codes, problem.splits, **options)


def _naive_bayes(problem: Problem) -> SubsetScorer:
    labels, codes = np.unique(problem.y, return_inverse=True)
    return NaiveBayesScorer(
        problem.X,
        codes,
        problem.splits,
        float(problem.model.var_smoothing),
        scoring=problem.scoring,
        labels=labels,
        scales=problem.scales,
        needs_variance=True,
        n_jobs=problem.n_jobs,
    )


def _occurrences(problem: Problem) -> SubsetScorer | str:
    if problem.X.min() < 0:
        return "X has negative entries"
    labels, codes = np.unique(problem.y, return_inverse=True)
    options = {"scoring": problem.scoring, "labels": labels}
    return OccurrenceScorer(problem.X, codes, problem.splits, float(problem.model.smoothing), **options)


_SCORERS: dict[str, Callable[[Problem], SubsetScorer | str]] = {
    NEIGHBOURS: _neighbours,
    RIDGE: _ridge,
    DISCRIMINANT: _discriminant,
    NAIVE_BAYES: _naive_bayes,
    OCCURRENCES: _occurrences,
}


NAMED_OBJECTIVES: dict[str, type[Objective]] = {
    "conflicts": ConflictsObjective,
    "class_entropy": ClassEntropyObjective,
    "inconsistency_rate": InconsistencyObjective,
    "mdl": DescriptionLengthObjective,
}


def as_objective(objective: Any, *, cv: Any, scoring: Any) -> Objective:
    """An objective from one already, its name, an estimator, or a function ``(X, y) -> float``."""
    if isinstance(objective, Objective):
        return objective
    if isinstance(objective, str) and objective in NAMED_OBJECTIVES:
        return NAMED_OBJECTIVES[objective]()
    if isinstance(objective, type) and (issubclass(objective, Objective) or hasattr(objective, "fit")):
        raise TypeError(
            f"The objective is the class {objective.__name__}; give an instance of it, {objective.__name__}(...)."
        )
    if hasattr(objective, "fit"):
        return CrossValidatedScore(objective, cv=cv, scoring=scoring)
    return FunctionObjective(objective)
