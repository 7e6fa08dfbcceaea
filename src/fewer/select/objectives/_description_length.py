"""Description length of a decision table: bits for the table, and for the classes of the rows given the table.

``log2 (p + 1) + log2 C(p, k)``, which k of p columns, and for every group of m rows with m_c of class c
``log2 C(m + C - 1, C - 1) + log2 (m! / prod_c m_c!)``, its class counts and then which row has which class.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from fewer._kernels._group_counts import LABEL_BITS
from fewer.select.objectives._decision_table import DecisionTableObjective


@dataclass
class DescriptionLengthObjective(DecisionTableObjective):
    """Minus the bits that describe the classes of the rows by a decision table on the subset.

    For discrete columns. Every group of rows that agree pays for its class counts, so a column that splits groups
    without telling classes apart costs bits: unlike conflicts and entropy, it has a best size. The code is the one of
    Kononenko for the counts and the classes; the principle, and the table, are Pfahringer's.

    See Also
    --------
    ClassEntropyObjective : Without the price of the table.

    References
    ----------
    .. [1] Pfahringer, B. (1995). Compression-based feature subset selection. Proceedings of the IJCAI-95 Workshop on
       Data Engineering for Inductive Learning, 109-119.
    .. [2] Kononenko, I. (1995). On biases in estimating multi-valued attributes. Proceedings of the Fourteenth
       International Joint Conference on Artificial Intelligence, 1034-1040.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import DescriptionLengthObjective, SequentialSearch
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 8))
    >>> y = X[:, 2] & X[:, 5]
    >>> SequentialSearch(DescriptionLengthObjective()).fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """Minus the bits."""
        choices = gammaln(n_columns + 1) - gammaln(size + 1) - gammaln(n_columns - size + 1)
        return 0.0 - summaries[:, LABEL_BITS] - np.log2(n_columns + 1) - choices / np.log(2)
