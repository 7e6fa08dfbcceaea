"""Covariances of classes that can be inverted: drawn towards the pooled one, or refused."""

import numpy as np
from scipy import linalg

from fewer.extract.gaussian_directions._moments import Moments


def shrunk(moments: Moments, shrinkage: float, ridge: float) -> Moments:
    """``(1 - a) S_k + a W + b tr(W) / p I`` in place of each S_k."""
    within = moments.within
    covariances = (1 - shrinkage) * moments.covariances + shrinkage * within
    if ridge:
        covariances = covariances + ridge * np.trace(within) / len(within) * np.eye(len(within))
    return moments._replace(covariances=covariances)


def refuse_flat_classes(moments: Moments, classes: np.ndarray, counts: np.ndarray, tolerance: float, cure: str) -> None:
    """Refuse classes that have no variance along some direction, where a likelihood has no bound."""
    n_dims = moments.means.shape[1]
    for label, count, covariance in zip(classes.tolist(), counts, moments.covariances, strict=True):
        variances = linalg.eigvalsh(covariance, check_finite=False)
        if variances[0] > tolerance * max(variances[-1], tolerance):
            continue
        why = (
            f"has {count} rows for the {n_dims} dimensions of the table, and more rows than dimensions are needed"
            if count <= n_dims
            else "has no variance along some direction: a column may be constant in it, or follow from others"
        )
        sliced = isinstance(label, float)
        whose = f"The slice of y around {label:.4g}" if sliced else f"Class {label!r}"
        fewer_slices = "have fewer slices (n_slices), " if sliced else ""
        raise ValueError(f"{whose} {why}, for a covariance of its own; {fewer_slices}{cure}")
