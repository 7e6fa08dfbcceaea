"""How new columns hang together with those of the table."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_consistent_length

from fewer._estimators import checked_array


def loadings(X: Any, X_new: Any) -> np.ndarray:
    """Correlation of every column of a table with every new one.

    It can be had of any extractor, with a kernel or without one, and does not depend on the columns' units.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The table.
    X_new : {array-like, sparse matrix} of shape (n_samples, n_components)
        What an extractor made of its rows.

    Returns
    -------
    correlations : ndarray of shape (n_features, n_components)
        Between -1 and 1; 0 where a column is constant.

    Examples
    --------
    >>> from fewer.extract import loadings
    >>> loadings([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], [[5.0], [4.0], [3.0]])
    array([[-1.],
           [ 0.]])
    """
    X = checked_array(X, "loadings", accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    new = check_array(X_new, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_features=0)
    check_consistent_length(X, new)
    new = new.toarray() if sparse.issparse(new) else new
    new = new - new.mean(axis=0)
    means, variances = mean_variance_axis(X, axis=0) if sparse.issparse(X) else (X.mean(axis=0), X.var(axis=0))
    spread = np.sqrt(variances)
    # What rounding leaves of a constant column is no spread.
    spread[spread <= np.finfo(X.dtype).eps * np.sqrt(X.shape[0]) * np.abs(means)] = 0
    products = np.asarray(X.T @ new, dtype=float) / X.shape[0]  # the new columns are centred, so X need not be
    scale = np.outer(spread, new.std(axis=0))
    return np.clip(np.divide(products, scale, out=np.zeros_like(products), where=scale > 0), -1, 1)
