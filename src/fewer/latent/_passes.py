"""Passes over the non-zeros of a table of counts, which all count models share.

Rows have factors ``u_i`` and columns factors ``v_j``, K numbers each. With ``z_ij = u_i . v_j``, every update of EM, of
variational inference and of non-negative matrix factorisation with the Kullback-Leibler loss is made of

    s_i = sum_j x_ij / z_ij v_j        and        f_i = sum_j x_ij log z_ij,

and of the same over columns: ``u_i * s_i`` are the expected counts of row i by component. The array of responsibilities
(rows, columns, components) is never formed: time is O(non-zeros K), memory O((rows + columns) K).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from fewer._kernels._arrays import in_threads, read_only

_SUMS = {"reassoc", "contract", "nsz"}
_FLOOR = 1e-10
_HALF_LOG_TWO_PI = 0.9189385332046727


class Rows(NamedTuple):
    """The non-zeros of a table, row by row, as kernels read them."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class CountTable(NamedTuple):
    """A table of counts by rows and by columns, with row weights in the latter, and the total of each row."""

    rows: Rows
    columns: Rows
    totals: np.ndarray
    weights: np.ndarray
    shape: tuple[int, int]


def count_rows(X: Any) -> Rows:
    """Non-zeros of a CSR table."""
    return Rows(read_only(X.indptr), read_only(X.indices), read_only(np.asarray(X.data, dtype=np.float64)))


def count_table(X: sparse.csr_array, sample_weight: np.ndarray | None = None) -> CountTable:
    """The table in both orders; weights of rows multiply the counts that columns see."""
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weighted = X if sample_weight is None else sparse.csr_array(sparse.diags_array(weights) @ X)
    columns = sparse.csr_array(weighted.T.tocsr())
    return CountTable(count_rows(X), count_rows(columns), totals, weights, X.shape)


def mixture_sums(rows: Rows, own: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``s`` and ``f`` of every row, for its own factors and those of the columns."""
    sums = np.zeros_like(own)
    fits = np.zeros(len(own))
    in_threads(_mixture_sums, *rows, read_only(own), read_only(other), sums, fits, cost=own.shape[1])
    return sums, fits


@njit(cache=True, nogil=True, inline="always")
def add_ratios(first, last, indices, data, own, other, sums, with_fit):
    """Add the ``s`` of a row to ``sums``, and return its ``f``; a column that no component has is left out of ``s``."""
    n_components, fit = own.size, 0.0
    for place in range(first, last - 3, 4):  # four columns for each pass over the row's own arrays
        one, two = other[indices[place]], other[indices[place + 1]]
        three, four = other[indices[place + 2]], other[indices[place + 3]]
        mixed_one, mixed_two, mixed_three, mixed_four = 0.0, 0.0, 0.0, 0.0
        for k in range(n_components):
            mixed_one += own[k] * one[k]
            mixed_two += own[k] * two[k]
            mixed_three += own[k] * three[k]
            mixed_four += own[k] * four[k]
        if with_fit:
            fit += _log_term(data[place], mixed_one) + _log_term(data[place + 1], mixed_two)
            fit += _log_term(data[place + 2], mixed_three) + _log_term(data[place + 3], mixed_four)
        ratio_one, ratio_two = _ratio(data[place], mixed_one), _ratio(data[place + 1], mixed_two)
        ratio_three, ratio_four = _ratio(data[place + 2], mixed_three), _ratio(data[place + 3], mixed_four)
        for k in range(n_components):
            sums[k] += ratio_one * one[k] + ratio_two * two[k] + ratio_three * three[k] + ratio_four * four[k]
    for place in range(last - (last - first) % 4, last):
        theirs = other[indices[place]]
        mixed = 0.0
        for k in range(n_components):
            mixed += own[k] * theirs[k]
        if with_fit:
            fit += _log_term(data[place], mixed)
        ratio = _ratio(data[place], mixed)
        for k in range(n_components):
            sums[k] += ratio * theirs[k]
    return fit


@njit(cache=True, nogil=True, inline="always")
def _ratio(count, mixed):
    return count / mixed if mixed > 0.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def _log_term(count, mixed):
    if mixed > 0.0:
        return count * math.log(mixed)
    return -np.inf if count > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _mixture_sums(start, stop, indptr, indices, data, own, other, sums, fits):
    for row in range(start, stop):
        fits[row] = add_ratios(indptr[row], indptr[row + 1], indices, data, own[row], other, sums[row], True)


def mixture_fits(rows: Rows, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``f`` of every row alone, in half of the time."""
    fits = np.zeros(len(own))
    in_threads(_mixture_fits, *rows, read_only(own), read_only(other), fits, cost=own.shape[1] // 2 + 1)
    return fits


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _mixture_fits(start, stop, indptr, indices, data, own, other, fits):
    n_components = own.shape[1]
    for row in range(start, stop):
        mine, fit = own[row], 0.0
        for place in range(indptr[row], indptr[row + 1]):
            theirs = other[indices[place]]
            mixed = 0.0
            for k in range(n_components):
                mixed += mine[k] * theirs[k]
            if mixed > 0.0:
                fit += data[place] * math.log(mixed)
            elif data[place] > 0.0:
                fit = -np.inf
        fits[row] = fit


@njit(cache=True, nogil=True, inline="always")
def _shifted(value):
    """The argument, 8 more if it was below 8, with the sum of the inverses and the product of what it passed.

    With ``u = x (x + 7)``, the eight factors are ``u (u + 6) (u + 10) (u + 12)``, so that one division is enough.
    """
    if value >= 8.0:
        return value, 0.0, 1.0
    u = value * (value + 7.0)
    low, high = u * (u + 6.0), (u + 10.0) * (u + 12.0)
    inverse = 2.0 * (2.0 * value + 7.0) * ((u + 3.0) * high + (u + 11.0) * low) / (low * high)
    return value + 8.0, inverse, low * high


@njit(cache=True, nogil=True, inline="always")
def _digamma_tail(square):
    """``log(y) - 1 / (2 y) - digamma(y)`` from ``1 / y**2``."""
    return square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132)))))


@njit(cache=True, nogil=True, inline="always")
def _log_gamma_tail(square):
    """``y`` times what ``log Gamma(y)`` has beyond Stirling's formula, from ``1 / y**2``."""
    return 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def exp_digamma(value):
    """``exp(digamma(x))`` without a branch or a call, so that loops over it are vectorised.

    ``exp(-s) = exp(-s / 8192) ** 8192``, to twelve digits.
    """
    value = max(value, _FLOOR)
    u = value * (value + 7.0)
    low, high, shifted = u * (u + 6.0), (u + 10.0) * (u + 12.0), value + 8.0
    product = low * high
    inverse = 1.0 / (product * shifted)
    inverses = 2.0 * (2.0 * value + 7.0) * ((u + 3.0) * high + (u + 11.0) * low) * (inverse * shifted)
    last = inverse * product
    exponent = 0.5 * last + _digamma_tail(last * last) + inverses
    x = min(exponent, 700.0) * (-1.0 / 8192.0)
    power = 1.0 + x * (1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x * (1 / 5040)))))))
    for _ in range(13):
        power *= power
    return shifted * power if exponent < 700.0 else 0.0


@njit(cache=True, nogil=True)
def gamma_pair(value):
    """``digamma(x)`` and ``log Gamma(x)``."""
    high, inverse, product = _shifted(max(value, _FLOOR))
    logarithm = math.log(high)
    square = 1 / (high * high)
    digamma = logarithm - 0.5 / high - _digamma_tail(square) - inverse
    series = _log_gamma_tail(square) / high
    log_gamma = (high - 0.5) * logarithm - high + _HALF_LOG_TWO_PI + series - math.log(product)
    return digamma, log_gamma


def posterior_weights(concentrations: np.ndarray, prior: np.ndarray, scale: np.ndarray):
    """``scale exp(digamma(a))`` for every entry, and of each row ``sum_k log Gamma(a) + (prior - a) digamma(a)``."""
    weights, terms = np.empty_like(concentrations), np.empty(len(concentrations))
    n_rows, n_components = concentrations.shape
    one_each = read_only(np.arange(n_rows + 1, dtype=np.int64))
    arrays = (read_only(concentrations), read_only(prior), read_only(scale), weights, terms)
    in_threads(_posterior_weights, one_each, *arrays, cost=10 * n_components)
    return weights, terms


@njit(cache=True, nogil=True, error_model="numpy")
def _posterior_weights(start, stop, indptr, concentrations, prior, scale, weights, terms):
    n_components = concentrations.shape[1]
    shifted, correction, passed = np.empty(n_components), np.empty(n_components), np.empty(n_components)
    for row in range(start, stop):
        own, into = concentrations[row], weights[row]
        for k in range(n_components):
            into[k] = scale[k] * exp_digamma(own[k])
        for k in range(n_components):  # without logarithms, so that it is vectorised
            high, inverse, passed[k] = _shifted(max(own[k], _FLOOR))
            last = 1.0 / high
            square = last * last
            shifted[k] = high
            digamma = -0.5 * last - _digamma_tail(square) - inverse
            correction[k] = (prior[k] - own[k]) * digamma + _log_gamma_tail(square) * last - high
        term, product = n_components * _HALF_LOG_TWO_PI, 1.0
        for k in range(n_components):
            term += (shifted[k] - 0.5 + prior[k] - own[k]) * math.log(shifted[k]) + correction[k]
            product *= passed[k]
            if k % 16 == 15:
                term -= math.log(product)
                product = 1.0
        terms[row] = term - math.log(product)


def folded_in(
    rows: Rows,
    start: np.ndarray,
    components: np.ndarray,
    prior: np.ndarray,
    scale: np.ndarray,
    *,
    bayes: bool,
    max_iter: int,
    tol: float,
) -> np.ndarray:
    """Expected counts by component (plus the prior) of rows, for fixed components (columns, K), each row by itself.

    A row stops when its counts move by less than ``tol`` of their sum. With ``bayes`` factors are ``exp(digamma(a))``,
    else ``a``: the posterior, or the maximum of the likelihood.
    """
    found = np.ascontiguousarray(start, dtype=np.float64)
    arrays = (read_only(components), read_only(prior), read_only(scale), bayes, max_iter, tol, found)
    in_threads(_fold_in, *rows, *arrays, cost=20 * found.shape[1])
    return found


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _fold_in(start, stop, indptr, indices, data, components, prior, scale, bayes, max_iter, tol, found):
    n_components = found.shape[1]
    weights, sums = np.empty(n_components), np.empty(n_components)
    for row in range(start, stop):
        counts = found[row]
        for _ in range(max_iter):
            for k in range(n_components):
                weights[k] = scale[k] * counts[k]
                sums[k] = 0.0
            if bayes:
                for k in range(n_components):
                    weights[k] = scale[k] * exp_digamma(counts[k])
            add_ratios(indptr[row], indptr[row + 1], indices, data, weights, components, sums, False)
            moved, total = 0.0, 0.0
            for k in range(n_components):
                value = prior[k] + weights[k] * sums[k]
                moved += abs(value - counts[k])
                total += value
                counts[k] = value
            if moved <= tol * total:
                break
