"""Log-likelihood of values under Gaussian kernel densities, and how it changes when the values move.

``sum_j ln(f(z_j) + c)``: f is the density of the other values (each left out at itself), or of weighted points beside
them; the constant c keeps a value far from all others from ruling the sum. Values are dealt on the nodes of a fine
grid, each to the three next to it by a quadratic spline, the kernel is laid over the grid, and the density is read off
by the same spline. Its derivatives are those of this very sum: what each density takes from its value, and what every
value gives to the densities of the others, which is a second laying of the kernel, over the nodes' inverse densities.
"""

import numpy as np
from numba import njit

_NODES_IN_A_WIDTH = 8
_REACH = 6.0
"""In kernel widths; beyond it the kernel is below 2e-8 of its top."""

_ROOT_TWO_PI = np.sqrt(2 * np.pi)


@njit(cache=True, nogil=True)
def grid_kernel(width):
    """Step of the grid, the kernel at its nodes, and the kernel's integral.

    The spline blurs by a quarter of the squared step, in dealing and in reading; the kernel is so much narrower.
    """
    step = width / _NODES_IN_A_WIDTH
    narrowed = np.sqrt(width * width - step * step / 2)
    reach = int(_REACH * _NODES_IN_A_WIDTH)
    kernel = np.empty(2 * reach + 1)
    for tap in range(2 * reach + 1):
        kernel[tap] = np.exp(-0.5 * ((tap - reach) * step / narrowed) ** 2)
    return step, kernel, narrowed * _ROOT_TWO_PI


@njit(cache=True, nogil=True)
def grid_nodes(low, high, step):
    """Where a grid begins that holds all values with their neighbours, and its number of nodes.

    Nodes are multiples of the step, so that they do not move with the values.
    """
    first = np.floor(low / step) - 2
    return first * step, int(high / step - first) + 4


@njit(cache=True, nogil=True)
def laid_over(masses, kernel):
    """The kernel laid over every node, as much as there is of mass."""
    reach = kernel.size // 2
    sums = np.zeros(masses.size + 2 * reach)
    for node in range(masses.size):
        mass = masses[node]
        if mass != 0.0:
            for tap in range(kernel.size):
                sums[node + tap] += mass * kernel[tap]
    return sums[reach : reach + masses.size]


@njit(cache=True, nogil=True)
def _place(value, begin, step):
    """The node nearest to a value, and how far above it the value is, in steps."""
    position = (value - begin) / step
    node = int(position + 0.5)
    return node, position - node


@njit(cache=True, nogil=True)
def _shares(off):
    """Shares of the node below, the nearest one and the one above."""
    return 0.5 * (0.5 - off) ** 2, 0.75 - off * off, 0.5 * (0.5 + off) ** 2


@njit(cache=True, nogil=True)
def _read(sums, node, off):
    """What the spline reads off the grid."""
    below, at, above = _shares(off)
    return below * sums[node - 1] + at * sums[node] + above * sums[node + 1]


@njit(cache=True, nogil=True)
def _rise(sums, node, off):
    """The derivative of what the spline reads, for one step."""
    return (off - 0.5) * sums[node - 1] - 2 * off * sums[node] + (off + 0.5) * sums[node + 1]


@njit(cache=True, nogil=True)
def _deal(masses, node, off, weight):
    """Put a weight on the three nodes next to a value."""
    below, at, above = _shares(off)
    masses[node - 1] += below * weight
    masses[node] += at * weight
    masses[node + 1] += above * weight


@njit(cache=True, nogil=True)
def dealt(values, weights, begin, step, n_nodes):
    """Weights of values on the nodes of a grid."""
    masses = np.zeros(n_nodes)
    for index in range(values.size):
        node, off = _place(values[index], begin, step)
        _deal(masses, node, off, weights[index])
    return masses


@njit(cache=True, nogil=True)
def _own(off, first, second):
    """Less than 1: what is read at a value of what it was dealt itself, and the derivative of that for one step.

    ``first`` and ``second`` are how much the kernel falls to the next node and to the one after that.
    """
    below, at, above = _shares(off)
    read = 1 - 2 * at * (below + above) * first - 2 * below * above * second
    # below + above is 1/4 + off^2, and below * above is (1/4 - off^2)^2 / 4.
    rise = -2 * first * 2 * off * (at - below - above) + second * 2 * off * (0.25 - off * off)
    return read, rise


@njit(cache=True, nogil=True)
def left_out_fit(values, width, floor, slopes):
    """Log-likelihood of values under the density of the others; its derivatives by the values are put in slopes."""
    n_values = values.size
    if n_values < 2:
        slopes[:] = 0.0
        return n_values * np.log(floor)
    step, kernel, integral = grid_kernel(width)
    begin, n_nodes = grid_nodes(values.min(), values.max(), step)
    sums = laid_over(dealt(values, np.ones(n_values), begin, step, n_nodes), kernel)
    middle = kernel.size // 2
    first, second = 1 - kernel[middle + 1], 1 - kernel[middle + 2]
    top = 1 / ((n_values - 1) * integral)
    pulls = np.zeros(n_nodes)
    total = 0.0
    for index in range(n_values):
        node, off = _place(values[index], begin, step)
        own, own_rise = _own(off, first, second)
        density = _read(sums, node, off) - own + floor / top
        total += np.log(density * top)
        _deal(pulls, node, off, 1 / density)
        slopes[index] = (_rise(sums, node, off) - own_rise) / density
    given = laid_over(pulls, kernel)
    for index in range(n_values):
        node, off = _place(values[index], begin, step)
        slopes[index] = (slopes[index] + _rise(given, node, off)) / step
    return total


@njit(cache=True, nogil=True)
def fit_under(values, points, weights, width, floor, slopes, point_slopes):
    """Log-likelihood of values under the density of weighted points; its derivatives by both go to the last two."""
    step, kernel, integral = grid_kernel(width)
    low, high = min(values.min(), points.min()), max(values.max(), points.max())
    begin, n_nodes = grid_nodes(low, high, step)
    sums = laid_over(dealt(points, weights, begin, step, n_nodes), kernel)
    top = 1 / (weights.sum() * integral)
    pulls = np.zeros(n_nodes)
    total = 0.0
    for index in range(values.size):
        node, off = _place(values[index], begin, step)
        density = _read(sums, node, off) + floor / top
        total += np.log(density * top)
        _deal(pulls, node, off, 1 / density)
        slopes[index] = _rise(sums, node, off) / (density * step)
    given = laid_over(pulls, kernel)
    for index in range(points.size):
        node, off = _place(points[index], begin, step)
        point_slopes[index] = weights[index] * _rise(given, node, off) / step
    return total


@njit(cache=True, nogil=True)
def density_on_grid(points, weights, width, grid):
    """Density of weighted points at the nodes of an even grid (at which it is read by the same spline)."""
    step, kernel, integral = grid_kernel(width)
    low, high = min(grid[0], points.min()), max(grid[-1], points.max())
    begin, n_nodes = grid_nodes(low, high, step)
    sums = laid_over(dealt(points, weights, begin, step, n_nodes), kernel)
    densities = np.empty(grid.size)
    for index in range(grid.size):
        node, off = _place(grid[index], begin, step)
        densities[index] = _read(sums, node, off) / (weights.sum() * integral)
    return densities


@njit(cache=True, nogil=True)
def likelihood_ratio(values, begins, class_widths, width, floor):
    """Log-likelihood by classes less that of all values together, a value, and its derivatives by the values.

    The values are in the order of their classes, which begin at ``begins`` (the last entry is the number of values).
    """
    slopes, pooled = np.empty(values.size), np.empty(values.size)
    total = -left_out_fit(values, width, floor, pooled)
    for code in range(class_widths.size):
        own = slice(begins[code], begins[code + 1])
        total += left_out_fit(values[own], class_widths[code], floor, slopes[own])
    return total / values.size, (slopes - pooled) / values.size


@njit(cache=True, nogil=True)
def joint_left_out_fit(fixed, values, width, floor, slopes):
    """Log-likelihood in several dimensions, of which the last moves, and its derivatives by the values of that one.

    ``fixed`` has the other coordinates (n_values, n_others). All pairs are summed.
    """
    n_values, n_fixed = fixed.shape
    kernels = np.zeros((n_values, n_values))
    densities = np.zeros(n_values)
    furthest = (_REACH * width) ** 2
    for first in range(n_values):
        for second in range(first):
            apart = (values[first] - values[second]) ** 2
            for other in range(n_fixed):
                apart += (fixed[first, other] - fixed[second, other]) ** 2
            if apart < furthest:
                kernel = np.exp(-0.5 * apart / (width * width))
                kernels[first, second] = kernel
                densities[first] += kernel
                densities[second] += kernel
    top = 1 / (max(n_values - 1, 1) * (width * _ROOT_TWO_PI) ** (n_fixed + 1))
    total = 0.0
    for index in range(n_values):
        densities[index] += floor / top
        total += np.log(densities[index] * top)
    slopes[:] = 0.0
    for first in range(n_values):
        for second in range(first):
            both = 1 / densities[first] + 1 / densities[second]
            pull = kernels[first, second] * (values[second] - values[first]) / (width * width) * both
            slopes[first] += pull
            slopes[second] -= pull
    return total
