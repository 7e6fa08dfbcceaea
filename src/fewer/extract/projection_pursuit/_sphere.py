"""Uncorrelated coordinates of unit variance, for tables of any shape.

``z = R^(-1/2) D^(-1) (x - mean)``, D the standard deviations of columns and R their correlations. Of all coordinates of
this kind these are nearest to the columns, and change little when the table does. If columns depend on one another,
the coordinates are principal axes instead, and directions without variance are left out.
"""

from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import warn_caller
from fewer.extract._uncorrelated import uncorrelated


class Sphere(NamedTuple):
    """Mean of the rows, and the maps to and from sphered coordinates."""

    mean: np.ndarray
    to_sphere: np.ndarray
    from_sphere: np.ndarray

    @property
    def rank(self) -> int:
        return self.to_sphere.shape[1]

    def coordinates(self, X: Any) -> np.ndarray:
        """Sphered coordinates of rows, in double precision."""
        return np.ascontiguousarray(X @ self.to_sphere - self.mean @ self.to_sphere, dtype=float)

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume that a unit of sphered volume takes up among the rows."""
        return 0.5 * float(np.linalg.slogdet(self.from_sphere @ self.from_sphere.T)[1])


def sphere_of(X: Any) -> Sphere:
    """Sphered coordinates of a table; constant columns have no part in them."""
    varying = _varying(X)
    if not varying.any():
        raise ValueError("All columns are constant, so that there is no direction to look along; check the table.")
    if varying.all():
        return _of_varying(X)
    inner = _of_varying(X[:, varying])
    mean = np.asarray(X.mean(axis=0, dtype=float)).ravel()
    to_sphere, from_sphere = np.zeros((X.shape[1], inner.rank)), np.zeros((inner.rank, X.shape[1]))
    to_sphere[varying], from_sphere[:, varying] = inner.to_sphere, inner.from_sphere
    return Sphere(mean, to_sphere, from_sphere)


def _varying(X: Any) -> np.ndarray:
    """Which columns hold more than one value."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray((high != low).toarray() if hasattr(low, "toarray") else high != low).ravel()


def _of_varying(X: Any) -> Sphere:
    mean, to_sphere = uncorrelated(X)
    coordinates = Sphere(mean, to_sphere, to_sphere.T).coordinates(X)
    # What columns have in common with the coordinates is the way back, as these are uncorrelated. Their means are 0 but
    # for rounding, which columns far from 0 would magnify.
    coordinates -= coordinates.mean(axis=0)
    return _nearest_to_columns(Sphere(mean, to_sphere, np.asarray((X.T @ coordinates).T) / len(coordinates)))


def warn_of_lost_dimensions(sphere: Sphere, X: Any, who: str) -> None:
    """Say that a density is one of fewer dimensions than columns."""
    if sphere.rank < X.shape[1]:
        warn_caller(
            f"The rows span {sphere.rank} of {X.shape[1]} dimensions: {who} gives their density within these, whatever "
            "a new row is across. Leave out columns that are constant or follow from others, or have more rows than "
            "columns."
        )


def _nearest_to_columns(sphere: Sphere) -> Sphere:
    """The same coordinates turned next to the columns, or upright where these depend on one another."""
    if sphere.rank == len(sphere.to_sphere):
        axes = sphere.from_sphere / np.abs(sphere.from_sphere).max(axis=0)  # whose squares may be too large to count
        axes /= np.linalg.norm(axes, axis=0)
        turn = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    else:
        largest = np.take_along_axis(sphere.from_sphere, np.abs(sphere.from_sphere).argmax(axis=1)[:, None], axis=1)
        turn = np.diag(np.where(largest[:, 0] < 0, -1.0, 1.0))
    return Sphere(sphere.mean, sphere.to_sphere @ turn, turn.T @ sphere.from_sphere)
