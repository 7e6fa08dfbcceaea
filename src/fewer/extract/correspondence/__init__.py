"""Tables of counts on shared axes of rows and columns, and their bridge to linear discriminant analysis."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.correspondence._canonical import CanonicalCorrespondenceAnalysis
    from fewer.extract.correspondence._correspondence_analysis import CorrespondenceAnalysis
    from fewer.extract.correspondence._gaussian_response_model import GaussianResponseModel
    from fewer.extract.correspondence._labeled import cooccurrence_to_labeled
    from fewer.extract.correspondence._optimal_scoring import OptimalScoringLDA
    from fewer.extract.correspondence._plot_biplot import plot_biplot

__all__ = [
    "CanonicalCorrespondenceAnalysis",
    "CorrespondenceAnalysis",
    "GaussianResponseModel",
    "OptimalScoringLDA",
    "cooccurrence_to_labeled",
    "plot_biplot",
]

__getattr__, __dir__ = lazy_names(__name__)
