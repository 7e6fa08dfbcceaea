"""Values of a kernel, or of any likeness, between rows or objects; as they are, or all brought to length 1."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

from fewer._kernels._row_products import about_mean
from fewer.extract.fisher._kernels import OF_DIFFERENCES

_OF_PRODUCTS = frozenset({"linear", "poly", "polynomial", "sigmoid"})
_UNIT = frozenset({"rbf", "laplacian", "chi2"})


class Likeness(NamedTuple):
    """A kernel of scikit-learn with its parameters, or a function of two rows or objects that gives a number."""

    kernel: str | Callable
    params: dict[str, Any]

    def between(self, X: Any, Y: Any) -> np.ndarray:
        """Of every row of X with every row of Y, in double precision."""
        if isinstance(self.kernel, str):
            X, Y = (rows.astype(np.float64, copy=False) for rows in (X, Y))
            if self.kernel in OF_DIFFERENCES:
                Y, X = about_mean(Y, X)
            values = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **self.params)
            return np.asarray(values.toarray() if sparse.issparse(values) else values)
        return self._told([[self.kernel(x, y, **self.params) for y in Y] for x in X])

    def lengths(self, X: Any, numbers: np.ndarray | None = None) -> np.ndarray:
        """Root of each row's likeness to itself; refused where that is not above 0, by the row's number."""
        squares = self._with_itself(X)
        spoilt = np.flatnonzero(squares <= 0)
        if len(spoilt):
            first = spoilt[0] if numbers is None else numbers[spoilt[0]]
            raise ValueError(
                f"The kernel of row {first} with itself is {squares[spoilt[0]]:g}, and normalize_kernel=True divides "
                f"by its root. Leave such rows out ({len(spoilt):,} in all), or use normalize_kernel=False."
            )
        return np.sqrt(squares)

    def _with_itself(self, X: Any) -> np.ndarray:
        if not isinstance(self.kernel, str):
            return self._told([self.kernel(x, x, **self.params) for x in X])
        if self.kernel in _UNIT:
            return np.ones(X.shape[0])
        squares = row_norms(X.astype(np.float64, copy=False), squared=True)
        if self.kernel in _OF_PRODUCTS:
            return self._of_products(squares)
        return np.sign(squares) if self.kernel == "cosine" else np.zeros(X.shape[0])  # additive_chi2 is a distance

    def _of_products(self, products: np.ndarray) -> np.ndarray:
        """What a kernel that depends on the product of two rows makes of products."""
        one = np.ones((1, 1))
        return pairwise_kernels(products[:, None], one, metric=self.kernel, filter_params=True, **self.params)[:, 0]

    def _told(self, values: Any) -> np.ndarray:
        """Numbers from a function of the user's."""
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty((0, 0, 0))
        if numbers.ndim > 2 or not np.isfinite(numbers).all():
            raise ValueError("kernel must give a finite number for any two rows; this function gives something else.")
        return numbers
