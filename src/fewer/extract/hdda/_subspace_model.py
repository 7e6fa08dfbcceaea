"""Normal classes with one variance inside of a subspace and one outside: estimates, costs, likelihood.

In the eigenbasis of class i the covariance is diag(a_i, ..., a_i, b_i, ..., b_i) with d_i times a_i. The cost, minus
twice the log of the joint density without ``p log(2 pi)``, of ``t = Q_i'(x - mu_i)`` is

    K_i(x) = |t|^2 / a_i + (|x - mu_i|^2 - |t|^2) / b_i + d_i log a_i + (p - d_i) log b_i - 2 log pi_i.

With ``alpha = b / (a + b)`` and ``sigma^2 = ab / (a + b)``: a common a and b is the isometric model, a common alpha the
homothetic one.

Bouveyron, C., Girard, S. and Schmid, C. (2006). Class-specific subspace discriminant analysis for high-dimensional
data. Subspace, Latent Structure and Feature Selection, LNCS 3940, 139-150.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewer.extract.hdda._class_spectrum import ClassSpectrum

MODELS = ("full", "isometric", "homothetic", "common_noise")
_CELLS = 1_000_000


class Moments(NamedTuple):
    """Of each class: weight n_i, sum of the leading eigenvalues, trace, dimension; and the number of columns."""

    sizes: np.ndarray
    inside: np.ndarray
    traces: np.ndarray
    dims: np.ndarray
    n_columns: int

    @classmethod
    def of(cls, spectra: list[ClassSpectrum], dims: np.ndarray, n_columns: int | None = None) -> "Moments":
        return cls(
            np.array([spectrum.size for spectrum in spectra], dtype=np.float64),
            np.array([spectrum.eigenvalues[:d].sum() for spectrum, d in zip(spectra, dims, strict=True)]),
            np.array([spectrum.trace for spectrum in spectra]),
            np.asarray(dims),
            spectra[0].n_columns if n_columns is None else n_columns,
        )


class Variances(NamedTuple):
    """Variance of each class inside and outside of its subspace; steps of the iteration, and its last move."""

    a: np.ndarray
    b: np.ndarray
    n_iter: int = 1
    moved: float = 0.0


def estimated_variances(
    moments: Moments,
    model: str,
    floor: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 500,
    on_step: Callable[[], bool] = lambda: False,
) -> Variances:
    """Maximum likelihood estimates of a model, none of the variances below the floor."""
    if model == "homothetic" and moments.dims.any():
        path = homothetic_path(moments, tol=tol, max_iter=max_iter, on_step=on_step)
        alpha, sigma2 = path.alphas[-1], path.sigma2
        moved = abs(path.alphas[-1] - path.alphas[-2])
        return Variances(*_floored(sigma2 / alpha, sigma2 / (1 - alpha), moments, floor), len(path.alphas) - 1, moved)
    sizes, inside, traces, dims, p = moments
    outside = traces - inside
    a = np.divide(inside, dims, out=np.zeros_like(inside), where=dims > 0)
    b = outside / (p - dims)
    if model == "isometric":
        a = np.full_like(a, (sizes @ inside) / max(sizes @ dims, np.finfo(float).tiny))
    if model in ("isometric", "common_noise"):
        b = np.full_like(b, (sizes @ outside) / (sizes @ (p - dims)))
    return Variances(*_floored(a, b, moments, floor))


def _floored(a: np.ndarray, b: np.ndarray, moments: Moments, floor: float) -> tuple[np.ndarray, np.ndarray]:
    b = np.maximum(b, floor)
    # A class without a subspace has one variance.
    return np.where(moments.dims > 0, np.maximum(a, b), b), b


class HomotheticPath(NamedTuple):
    """The common alpha before the first step and after each, and the last scale of each class."""

    alphas: np.ndarray
    sigma2: np.ndarray


def homothetic_path(
    moments: Moments, *, tol: float, max_iter: int, on_step: Callable[[], bool] = lambda: False
) -> HomotheticPath:
    """Scales for the alpha, then alpha for the scales, each in closed form, until alpha moves less than ``tol``."""
    sizes, inside, traces, dims, p = moments
    total = sizes.sum() * p
    share = sizes @ dims / total
    # A class without any variance is left out of the estimate of alpha, to which it adds nothing.
    tiny = np.finfo(np.float64).tiny + np.finfo(np.float64).eps * traces.max() / p
    alphas = [0.5]
    sigma2 = homothetic_scales(moments, alphas[-1], tiny)
    for _ in range(max_iter):
        slope = (sizes / sigma2) @ (2 * inside - traces) / total
        root = np.sqrt(max((slope + 1) ** 2 - 4 * slope * share, 0.0))
        alphas.append(2 * share / (slope + 1 + root))
        sigma2 = homothetic_scales(moments, alphas[-1], tiny)
        if on_step() or abs(alphas[-1] - alphas[-2]) < tol:
            break
    return HomotheticPath(np.array(alphas), sigma2)


def homothetic_scales(moments: Moments, alpha: float, tiny: float = 0.0) -> np.ndarray:
    """sigma_i^2 for a given alpha."""
    return np.maximum(((2 * alpha - 1) * moments.inside + (1 - alpha) * moments.traces) / moments.n_columns, tiny)


def deviance(moments: Moments, a: np.ndarray, b: np.ndarray, log_priors: np.ndarray) -> float:
    """Minus twice the log-likelihood of rows with known classes."""
    sizes, inside, traces, dims, p = moments
    of_row = inside / a + (traces - inside) / b + dims * np.log(a) + (p - dims) * np.log(b) - 2 * log_priors
    return float(sizes @ (of_row + p * np.log(2 * np.pi)))


def count_parameters(model: str, dims: np.ndarray, n_columns: int) -> float:
    """Means, priors, orientations and dimensions of the subspaces, and the variances."""
    k = len(dims)
    variances = {"full": 2 * k, "isometric": 2, "homothetic": k + 1, "common_noise": k + 1}[model]
    return float(k * n_columns + k - 1 + np.sum(dims * (n_columns - (dims + 1) / 2)) + k + variances)


class SubspaceModel(NamedTuple):
    """Everything that tells the cost of a row: means (classes, columns), subspaces, variances, log priors."""

    means: np.ndarray
    subspaces: list[np.ndarray]
    a: np.ndarray
    b: np.ndarray
    log_priors: np.ndarray
    n_columns: int

    def costs(self, X: Any) -> np.ndarray:
        """K of (rows, classes)."""
        ends = np.cumsum([Q.shape[1] for Q in self.subspaces])
        stacked = np.hstack(self.subspaces)
        # Distances to the common centre are small beside those to the origin, so that little cancels.
        centre = np.zeros(X.shape[1]) if sparse.issparse(X) else self.means.mean(axis=0)
        means = self.means - centre
        shifts = [mean @ Q for mean, Q in zip(means, self.subspaces, strict=True)]
        dims = np.diff(ends, prepend=0)
        constants = dims * np.log(self.a) + (self.n_columns - dims) * np.log(self.b) - 2 * self.log_priors
        K = np.empty((X.shape[0], len(means)))
        for rows in gen_batches(X.shape[0], max(1, _CELLS // X.shape[1])):
            block = X[rows] if sparse.issparse(X) else X[rows] - centre
            along = np.asarray(block @ stacked)
            lengths = row_norms(block, squared=True)[:, None] + row_norms(means, squared=True) - 2 * (block @ means.T)
            for each, (end, shift) in enumerate(zip(ends, shifts, strict=True)):
                t = along[:, end - len(shift) : end] - shift
                inside = np.einsum("ij,ij->i", t, t)
                outside = np.maximum(lengths[:, each] - inside, 0)
                K[rows, each] = inside / self.a[each] + outside / self.b[each] + constants[each]
        return K
