"""Linear discriminants as objectives: how often they are right on held-out rows, and distances between classes.

*Accuracy*: a row goes to the class k with the highest ``log pi_k - n/2 |x - m_k|^2``, in the metric of the inverse
scatter within classes. One column more adds ``(u(x) - u(m_k))^2 / s``, with the partial column u within classes and its
square s. Without row i of class g, the scatter loses ``n_g / (n_g - 1) d d'`` with ``d = x_i - m_g``, so that
leave-one-out needs one fit.

*Mahalanobis distances*: ``(m_a - m_b)' W^-1 (m_a - m_b)`` with the covariance W within classes. One column more adds
``(u(m_a) - u(m_b))^2 / s``, with its partial column u within classes and the square s of that: never less than nothing.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from fewer._estimators import encoded_classes, known_column, warn_caller
from fewer._kernels._numpy_lapack import solve_cholesky, solve_triangular
from fewer.select._target import Split, fixed_splits, leaves_one_out
from fewer.select.objectives._objective import FoldMeasure, Objective, SubsetScorer
from fewer.select.objectives._subset_products import (
    Change,
    Fit,
    LeftOutScorer,
    LinearScorer,
    SubsetProducts,
    as_slice,
    classes_after,
    left_out_discriminant_classes,
    places_in,
    rows_by_fold,
)

# scikit-learn leaves out directions whose standard deviation is below 1e-4 of the columns' own.
DETERMINED = 1e-8


def scaled_columns(X: np.ndarray) -> np.ndarray:
    """Columns less their middle, in units of a power of two near their range.

    Discriminants do not depend on either, products then neither overflow nor lose digits to a large mean.
    """
    lowest, highest = X.min(axis=0), X.max(axis=0)
    middle = lowest / 2 + highest / 2
    exponents = np.frexp(np.maximum(highest - middle, middle - lowest))[1]
    return np.ldexp(X - middle, -exponents)


def warn_of_separators(squares: np.ndarray, centres: np.ndarray) -> None:
    """Columns that are constant within every class but differ between classes cannot be put in a covariance."""
    separators = np.flatnonzero((squares == 0) & (np.ptp(centres, axis=0) > 1e-12))
    if len(separators):
        first = known_column(separators[0], len(squares))
        warn_caller(
            f"Column {first!r} is constant within every class and differs between them ({len(separators)} such "
            "columns). Its variance within classes is zero, so it is ignored, as in scikit-learn; by itself it "
            "separates the classes."
        )


@dataclass
class DiscriminantObjective(Objective):
    """Cross-validated accuracy of linear discriminant analysis, updated column by column.

    The same numbers as ``cross_val_score`` with scikit-learn's ``LinearDiscriminantAnalysis()`` gives, far sooner. A
    column that others determine within the classes (always so with as many columns as rows) changes nothing.

    Parameters
    ----------
    cv : "loo", int, splitter or iterable, default=5
        Leave-one-out, or the folds: a number of them (stratified), a splitter of scikit-learn or pairs of training and
        test rows.

    See Also
    --------
    SequentialSearch : Searches for the columns that maximise it.
    MahalanobisObjective : The distance between the classes, which never falls with a column more.

    References
    ----------
    .. [1] Lachenbruch, P. A. and Mickey, M. R. (1968). Estimation of error rates in discriminant analysis.
       Technometrics 10, 1-11.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import DiscriminantObjective, SequentialSearch
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> SequentialSearch(DiscriminantObjective(), n_features_to_select=2).fit(X, y).subset_path_
    {1: (0,), 2: (0, 3)}
    """

    cv: Any = 5

    def start(
        self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None, groups: Any = None
    ) -> SubsetScorer:
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without missing values.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together, where ``cv`` is a number or asks for groups.

        Returns
        -------
        scorer : SubsetScorer
            Holds products of columns.
        """
        X, codes = np.asarray(X, dtype=float), encoded_classes(np.asarray(y), type(self).__name__).codes
        X = scaled_columns(X)
        if leaves_one_out(self.cv):
            if np.sort(np.bincount(codes))[-2] < 2:
                raise ValueError("Leave-one-out needs two classes of at least two rows each.")
            scorer: _DiscriminantScorer = LeaveOneOutDiscriminantScorer(X, codes)
        else:
            splits = fixed_splits(self.cv, X, codes, classifier=True, random_state=random_state, groups=groups)
            scorer = DiscriminantScorer(X, codes, splits)
        warn_of_separators(scorer.squares_within, scorer.centres)
        return scorer


class _DiscriminantScorer(LinearScorer):
    """What discriminants on folds, and with each row left out, share.

    A column that does not vary within classes changes nothing. With ``strict``, sets of others that are collinear
    there, or nearly so, have no score, nor have those whose class means lie on a line, or in a plane, but for little:
    what scikit-learn does with them depends on its tolerance for singular values.
    """

    def __init__(
        self,
        X: np.ndarray,
        order: np.ndarray,
        codes: np.ndarray,
        training: list[np.ndarray],
        *,
        tol: float = np.sqrt(DETERMINED),
        strict: bool = False,
    ) -> None:
        super().__init__(SubsetProducts(X, order, codes[order], training, ridge=0.0, tol=tol**2))
        self._codes, self._tol, self._strict = codes[order], tol, strict
        # The smallest eigenvalue of correlations is at least one over the trace of their inverse.
        self._largest_trace = 0.25 / tol**2

    @property
    def squares_within(self) -> np.ndarray:
        """Largest square within classes of each column in any fold."""
        return self._products.squares.max(axis=0)

    @property
    def centres(self) -> np.ndarray:
        """Means of the classes."""
        return self._products.centres

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        scores = super().score_added(candidates)
        if not self._strict:
            return scores
        sound = np.ones(len(candidates), dtype=bool)
        for fold, (fit, trace) in enumerate(zip(self._products.fits(self.subset), self._traces(), strict=True)):
            change = self._products.added(fold, fit, candidates)
            sound &= trace + self._products.trace_added(fold, change) < self._largest_trace
            sound &= self._spans(fold, fit, change, len(fit.columns) + (change.inverses > 0))
        return np.where(sound, scores, np.nan)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        if not self._strict:
            return super().score_removed(candidates)
        # With a column less, the smallest eigenvalue does not fall.
        if not max(self._traces()) < self._largest_trace:
            return np.full(len(candidates), np.nan)
        sound = np.ones(len(candidates), dtype=bool)
        for fold, fit in enumerate(self._products.fits(self.subset)):
            varies, size = np.isin(candidates, fit.columns), np.array(len(fit.columns))
            sound[~varies] &= self._spans(fold, fit, self._products.nothing(fit), size)
            if varies.any():
                sound[varies] &= self._spans(fold, fit, self._products.removed(fit, candidates[varies]), size - 1)
        return np.where(sound, super().score_removed(candidates), np.nan)

    def _traces(self) -> list[float]:
        """Trace of the inverse correlations of the subset, in each fold; infinite where a column is determined."""
        varying = (self._products.squares[:, self.subset] > 0).sum(axis=1)
        return [
            self._products.inverse_trace(fold, fit) if len(fit.columns) == varying[fold] else np.inf
            for fold, fit in enumerate(self._products.fits(self.subset))
        ]

    def _spans(self, fold: int, fit: Fit, change: Change, sizes: np.ndarray) -> np.ndarray:
        """Whether the class means after each change differ clearly in as many directions as there can be."""
        counts = self._products.counts[fold]
        present = counts > 0
        most = np.broadcast_to(np.minimum(sizes, present.sum() - 1), change.inverses.shape)
        if present.sum() < 3 or (most < 2).all():
            return np.ones(len(most), dtype=bool)
        shares = counts[present] / counts.sum()
        means = (self._products.centres + self._products.offsets[fold])[present]
        means = np.sqrt(shares)[:, None] * (means - shares @ means)
        whitened = solve_triangular(fit.factor, means[:, fit.columns].T)
        moved = change.of(means).T
        products = moved[:, :, None] * moved[:, None, :] * change.inverses[:, None, None] + whitened.T @ whitened
        squares = np.linalg.eigvalsh(products)[:, ::-1]
        last = np.take_along_axis(squares, np.maximum(most, 1)[:, None] - 1, axis=1)[:, 0]
        return (most < 2) | (last > 4 * self._tol**2 * squares[:, 0])


class DiscriminantScorer(_DiscriminantScorer):
    """Discriminants on the training rows of every fold; made by ``DiscriminantObjective.start``."""

    def __init__(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        splits: list[Split],
        *,
        scoring: Any = "accuracy",
        labels: np.ndarray | None = None,
        **options: Any,
    ) -> None:
        order = rows_by_fold(splits, len(X))
        training, tests = places_in(order, [train for train, _ in splits]), [test for _, test in splits]
        super().__init__(X, order, codes, training, **options)
        self._tests = [as_slice(rows) for rows in places_in(order, tests)]
        counts = self._products.counts
        if ((counts > 0).sum(axis=1) < 2).any():
            raise ValueError("The training rows of a fold hold one class only; use fewer folds, or stratify them.")
        with np.errstate(divide="ignore"):
            self._log_shares = np.log(counts / counts.sum(axis=1, keepdims=True))
        labels = np.arange(counts.shape[1]) if labels is None else labels
        self._measure = FoldMeasure(scoring, [self._codes[rows] for rows in self._tests], labels)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        by_fold = enumerate(zip(fits, changes, strict=True))
        return self._measure(np.vstack([self._predicted(fold, fit, change) for fold, (fit, change) in by_fold]).T)

    def _predicted(self, fold: int, fit: Fit, change: Change) -> np.ndarray:
        """Codes (test rows, candidates)."""
        products, n_training = self._products, self._products.counts[fold].sum()
        rows, codes = products.rows[self._tests[fold]], self._codes[self._tests[fold]]
        means = products.centres + products.offsets[fold]
        shifts = change.of(rows) + change.of(products.centres)[codes]
        centres = change.of(means).T
        coefficients = n_training * change.inverses[:, None] * centres
        decisions = np.tile(self._log_shares[fold], (len(codes), 1))
        if len(fit.columns):
            inside = rows[:, fit.columns] + products.centres[codes][:, fit.columns]
            directions = solve_cholesky(fit.factor, means[:, fit.columns].T)
            lengths = np.einsum("ks,sk->k", means[:, fit.columns], directions)
            decisions = decisions + n_training * (inside @ directions - 0.5 * lengths)
        return classes_after(decisions, shifts, coefficients, -0.5 * coefficients * centres)


class LeaveOneOutDiscriminantScorer(LeftOutScorer, _DiscriminantScorer):
    """Discriminants on all rows, from which each is left out in turn; made by ``DiscriminantObjective.start``."""

    def __init__(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        *,
        scoring: Any = "accuracy",
        labels: np.ndarray | None = None,
        **options: Any,
    ) -> None:
        every_row = np.arange(len(X))
        super().__init__(X, every_row, codes, [every_row], **options)
        self._problem = (X, codes)
        self._options = {"scoring": scoring, "labels": labels, **options}
        self._sizes = np.bincount(codes).astype(float)
        self._log_shares = np.log(self._sizes / (len(X) - 1))
        labels = np.arange(len(self._sizes)) if labels is None else labels
        self._measure = FoldMeasure(scoring, list(codes[:, None]), labels)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        rows, centres, codes = self._products.rows, self._products.centres, self._codes
        distances = np.zeros((len(rows), len(centres)))
        crossed = np.zeros_like(distances)
        if len(fit.columns):
            whitened = solve_triangular(fit.factor, np.vstack([rows, centres])[:, fit.columns].T)
            deviations, middles = whitened[:, : len(rows)].T, whitened[:, len(rows) :].T
            for one, middle in enumerate(middles):
                gaps = deviations + middles[codes] - middle
                distances[:, one] = np.einsum("is,is->i", gaps, gaps)
                crossed[:, one] = np.einsum("is,is->i", gaps, deviations)
        centre_places = change.of(centres)
        found = left_out_discriminant_classes(
            distances,
            crossed,
            change.of(rows) + centre_places[codes],
            centre_places,
            change.inverses,
            codes,
            self._sizes,
            self._log_shares,
        )
        return self._measure(found.T)

    def _one_by_one(self) -> DiscriminantScorer:
        X, codes = self._problem
        return DiscriminantScorer(X, codes, list(LeaveOneOut().split(X)), **self._options)


@dataclass
class MahalanobisObjective(Objective):
    """Squared Mahalanobis distance between the class means.

    It never falls when a column is added, so :class:`BranchAndBoundSearch` finds the best subset of a size. It needs no
    folds, and grows with columns that tell nothing: compare subsets of one size by it, not sizes.

    Parameters
    ----------
    pairs : {"mean", "smallest"}, default="mean"
        With more than two classes, the mean over all pairs of them, or the smallest one: the pair that is hardest to
        tell apart.

    See Also
    --------
    BranchAndBoundSearch : Finds the best subset of a size.
    DiscriminantObjective : The accuracy on rows not seen.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import BranchAndBoundSearch, MahalanobisObjective
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> objective = MahalanobisObjective(pairs="smallest")
    >>> BranchAndBoundSearch(objective, n_features_to_select=2).fit(X, y).get_support()
    array([ True, False, False,  True])
    """

    pairs: str = "mean"

    @property
    def monotone(self) -> bool:
        """Each distance is a sum of squares, one for each column."""
        return True

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> "MahalanobisScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without missing values.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : Ignored
            Nothing is drawn.

        Returns
        -------
        scorer : MahalanobisScorer
            Holds products of columns.
        """
        if self.pairs not in ("mean", "smallest"):
            raise ValueError(f"pairs={self.pairs!r} must be 'mean' or 'smallest'.")
        codes = encoded_classes(np.asarray(y), type(self).__name__).codes
        if len(codes) <= codes.max() + 1:
            raise ValueError(
                f"There are {len(codes)} rows in {codes.max() + 1} classes: no class varies. Give more rows."
            )
        return MahalanobisScorer(scaled_columns(np.asarray(X, dtype=float)), codes, smallest=self.pairs == "smallest")


class MahalanobisScorer(LinearScorer):
    """Distances between all pairs of classes; made by ``MahalanobisObjective.start``."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, *, smallest: bool) -> None:
        every_row = np.arange(len(X))
        super().__init__(SubsetProducts(X, every_row, codes, [every_row], ridge=0.0, tol=DETERMINED))
        self._degrees = len(X) - len(self._products.centres)
        self._one, self._other = np.array(list(combinations(range(len(self._products.centres)), 2))).T
        self._smallest = smallest
        warn_of_separators(self._products.squares[0], self._products.centres)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        if len(self.subset) > self._degrees:
            raise ValueError(
                f"{len(self.subset)} columns are too many to take away from: their covariance within the classes is "
                f"singular, because rows less classes are {self._degrees}. Choose fewer columns beforehand, or search "
                "forward."
            )
        return super().score_removed(candidates)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        gaps = self._products.centres[self._one] - self._products.centres[self._other]
        distances = change.of(gaps) ** 2 * change.inverses
        if len(fit.columns):
            whitened = solve_triangular(fit.factor, gaps[:, fit.columns].T)
            distances = distances + (whitened**2).sum(axis=0)[:, None]
        distances = self._degrees * distances
        return distances.min(axis=0) if self._smallest else distances.mean(axis=0)
