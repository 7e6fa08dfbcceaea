"""Random projections: fewer columns that keep distances and margins, of a table or in the space of a kernel."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.random_projection._dimensions import (
        MarginReport,
        distortion_dim,
        landmark_dim,
        margin_dim,
        margin_report,
        perceptron_mistake_bound,
    )
    from fewer.extract.random_projection._landmark_features import LandmarkFeatures
    from fewer.extract.random_projection._random_projection import RandomProjection

__all__ = [
    "LandmarkFeatures",
    "MarginReport",
    "RandomProjection",
    "distortion_dim",
    "landmark_dim",
    "margin_dim",
    "margin_report",
    "perceptron_mistake_bound",
]

__getattr__, __dir__ = lazy_names(__name__)
