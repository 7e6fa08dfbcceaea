"""Targets as groups of rows, and the shares, means and covariances of groups in uncorrelated coordinates.

Classes are groups as they are; numbers are cut into slices of about equal size. In any coordinates the total covariance
is

    S = sum_k pi_k S_k + sum_k pi_k m_k m_k'

for groups with shares pi_k, means m_k and covariances S_k (divisor n_k), so that total and groups agree exactly.
"""

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import Interval, encoded_classes, warn_caller
from fewer.extract._centred_table import Coordinates, rows_along
from fewer.extract._extractor import LinearExtractor, upright

_USUAL_SLICES = 10
_ROWS_OF_A_CLASS = 5


class Slices(NamedTuple):
    """Groups in order (the classes; or the mean target of each slice), and the group of each row."""

    labels: np.ndarray
    codes: np.ndarray


def slices_of(y: Any, n_slices: int | None, who: str, rows_of_a_slice: int = 1) -> Slices:
    """Groups of rows by their target.

    Without ``n_slices``, labels are classes, and numbers are too if they have no fractions and each comes at least five
    times on average; other numbers are cut into ten slices, or fewer so that each has ``rows_of_a_slice``. Equal
    numbers always share a slice.

    Examples
    --------
    >>> import numpy as np
    >>> slices_of(np.array([0.1, 0.2, 0.3, 0.4]), 2, "SIR").codes
    array([0, 0, 1, 1])
    """
    numbers = np.ndim(y) == 1 and np.asarray(y).dtype.kind in "iuf"
    if not numbers or (n_slices is None and _are_classes(y)):
        return Slices(*encoded_classes(y, who))
    values = np.asarray(y, dtype=np.float64)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"{who} compares classes or slices of y, and y is constant: {distinct[0]:g} in every row.")
    middle_ranks = np.cumsum(counts) - counts / 2
    n_slices = n_slices or max(2, min(_USUAL_SLICES, len(values) // rows_of_a_slice))
    cut = np.floor(middle_ranks / len(values) * min(n_slices, len(distinct))).astype(int)
    _, slice_of_value = np.unique(cut, return_inverse=True)
    if slice_of_value[-1] == 0:  # one value holds nearly all rows: it stands against the others
        slice_of_value = (counts == counts.max()).astype(int)
    codes = slice_of_value[places]
    return Slices(np.bincount(codes, weights=values) / np.bincount(codes), codes)


def _are_classes(y: np.ndarray) -> bool:
    return type_of_target(y) in ("binary", "multiclass") and len(np.unique(y)) * _ROWS_OF_A_CLASS <= max(
        len(y), 2 * _ROWS_OF_A_CLASS
    )


class Moments(NamedTuple):
    """Shares, means and covariances of groups of rows, from centred coordinates."""

    priors: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @property
    def within(self) -> np.ndarray:
        return np.einsum("k,kij->ij", self.priors, self.covariances)

    @property
    def between(self) -> np.ndarray:
        return (self.means.T * self.priors) @ self.means

    @property
    def total(self) -> np.ndarray:
        return self.within + self.between

    def along(self, directions: np.ndarray) -> "Moments":
        """The moments of ``z @ directions``."""
        return Moments(self.priors, self.means @ directions, directions.T @ self.covariances @ directions)


def group_means(X: Any, codes: np.ndarray, coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Share and mean of each group in the coordinates."""
    counts = np.bincount(codes)
    member = sparse.csr_array((np.ones(len(codes), dtype=X.dtype), (codes, np.arange(len(codes)))))
    sums = member @ X
    means = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64) / counts[:, None]
    return counts / len(codes), (means - coordinates.mean) @ coordinates.to


def group_moments(X: Any, codes: np.ndarray, coordinates: Coordinates) -> Moments:
    """Share, mean and covariance of each group in the coordinates."""
    counts = np.bincount(codes)
    means, covariances = [], []
    for group in range(len(counts)):
        rows = rows_along(X[np.flatnonzero(codes == group)], coordinates)
        mean = rows.mean(axis=0, dtype=np.float64)
        centred = rows - mean.astype(rows.dtype)
        means.append(mean)
        covariances.append((centred.T @ centred).astype(np.float64) / len(rows))
    return Moments(counts / len(codes), np.array(means), np.array(covariances))


def warn_of_few_rows(X: Any, n_coordinates: int) -> None:
    """Warn where some direction separates any groups of rows."""
    if n_coordinates >= X.shape[0] - 1:
        warn_caller(
            f"{X.shape[0]} rows span {n_coordinates} dimensions, so that some direction separates any groups of them: "
            "what is found here overfits these rows. Use more rows, or fewer columns (PCA as the step before)."
        )


def shrunk(moments: Moments, shrinkage: float, alpha: float) -> Moments:
    """``(1 - a) S_k + a W + b tr(W) / p I`` in place of each S_k."""
    within = moments.within
    covariances = (1 - shrinkage) * moments.covariances + shrinkage * within
    if alpha:
        covariances = covariances + alpha * np.trace(within) / len(within) * np.eye(len(within))
    return moments._replace(covariances=covariances)


def refuse_flat_classes(moments: Moments, classes: np.ndarray, counts: np.ndarray, tolerance: float, cure: str) -> None:
    """Refuse classes that have no variance along some direction, where a likelihood has no bound."""
    n_dims = moments.means.shape[1]
    for label, count, covariance in zip(classes.tolist(), counts, moments.covariances, strict=True):
        variances = linalg.eigvalsh(covariance, check_finite=False)
        if variances[0] > tolerance * max(variances[-1], tolerance):
            continue
        why = (
            f"has {count} rows for the {n_dims} dimensions of the table, and more rows than dimensions are needed"
            if count <= n_dims
            else "has no variance along some direction: a column may be constant in it, or follow from others"
        )
        sliced = isinstance(label, float)
        whose = f"The slice of y around {label:.4g}" if sliced else f"Class {label!r}"
        fewer_slices = "have fewer slices (n_slices), " if sliced else ""
        raise ValueError(f"{whose} {why}, for a covariance of its own; {fewer_slices}{cure}")


class SlicedExtractor(LinearExtractor):
    """Base of those that separate groups of rows along directions in uncorrelated coordinates."""

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
