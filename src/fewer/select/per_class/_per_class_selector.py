"""Base of the selectors that keep the same number of columns for every class, and the union of these.

A column enters with ``n_per_class`` equal to its best rank in the order of any class, counting only classes for which
its score is high enough. The union of the first k columns of every class is all columns that enter at k or before. Raw
intensities can be taken to the log scale first, with a floor for those that are not positive.
"""

from abc import abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, fit_context, warn_caller
from fewer.select._selector import Selector, class_orders, class_ranks, ranks_by_best_class

if TYPE_CHECKING:
    import polars as pl


def log_intensities(X: Any, floor: float | None = None, names: Any = None) -> Any:
    """Logarithms of a table; entries that are not positive are first replaced by ``floor``.

    A sparse table stays sparse: its logarithms are taken relative to the floor, which adds the same to every entry and
    so changes neither differences of means nor spreads.
    """
    if sparse.issparse(X):
        if floor is None:
            raise ValueError(
                "log_transform=True takes logarithms, and a sparse table is full of zeros: give floor=, a small "
                "positive number that takes their place."
            )
        X = X.copy()
        X.data = np.log(np.where(X.data > 0, X.data, X.dtype.type(floor))) - X.dtype.type(np.log(floor))
        return X
    low = ~(X > 0)
    if low.any():
        if floor is None:
            row, column = np.argwhere(low)[0]
            name = repr(str(names[column])) if names is not None else column
            raise ValueError(
                f"log_transform=True takes logarithms, and {int(low.sum()):,} values are not positive, the first in "
                f"row {row} of column {name}. Give floor=, a small positive number that takes their place, or "
                "log_transform=False if the table is on the log scale already."
            )
        X = np.where(low, X.dtype.type(floor), X)
    return np.log(X)


class ClassRanking(NamedTuple):
    """Scores of each class (row) and column, and for each class the columns from best to worst."""

    scores: np.ndarray
    orders: np.ndarray

    @classmethod
    def of_scores(cls, scores: np.ndarray) -> "ClassRanking":
        """Highest score first, of equals the column with the lowest index."""
        return cls(scores, class_orders(scores))


class PerClassSelector(Selector):
    """Ranks the columns for each class and keeps the union of the first ``n_per_class``; subclasses rank."""

    _takes_sparse = True
    _parameter_constraints: dict = {
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "log_transform": ["boolean"],
        "floor": [Interval(Real, 0, None, closed="neither"), None],
    }

    min_score: float | None = None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Rank the columns for each class, and keep the first of each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, codes = self._log_table_and_codes(X, y)
        self._keep(self._ranked(X, codes))
        return self

    @abstractmethod
    def _ranked(self, X: Any, codes: np.ndarray) -> ClassRanking:
        """Scores and orders of a table on the log scale, with classes 0, 1, ..."""

    def _log_table_and_codes(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._validated(X, y)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if self.log_transform:
            X = log_intensities(X, self.floor, getattr(self, "feature_names_in_", None))
        self.n_per_class_ = self._number_to_keep(X.shape[1], "n_per_class")
        return X, codes

    def _keep(self, ranked: ClassRanking) -> None:
        """Set what the ranking says."""
        self.class_scores_, self.ranking_per_class_ = ranked
        self.scores_ = ranked.scores.max(axis=0)
        good_enough = self._good_enough(ranked.scores)
        in_classes = class_ranks(ranked.orders, good_enough)
        self._enters_at = in_classes.min(axis=0)
        self.ranking_ = ranks_by_best_class(in_classes, ranked.scores)
        heads = ranked.orders[:, : self.n_per_class_]
        self.selected_per_class_ = [head[good_enough[k, head]] for k, head in enumerate(heads)]
        self.support_ = self._enters_at <= self.n_per_class_

    def _good_enough(self, scores: np.ndarray) -> np.ndarray:
        """Whether each score reaches ``min_score``; if none does, the best one is taken to."""
        if self.min_score is None:
            return np.ones(scores.shape, dtype=bool)
        reached = scores >= self.min_score
        if reached.any():
            return reached
        warn_caller(
            f"No column reaches min_score={self.min_score} for any class (the best has {scores.max():.3g}); the best "
            "one is kept."
        )
        return np.arange(scores.size).reshape(scores.shape) == scores.argmax()

    def subset(self, n_per_class):
        """Columns that another ``n_per_class`` would keep, read off the same fit.

        Parameters
        ----------
        n_per_class : int
            Columns for each class; more than the table has are as many as it has.

        Returns
        -------
        columns : ndarray of shape (n_selected,)
            Positions of the columns, in the order of the table. Those of a larger ``n_per_class`` hold them all.
        """
        check_is_fitted(self)
        return np.flatnonzero(self._enters_at <= min(n_per_class, len(self._enters_at)))

    def report_table(self) -> "pl.DataFrame":
        """The columns kept for each class, best first.

        Returns
        -------
        table : polars.DataFrame
            A row for each class and column kept for it: ``class``, ``place`` in the order of the class, ``column``
            (its name, or its position) and ``score``.
        """
        import polars as pl

        check_is_fitted(self)
        names = self._column_names()
        rows = [
            {
                "class": self.classes_[k].item() if hasattr(self.classes_[k], "item") else self.classes_[k],
                "place": place,
                "column": names[column],
                "score": float(self.class_scores_[k, column]),
            }
            for k, columns in enumerate(self.selected_per_class_)
            for place, column in enumerate(columns.tolist(), start=1)
        ]
        return pl.DataFrame(rows).with_columns(self._more_columns())

    def _more_columns(self) -> list[Any]:
        """Further columns of the report, as polars expressions."""
        return []

    def _column_names(self) -> list[Any]:
        given = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if given is None else [str(name) for name in given]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = bool(self.log_transform and self.floor is None)
        return tags
