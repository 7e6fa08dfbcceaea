"""Base of the selectors, and the ranks of columns by scores.

A selector sets ``ranking_`` (1 is best) and how many of the first columns it keeps, ``n_features_to_select_``; or else
the mask ``support_``.

Ranks count from 1, and of equal scores the column with the lowest index comes first, so that results are reproducible.
"""

from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import check_sample_weight, validated, warn_caller


class Selector(SelectorMixin, BaseEstimator):
    """Base of the selectors: by default they need a target, and take no sparse table."""

    @property
    def _takes_sparse(self) -> bool:
        return False

    def _validated(self, X: Any, y: Any, **options: Any) -> Any:
        """Table and target; of floating-point numbers, and CSC where sparse, unless the options say otherwise."""
        usual = {"accept_sparse": "csc" if self._takes_sparse else False, "dtype": (np.float64, np.float32)}
        return validated(self, X, y, **({"ensure_min_samples": 2} | usual | options))

    def _weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray | None]:
        """Table, target and weights without the rows of weight zero; None for weights if all rows count alike."""
        if sample_weight is None:
            return X, y, None
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weights > 0
        if np.count_nonzero(used) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two rows with a positive sample_weight.")
        if not used.all():
            X, y, weights = X[used], y if y is None else y[used], weights[used]
        return X, y, None if (weights == 1).all() else weights

    def _number_to_keep(self, n_columns: int, name: str = "n_features_to_select") -> int:
        """As many columns as asked for; all, with a warning unless that is the default, if the table has fewer."""
        wanted = getattr(self, name)
        if wanted > n_columns and wanted != signature(type(self)).parameters[name].default:
            warn_caller(f"{name}={wanted} columns are asked for, and the table has {n_columns}; all of them are kept.")
        return min(wanted, n_columns)

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _get_support_mask(self):
        check_is_fitted(self, "ranking_")
        kept = getattr(self, "support_", None)
        return self.ranking_ <= self.n_features_to_select_ if kept is None else kept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


def ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each column from 1, highest score first.

    Examples
    --------
    >>> import numpy as np
    >>> ranks(np.array([0.2, 0.9, 0.2]))
    array([2, 1, 3])
    """
    return ranks_of_order(np.argsort(-scores, kind="stable"))


def ranks_of_order(order: np.ndarray) -> np.ndarray:
    """Rank of each column from 1, given the columns from best to worst."""
    ranking = np.empty(len(order), dtype=int)
    ranking[order] = np.arange(1, len(order) + 1)
    return ranking


def class_orders(class_scores: np.ndarray) -> np.ndarray:
    """For each class (row), the columns from best to worst."""
    return np.argsort(-class_scores, axis=1, kind="stable")


def class_ranks(orders: np.ndarray, eligible: np.ndarray | None = None) -> np.ndarray:
    """Rank of each column in each class (row), given the orders of the classes; past the last where not eligible.

    Examples
    --------
    >>> import numpy as np
    >>> class_ranks(np.array([[0, 1, 2], [2, 1, 0]]), np.array([[True, True, True], [True, False, False]]))
    array([[1, 2, 3],
           [3, 4, 4]])
    """
    found = np.stack([ranks_of_order(order) for order in orders])
    return found if eligible is None else np.where(eligible, found, orders.shape[1] + 1)


def ranks_by_best_class(in_classes: np.ndarray, class_scores: np.ndarray) -> np.ndarray:
    """Rank of each column by its best rank in any class, then by its score there, then by its index.

    The union of the first k columns of every class is always at the head.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[9.0, 8.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    >>> ranks_by_best_class(class_ranks(class_orders(scores)), scores)
    array([1, 3, 4, 2])
    """
    best = in_classes.min(axis=0)
    score_there = np.where(in_classes == best, class_scores, -np.inf).max(axis=0)
    return ranks_of_order(np.lexsort((np.arange(len(best)), -score_there, best)))


def n_among_first(class_scores: np.ndarray, k: int) -> int:
    """How many columns are among the first k of at least one class."""
    return len(np.unique(class_orders(class_scores)[:, :k]))


def sampled_rows(n_rows: int, wanted: int | float, y: np.ndarray, *, classes: bool, rng: Any) -> np.ndarray:
    """Rows drawn without replacement, with the classes in their shares."""
    from sklearn.model_selection import train_test_split

    n_wanted = min(wanted if isinstance(wanted, Integral) else max(1, round(wanted * n_rows)), n_rows)
    rows = np.arange(n_rows)
    if n_wanted == n_rows:
        return rows
    if classes:
        counts = np.unique(y, return_counts=True)[1]
        if min(n_wanted, n_rows - n_wanted) >= len(counts) and counts.min() >= 2:
            return np.sort(train_test_split(rows, train_size=int(n_wanted), stratify=y, random_state=rng)[0])
    return np.sort(rng.permutation(n_rows)[:n_wanted])
