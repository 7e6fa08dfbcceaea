"""Nearest neighbour from one example of each class: how far a representation alone carries."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from fewer._estimators import checked_array, encoded_classes


def one_shot_nn(Z: Any, y: Any, n_rep: int = 100, random_state: Any = None) -> float:
    """Error of a nearest-neighbour rule that has seen one row of each class.

    Parameters
    ----------
    Z : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, as an extractor that was fitted on other classes gives them.
    y : array-like of shape (n_samples,)
        Their classes.
    n_rep : int, default=100
        How often one example of each class is drawn.
    random_state : int, RandomState or None, default=None
        Draws the examples.

    Returns
    -------
    error : float
        Share of all other rows whose nearest example is of another class, on average.

    References
    ----------
    .. [1] Maurer, A. (2006). Generalization bounds for subspace selection and hyperbolic PCA. Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 185-197.

    Examples
    --------
    >>> from fewer.extract import one_shot_nn
    >>> one_shot_nn([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"], random_state=0)
    0.0
    """
    Z = checked_array(Z, "one_shot_nn", accept_sparse="csr", dtype=(np.float64, np.float32))
    y = column_or_1d(y)
    check_consistent_length(Z, y)
    if n_rep < 1:
        raise ValueError(f"n_rep={n_rep} must be 1 at least.")
    codes = encoded_classes(y, "one_shot_nn").codes
    rng = check_random_state(random_state)
    sizes = np.bincount(codes)
    if sizes.max() == 1:
        raise ValueError("Every class has a single row, so none is left to be told after one example of each.")
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    errors = []
    for _ in range(n_rep):
        examples = order[starts + rng.randint(sizes)]
        others = np.ones(len(codes), dtype=bool)
        others[examples] = False
        nearest = euclidean_distances(Z[others], Z[examples], squared=True).argmin(axis=1)
        errors.append(np.mean(nearest != codes[others]))
    return float(np.mean(errors))
