"""Importance weights whose largest values are smoothed by a generalised Pareto distribution.

The ratios ``r_s = 1 / p(x_i | w_s)`` of a row may have a heavy tail. The largest M = min(S / 5, 3 sqrt(S / r_eff)) of
them, above the cut-off u, follow a generalised Pareto distribution with shape k and scale sigma; they are replaced by
its quantiles. k is estimated as the posterior mean of Zhang and Stephens over a grid of b = k / sigma,

    l(b) = M (log(-b / k(b)) - k(b) - 1),    k(b) = mean_s log(1 - b (r_s - u)),

and drawn a little towards 1/2 for small M. With k above 0.7 the mean is not reliable.

Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed importance sampling. JMLR 25 (72).
Zhang, J. and Stephens, M. A. (2009). A new and efficient estimation method for the generalized Pareto distribution.
Technometrics 51, 316-325.
"""

from math import ceil, exp, expm1, inf, isfinite, log, log1p, sqrt

import numpy as np
from numba import njit

from fewer.evaluate.criteria._exponentials import exp_sum

_TINY = float(np.finfo(float).tiny)
_SMALLEST_TAIL = 5


@njit(cache=True, nogil=True)
def smoothed_log_means(start, stop, indptr, log_lik, beta, log_weights, r_eff, smooth, losses, shapes, train):
    """Leave-one-out losses ``log E[p^-beta] - log E[p^(1 - beta)]`` of rows, the shapes k, and ``log E[p]``.

    ``log_lik`` has a line for each row. The smoothed weights are used for both means; without ``smooth``, raw ones.
    ``log_weights`` is empty for draws of equal weight.
    """
    n_draws = log_lik.shape[1]
    plain = log_weights.size == 0
    ratios, rest = np.empty(n_draws), np.empty(n_draws)
    buffers = np.empty((2, 512))
    for row in range(start, stop):
        line = log_lik[row]
        largest, top = -inf, -inf
        for s in range(n_draws):
            weighted = line[s] if plain else line[s] + log_weights[s]
            ratio = -beta * line[s] if plain else log_weights[s] - beta * line[s]
            rest[s], ratios[s] = weighted, ratio
            largest, top = max(largest, ratio), max(top, weighted)
        for s in range(n_draws):
            rest[s] -= top
            ratios[s] -= largest
        train[row] = log(exp_sum(rest, buffers)) + top - (log(n_draws) if plain else 0.0)
        shapes[row] = smooth_tail(ratios, r_eff[row]) if smooth else inf
        # E[p^(1 - beta)] / E[p^-beta] = E[p r] / E[r] with r = p^-beta.
        top = -inf
        for s in range(n_draws):
            rest[s] = ratios[s] + line[s]
            top = max(top, rest[s])
        for s in range(n_draws):
            rest[s] -= top
        losses[row] = log(exp_sum(ratios, buffers)) - log(exp_sum(rest, buffers)) - top


@njit(cache=True, nogil=True)
def smooth_tail(log_ratios, r_eff):
    """Replace the largest log ratios (at most 0) by quantiles of a Pareto tail, in place; gives its shape k."""
    n = log_ratios.size
    n_tail = ceil(min(n / 5.0, 3.0 * sqrt(n / r_eff)))
    if n_tail < _SMALLEST_TAIL or n_tail >= n:
        return inf
    cut = max(_largest(log_ratios, n_tail + 1), log(_TINY))
    places = np.flatnonzero(log_ratios > cut)
    if places.size < _SMALLEST_TAIL:
        return inf
    places = places[np.argsort(log_ratios[places])]
    base = exp(cut)
    tail = np.empty(places.size)
    for s in range(places.size):
        tail[s] = exp(log_ratios[places[s]]) - base
    shape, scale = pareto_fit(tail)
    if isfinite(shape):
        for s in range(places.size):
            share = -log1p(-(s + 0.5) / places.size)
            quantile = scale * (expm1(shape * share) / shape if shape != 0.0 else share)
            log_ratios[places[s]] = min(log(quantile + base), 0.0)
    return shape


@njit(cache=True, nogil=True)
def _largest(values, rank):
    """The value of a rank from above, looked for among those beyond a quantile of a few values."""
    n = values.size
    some = np.sort(values[:: max(1, n // 200)])
    guess = some[max(0, some.size - 1 - int(1.5 * rank * some.size / n) - 3)]
    beyond = 0
    for value in values:
        beyond += value >= guess
    if beyond < rank:
        return np.partition(values, n - rank)[n - rank]
    kept = np.empty(beyond)
    place = 0
    for value in values:
        if value >= guess:
            kept[place] = value
            place += 1
    return np.partition(kept, beyond - rank)[beyond - rank]


@njit(cache=True, nogil=True)
def pareto_fit(tail):
    """Shape k and scale sigma of a generalised Pareto distribution, for sorted values above 0."""
    n = tail.size
    n_grid = 30 + int(sqrt(n))
    quartile = tail[int(n / 4 + 0.5) - 1]
    if not quartile > 0.0:
        return inf, inf
    grid, likelihood = np.empty(n_grid), np.empty(n_grid)
    for g in range(n_grid):
        grid[g] = (1.0 - sqrt(n_grid / (g + 0.5))) / (3.0 * quartile) + 1.0 / tail[n - 1]
        shape = _mean_log(tail, grid[g])
        likelihood[g] = n * (log(-grid[g] / shape) - shape - 1.0)
    top = likelihood.max()
    weights = mean = 0.0
    for g in range(n_grid):
        weight = exp(likelihood[g] - top)
        weights += weight
        mean += weight * grid[g]
    mean /= weights
    shape = _mean_log(tail, mean)
    scale = -shape / mean
    return (n * shape + 5.0) / (n + 10.0), scale


@njit(cache=True, nogil=True)
def _mean_log(tail, b):
    """Mean of log(1 - b x): logarithms of products, while these stay in range."""
    total, product = 0.0, 1.0
    for x in tail:
        product *= 1.0 - b * x
        if product > 1e200 or product < 1e-200:
            total += log(product)
            product = 1.0
    return (total + log(product)) / tail.size
