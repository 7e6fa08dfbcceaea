"""EM for clusters with subspaces: the estimates of HDDA, with rows weighed by their responsibilities.

Responsibilities ``r_ik = P(k | x_i)`` weigh the rows in the estimates, and follow from the costs. A table with more
columns than rows is turned into the coordinates of its rows first, which changes no distance, so that no step depends
on the number of columns.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import gen_batches

from fewer.extract._centred import centred_columns_times, centred_gram, column_means, positive_eigenpairs
from fewer.extract.hdda._class_spectrum import ClassSpectrum, leading_eigenpairs
from fewer.extract.hdda._dimensions import chosen_dimensions, noise_floor_of
from fewer.extract.hdda._subspace_model import Moments, SubspaceModel, estimated_variances

SETTLING = 10
"""Steps in which dimensions are chosen anew; then they stay, so that the likelihood can only rise."""

_NOTHING = 1e-12
"""A responsibility below this adds no more than rounding does."""
_CELLS, _FEWEST = 1_000_000, 256


class Rows(NamedTuple):
    """Rows in coordinates that are as few as possible: ``X - centre = coordinates @ basis.T``; None is the identity."""

    coordinates: np.ndarray
    centre: np.ndarray
    basis: np.ndarray | None
    n_columns: int


def compact_rows(X: np.ndarray) -> Rows:
    """Rows about their mean, turned into as many coordinates as there are rows where columns are more."""
    mean = column_means(X)
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return Rows(X - mean, mean, None, n_columns)
    squares, left = positive_eigenpairs(centred_gram(X, mean))
    return Rows(left * np.sqrt(squares), mean, centred_columns_times(X, left) / np.sqrt(squares), n_columns)


class Fit(NamedTuple):
    """The state of EM: the model, its spectra, and how likely the rows are under it."""

    model: SubspaceModel
    spectra: list[ClassSpectrum]
    dims: np.ndarray
    priors: np.ndarray
    responsibilities: np.ndarray
    log_likelihood: float
    n_iter: int
    gain: float


class Recipe(NamedTuple):
    """How clusters are estimated."""

    model: str
    dims: str | np.ndarray
    threshold: float
    noise_floor: float
    tol: float
    max_iter: int


def weighted_spectrum(Z: np.ndarray, weights: np.ndarray, most: int, n_columns: int) -> ClassSpectrum:
    """Spectrum of rows that count by weights; the mean has as many entries as coordinates."""
    size = float(weights.sum())
    if size <= 10 * np.finfo(np.float64).eps:
        return ClassSpectrum(size, np.zeros(Z.shape[1]), 0.0, np.zeros(0), np.zeros((Z.shape[1], 0)))
    mean = weights @ Z / size
    products = _weighted_scatter(Z, weights, mean) / size
    values, vectors = leading_eigenpairs(products, min(most, int(np.ceil(size)) - 1, n_columns - 1))
    return ClassSpectrum(size, mean, float(np.trace(products)), values, vectors)


def _weighted_scatter(Z: np.ndarray, weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    # With many columns most rows belong to one cluster beyond any doubt, and need not be added to the others.
    counting = np.flatnonzero(weights > _NOTHING)
    roots = np.sqrt(weights[counting])
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for rows in gen_batches(len(counting), max(_FEWEST, _CELLS // Z.shape[1])):
        block = (Z[counting[rows]] - mean) * roots[rows, None]
        total += block.T @ block
    return total


def maximised(
    Z: np.ndarray, responsibilities: np.ndarray, recipe: Recipe, n_columns: int, dims: np.ndarray | None
) -> tuple[SubspaceModel, list[ClassSpectrum], np.ndarray]:
    """The M-step: model, spectra, and dimensions, chosen anew unless they are given."""
    rule = recipe.dims if dims is None else dims
    most = n_columns if isinstance(rule, str) else int(np.max(rule, initial=0))
    compact = [weighted_spectrum(Z, weights, most, n_columns) for weights in responsibilities.T]
    sizes = np.array([spectrum.size for spectrum in compact])
    traces = np.array([spectrum.trace for spectrum in compact])
    floor = noise_floor_of(traces, sizes, n_columns, recipe.noise_floor)
    # Rules count the columns of the table, of which the coordinates may be fewer.
    padded = [spectrum._replace(mean=_padded(spectrum.mean, n_columns)) for spectrum in compact]
    dims = chosen_dimensions(padded, rule, recipe.threshold, floor)
    variances = estimated_variances(Moments.of(compact, dims, n_columns), recipe.model, floor)
    priors = np.maximum(sizes, np.finfo(np.float64).tiny) / sizes.sum()
    model = SubspaceModel(
        np.array([spectrum.mean for spectrum in compact]),
        [spectrum.vectors[:, :d] for spectrum, d in zip(compact, dims, strict=True)],
        variances.a,
        variances.b,
        np.log(priors),
        n_columns,
    )
    return model, compact, dims


def _padded(mean: np.ndarray, n_columns: int) -> np.ndarray:
    return np.append(mean, np.zeros(n_columns - len(mean)))


def em(
    Z: np.ndarray,
    responsibilities: np.ndarray,
    recipe: Recipe,
    n_columns: int,
    on_step: Callable[[], bool] = lambda: False,
) -> Fit:
    """Alternate the two steps until the mean log-likelihood of a row gains less than ``tol``."""
    n_rows, before = len(Z), -np.inf
    dims: Any = None
    for n_iter in range(1, recipe.max_iter + 1):
        model, spectra, dims = maximised(Z, responsibilities, recipe, n_columns, dims if n_iter > SETTLING else None)
        halves = -model.costs(Z) / 2
        of_rows = logsumexp(halves, axis=1, keepdims=True)
        responsibilities = np.exp(halves - of_rows)
        log_likelihood = float(of_rows.sum()) - n_rows * n_columns * np.log(2 * np.pi) / 2
        gain, before = (log_likelihood - before) / n_rows, log_likelihood
        if on_step() or abs(gain) < recipe.tol:
            break
    return Fit(
        model, spectra, dims, np.exp(model.log_priors), responsibilities, log_likelihood, n_iter, float(abs(gain))
    )


def partition(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Responsibilities of a hard partition."""
    return (labels[:, None] == np.arange(n_clusters)).astype(np.float64)
