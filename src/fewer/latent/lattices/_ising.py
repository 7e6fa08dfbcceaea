"""Binary images behind noise: the Ising model on a lattice, its restorations, and bounds on its likelihood.

    h(z) = exp(eta sum_{s ~ t} z_s z_t) / Z(eta),    z_s = -1 or 1,    y_s | z_s ~ N(mu_{z_s}, sigma^2),

over pairs of the four nearest neighbours. With ``b_s``, half the log-odds of y_s (0 where it is missing), the field of
a pixel is ``f_s = eta sum_{t ~ s} z_t + b_s``:

- *mean field*: ``m_s <- tanh(f_s(m))``, damped, which maximises a lower bound of the likelihood;
- *ICM*: ``z_s <- sign f_s(z)``, which climbs the posterior;
- *Gibbs*: ``P(z_s = 1 | rest) = 1 / (1 + exp(-2 f_s))``, pixels of one colour of a chessboard at a time.

eta by pseudolikelihood: minimise ``sum_s log(1 + exp(-2 eta z_s sum_{t ~ s} z_t))``, which does without Z.

The pseudolikelihood of a restoration overestimates eta, because restorations are smoother than the image behind the
noise; with much noise, restoring and estimating by turns ends with one colour everywhere. Draws from the posterior are
as rough as the image, so the parameters are averages of estimates from draws (stochastic EM).

``log Z`` is exact for lattices of at most 12 columns (transfer matrix, pixel by pixel). For wider ones it is bounded
from above: log Z is convex in the couplings, so the mean over the offsets of a cut into strips of b columns, whose own
couplings across columns are ``eta b / (b - 1)``, is not below it.

References
----------
Titterington, D. M. (2006). Some aspects of latent structure analysis. LNCS 3940, 69-83.
Besag, J. (1986). On the statistical analysis of dirty pictures. Journal of the Royal Statistical Society B 48, 259-302.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

_WIDEST = 12
LARGEST_COUPLING = 2.0
_SWEEPS = 3
_TINY = 1e-300


class Noise(NamedTuple):
    """Means of pixels that are off and on, and the common variance."""

    low: float
    high: float
    variance: float


def neighbour_sums(z: np.ndarray) -> np.ndarray:
    """Sum over the four neighbours of each pixel of images (n, height, width).

    >>> neighbour_sums(np.ones((1, 2, 3)))[0]
    array([[2., 3., 2.],
           [2., 3., 2.]])
    """
    sums = np.zeros_like(z)
    sums[:, 1:] += z[:, :-1]
    sums[:, :-1] += z[:, 1:]
    sums[:, :, 1:] += z[:, :, :-1]
    sums[:, :, :-1] += z[:, :, 1:]
    return sums


def half_log_odds(y: np.ndarray, noise: Noise) -> np.ndarray:
    """Half of ``log p(y | 1) - log p(y | -1)``; 0 where y is missing."""
    slope = (noise.high - noise.low) / (2 * noise.variance)
    return np.nan_to_num(slope * (y - (noise.high + noise.low) / 2))


def mean_field(
    fields: np.ndarray, eta: float, start: np.ndarray | None = None, *, max_iter: int = 500, tol: float = 1e-8
) -> np.ndarray:
    """Means of the pixels by damped updates, from the data alone unless ``start`` is given.

    Each image stops by itself, so that none depends on the others.
    """
    m = np.tanh(fields) if start is None else start.copy()
    moving = np.arange(len(m))
    for _ in range(max_iter):
        part = m[moving]
        moved = 0.5 * part + 0.5 * np.tanh(eta * neighbour_sums(part) + fields[moving])
        m[moving] = moved
        moving = moving[np.abs(moved - part).max(axis=(1, 2)) > tol]
        if not len(moving):
            break
    return m


def icm(fields: np.ndarray, eta: float, start: np.ndarray | None = None, *, max_iter: int = 100) -> np.ndarray:
    """Iterated conditional modes; of two that are equally likely, a pixel keeps its value."""
    z = np.where(fields < 0, -1.0, 1.0) if start is None else start.copy()
    for _ in range(max_iter):
        before = z.copy()
        for own in chessboard(z.shape[1:]):
            field = eta * neighbour_sums(z) + fields
            z = np.where(own & (field != 0), np.sign(field), z)
        if np.array_equal(before, z):
            break
    return z


def gibbs_sweep(z: np.ndarray, fields: np.ndarray, eta: float, uniform: np.ndarray) -> np.ndarray:
    """One pass over all pixels, by uniform random numbers: for each image and pixel, or for each pixel alone.

    With the same numbers for all images, none depends on which others there are.
    """
    for own in chessboard(z.shape[1:]):
        field = eta * neighbour_sums(z) + fields
        z = np.where(own, np.where(uniform < 1 / (1 + np.exp(np.clip(-2 * field, -700, 700))), 1.0, -1.0), z)
    return z


def gibbs_means(
    fields: np.ndarray, eta: float, random: np.random.RandomState, *, n_draws: int, n_burn_in: int
) -> np.ndarray:
    """Means of the pixels over draws of a chain that starts at the conditional modes."""
    z = icm(fields, eta)
    total = np.zeros_like(z)
    for number in range(n_burn_in + n_draws):
        z = gibbs_sweep(z, fields, eta, random.uniform(size=z.shape[1:]))
        if number >= n_burn_in:
            total += z
    return total / n_draws


def chessboard(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the two colours; no two pixels of one colour are neighbours."""
    colour = np.indices(shape).sum(axis=0) % 2 == 0
    return colour, ~colour


def pseudolikelihood_coupling(z: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The coupling eta that maximises the pseudolikelihood of images of -1 and 1 (n, height, width)."""
    products = (z * neighbour_sums(z)).ravel()
    mass = np.ones(len(products)) if weights is None else np.repeat(weights, z[0].size)
    values, codes = np.unique(products, return_inverse=True)
    counts = np.bincount(codes, weights=mass)

    def loss(eta: float) -> float:
        return float(counts @ np.logaddexp(0.0, -2 * eta * values))

    return float(minimize_scalar(loss, bounds=(0.0, LARGEST_COUPLING), method="bounded", options={"xatol": 1e-9}).x)


def log_partition(height: int, width: int, eta: float) -> tuple[float, bool]:
    """``log Z(eta)`` of a lattice with free boundary, and whether it is exact; an upper bound otherwise.

    >>> value, exact = log_partition(1, 3, 0.4)
    >>> bool(np.isclose(value, np.log(2 * (2 * np.cosh(0.4)) ** 2))), exact
    (True, True)
    """
    height, width = max(height, width), min(height, width)
    if width <= _WIDEST:
        return _log_partition_of_strip(height, width, eta, eta), True
    across = eta * _WIDEST / (_WIDEST - 1)
    strips = {b: _log_partition_of_strip(height, b, eta, across) for b in _strip_widths(width)}
    total = 0.0
    for offset in range(_WIDEST):
        edges = [0, *range(offset or _WIDEST, width, _WIDEST), width]
        total += sum(strips[b - a] for a, b in pairwise(edges))
    return total / _WIDEST, False


def _strip_widths(width: int) -> set[int]:
    found: set[int] = set()
    for offset in range(_WIDEST):
        edges = [0, *range(offset or _WIDEST, width, _WIDEST), width]
        found.update(b - a for a, b in pairwise(edges))
    return found


def _log_partition_of_strip(height: int, width: int, along: float, across: float) -> float:
    """Exact, by adding one pixel after the other to the states of the last row of pixels."""
    states = np.zeros(2**width)
    spins = 1 - 2 * ((np.arange(2**width)[:, None] >> np.arange(width)) & 1)
    states += across * np.sum(spins[:, 1:] * spins[:, :-1], axis=1)
    for _ in range(1, height):
        for column in range(width):
            # The pixel above is summed out, and one below it takes its place, beside its new neighbour on the left.
            pair = states.reshape(-1, 2, 2**column)
            up, down = pair[:, 0], pair[:, 1]
            new = np.stack([np.logaddexp(up + along, down - along), np.logaddexp(up - along, down + along)], axis=1)
            states = new.reshape(-1)
            if column:
                states = states + across * spins[:, column] * spins[:, column - 1]
    largest = states.max()
    return float(largest + np.log(np.exp(states - largest).sum()))


def row_bounds(y: np.ndarray, m: np.ndarray, noise: Noise, eta: float, log_z: float) -> np.ndarray:
    """Lower bound on the log-likelihood of each image, by independent pixels with means ``m``."""
    on = (1 + m) / 2
    log_two_pi = np.log(2 * np.pi * noise.variance)
    logs = [-(log_two_pi + (y - mean) ** 2 / noise.variance) / 2 for mean in (noise.high, noise.low)]
    data = np.nan_to_num(on * logs[0] + (1 - on) * logs[1])
    entropy = -(on * np.log(np.maximum(on, _TINY)) + (1 - on) * np.log(np.maximum(1 - on, _TINY)))
    pairs = 0.5 * eta * m * neighbour_sums(m)
    return np.sum(data + entropy + pairs, axis=(1, 2)) - log_z


def pseudo_log_likelihood(y: np.ndarray, m: np.ndarray, noise: Noise, eta: float, weights: np.ndarray) -> float:
    """Of the pixels given the restoration, and of each pixel of the restoration given its neighbours."""
    z = np.where(m < 0, -1.0, 1.0)
    means = np.where(z > 0, noise.high, noise.low)
    data = np.nan_to_num(-(np.log(2 * np.pi * noise.variance) + (y - means) ** 2 / noise.variance) / 2)
    prior = -np.logaddexp(0.0, -2 * eta * z * neighbour_sums(z))
    return float(weights @ np.sum(data + prior, axis=(1, 2)))


def estimated_noise(y: np.ndarray, m: np.ndarray, weights: np.ndarray, floor: float) -> Noise:
    """Means and variance, given the means of the hidden pixels."""
    observed = ~np.isnan(y)
    mass = weights[:, None, None] * observed
    filled = np.where(observed, y, 0.0)
    shares = [(1 - m) / 2 * mass, (1 + m) / 2 * mass]
    low, high = (float(np.sum(own * filled) / max(own.sum(), _TINY)) for own in shares)
    squares = sum(np.sum(own * (filled - mean) ** 2) for own, mean in zip(shares, (low, high), strict=True))
    return Noise(low, high, max(float(squares / mass.sum()), floor))


def starting_noise(y: np.ndarray, weights: np.ndarray, floor: float) -> Noise:
    """Two groups of pixels by the threshold between which their variance is smallest."""
    m = np.where(np.nan_to_num(y) > 0, 1.0, -1.0)
    noise = estimated_noise(y, m, weights, floor)
    for _ in range(50):
        m = np.where(y > (noise.low + noise.high) / 2, 1.0, -1.0)
        moved = estimated_noise(y, m, weights, floor)
        if moved == noise:
            break
        noise = moved
    return noise


class Parameters(NamedTuple):
    """The noise, the coupling, and a draw of the hidden images."""

    noise: Noise
    eta: float
    draw: np.ndarray


def stochastic_em_step(
    y: np.ndarray,
    now: Parameters,
    fixed: float | None,
    weights: np.ndarray,
    floor: float,
    random: np.random.RandomState,
) -> tuple[Parameters, float]:
    """Draw the hidden images, and estimate the parameters from them; also the pseudo-log-likelihood of both."""
    fields, z = half_log_odds(y, now.noise), now.draw
    for _ in range(_SWEEPS):
        z = gibbs_sweep(z, fields, now.eta, random.uniform(size=z.shape[1:]))
    noise = estimated_noise(y, z, weights, floor)
    eta = pseudolikelihood_coupling(z, weights) if fixed is None else fixed
    return Parameters(noise, eta, z), pseudo_log_likelihood(y, z, noise, eta, weights)
