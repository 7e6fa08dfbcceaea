"""How new columns hang together with those of the table."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_consistent_length

from fewer._estimators import checked_array
from fewer.extract._extractor import refuse_infinite


def loadings(X: Any, X_new: Any) -> np.ndarray:
    """Correlation of every column of a table with every new one.

    It can be had of any extractor, with a kernel or without one, and does not depend on the columns' units.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The table. A dense one may have holes (NaN): of each column, the rows count in which it is there.
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
    holes = True if sparse.issparse(X) else "allow-nan"
    X = checked_array(
        X, "loadings", accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_all_finite=holes
    )
    refuse_infinite(X_new, "What made X_new")
    new = check_array(X_new, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_features=0)
    check_consistent_length(X, new)
    new = new.toarray() if sparse.issparse(new) else new
    if isinstance(X, np.ndarray) and np.isnan(X.sum()) and np.isnan(X).any():
        return _of_observed(X, new)
    new = new - new.mean(axis=0)
    means, variances = mean_variance_axis(X, axis=0) if sparse.issparse(X) else (X.mean(axis=0), X.var(axis=0))
    spread = np.sqrt(variances)
    # What rounding leaves of a constant column is no spread.
    spread[spread <= np.finfo(X.dtype).eps * np.sqrt(X.shape[0]) * np.abs(means)] = 0
    products = np.asarray(X.T @ new, dtype=float) / X.shape[0]  # the new columns are centred, so X need not be
    return _quotient(products, np.outer(spread, new.std(axis=0)))


def _of_observed(X: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The same over the rows in which a column is there."""
    there = (~np.isnan(X)).astype(np.float64)
    counts = np.maximum(there.sum(axis=0), 1)
    centred = np.nan_to_num(X - np.nansum(X, axis=0) / counts)
    new = new - new.mean(axis=0)
    squares = there.T @ new**2 - (there.T @ new) ** 2 / counts[:, None]
    scale = np.sqrt(np.sum(centred**2, axis=0)[:, None] * np.maximum(squares, 0))
    return _quotient(np.asarray(centred.T @ new, dtype=float), scale)


def _quotient(products: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.clip(np.divide(products, scale, out=np.zeros_like(products), where=scale > 0), -1, 1)
