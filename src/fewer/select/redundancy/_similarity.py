"""How alike two columns are: correlation or rank correlation, of either sign, or symmetric uncertainty."""

from typing import Any, Literal, Protocol

import numpy as np
from scipy.stats import rankdata

from fewer.select._correlations import Correlations
from fewer.select._discretise import discretise
from fewer.select._information import Information

Measure = Literal["pearson", "spearman", "symmetric_uncertainty"]


class Similarity(Protocol):
    """Similarities of the columns of a table; those of a constant column are 0."""

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones; the sign does not matter."""
        ...


class CorrelationSimilarity:
    """The correlation."""

    def __init__(self, X: Any):
        self._correlations = Correlations(X, n_asked=X.shape[1])

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones."""
        return self._correlations.between(first, second)


class UncertaintySimilarity:
    """Symmetric uncertainty of levels with equally many rows."""

    def __init__(self, X: Any, n_bins: int):
        self._information = Information(discretise(X, n_bins=n_bins))

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones."""
        return np.stack([self._information.symmetric_uncertainty_with_column(int(column), second) for column in first])


def similarity_of(X: Any, measure: Measure, n_bins: int) -> Similarity:
    """The similarity that a name stands for."""
    if measure == "pearson":
        return CorrelationSimilarity(X)
    if measure == "spearman":
        return CorrelationSimilarity(rankdata(X, axis=0))
    return UncertaintySimilarity(X, n_bins)
