"""Conflicts: pairs of rows that agree in all columns of a subset, and differ in class."""

from dataclasses import dataclass

import numpy as np

from fewer._kernels._group_counts import CONFLICTS
from fewer.select.objectives._decision_table import DecisionTableObjective


@dataclass
class ConflictsObjective(DecisionTableObjective):
    """Minus the number of pairs of rows with equal values on the subset and different classes.

    For discrete columns. It never falls when a column is added, and 0 means that the subset determines the class on the
    rows at hand.

    See Also
    --------
    ExhaustiveSearch : With ``enough=0``, the smallest subset without conflicts (FOCUS).
    InconsistencyObjective : Counts rows instead of pairs.

    References
    ----------
    .. [1] Almuallim, H. and Dietterich, T. G. (1991). Learning with many irrelevant features. Proceedings of the Ninth
       National Conference on Artificial Intelligence, 547-552.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import ConflictsObjective
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> with ConflictsObjective().start(X, y) as scorer:
    ...     alone = scorer.score_added(np.array([0, 1]))
    ...     scorer.add(0)
    ...     together = scorer.score_added(np.array([1]))
    >>> alone, together
    (array([-2., -2.]), array([0.]))
    """

    @property
    def monotone(self) -> bool:
        """A column more splits groups, and conflicts stay within groups."""
        return True

    @property
    def ideal(self) -> float:
        """No conflict."""
        return 0.0

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the pairs."""
        return 0.0 - summaries[:, CONFLICTS]
