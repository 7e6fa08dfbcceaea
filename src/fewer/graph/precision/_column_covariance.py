"""Covariances of the columns, also for columns that are not Gaussian.

If unknown increasing functions of the columns are jointly Gaussian, ranks show their correlations:

    rho = 2 sin(pi rho_spearman / 6) = sin(pi tau_kendall / 2).

Neither estimate is always positive semidefinite; where an eigenvalue is negative, the matrix is moved towards the
identity until none is. Liu, Han, Yuan, Lafferty and Wasserman (2012), Annals of Statistics 40, 2293-2326.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.covariance import EmpiricalCovariance

from fewer._estimators import validated
from fewer._wording import counted, listed
from fewer.graph._frame import GraphMixin

METHODS = ("empirical", "pearson", "spearman", "kendall")


class ColumnCovariance(NamedTuple):
    """What is penalised (``matrix``), and what it takes to get back to the units of the columns."""

    matrix: np.ndarray
    location: np.ndarray
    scales: np.ndarray


def column_covariance(X: np.ndarray, method: str, *, assume_centered: bool = False) -> ColumnCovariance:
    """Covariances ("empirical"), or correlations with the standard deviations as scales (the others).

    Examples
    --------
    >>> X = np.exp(np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=1000))
    >>> float(column_covariance(X, "spearman").matrix[0, 1].round(2))
    0.81
    """
    location = np.zeros(X.shape[1], dtype=X.dtype) if assume_centered else X.mean(axis=0)
    centred = X - location
    scales = np.sqrt(np.einsum("ij,ij->j", centred, centred) / len(X))
    if method == "empirical":
        return ColumnCovariance(centred.T @ centred / X.dtype.type(len(X)), location, np.ones_like(scales))
    safe = np.where(scales > 0, scales, 1)
    return ColumnCovariance(correlations(X, method, location, safe), location, scales)


def covariance_around(X: np.ndarray, method: str, fitted: ColumnCovariance) -> np.ndarray:
    """The same for other rows, around the location and in the scales of the first ones."""
    if method == "empirical":
        centred = X - fitted.location
        return centred.T @ centred / len(X)
    return correlations(X, method, fitted.location, fitted.scales)


def correlations(X: np.ndarray, method: str, location: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Correlations of the columns, or of the Gaussians behind their ranks."""
    if method == "pearson":
        standard = (X - location) / scales
        return standard.T @ standard / X.dtype.type(len(X))
    if method == "spearman":
        ranks = rankdata(X, axis=0)
        ranks -= ranks.mean(axis=0)
        found = 2 * np.sin(np.pi / 6 * _scaled(ranks.T @ ranks))
    else:
        found = np.sin(np.pi / 2 * kendall_tau(X))
    np.fill_diagonal(found, 1)
    lowest = np.linalg.eigvalsh(found)[0]
    if lowest < 0:
        found /= 1 - lowest
        np.fill_diagonal(found, 1)
    return found.astype(X.dtype, copy=False)


def kendall_tau(X: np.ndarray) -> np.ndarray:
    """Kendall's tau-b between all pairs of columns.

    Examples
    --------
    >>> kendall_tau(np.array([[1, 2], [2, 1], [3, 3]])).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """
    agreement = np.zeros((X.shape[1], X.shape[1]))
    for row in range(len(X) - 1):
        signs = np.sign(X[row + 1 :] - X[row])
        agreement += signs.T @ signs
    return _scaled(agreement)


def _scaled(products: np.ndarray) -> np.ndarray:
    """Products divided by the roots of their diagonals; those of a constant column are zero."""
    roots = np.sqrt(np.diag(products))
    return products / np.outer(np.where(roots > 0, roots, 1), np.where(roots > 0, roots, 1))


def refuse_constant_columns(variances: np.ndarray, location: np.ndarray, names: list[Any], who: str) -> None:
    """Name the columns that do not vary: their precision would be infinite."""
    # Rounding of the mean leaves a constant column a variance of this order.
    smallest = (10 * np.finfo(variances.dtype).eps * np.abs(location)) ** 2
    constant = [str(name) for name, is_it in zip(names, variances <= smallest, strict=True) if is_it]
    if constant:
        is_, has = ("is", "has") if len(constant) == 1 else ("are", "have")
        raise ValueError(
            f"{counted(len(constant), 'column')} {is_} constant ({listed(constant)}) and {has} no precision: leave "
            f"{'it' if len(constant) == 1 else 'them'} out before {who}, for example with VarianceThreshold."
        )


def partial_correlations(precision: np.ndarray) -> np.ndarray:
    """Correlation of each pair of columns given all the others, ``-Omega_ij / sqrt(Omega_ii Omega_jj)``.

    Examples
    --------
    >>> partial_correlations(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    roots = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(roots, roots)
    np.fill_diagonal(partial, 1)
    return partial


class PrecisionGraph(GraphMixin, EmpiricalCovariance):
    """A covariance estimator of scikit-learn whose ``precision_`` is a graph; edges weigh their partial correlation."""

    _weight_words = "partial correlation"

    def _edge_weights(self) -> np.ndarray:
        return partial_correlations(self.precision_)

    def get_precision(self) -> np.ndarray:
        """The precision matrix, as scikit-learn's covariance estimators give it.

        Returns
        -------
        precision_ : ndarray of shape (n_features, n_features)
            The precision matrix of the model.
        """
        return self.precision_

    def _checked_table(self, X: Any, dtype: Any = (np.float64, np.float32)) -> np.ndarray:
        return validated(self, X, dtype=list(dtype), ensure_min_samples=2)

    def _moments(self, X: Any, method: str) -> ColumnCovariance:
        """Location and covariances of a table that vary; with "precomputed", X is the covariance matrix."""
        who = type(self).__name__
        if method == "precomputed":
            S = checked_covariance(validated(self, X, dtype=[np.float64, np.float32]), who)
            found = ColumnCovariance(S, np.zeros(len(S), dtype=S.dtype), np.ones(len(S), dtype=S.dtype))
        else:
            found = column_covariance(self._checked_table(X), method, assume_centered=self.assume_centered)
        variances = np.diag(found.matrix) * found.scales**2
        refuse_constant_columns(variances, found.location, self._node_names(), who)
        return found

    def _set_precision(self, precision: np.ndarray, covariance: np.ndarray, moments: ColumnCovariance) -> None:
        """Keep both matrices in the units of the columns."""
        units = np.outer(moments.scales, moments.scales)
        self.location_ = moments.location
        self.precision_ = precision / units
        self.covariance_ = covariance * units


def checked_covariance(covariance: Any, who: str) -> np.ndarray:
    """A finite symmetric matrix with a positive diagonal; anything else is refused."""
    S = np.asarray(covariance)
    S = np.ascontiguousarray(S, dtype=np.float32 if S.dtype == np.float32 else np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{who} needs a square covariance matrix; this one has the shape {S.shape}.")
    if not np.isfinite(S).all():
        raise ValueError(f"The covariance matrix for {who} contains NaN or infinity.")
    if np.abs(S - S.T).max(initial=0) > 1e3 * np.finfo(S.dtype).eps * np.abs(S).max(initial=0):
        raise ValueError(f"{who} needs a symmetric covariance matrix; use (S + S.T) / 2.")
    constant = np.flatnonzero(np.diag(S) <= 0)
    if len(constant):
        raise ValueError(
            f"The covariance matrix for {who} has no positive variance for column {constant[0]}: leave constant "
            "columns out."
        )
    return (S + S.T) / 2
