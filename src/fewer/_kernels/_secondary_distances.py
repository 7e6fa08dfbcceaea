"""Distances that make near relations mutual, which removes most hubs.

A hub is near to rows that are not near to it in comparison. Both methods compare a distance with what is usual around
each of its two rows:

    local scaling        1 - exp(-d_xy^2 / (s_x s_y)),        s_x the distance of x to its k-th neighbour
    mutual proximity     1 - P(D_x > d_xy) P(D_y > d_xy),     D_x normal with the mean and variance of x's distances

Zelnik-Manor, L. and Perona, P. (2005). Self-tuning spectral clustering. NIPS 17, 1601-1608.
Schnitzer, D., Flexer, A., Schedl, M. and Widmer, G. (2012). Local and global scaling reduce hubs in space. JMLR 13,
2871-2902.
"""

from typing import Literal

import numpy as np
from scipy.special import ndtr

Correction = Literal["local_scaling", "mutual_proximity"]
_FAR = 100.0
"""Distance in units of the scale beyond which the corrected one is 1."""


def usual_distances(distances: np.ndarray, method: Correction, n_neighbors: int, own: bool = False) -> np.ndarray:
    """What is usual around each row: (k-th smallest distance,) or (mean, standard deviation), of shape (n, 1 or 2).

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_others)
        Distances to the training rows.
    method : {"local_scaling", "mutual_proximity"}
        Which correction.
    n_neighbors : int
        k of local scaling.
    own : bool, default=False
        Whether these are the training rows themselves, in order, whose distance to themselves does not count.
    """
    if method == "local_scaling":
        place = n_neighbors if own else n_neighbors - 1
        return np.partition(distances, place, axis=1)[:, place][:, None]
    n_others = distances.shape[1] - own
    mean = distances.sum(axis=1) / n_others
    centred = distances - mean[:, None]
    if own:
        np.fill_diagonal(centred, 0.0)
    return np.column_stack([mean, np.sqrt((centred**2).sum(axis=1) / max(n_others - 1, 1))])


def secondary(distances: np.ndarray, usual: np.ndarray, others_usual: np.ndarray, method: Correction) -> np.ndarray:
    """The corrected distances, from 0 to 1.

    ``usual`` is what `usual_distances` gives for the rows, ``others_usual`` for the columns of ``distances``.
    """
    if method == "local_scaling":
        scales = np.sqrt(usual[:, :1]) * np.sqrt(others_usual[:, 0])
        # A row with k equals has the scale 0: its equals are near, and all others as far as can be.
        far = np.where(distances > 0, _FAR, 0.0)
        with np.errstate(over="ignore"):
            ratios = np.divide(distances, scales, out=far, where=scales > 0)
        return -np.expm1(-(np.minimum(ratios, _FAR) ** 2))
    tiny = np.finfo(float).tiny
    with np.errstate(over="ignore"):  # all distances of a row are equal
        of_row = ndtr((distances - usual[:, :1]) / np.maximum(usual[:, 1:], tiny))
        of_column = ndtr((distances - others_usual[:, 0]) / np.maximum(others_usual[:, 1], tiny))
    # 1 - (1 - a)(1 - b), with all digits where both are small.
    return of_row + of_column - of_row * of_column
