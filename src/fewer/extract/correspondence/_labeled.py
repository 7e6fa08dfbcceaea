"""A table of counts as a table with one row for each occurrence."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from fewer._estimators import checked_array, get_feature_names
from fewer.extract.correspondence._counts import refuse_negative


def cooccurrence_to_labeled(
    Y: Any, X: Any, *, return_weights: bool = False
) -> tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row for each occurrence in a table of counts, labelled by its column.

    Linear discriminant analysis of it is canonical correspondence analysis of the table.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_columns)
        How often each column occurred in each row.
    X : array-like of shape (n_samples, n_features)
        Columns that describe the rows.
    return_weights : bool, default=False
        Give each row once for each column, and the counts as weights, instead of repeating rows.

    Returns
    -------
    X_expanded : ndarray of shape (n_occurrences, n_features)
        Row i of X as often as there are occurrences in it; with weights, every row n_columns times.
    y : ndarray of shape (n_occurrences,)
        Name or number of the column of Y.
    weights : ndarray of shape (n_samples * n_columns,)
        The counts; only with ``return_weights``.

    Examples
    --------
    >>> from fewer.extract import cooccurrence_to_labeled
    >>> X, y = cooccurrence_to_labeled([[2, 0], [1, 1]], [[0.5], [0.7]])
    >>> X.ravel().tolist(), y.tolist()
    ([0.5, 0.5, 0.7, 0.7], [0, 0, 0, 1])
    """
    names = get_feature_names(Y)
    who = "cooccurrence_to_labeled"
    counts = checked_array(Y, who, dtype=np.float64)
    refuse_negative(counts, who, names)
    described = checked_array(X, who, dtype=None)
    check_consistent_length(counts, described)
    labels = np.arange(counts.shape[1]) if names is None else np.asarray(names)
    rows, columns = (each.ravel() for each in np.indices(counts.shape))
    if return_weights:
        return described[rows], labels[columns], counts.ravel()
    if (counts != np.round(counts)).any():
        raise ValueError(
            "Y holds numbers with fractions, so that rows cannot be repeated as often; set return_weights=True."
        )
    times = counts.ravel().astype(np.int64)
    return described[np.repeat(rows, times)], labels[np.repeat(columns, times)]
