"""What extractors of two tables about the same rows share: both are checked, and both can be brought along."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import checked_array
from fewer.extract._extractor import LinearExtractor
from fewer.extract.pls._table import CentredTable


class TwoTableExtractor(LinearExtractor):
    """Base: ``transform`` for rows of the first table, ``transform_y`` for those of the second."""

    x_rotations_: np.ndarray
    y_rotations_: np.ndarray
    scale: bool

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _tables(self, X: Any, y: Any) -> tuple[CentredTable, CentredTable]:
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        Y = np.asarray(y, dtype=np.float64)
        return CentredTable(X, scale=self.scale), CentredTable(Y.reshape(len(Y), -1), scale=self.scale)

    def _keep_rotations(self, x: CentredTable, y: CentredTable, to_x: np.ndarray, to_y: np.ndarray) -> None:
        self.mean_ = x.mean.astype(x.dtype)
        self.x_rotations_, self.y_rotations_ = to_x.astype(x.dtype), to_y.astype(x.dtype)
        self.components_ = np.ascontiguousarray((to_x / x.scale[:, None]).T, dtype=x.dtype)
        self._y_mean, self._y_components = y.mean, (to_y / y.scale[:, None]).T

    def transform_y(self, y: Any) -> np.ndarray:
        """The second table along its directions.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Rows with the columns of the second table.

        Returns
        -------
        y_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        Y = checked_array(y, type(self).__name__, dtype=np.float64, ensure_2d=False)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != len(self._y_mean):
            raise ValueError(f"y has {Y.shape[1]} columns, and in fit it had {len(self._y_mean)}.")
        return (Y - self._y_mean) @ self._y_components.T
