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

from fewer._estimators import FastRoute
from fewer.engine import Engine
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._closed_form_scorers import closed_form_scorer
from fewer.select.objectives._objective import Objective, PlainScorer, Subset, SubsetScorer


@dataclass
class CrossValidatedScore(Objective):
    """Mean score of an estimator over one fixed set of folds.

    Nearest neighbours, ridge, linear discriminant analysis and Gaussian naive Bayes of scikit-learn, alone or behind a
    scaler of columns, are not fitted for each subset: a closed form gives the same scores far sooner. The scorer's
    ``fast_route`` tells whether one was taken, and if not, why.

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
        """Whether the estimator takes tables with holes."""
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
            raise ValueError(
                "y has one class only, so there is nothing to tell apart; at least two classes are needed."
            )
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
    """A closed form, and fits for the subsets that it cannot tell (their score is NaN)."""

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
