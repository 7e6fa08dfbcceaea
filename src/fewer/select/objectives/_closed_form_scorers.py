"""The scorers that take the place of fits, for estimators that have a closed form.

A scaler is fitted on the training rows of every fold. Discriminants do not depend on it. Ridge regression on columns
times c with a penalty alpha is that on the columns as they are with ``alpha / c^2``. Distances and densities of scaled
columns are those of the columns times c.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from fewer._estimators import (
    DISCRIMINANT,
    NAIVE_BAYES,
    NEIGHBOURS,
    RIDGE,
    FastRoute,
    closed_form,
    column_scales,
    plain_table,
)
from fewer.select._folds import Split
from fewer.select.objectives._discriminant import DiscriminantScorer, LeaveOneOutDiscriminantScorer
from fewer.select.objectives._naive_bayes import NaiveBayesScorer
from fewer.select.objectives._nearest_neighbour import NearestNeighbourScorer
from fewer.select.objectives._objective import SubsetScorer
from fewer.select.objectives._ridge import LeaveOneOutRidgeScorer, RidgeScorer
from fewer.select.objectives._within_classes import scaled_columns

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


_SCORERS: dict[str, Callable[[Problem], SubsetScorer | str]] = {
    NEIGHBOURS: _neighbours,
    RIDGE: _ridge,
    DISCRIMINANT: _discriminant,
    NAIVE_BAYES: _naive_bayes,
}
