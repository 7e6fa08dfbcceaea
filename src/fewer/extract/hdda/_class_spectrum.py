"""Leading eigenpairs of the covariance of one class, and its trace: all that a subspace model needs of the rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from fewer.extract._centred import centred_columns_times, centred_gram, column_means, scatter
from fewer.extract._extractor import upright


class ClassSpectrum(NamedTuple):
    """Size (a sum of weights), mean, trace of the covariance with divisor n, leading eigenvalues and vectors (p, m)."""

    size: float
    mean: np.ndarray
    trace: float
    eigenvalues: np.ndarray
    vectors: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.mean)

    def leading_sums(self) -> np.ndarray:
        """Sums of the 0, 1, 2, ... largest eigenvalues."""
        return np.append(0.0, np.cumsum(self.eigenvalues))


def class_spectrum(X: Any, most: int) -> ClassSpectrum:
    """Spectrum of the rows of a class, up to ``most`` eigenpairs, from the smaller matrix of products."""
    n_rows, n_columns = X.shape
    mean = column_means(X)
    by_columns = n_columns <= n_rows
    products = (scatter(X, mean) if by_columns else centred_gram(X, mean)) / n_rows
    values, vectors = leading_eigenpairs(products, min(most, n_rows - 1))
    if not by_columns:
        vectors = centred_columns_times(X, vectors) / np.sqrt(n_rows * values)
    return ClassSpectrum(n_rows, mean, float(np.trace(products)), values, _turned(vectors))


def spherical_spectrum(X: Any) -> ClassSpectrum:
    """Mean and trace alone, for a class whose directions are not looked for."""
    mean = column_means(X)
    # E|x|^2 - |E x|^2 would cancel where means are large; sparse tables have no other way without becoming dense.
    if hasattr(X, "toarray"):
        trace = max(float(X.multiply(X).sum()) / X.shape[0] - float(mean @ mean), 0.0)
    else:
        trace = float(np.square(X - mean).sum() / X.shape[0])
    return ClassSpectrum(X.shape[0], mean, trace, np.zeros(0), np.zeros((X.shape[1], 0)))


def leading_eigenpairs(S: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``most`` largest eigenvalues of a covariance, decreasing, without those that are rounding, and vectors."""
    size = len(S)
    most = min(most, size)
    if most < 1:
        return np.zeros(0), np.zeros((size, 0))
    if most <= size // 4:  # a few vectors are cheaper one by one
        values, vectors = linalg.eigh(S, subset_by_index=[size - most, size - 1], check_finite=False)
    else:
        values, vectors = linalg.eigh(S, check_finite=False, driver="evd")
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > np.finfo(S.dtype).eps * size * max(values[0], 0)
    return values[kept], vectors[:, kept]


def _turned(vectors: np.ndarray) -> np.ndarray:
    return upright(vectors.T).T if vectors.shape[1] else vectors
