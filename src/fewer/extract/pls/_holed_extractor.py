"""What models of partial least squares that take tables with holes share: which tables, and the scores of new rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fewer.extract._extractor import LinearExtractor
from fewer.extract.pls._missing import observed_part, scores_with_holes


class HoledExtractor(LinearExtractor):
    """Base: a dense table may have holes (NaN) where ``_takes_holes`` says so; a sparse one may not."""

    x_weights_: np.ndarray
    x_loadings_: np.ndarray
    _x_scale: np.ndarray

    _for_holes: str
    """The parameter with which it takes holes, for those who chose another one."""

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _takes_holes(self) -> bool:
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_holes
        return tags

    def _with_holes(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Table and target, checked; holes pass where they can be taken, and else the cure is told."""
        usual = {"ensure_all_finite": "allow-nan" if self._takes_holes and not sparse.issparse(X) else True}
        try:
            return self._validated(X, y, **(usual | options))
        except ValueError as error:
            if self._takes_holes or sparse.issparse(X) or not str(error).startswith("Input X contains NaN"):
                raise
            raise ValueError(f"{error} Or take {self._for_holes}, which takes holes.") from None

    def transform(self, X: Any) -> Any:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; it may have holes where that of ``fit`` may.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each component.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> Any:
        """As ``transform``, and an array whatever output is set."""
        check_is_fitted(self)
        return self._scores_of(self._with_holes(X, reset=False))

    def _scores_of(self, X: Any) -> np.ndarray:
        if isinstance(X, np.ndarray) and self._takes_holes and np.isnan(X.sum()) and np.isnan(X).any():
            filled, there = observed_part(X, self.mean_, self._x_scale)
            return scores_with_holes(filled, there, self.x_weights_, self.x_loadings_).astype(X.dtype)
        return X @ self.components_.T - self.mean_ @ self.components_.T
