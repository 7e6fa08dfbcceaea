"""How well an estimator does that sees one column only."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from fewer.select._folds import fixed_splits


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
