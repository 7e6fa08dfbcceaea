"""How often a threshold on the distance tells wrongly whether two rows are of the same kind.

For squared projected distances t and r = 1 (same) or -1 (different), the loss of a pair at the threshold c is
``f(r (c^2 - t))`` with ``f(m) = 1`` for m <= 0, falling to 0 at the margin g. Distances are in units of the diameter.
"""

from typing import NamedTuple

import numpy as np

_N_THRESHOLDS = 201


class Threshold(NamedTuple):
    """The threshold c with the smallest risk, and that risk."""

    c: float
    risk: float


def margin_risks(squared: np.ndarray, same: np.ndarray, c: np.ndarray, margin: float, balanced: bool) -> np.ndarray:
    """Mean loss at each threshold; with ``balanced``, same and different pairs weigh one half each."""
    return _sorted_risks(np.sort(squared[same]), np.sort(squared[~same]), c, margin, balanced)


def _sorted_risks(same: np.ndarray, different: np.ndarray, c: np.ndarray, margin: float, balanced: bool) -> np.ndarray:
    # Turned round, a different pair is a same pair: f(t - c^2) = f(-c^2 - (-t)).
    of_same = _mean_losses(same, c**2, margin)
    of_different = _mean_losses(-different[::-1], -(c**2), margin)
    share = 0.5 if balanced else len(same) / (len(same) + len(different))
    return share * of_same + (1 - share) * of_different


def _mean_losses(values: np.ndarray, limits: np.ndarray, margin: float) -> np.ndarray:
    """Mean of ``f(limit - value)`` over sorted values: 0 far below the limit, 1 from there on, a slope between."""
    if len(values) == 0:
        return np.zeros(len(limits))
    low, high = np.searchsorted(values, limits - margin, side="right"), np.searchsorted(values, limits, side="left")
    sums = np.concatenate([[0.0], np.cumsum(values)])
    on_slope = (high - low) * (1 - limits / margin) + (sums[high] - sums[low]) / margin
    return np.clip((len(values) - high + on_slope) / len(values), 0, 1)


def best_threshold(
    squared: np.ndarray, same: np.ndarray, margin: float, balanced: bool, c_grid: np.ndarray | None = None
) -> Threshold:
    """The best of some thresholds; by default quantiles of the distances of both kinds of pairs."""
    of_same, of_different = np.sort(squared[same]), np.sort(squared[~same])
    if c_grid is None:
        edges = np.concatenate([_quantiles(kind) for kind in (of_same, of_different) if len(kind)])
        # A same pair has no loss if it is a margin below the threshold, a different one none at it already.
        c_grid = np.sqrt(np.unique(np.concatenate([edges, edges + margin])))
    risks = _sorted_risks(of_same, of_different, np.asarray(c_grid, dtype=float), margin, balanced)
    best = int(np.argmin(risks))
    return Threshold(float(c_grid[best]), float(risks[best]))


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles of sorted values, evenly spaced from the smallest to the largest."""
    places = np.linspace(0, len(values) - 1, _N_THRESHOLDS)
    return np.interp(places, np.arange(len(values)), values)


def pair_weights(c: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of different and of same pairs for which an affine function of P bounds the risk most tightly.

    With them, ``risk(P, c) <= 1 + c^2 mean(weights) - <T, P>`` for T the mean of the weighted outer products.
    """
    return np.minimum(1 / (1 - c**2), 1 / margin), -np.minimum(1 / c**2, 1 / margin)


def bounded_risk(risk: float, n_components: int, n_pairs: int, margin: float, delta: float) -> float:
    """What the risk on new pairs does not exceed with probability ``1 - delta``, from independent pairs."""
    complexity = 2 * (np.sqrt(n_components) + 1) / margin
    return float(risk + (complexity + np.sqrt(np.log(1 / delta) / 2)) / np.sqrt(n_pairs))
