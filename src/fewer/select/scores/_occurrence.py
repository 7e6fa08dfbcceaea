"""Words as events: a column occurs in a row when its count is above zero.

With n rows, n_c of them of class c, and N_Fc rows of class c in which column F occurs,

``P(F) = N_F / n``, ``P(C) = n_c / n``, ``P(F|C) = (N_Fc + s) / (n_c + 2 s)``,

where s > 0 keeps words that a class has never seen from having probability zero.
"""

from typing import Any, NamedTuple

import numpy as np

from fewer._kernels._occurrence import occurrence_counts


class Occurrence(NamedTuple):
    """How often the columns occur in the rows of each class.

    Attributes
    ----------
    counts : ndarray of shape (n_classes, n_features)
        Rows of the class in which the column occurs.
    class_sizes : ndarray of shape (n_classes,)
        Rows of the class.
    """

    counts: np.ndarray
    class_sizes: np.ndarray

    @property
    def n_rows(self) -> int:
        """Rows of all classes."""
        return int(self.class_sizes.sum())

    @property
    def totals(self) -> np.ndarray:
        """Rows in which each column occurs."""
        return self.counts.sum(axis=0)

    @property
    def priors(self) -> np.ndarray:
        """Share of the rows in each class."""
        return self.class_sizes / self.n_rows

    @property
    def varies(self) -> np.ndarray:
        """Whether a column occurs in some rows and not in others: any other tells nothing."""
        return (self.totals > 0) & (self.totals < self.n_rows)

    def probabilities(self, smoothing: float) -> np.ndarray:
        """Probability that a column occurs in a row of the class, ``(N_Fc + s) / (n_c + 2 s)``."""
        return (self.counts + smoothing) / (self.class_sizes[:, None] + 2 * smoothing)

    def one_against_the_rest(self, code: int) -> "Occurrence":
        """Two classes: all others, and then this one."""
        own, size = self.counts[code], self.class_sizes[code]
        return Occurrence(np.stack([self.totals - own, own]), np.array([self.n_rows - size, size]))


def occurrence(X: Any, codes: np.ndarray) -> Occurrence:
    """Occurrences in a table with classes 0, 1, ..."""
    n_classes = int(codes.max()) + 1
    return Occurrence(occurrence_counts(X, codes, n_classes), np.bincount(codes, minlength=n_classes))
