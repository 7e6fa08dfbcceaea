"""Class memberships as numbers: the targets on which ridge regression is discriminant analysis.

With E the n x c indicator of the classes, Pi the diagonal of their sizes n_j and H the centring matrix,

    Y = H E Pi^{-1/2},    y_ij = (n - n_j) / (n sqrt(n_j))  for i in class j,  else  -sqrt(n_j) / n.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from fewer._estimators import encoded_classes


class Groups(NamedTuple):
    """Rows by class: the code of each, and how many there are of each code."""

    codes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_classes: int) -> "Groups":
        return cls(codes, np.bincount(codes, minlength=n_classes))

    def indicator(self) -> sparse.csr_array:
        """``E Pi^{-1/2}``, whose columns are orthonormal."""
        n_rows = len(self.codes)
        entries = 1 / np.sqrt(self.sizes[self.codes])
        return sparse.csr_array((entries, self.codes, np.arange(n_rows + 1)), shape=(n_rows, len(self.sizes)))

    def sums(self, X: Any) -> np.ndarray:
        """Sum over the rows of each class, (classes, columns), in double precision."""
        # Rows are added up by a sparse product, so that the cost does not grow with the number of classes.
        ones = self.indicator()
        ones.data[:] = 1
        sums = ones.T @ X
        return np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)

    def means(self, X: Any) -> np.ndarray:
        """Mean of each class, (classes, columns), in double precision."""
        return self.sums(X) / self.sizes[:, None]


def discriminant_scores_matrix(y: Any) -> np.ndarray:
    """Scores of the classes on which multi-output ridge regression is regularised discriminant analysis.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each row: numbers or strings.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_classes)
        One column for each class, in sorted order; columns have mean zero.

    See Also
    --------
    RegularizedFisher : The directions; its ``ridge_coef_`` are the coefficients of that regression.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> from fewer.extract import discriminant_scores_matrix
    >>> discriminant_scores_matrix(["a", "a", "a", "b"]).round(3)
    array([[ 0.144, -0.25 ],
           [ 0.144, -0.25 ],
           [ 0.144, -0.25 ],
           [-0.433,  0.75 ]])
    """
    y = column_or_1d(y)
    if not len(y):
        raise ValueError("y is empty: discriminant_scores_matrix needs the class of each row, and two classes or more.")
    classes, codes = encoded_classes(y, "discriminant_scores_matrix")
    return scores_matrix(Groups.of(codes, len(classes)))


def scores_matrix(groups: Groups) -> np.ndarray:
    """``H E Pi^{-1/2}`` in full."""
    return groups.indicator().toarray() - np.sqrt(groups.sizes) / len(groups.codes)
