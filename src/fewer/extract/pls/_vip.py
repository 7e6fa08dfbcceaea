"""Variable importance in projection: how much each column has a say in the components, by what these explain of y.

VIP_j = sqrt( p sum_a SSY_a w_ja^2 / sum_a SSY_a ),  with weights of length 1; the mean square over columns is 1.
"""

import numpy as np


def vip_scores(weights: np.ndarray, explained: np.ndarray) -> np.ndarray:
    """VIP of each column, from weights (columns, components) and what each component explains of y."""
    total = float(explained.sum())
    if total == 0:
        return np.zeros(len(weights))
    shares = explained / np.einsum("pk,pk->k", weights, weights)
    return np.sqrt(len(weights) * np.einsum("pk,pk,k->p", weights, weights, shares) / total)
