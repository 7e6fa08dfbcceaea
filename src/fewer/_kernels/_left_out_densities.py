"""Log-likelihood of sorted values under the Gaussian kernel density of all the others.

``sum_j ln f_j(z_j)``, ``f_j(z) = sum_(i != j) phi((z - z_i) / b) / ((n - 1) b)``. Few values are summed in pairs. Many
are dealt on the nodes of a fine grid, each to the two next to it, the kernel is laid over the occupied nodes, and the
density is read off between them; what a value itself had put there is taken away. Where next to nothing is left, the
value stands alone, and the few nearest ones are summed directly.
"""

import numpy as np
from numba import njit

FLOOR = 1e-300
"""Least density, for a value with no other in sight."""

_MOST_IN_PAIRS = 64
_NODES_IN_A_WIDTH = 16
_REACH = 8.6
"""In kernel widths; beyond it the kernel is below 1e-16 of its top."""

_ALONE = 1e-9
_ROOT_TWO_PI = np.sqrt(2 * np.pi)


@njit(cache=True, nogil=True)
def left_out_log_likelihood(values, width):
    """Log-likelihood of sorted values, each under the kernel density of the others."""
    if values.size <= _MOST_IN_PAIRS:
        return in_pairs(values, width)
    return on_a_grid(values, width)


@njit(cache=True, nogil=True)
def in_pairs(values, width):
    """The same, by all pairs."""
    n_values = values.size
    densities = np.zeros(n_values)
    for first in range(n_values):
        for second in range(first + 1, n_values):
            apart = (values[second] - values[first]) / width
            if apart > 38.0:  # from there on the kernel underflows
                break
            kernel = np.exp(-0.5 * apart * apart)
            densities[first] += kernel
            densities[second] += kernel
    top = 1 / ((n_values - 1) * width * _ROOT_TWO_PI)
    total = 0.0
    for index in range(n_values):
        total += np.log(max(densities[index] * top, FLOOR))
    return total


@njit(cache=True, nogil=True)
def on_a_grid(values, width):
    """The same, by a grid of nodes that are occupied."""
    n_values = values.size
    step = width / _NODES_IN_A_WIDTH
    nodes, masses = np.empty(2 * n_values, np.int64), np.zeros(2 * n_values)
    lower, shares = np.empty(n_values, np.int64), np.empty(n_values)
    n_nodes = 0
    for index in range(n_values):
        position = (values[index] - values[0]) / step
        node = np.int64(np.floor(position))
        shares[index] = position - node
        if n_nodes > 1 and nodes[n_nodes - 2] == node:
            lower[index] = n_nodes - 2
        else:
            if n_nodes == 0 or nodes[n_nodes - 1] != node:
                nodes[n_nodes] = node
                n_nodes += 1
            lower[index] = n_nodes - 1
            nodes[n_nodes] = node + 1
            n_nodes += 1
        masses[lower[index]] += 1 - shares[index]
        masses[lower[index] + 1] += shares[index]
    kernel = np.exp(-0.5 * (np.arange(int(_REACH * _NODES_IN_A_WIDTH) + 1) / _NODES_IN_A_WIDTH) ** 2)
    densities = _laid_over(nodes[:n_nodes], masses[:n_nodes], kernel)
    top = 1 / ((n_values - 1) * width * _ROOT_TWO_PI)
    total = 0.0
    for index in range(n_values):
        upper = shares[index]
        rest = 1 - upper
        density = rest * densities[lower[index]] + upper * densities[lower[index] + 1]
        density -= (rest * rest + upper * upper) * kernel[0] + 2 * rest * upper * kernel[1]
        if density < _ALONE:
            density = _from_nearest(values, index, width)
        total += np.log(max(density * top, FLOOR))
    return total


@njit(cache=True, nogil=True)
def _laid_over(nodes, masses, kernel):
    """Sum of the kernels of all occupied nodes, at each of them."""
    densities = np.zeros(nodes.size)
    for first in range(nodes.size):
        densities[first] += masses[first] * kernel[0]
        for second in range(first + 1, nodes.size):
            apart = nodes[second] - nodes[first]
            if apart >= kernel.size:
                break
            densities[first] += masses[second] * kernel[apart]
            densities[second] += masses[first] * kernel[apart]
    return densities


@njit(cache=True, nogil=True)
def _from_nearest(values, index, width):
    """Kernels of the other values at the one with this index, from the nearest on until they add nothing."""
    total = 0.0
    for direction in (-1, 1):
        other = index + direction
        while 0 <= other < values.size:
            apart = (values[other] - values[index]) / width
            kernel = np.exp(-0.5 * apart * apart)
            if kernel <= 1e-17 * total or kernel == 0.0:
                break
            total += kernel
            other += direction
    return total


@njit(cache=True, nogil=True)
def likelihood_ratios(values, orders, classes, class_sizes, class_widths, width):
    """Log-likelihood by classes less that of all rows together, a row, for a block of sorted columns of one spread.

    Each row of ``values`` is a column in ascending order, with the original rows in ``orders``.
    """
    n_columns, n_rows = values.shape
    ratios = np.empty(n_columns)
    own = np.empty(n_rows)
    begins = np.zeros(class_sizes.size + 1, np.int64)
    for code in range(class_sizes.size):
        begins[code + 1] = begins[code] + class_sizes[code]
    for column in range(n_columns):
        filled = begins[:-1].copy()
        for place in range(n_rows):
            code = classes[orders[column, place]]
            own[filled[code]] = values[column, place]
            filled[code] += 1
        total = -left_out_log_likelihood(values[column], width)
        for code in range(class_sizes.size):
            total += left_out_log_likelihood(own[begins[code] : begins[code + 1]], class_widths[code])
        ratios[column] = total / n_rows
    return ratios
