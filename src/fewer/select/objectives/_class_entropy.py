"""Class entropy: how unsure the class is, given the values of the columns of a subset.

``- sum_g P(g) sum_c P(c | g) log2 P(c | g)`` over the groups g of rows that agree on the subset.
"""

from dataclasses import dataclass

import numpy as np

from fewer._kernels._group_counts import CLASS_BITS
from fewer.select.objectives._decision_table import DecisionTableObjective


@dataclass
class ClassEntropyObjective(DecisionTableObjective):
    """Minus the entropy of the class, in bits, among rows with equal values on the subset.

    For discrete columns. It never falls when a column is added, and 0 means that the subset determines the class on the
    rows at hand. With many columns each row is a group of its own, and the entropy is 0 for want of rows.

    See Also
    --------
    DescriptionLengthObjective : Charges for the size of the table too.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import ClassEntropyObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    >>> with ClassEntropyObjective().start(X, y) as scorer:
    ...     scorer.score_added(np.array([0, 1]))
    array([-0.5, -0.5])
    """

    @property
    def monotone(self) -> bool:
        """Knowing more never makes the class less sure, on average."""
        return True

    @property
    def ideal(self) -> float:
        """The class is sure."""
        return 0.0

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the mean over rows."""
        return 0.0 - summaries[:, CLASS_BITS] / n_rows
