"""What selectors that weight their columns share: the weighted table, and which of its columns are kept.

Column j becomes ``sqrt(a_j) (x_j - mean_j) / norm_j``, with the weight a_j, mean and norm of the training table.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted

from fewer._estimators import validated, warn_caller
from fewer.select._selector import Selector, ranks
from fewer.select.weights._unit_columns import ColumnScale, column_scale


class WeightSelector(Selector):
    """Base of the selectors that give each column a weight."""

    weights_: np.ndarray
    mean_: np.ndarray
    norm_: np.ndarray
    ranking_: np.ndarray
    n_features_in_: int

    n_features_to_select: int | None
    with_mean: bool
    threshold: float | None = None

    def _scale_of(self, X: Any) -> ColumnScale:
        """Means and norms of the columns; constant ones are reported, and a table of nothing else is refused."""
        scale = column_scale(X)
        constant = np.flatnonzero(~scale.varies)
        if len(constant) == X.shape[1]:
            raise ValueError(
                f"All columns are constant (n_features={X.shape[1]}, n_samples={X.shape[0]}), so there is nothing to "
                "weight. Give more rows, or columns that vary."
            )
        too_wide = np.flatnonzero(~np.isfinite(scale.norm))
        if len(too_wide):
            raise ValueError(
                f"The values of {self._named(too_wide)} are too large to be squared. Divide them by a power of ten."
            )
        if len(constant):
            warn_caller(
                f"{self._named(constant)} {'is' if len(constant) == 1 else 'are'} constant: left out, with weight 0."
            )
        return scale

    def _named(self, columns: np.ndarray) -> str:
        """Columns by name, or by number where they have none; the first few of many."""
        names = getattr(self, "feature_names_in_", None)
        shown = [str(names[column]) if names is not None else str(column) for column in columns[:5]]
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        return f"{'Column' if len(columns) == 1 else 'Columns'} {', '.join(shown)}{more}"

    def _keep(self, weights: np.ndarray, scale: ColumnScale) -> None:
        """Set what follows from the weights of the columns that vary."""
        self._set(self._attributes(weights, scale))
        if self.n_features_to_select is not None:
            self._number_to_keep(len(scale.varies))
        highest = self.weights_.max()
        if self.threshold is not None and highest < self.threshold:
            warn_caller(
                f"No column reaches threshold={self.threshold:g} (the highest weight is {highest:.3g}); the best one "
                "is kept."
            )

    def _attributes(self, weights: np.ndarray, scale: ColumnScale) -> dict[str, Any]:
        spread = expanded(scale.varies, weights)
        # Constant columns come last, even after columns with a weight that rounding made negative.
        worth = np.where(scale.varies, spread, -np.inf)
        n_kept = int((worth >= (-np.inf if self.threshold is None else self.threshold))[scale.varies].sum())
        if self.n_features_to_select is not None:
            n_kept = min(n_kept, self.n_features_to_select)
        return {
            "mean_": scale.mean,
            "norm_": scale.norm,
            "weights_": spread,
            "scores_": spread,
            "ranking_": ranks(worth),
            "n_features_to_select_": max(n_kept, 1),
        }

    def _factors(self) -> np.ndarray:
        """What each kept column is multiplied by."""
        kept = self.get_support()
        return np.sqrt(np.maximum(self.weights_[kept], 0)) / self.norm_[kept]

    def transform(self, X):
        """Weight the columns, and drop those that are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table; sparse only where ``fit`` takes it.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_kept)
            Kept columns, less the mean of the training table (unless ``with_mean=False``), divided by their norm in
            it, times the square root of the weight. Sparse if X is and ``with_mean=False``.
        """
        check_is_fitted(self)
        takes_sparse = ("csr", "csc") if self._takes_sparse else False
        X = validated(self, X, accept_sparse=takes_sparse, dtype=[np.float64, np.float32], reset=False)
        kept = self.get_support()
        factors = self._factors().astype(X.dtype)
        columns = X if kept.all() else X[:, kept]
        if sparse.issparse(columns):
            if not self.with_mean:
                return (columns @ sparse.diags_array(factors, dtype=X.dtype)).asformat(X.format)
            columns = columns.toarray()
        if self.with_mean:
            return (columns - self.mean_[kept].astype(X.dtype)) * factors
        return columns * factors

    def inverse_transform(self, X):
        """Columns as they were, from weighted ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_kept)
            Weighted columns.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            All columns; those that were dropped, or have weight 0, are at their mean.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse=True, dtype=[np.float64, np.float32])
        columns = X.toarray() if sparse.issparse(X) else X
        kept = self.get_support(indices=True)
        if columns.shape[1] != len(kept):
            raise ValueError(f"X has {columns.shape[1]} columns, but transform gives {len(kept)}.")
        factors = self._factors()
        known = factors > 0
        rebuilt = np.tile(self.mean_.astype(X.dtype), (len(columns), 1))
        offset = self.mean_[kept[known]] if self.with_mean else 0.0
        rebuilt[:, kept[known]] = columns[:, known] / factors[known] + offset
        return rebuilt

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def expanded(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values where the mask is True, zero elsewhere."""
    spread = np.zeros(len(mask))
    spread[mask] = values
    return spread
