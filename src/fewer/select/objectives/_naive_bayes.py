"""How often Gaussian naive Bayes recognises rows that it has not seen, column by column.

A row goes to the class k with the highest ``log pi_k + sum_j log N(x_j; m_kj, v_kj)``: a column more adds one term, a
column less takes one away.

*Kernels*: the log density of a row is a sum over columns, so a candidate costs one more term for each row and class.
All variances get a share of the largest variance of any column in the set; where a change of the set changes that, the
sum is made afresh.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from fewer._estimators import encoded_classes
from fewer._kernels._arrays import copy_into
from fewer._kernels._occurrence import occurrence_counts, occurrence_log_rates, undecided
from fewer.select._target import Split, fixed_splits
from fewer.select.objectives._objective import CandidateThreads, FoldMeasure, Objective, SubsetScorer


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
            Training table, without missing values.
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


class OccurrenceScorer(SubsetScorer):
    """``NaiveBayesText`` in every fold: a column more adds its count times the log rate of its occurrence."""

    def __init__(
        self, X: np.ndarray, codes: np.ndarray, splits: list[Split], smoothing: float, *, scoring: Any, labels: Any
    ) -> None:
        super().__init__()
        n_classes = len(labels)
        sizes = np.array([np.bincount(codes[train], minlength=n_classes) for train, _ in splits])
        self._rates = np.stack(
            [
                occurrence_log_rates(occurrence_counts(X[train], codes[train], n_classes), size, smoothing)
                for (train, _), size in zip(splits, sizes, strict=True)
            ]
        )
        with np.errstate(divide="ignore"):  # a class without training rows is never predicted
            self._priors = np.log(sizes / sizes.sum(axis=1, keepdims=True))
        self._folds = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        self._queries = X[np.concatenate([test for _, test in splits])]
        self._measure = FoldMeasure(scoring, [codes[test] for _, test in splits], labels)

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._changed(candidates, 1.0)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        return self._changed(candidates, -1.0)

    def _changed(self, candidates: np.ndarray, sign: float) -> np.ndarray:
        priors = self._priors[self._folds]
        joint = priors + sum(self._term(column) for column in self.subset)
        words = self._queries[:, self.subset].sum(axis=1)
        predicted = np.empty((len(candidates), len(joint)), dtype=np.int64)
        for place, column in enumerate(candidates):
            changed = joint + sign * self._term(column)
            predicted[place] = np.where(undecided(changed), -1, changed.argmax(axis=1))
            # Without any word, the priors decide, and equal ones are equal to the last bit.
            wordless = words + sign * self._queries[:, column] == 0
            predicted[place, wordless] = priors[wordless].argmax(axis=1)
        return self._measure(predicted)

    def _term(self, column: int) -> np.ndarray:
        """What a column adds to the log probabilities, (queries, classes)."""
        return self._queries[:, [column]] * self._rates[self._folds, :, column]


@njit(cache=True, nogil=True)
def fold_moments(X, codes, n_classes, member):
    """Means and variances of each class (folds, classes, columns), of all classes together, and class counts.

    ``member`` (folds, rows) marks the training rows. A class without training rows gets mean 0 and variance 1.
    """
    n_folds, n_rows = member.shape
    n_columns = X.shape[1]
    means, variances = np.zeros((n_folds, n_classes, n_columns)), np.zeros((n_folds, n_classes, n_columns))
    spreads, counts = np.zeros((n_folds, n_columns)), np.zeros((n_folds, n_classes))
    middle = np.empty(n_columns)
    for fold in range(n_folds):
        for row in range(n_rows):
            if member[fold, row]:
                counts[fold, codes[row]] += 1.0
                for column in range(n_columns):
                    means[fold, codes[row], column] += X[row, column]
        total = counts[fold].sum()
        middle[:] = 0.0
        for one in range(n_classes):
            for column in range(n_columns):
                middle[column] += means[fold, one, column] / total
                means[fold, one, column] /= max(counts[fold, one], 1.0)
        for row in range(n_rows):
            if member[fold, row]:
                for column in range(n_columns):
                    gap = X[row, column] - means[fold, codes[row], column]
                    variances[fold, codes[row], column] += gap * gap
                    away = X[row, column] - middle[column]
                    spreads[fold, column] += away * away / total
        for one in range(n_classes):
            for column in range(n_columns):
                if counts[fold, one] == 0:
                    variances[fold, one, column] = 1.0
                else:
                    variances[fold, one, column] /= counts[fold, one]
    return means, variances, spreads, counts


@njit(cache=True, nogil=True, inline="always")
def _log_density(gap, variance):
    """Up to a constant; a column without any variance says nothing."""
    if not variance > 0.0:
        return 0.0
    return -0.5 * (np.log(variance) + gap * gap / variance)


@njit(cache=True, nogil=True)
def _note_densities(x, columns, means, variances, scales, extra, log_shares, logs, sums):
    """Sum of log densities of one row over columns, for each class, into ``sums``; ``logs`` are those of variances."""
    for one in range(sums.shape[0]):
        total = log_shares[one]
        for place in range(columns.shape[0]):
            column = columns[place]
            variance = variances[one, column] + extra
            if variance > 0.0:
                gap = (x[column] - means[one, column]) * scales[column]
                total -= 0.5 * (logs[one, place] + gap * gap / variance)
        sums[one] = total


@njit(cache=True, nogil=True)
def _logs_of(columns, variances, extra):
    logs = np.zeros((variances.shape[0], columns.shape[0]))
    for one in range(variances.shape[0]):
        for place in range(columns.shape[0]):
            variance = variances[one, columns[place]] + extra
            if variance > 0.0:
                logs[one, place] = np.log(variance)
    return logs


@njit(cache=True, nogil=True)
def _largest(values, columns):
    largest = 0.0
    for column in columns:
        largest = max(largest, values[column])
    return largest


@njit(cache=True, nogil=True)
def classes_with(X, queries, starts, moments, scales, log_shares, smoothing, subset, candidates):
    """Class of each query with each candidate added to the subset (candidates, queries).

    ``queries`` are rows, those of the fold f from ``starts[f]`` to ``starts[f + 1]``. ``scales`` (folds, columns)
    multiply the columns; variances and spreads are those of the scaled columns, means are not scaled.
    """
    means, variances, spreads, _ = moments
    n_folds, n_classes = log_shares.shape
    found = np.empty((candidates.shape[0], queries.shape[0]), dtype=np.int32)
    own_sums = np.empty(n_classes)
    for fold in range(n_folds):
        rows = queries[starts[fold] : starts[fold + 1]]
        widest = _largest(spreads[fold], subset)
        extra = smoothing * widest
        logs = _logs_of(subset, variances[fold], extra)
        sums = np.empty((rows.shape[0], n_classes))
        for index in range(rows.shape[0]):
            x = X[rows[index]]
            _note_densities(
                x, subset, means[fold], variances[fold], scales[fold], extra, log_shares[fold], logs, sums[index]
            )
        for index in range(candidates.shape[0]):
            candidate = candidates[index]
            wider = spreads[fold, candidate] > widest
            own_extra = smoothing * spreads[fold, candidate] if wider else extra
            own_logs = _logs_of(subset, variances[fold], own_extra) if wider else logs
            column_logs = _logs_of(candidates[index : index + 1], variances[fold], own_extra)
            for query in range(rows.shape[0]):
                x = X[rows[query]]
                if wider:
                    _note_densities(
                        x, subset, means[fold], variances[fold], scales[fold], own_extra, log_shares[fold], own_logs,
                        own_sums,
                    )  # fmt: skip
                else:
                    copy_into(own_sums, sums[query])
                best, winner = -np.inf, -1
                for one in range(n_classes):
                    value = own_sums[one]
                    variance = variances[fold, one, candidate] + own_extra
                    if variance > 0.0:
                        gap = (x[candidate] - means[fold, one, candidate]) * scales[fold, candidate]
                        value -= 0.5 * (column_logs[one, 0] + gap * gap / variance)
                    if value > best:
                        best, winner = value, one
                found[index, starts[fold] + query] = winner
    return found


@njit(cache=True, nogil=True)
def classes_without(X, queries, starts, moments, scales, log_shares, smoothing, subset, places):
    """The same with the columns at each of these places of the subset taken away, one at a time (places, queries).

    What is left of a row's sum is put together from the columns before the place and those after it.
    """
    means, variances, spreads, _ = moments
    n_folds, n_classes = log_shares.shape
    size = subset.shape[0]
    found = np.empty((places.shape[0], queries.shape[0]), dtype=np.int32)
    after = np.zeros((size + 1, n_classes))
    before = np.zeros((size + 1, n_classes))
    terms = np.empty(size)
    for fold in range(n_folds):
        widest = _largest(spreads[fold], subset)
        # Without the widest column the variances get less: from then on each set has an extra of its own.
        extras = np.full(places.shape[0], smoothing * widest)
        for index in range(places.shape[0]):
            if spreads[fold, subset[places[index]]] == widest:
                rest = np.concatenate((subset[: places[index]], subset[places[index] + 1 :]))
                extras[index] = smoothing * _largest(spreads[fold], rest)
        extra = smoothing * widest
        for query in range(starts[fold], starts[fold + 1]):
            x = X[queries[query]]
            for one in range(n_classes):
                before[0, one] = log_shares[fold, one]
                for place in range(size):
                    column = subset[place]
                    gap = (x[column] - means[fold, one, column]) * scales[fold, column]
                    terms[place] = _log_density(gap, variances[fold, one, column] + extra)
                    before[place + 1, one] = before[place, one] + terms[place]
                for place in range(size - 1, -1, -1):
                    after[place, one] = after[place + 1, one] + terms[place]
            for index in range(places.shape[0]):
                best, winner = -np.inf, -1
                for one in range(n_classes):
                    if extras[index] == extra:
                        value = before[places[index], one] + after[places[index] + 1, one]
                    else:
                        value = log_shares[fold, one]
                        for place in range(size):
                            if place != places[index]:
                                column = subset[place]
                                gap = (x[column] - means[fold, one, column]) * scales[fold, column]
                                value += _log_density(gap, variances[fold, one, column] + extras[index])
                    if value > best:
                        best, winner = value, one
                found[index, query] = winner
    return found
