"""Autoregressive models of several series: their covariances, their inverse spectra and what these say.

    x(t) = sum_{k=1..p} A_k x(t - k) + w(t),     w ~ N(0, Sigma),
    S(f)^-1 = Y_0 + (1/2) sum_{k=1..p} (e^{-ikf} Y_k + e^{ikf} Y_k')

Series i and j are independent given all others exactly if entries ij and ji of all ``Y_k`` are zero. (The paper has
the other sign of A.) ``T(Z)`` is the symmetric block-Toeplitz matrix with first block row ``Z_0, ..., Z_p``, and ``D``
is its adjoint: ``D_0(X) = sum_i X_ii``, ``D_k(X) = 2 sum_i X_{i,i+k}``. Songsiri and Vandenberghe (2010), JMLR 11,
2671-2705.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer._estimators import checked_array
from fewer._wording import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

N_FREQUENCIES = 129


def block_toeplitz(blocks: np.ndarray) -> np.ndarray:
    """``T(Z)``: block (i, i + k) is ``Z_k``, and block (i + k, i) its transpose.

    Examples
    --------
    >>> block_toeplitz(np.array([[[2.0]], [[1.0]], [[0.5]]]))
    array([[2. , 1. , 0.5],
           [1. , 2. , 1. ],
           [0.5, 1. , 2. ]])
    """
    n_blocks, size = blocks.shape[:2]
    matrix = np.empty((n_blocks, size, n_blocks, size), dtype=blocks.dtype)
    for lag, block in enumerate(blocks):
        for i in range(n_blocks - lag):
            matrix[i, :, i + lag, :] = block
            matrix[i + lag, :, i, :] = block.T
    return matrix.reshape(n_blocks * size, n_blocks * size)


def block_sums(matrix: np.ndarray, size: int) -> np.ndarray:
    """``D(X)``, the adjoint of :func:`block_toeplitz`: sums along the block diagonals."""
    n_blocks = len(matrix) // size
    blocks = matrix.reshape(n_blocks, size, n_blocks, size)
    sums = np.zeros((n_blocks, size, size))
    for lag in range(n_blocks):
        for i in range(n_blocks - lag):
            sums[lag] += blocks[i, :, i + lag, :]
    sums[1:] *= 2
    return sums


def ar_covariance(X: "ArrayLike", order: int, *, windowed: bool = True, alpha: float = 0.0) -> np.ndarray:
    """Covariances of several series with their own past, ``order`` steps back.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Series as columns, points in time as rows, oldest first. They are centred.
    order : int
        Steps back.
    windowed : bool, default=True
        Take the series as zero outside of the rows. The matrix is then block-Toeplitz, and models fitted to it are
        stable. False uses complete windows only.
    alpha : float, default=0.0
        Added to the diagonal.

    Returns
    -------
    cov : ndarray of shape ((order + 1) * n_features, (order + 1) * n_features)
        Block (i, j) estimates ``E x(t - i) x(t - j)'``.

    Examples
    --------
    >>> from fewer.graph import ar_covariance
    >>> ar_covariance([[1.0], [-1.0], [1.0], [-1.0]], order=1)
    array([[ 1.  , -0.75],
           [-0.75,  1.  ]])
    """
    table: np.ndarray = checked_array(X, "ar_covariance", dtype=np.float64, ensure_min_samples=2)
    n_rows = len(table)
    if not 0 <= order < n_rows:
        raise ValueError(f"order={order} must be at least 0 and below the number of rows, {n_rows}.")
    centred = table - table.mean(axis=0)
    if windowed:
        lagged = [centred[lag:].T @ centred[: n_rows - lag] / n_rows for lag in range(order + 1)]
        cov = block_toeplitz(np.array(lagged))
    else:
        windows = np.hstack([centred[order - lag : n_rows - lag] for lag in range(order + 1)])
        cov = windows.T @ windows / (n_rows - order)
    if alpha:
        cov[np.diag_indices_from(cov)] += alpha
    return cov


def yule_walker(cov: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The autoregressive model with these covariances: ``A_1, ..., A_p`` and the covariance of the noise."""
    order = len(cov) // size - 1
    past = cov[size:, size:]
    coef = np.linalg.solve(past, cov[size:, :size]).T if order else np.zeros((size, 0))
    noise = cov[:size, :size] - coef @ cov[size:, :size]
    return np.array(np.split(coef, order, axis=1)) if order else np.zeros((0, size, size)), (noise + noise.T) / 2


def inverse_spectrum(coef: np.ndarray, noise_cov: np.ndarray) -> np.ndarray:
    """``Y_0, ..., Y_p`` of an autoregressive model."""
    size = len(noise_cov)
    rows = np.concatenate([np.eye(size)[None], -np.asarray(coef)])
    stacked = np.concatenate([row.T for row in rows])
    return block_sums(stacked @ np.linalg.solve(noise_cov, stacked.T), size)


def spectral_blocks(spectrum: np.ndarray, n_frequencies: int = N_FREQUENCIES) -> np.ndarray:
    """``S(f)^-1`` at frequencies from 0 to pi, of shape (n_frequencies, n_features, n_features)."""
    waves = np.exp(-1j * np.outer(np.linspace(0, np.pi, n_frequencies), np.arange(1, len(spectrum))))
    half = np.tensordot(waves, spectrum[1:], axes=1) / 2
    return spectrum[0] + half + half.conj().transpose(0, 2, 1)


def partial_coherence(spectrum: "ArrayLike", *, n_frequencies: int = N_FREQUENCIES) -> np.ndarray:
    """Largest partial coherence of each pair of series over all frequencies.

    Parameters
    ----------
    spectrum : array-like of shape (order + 1, n_features, n_features)
        Inverse spectrum ``Y_0, ..., Y_p``, as ``inverse_spectrum_`` of the models of this room.
    n_frequencies : int, default=129
        Frequencies from 0 to pi.

    Returns
    -------
    coherence : ndarray of shape (n_features, n_features)
        Between 0 (independent given all the others) and 1. For one block it is the size of the partial correlation.

    Examples
    --------
    >>> from fewer.graph import partial_coherence
    >>> partial_coherence([[[2.0, -1.0], [-1.0, 2.0]]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    return _largest_coherence(spectral_blocks(np.asarray(spectrum, dtype=float), n_frequencies))


def _largest_coherence(blocks: np.ndarray) -> np.ndarray:
    roots = np.sqrt(np.abs(np.einsum("fii->fi", blocks)))
    coherence = (np.abs(blocks) / (roots[:, :, None] * roots[:, None, :])).max(axis=0)
    np.fill_diagonal(coherence, 1)
    return coherence


def welch_partial_coherence(X: "ArrayLike", *, n_window: int = 64) -> np.ndarray:
    """Largest partial coherence by Welch's method, without a model: a baseline.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Series as columns, oldest first.
    n_window : int, default=64
        Rows of a window; windows overlap by half. There must be more windows than series.

    Returns
    -------
    coherence : ndarray of shape (n_features, n_features)
        As :func:`partial_coherence` gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.graph import welch_partial_coherence
    >>> noise = np.random.default_rng(0).normal(size=(4000, 2))
    >>> bool(welch_partial_coherence(noise)[0, 1] < 0.5)
    True
    """
    from scipy.signal import csd

    table: np.ndarray = checked_array(X, "welch_partial_coherence", dtype=np.float64, ensure_min_samples=2)
    n_windows = 2 * len(table) // n_window - 1
    if n_windows <= table.shape[1]:
        raise ValueError(
            f"{counted(n_windows, 'window')} of {n_window} rows are too few for {table.shape[1]} series: there must be "
            "more windows than series. Lower n_window, or fit a model."
        )
    spectrum = csd(table.T[:, None, :], table.T[None, :, :], nperseg=n_window)[1].transpose(2, 0, 1)
    inner = spectrum[1:-1]  # at the ends the mean was removed and frequencies fold
    return _largest_coherence(np.linalg.inv(inner))


def ar_kl(spectrum: "ArrayLike", model_spectrum: "ArrayLike", *, n_frequencies: int = 513) -> float:
    """Kullback-Leibler divergence rate of one stationary Gaussian series from another.

    ``(1 / 4 pi) int tr(S_model^-1 S) - log det(S_model^-1 S) - n df``, from -pi to pi.

    Parameters
    ----------
    spectrum : array-like of shape (order + 1, n_features, n_features)
        Inverse spectrum of the series, usually the true one.
    model_spectrum : array-like of shape (order + 1, n_features, n_features)
        Inverse spectrum of the model. Exchange the two for the other direction.
    n_frequencies : int, default=513
        Frequencies from 0 to pi.

    Returns
    -------
    divergence : float
        0 if the two are the same.

    Examples
    --------
    >>> from fewer.graph import ar_kl
    >>> round(ar_kl([[[1.0]]], [[[2.0]]]), 4)
    0.1534
    """
    first, second = (
        spectral_blocks(np.asarray(each, dtype=float), n_frequencies) for each in (spectrum, model_spectrum)
    )
    ratio = second @ np.linalg.inv(first)
    logs = np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1]
    integrand = np.einsum("fii->f", ratio).real - logs - first.shape[1]
    return float(np.trapezoid(integrand, dx=1 / (n_frequencies - 1)) / 2)


def largest_root(coef: np.ndarray) -> float:
    """Spectral radius of the companion matrix; the model is stable if it is below 1."""
    order, size = len(coef), coef.shape[-1]
    if not order:
        return 0.0
    companion = np.eye(order * size, k=-size)
    companion[:size] = np.hstack(list(coef))
    return float(np.abs(np.linalg.eigvals(companion)).max())
