"""Probabilities of classes that are normal with one covariance, along a few axes."""

from typing import NamedTuple

import numpy as np
from scipy import linalg


class NormalClasses(NamedTuple):
    """Shares and centroids of classes, and a map of scores to where all of them have covariance I."""

    priors: np.ndarray
    centroids: np.ndarray
    to_unit: np.ndarray

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Of each class, for each row of scores."""
        rows, centres = scores @ self.to_unit, self.centroids @ self.to_unit
        # |row|^2 is the same for all classes and left out.
        joint = rows @ centres.T - 0.5 * np.sum(centres**2, axis=1)
        with np.errstate(divide="ignore"):  # a class without counts has probability 0
            joint = joint + np.log(self.priors)
        joint -= joint.max(axis=1, keepdims=True)
        odds = np.exp(joint)
        return odds / odds.sum(axis=1, keepdims=True)


def normal_classes(priors: np.ndarray, centroids: np.ndarray, within: np.ndarray) -> NormalClasses:
    """Normal classes of one covariance; where it is flat, as when a fit was perfect, a little is added.

    Where all scores are the same, as when the classes have one mean, the probabilities are the priors.
    """
    variances, axes = linalg.eigh(within, check_finite=False)
    spread = np.trace(within) + np.sum(priors @ centroids**2)
    least = 1e-10 * spread if spread > 0 else 1.0
    return NormalClasses(priors, centroids, axes / np.sqrt(np.maximum(variances, least)))
