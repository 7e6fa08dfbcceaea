"""How often Gaussian naive Bayes recognises rows that it has not seen, column by column.

A row goes to the class k with the highest ``log pi_k + sum_j log N(x_j; m_kj, v_kj)``: a column more adds one term, a
column less takes one away.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._estimators import encoded_classes
from fewer._kernels._naive_bayes_candidates import classes_with, classes_without, fold_moments
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._fold_measure import FoldMeasure
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.objectives._threads import CandidateThreads


@dataclass
class NaiveBayesObjective(Objective):
    """Cross-validated accuracy of Gaussian naive Bayes, updated column by column.

    The same numbers as ``cross_val_score`` with scikit-learn's ``GaussianNB`` gives, far sooner. A column that does not
    vary at all changes nothing.

    Parameters
    ----------
    cv : "loo", int, splitter or iterable, default=5
        Leave-one-out, or the folds: a number of them (stratified), a splitter of scikit-learn or pairs of training and
        test rows.
    var_smoothing : float, default=1e-9
        Share of the largest variance in the subset that is added to all variances.

    See Also
    --------
    SequentialSearch : Searches for the columns that maximise it.
    DiscriminantObjective : Takes the correlations of columns into account.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import NaiveBayesObjective, SequentialSearch
    >>> wine = load("wine")
    >>> search = SequentialSearch(NaiveBayesObjective(cv="loo"), n_features_to_select=3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in search.subset_path_[3]]
    ['alcohol', 'flavanoids', 'hue']
    """

    cv: Any = 5
    var_smoothing: float = 1e-9

    def start(
        self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None, groups: Any = None
    ) -> "NaiveBayesScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without holes.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Threads that share the candidates.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together, where ``cv`` is a number or asks for groups.

        Returns
        -------
        scorer : NaiveBayesScorer
            Holds the means and variances of every fold.
        """
        if not self.var_smoothing >= 0:
            raise ValueError(f"var_smoothing={self.var_smoothing} must not be negative.")
        X, classes = np.asarray(X, dtype=float), encoded_classes(np.asarray(y), type(self).__name__)
        splits = fixed_splits(self.cv, X, classes.codes, classifier=True, random_state=random_state, groups=groups)
        return NaiveBayesScorer(X, classes.codes, splits, float(self.var_smoothing), n_jobs=n_jobs)


class NaiveBayesScorer(SubsetScorer):
    """Moments of all columns in the training rows of every fold; made by ``NaiveBayesObjective.start``.

    ``scales`` (folds, columns) is what each fold multiplies the columns by. With ``needs_variance``, sets of columns
    without any variance in a fold have no score.
    """

    def __init__(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        splits: list[Split],
        smoothing: float,
        *,
        scoring: Any = "accuracy",
        labels: np.ndarray | None = None,
        scales: np.ndarray | None = None,
        needs_variance: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self._threads = CandidateThreads(n_jobs, sum(len(test) for _, test in splits))
        super().__init__(self._threads.close)
        member = np.zeros((len(splits), len(X)), dtype=bool)
        for fold, (train, _) in enumerate(splits):
            member[fold, train] = True
        X = np.ascontiguousarray(X)
        n_classes = int(codes.max()) + 1
        means, variances, spreads, counts = fold_moments(X, codes, n_classes, member)
        scales = np.ones_like(spreads) if scales is None else np.ascontiguousarray(scales)
        # What is left of a constant column is rounding.
        flat = (4 * np.finfo(float).eps * np.abs(X).max(axis=0)) ** 2
        self._varies = (spreads > flat) if needs_variance else np.ones_like(spreads, dtype=bool)
        moments = (means, variances * scales[:, None] ** 2, spreads * scales**2, counts)
        with np.errstate(divide="ignore"):
            log_shares = np.log(counts / counts.sum(axis=1, keepdims=True))
        queries = np.concatenate([test for _, test in splits])
        starts = np.cumsum([0, *(len(test) for _, test in splits)])
        self._problem = (X, queries, starts, moments, scales, log_shares, smoothing)
        labels = np.arange(n_classes) if labels is None else labels
        self._measure = FoldMeasure(scoring, [codes[test] for _, test in splits], labels)

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        subset = np.array(self.subset, dtype=np.int64)
        scores = self._threads(lambda part: self._measure(classes_with(*self._problem, subset, part)), candidates)
        vary = self._varies[:, subset].any(axis=1, keepdims=True) | self._varies[:, candidates]
        return np.where(vary.all(axis=0), scores, np.nan)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        subset = np.array(self.subset, dtype=np.int64)
        places = np.array([self.subset.index(column) for column in candidates], dtype=np.int64)
        scores = self._threads(lambda part: self._measure(classes_without(*self._problem, subset, part)), places)
        left = self._varies[:, subset].sum(axis=1)[:, None] - self._varies[:, candidates]
        return np.where((left > 0).all(axis=0), scores, np.nan)
