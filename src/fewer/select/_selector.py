"""What all selectors share: which columns are kept, what a table must be like, and what if it has too few columns.

A selector sets ``ranking_`` (1 is best) and how many of the first columns it keeps, ``n_features_to_select_``; or else
the mask ``support_``.
"""

from inspect import signature
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
