"""Coordinates without correlations; they live in ``fewer/extract/_uncorrelated.py``, for all families of the room."""

from fewer.extract._uncorrelated import Coordinates, rank_tolerance, rows_along, uncorrelated

__all__ = ["Coordinates", "rank_tolerance", "rows_along", "uncorrelated"]
