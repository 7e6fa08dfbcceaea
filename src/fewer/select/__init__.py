"""Which columns to keep: scores, searches, sparse models, relevance tests."""

from fewer.select._cross_validated_score import CrossValidatedScore
from fewer.select._nearest_neighbour import NearestNeighbourObjective
from fewer.select._objective import Objective, PlainScorer, SubsetScorer
from fewer.select._sequential import SearchStep
from fewer.select._sequential_search import SequentialSearch

__all__ = [
    "CrossValidatedScore",
    "NearestNeighbourObjective",
    "Objective",
    "PlainScorer",
    "SearchStep",
    "SequentialSearch",
    "SubsetScorer",
]
