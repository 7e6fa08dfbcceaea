"""Inconsistency: the share of rows that are not of the commonest class among the rows that agree with them."""

from dataclasses import dataclass

import numpy as np

from fewer._kernels._group_counts import MINORITY
from fewer.select.objectives._decision_table import DecisionTableObjective


@dataclass
class InconsistencyObjective(DecisionTableObjective):
    """Minus the rate of inconsistency: rows outside the majority class of the rows with equal values on the subset.

    For discrete columns. It is the training error of the decision table: it never falls when a column is added, and 0
    means that the subset determines the class on the rows at hand.

    See Also
    --------
    RandomSubsetSearch : With ``enough=-0.05``, the smallest subset with at most 5% (LVF).

    References
    ----------
    .. [1] Liu, H. and Setiono, R. (1996). A probabilistic approach to feature selection: a filter solution. Proceedings
       of the Thirteenth International Conference on Machine Learning, 319-327.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import InconsistencyObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    >>> with InconsistencyObjective().start(X, y) as scorer:
    ...     scorer.score_added(np.array([0, 1]))
    array([-0.25, -0.25])
    """

    @property
    def monotone(self) -> bool:
        """A column more can only make majorities purer."""
        return True

    @property
    def ideal(self) -> float:
        """Every row is of the majority."""
        return 0.0

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the share of rows."""
        return 0.0 - summaries[:, MINORITY] / n_rows
