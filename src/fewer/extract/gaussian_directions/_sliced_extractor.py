"""What extractors share that compare classes, or slices of a numeric target, in uncorrelated coordinates."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from fewer._estimators import Interval
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract._uncorrelated import Coordinates
from fewer.extract.gaussian_directions._slices import slices_of


class SlicedExtractor(LinearExtractor):
    """Base of those that tell groups of rows apart along directions in uncorrelated coordinates."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_slices": [Interval(Integral, 2, None, closed="left"), None],
    }

    n_slices: int | None

    def _sliced(self, X: Any, y: Any, with_covariances: bool = False) -> tuple[Any, np.ndarray]:
        """The table as an array, and the group of each row; groups are kept as ``classes_``.

        Slices that need a covariance of their own have about twice as many rows as that has dimensions, if n_slices
        does not say otherwise.
        """
        X, y = self._validated(X, y)
        rows_of_a_slice = 2 * (X.shape[1] + 1) if with_covariances else 1
        self.classes_, codes = slices_of(y, self.n_slices, type(self).__name__, rows_of_a_slice)
        return X, codes

    def _keep(self, coordinates: Coordinates, directions: np.ndarray, dtype: Any) -> None:
        """Directions are columns, in the coordinates."""
        self.mean_ = coordinates.mean.astype(dtype)
        self.whitening_ = coordinates.to.astype(dtype)
        self.components_ = upright((coordinates.to @ directions).T).astype(dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _takes_sparse(self) -> bool:
        return True
