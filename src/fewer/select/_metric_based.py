"""How far apart models are, on the rows that trained them and on other rows, and what that tells of overfitting.

For models ``h_1, h_2, ...`` of growing size, d is a metric: the rate of disagreement for classes, the root of the mean
squared difference for numbers. On training rows ``d(h, y)`` is the training error. On rows without labels, only
``d(h_k, h_l)`` can be seen. A model that overfits is close to y where it was trained, and far from smaller models
elsewhere.
"""

import numpy as np


def pairwise_distances(predictions: np.ndarray, *, classes: bool, smooth: bool) -> np.ndarray:
    """Distance of every two rows of predictions.

    Rates of disagreement are ``(count + 1) / (n + 2)`` when smooth, so that two models which agree on all of a few rows
    are not taken to be the same.
    """
    n_rows = predictions.shape[1]
    distances = np.empty((len(predictions), len(predictions)))
    for place, own in enumerate(predictions):
        if classes:
            counts = (predictions != own).sum(axis=1)
            distances[place] = (counts + 1) / (n_rows + 2) if smooth else counts / n_rows
        else:
            distances[place] = np.sqrt(((predictions - own) ** 2).mean(axis=1))
    return distances


def triangle_holds(errors: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Which models are no further from any smaller one than their training errors together allow.

    If training errors were true, ``d(h_k, h_l) <= d(h_k, y) + d(h_l, y)`` would hold on other rows as well.
    """
    allowed = errors[:, None] + errors[None, :]
    broken = np.tril(apart > allowed * (1 + 1e-12), -1)
    return ~broken.any(axis=1)


def adjusted_errors(errors: np.ndarray, apart_in_training: np.ndarray, apart_elsewhere: np.ndarray) -> np.ndarray:
    """Training errors, each times the largest ratio by which the model is further from smaller ones on other rows.

    ``d(h_l, y) max_{k < l} d'(h_k, h_l) / d(h_k, h_l)``, with d' on other rows. Models that are the same in training
    but not elsewhere have an infinite ratio, and models that are the same everywhere have ratio one.
    """
    adjusted = errors.copy()
    for place in range(1, len(errors)):
        elsewhere, training = apart_elsewhere[place, :place], apart_in_training[place, :place]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((training == 0) & (elsewhere == 0), 1.0, elsewhere / training)
        with np.errstate(invalid="ignore"):
            adjusted[place] = np.nan_to_num(errors[place] * ratios.max(), nan=np.inf, posinf=np.inf)
    return adjusted


def trust(apart: float, claimed_error: float) -> float:
    """How much to trust cross-validation, from 0 to 1: less, the further its choice is from another on other rows.

    The error that cross-validation claims, as a share of it and of that distance.
    """
    return 1.0 if apart == 0 else claimed_error / (apart + claimed_error)
