"""Scores of single columns: plain functions ``(X, y) -> scores``, higher is better, one for each column.

Each looks at one column at a time, so none sees that two columns are only useful together, or say the same.
"""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from fewer.select._folds import fixed_splits


def fisher_score(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spread of the class means over the spread within the classes, for each column.

    ``sum_c n_c (m_cj - m_j)^2 / sum_c n_c s_cj^2``, with class means m_cj and variances s_cj^2 (divisor n_c).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Table.
    y : ndarray of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a constant column, infinite for one that is constant within each class but not over all.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import fisher_score
    >>> fisher_score(np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 0.0], [6.0, 1.0]]), np.array([0, 0, 1, 1]))
    array([4., 0.])
    """
    X = np.asarray(X, dtype=float)
    y = np.asarray(y)
    mean = X.mean(axis=0)
    between, within = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for label in np.unique(y):
        rows = X[y == label]
        between += len(rows) * (rows.mean(axis=0) - mean) ** 2
        within += ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / within, 0.0)


def single_column_score(
    X: Any, y: Any, *, estimator: Any, cv: Any = 5, scoring: Any = None, random_state: Any = None
) -> np.ndarray:
    """Cross-validated score of an estimator that sees one column only, for each column.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : ndarray of shape (n_samples,)
        Target.
    estimator : estimator
        Classifier or regressor.
    cv : int, "loo", splitter or iterable, default=5
        Folds, the same for all columns.
    scoring : str, callable or None, default=None
        What the folds are scored by; the estimator's own score by default.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are dealt into folds, when ``cv`` is a number.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Mean over the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from fewer.select import single_column_score
    >>> X, y = load_iris(return_X_y=True)
    >>> single_column_score(X, y, estimator=LinearDiscriminantAnalysis()).round(3)
    array([0.733, 0.547, 0.953, 0.96 ])
    """
    from sklearn.model_selection import cross_val_score

    splits = fixed_splits(cv, X, y, classifier=is_classifier(estimator), random_state=random_state)
    return np.array(
        [
            cross_val_score(clone(estimator), X[:, [column]], y, cv=splits, scoring=scoring, error_score="raise").mean()
            for column in range(X.shape[1])
        ]
    )
