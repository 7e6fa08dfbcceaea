"""What all selectors share: which columns are kept, what a table must be like, and what if it has too few columns.

A selector sets ``ranking_`` (1 is best) and how many of the first columns it keeps, ``n_features_to_select_``; or else
the mask ``support_``.

From scores to places: who is first, second, third.

Places count from 1, and of equal scores the column with the lowest index comes first, so that results repeat.

Some of the rows of a table, drawn without replacement.
"""

from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import validated, warn_caller


class Selector(SelectorMixin, BaseEstimator):
    """Base of the selectors: by default they need a target, and take no sparse table."""

    @property
    def _takes_sparse(self) -> bool:
        return False

    def _validated(self, X: Any, y: Any, **options: Any) -> Any:
        """Table and target; of floating-point numbers, and CSC where sparse, unless the options say otherwise."""
        usual = {"accept_sparse": "csc" if self._takes_sparse else False, "dtype": (np.float64, np.float32)}
        return validated(self, X, y, **({"ensure_min_samples": 2} | usual | options))

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


def places(scores: np.ndarray) -> np.ndarray:
    """Place of each column from 1, highest score first.

    Examples
    --------
    >>> import numpy as np
    >>> places(np.array([0.2, 0.9, 0.2]))
    array([2, 1, 3])
    """
    return places_of_order(np.argsort(-scores, kind="stable"))


def places_of_order(order: np.ndarray) -> np.ndarray:
    """Place of each column from 1, given the columns from best to worst."""
    ranking = np.empty(len(order), dtype=int)
    ranking[order] = np.arange(1, len(order) + 1)
    return ranking


def class_orders(class_scores: np.ndarray) -> np.ndarray:
    """For each class (row), the columns from best to worst."""
    return np.argsort(-class_scores, axis=1, kind="stable")


def places_in_turn(class_scores: np.ndarray) -> np.ndarray:
    """Places when the classes take turns: first the best column of every class, then every second best, and so on.

    A column's turn is its best place in any class's order; within a turn the higher score goes first. So the union of
    the first k columns of every class is always at the head.

    Examples
    --------
    >>> import numpy as np
    >>> places_in_turn(np.array([[9.0, 8.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]]))
    array([1, 3, 4, 2])
    """
    n_columns = class_scores.shape[1]
    turns = np.stack([places_of_order(order) for order in class_orders(class_scores)])
    turn = turns.min(axis=0)
    merit = np.where(turns == turn, class_scores, -np.inf).max(axis=0)
    return places_of_order(np.lexsort((np.arange(n_columns), -merit, turn)))


def n_in_first(class_scores: np.ndarray, k: int) -> int:
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
