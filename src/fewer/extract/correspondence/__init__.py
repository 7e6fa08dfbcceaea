"""Tables of counts on shared axes of rows and columns, and their bridge to linear discriminant analysis."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.correspondence._canonical import CanonicalCorrespondenceAnalysis
    from fewer.extract.correspondence._correspondence_analysis import CorrespondenceAnalysis, plot_biplot
    from fewer.extract.correspondence._counts import cooccurrence_to_labeled
    from fewer.extract.correspondence._gaussian_response import GaussianResponseModel
    from fewer.extract.correspondence._optimal_scoring import OptimalScoringLDA

__all__ = [
    "CanonicalCorrespondenceAnalysis",
    "CorrespondenceAnalysis",
    "GaussianResponseModel",
    "OptimalScoringLDA",
    "cooccurrence_to_labeled",
    "plot_biplot",
]

__getattr__, __dir__ = lazy_names(__name__)
