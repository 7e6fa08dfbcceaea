"""The cross-validated score of any estimator, as the objective of a search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags

from fewer.engine import Engine
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._objective import Objective, PlainScorer, Subset


@dataclass
class CrossValidatedScore(Objective):
    """Mean score of an estimator over one fixed set of folds.

    Parameters
    ----------
    estimator : estimator
        A classifier, regressor or pipeline; each subset gets a clone for each fold.
    cv : int, "loo", splitter or iterable, default=5
        The folds: a number of them (stratified for a classifier), leave-one-out, a splitter of scikit-learn or pairs of
        training and test rows.
    scoring : str, callable or None, default=None
        What to maximise, as in scikit-learn; the estimator's own score by default.

    See Also
    --------
    NearestNeighbourObjective : The same for nearest neighbours, far sooner.

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

    @property
    def takes_sparse(self) -> bool:
        """Whether the estimator takes sparse tables."""
        return bool(get_tags(self.estimator).input_tags.sparse)

    @property
    def takes_nan(self) -> bool:
        """Whether the estimator takes tables with holes."""
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @property
    def needs_y(self) -> bool:
        """Whether the estimator needs a target."""
        return bool(get_tags(self.estimator).target_tags.required)

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> PlainScorer:
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

        Returns
        -------
        scorer : PlainScorer
            Fits a clone for every subset and fold.
        """
        classifier = is_classifier(self.estimator)
        y = None if y is None else np.asarray(y)
        if classifier and len(np.unique(y)) < 2:
            raise ValueError(
                "y has one class only, so there is nothing to tell apart; at least two classes are needed."
            )
        splits = fixed_splits(self.cv, X, y, classifier=classifier, random_state=random_state)
        trial = Trial(X, y, splits, clone(self.estimator), check_scoring(self.estimator, scoring=self.scoring))
        n_workers = effective_n_jobs(n_jobs)
        if n_workers == 1:
            return PlainScorer(lambda subsets: [trial.mean_score(subset) for subset in subsets])
        engine = Engine.local(n_workers)
        return PlainScorer(partial(_scores_on_engine, engine, trial), engine.close)


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
