"""Random projections: fewer columns that keep distances and margins, of a table or in the space of a kernel."""

from fewer.extract.random_projection._dimensions import distortion_dim, landmark_dim, margin_dim
from fewer.extract.random_projection._landmark_features import LandmarkFeatures
from fewer.extract.random_projection._random_projection import RandomProjection

__all__ = ["LandmarkFeatures", "RandomProjection", "distortion_dim", "landmark_dim", "margin_dim"]
