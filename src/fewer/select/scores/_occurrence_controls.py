"""What scores of words are compared with: plain frequency, the weights of a linear model on all words, and chance."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fewer.select.scores._score import column_score


@column_score(tasks=("unsupervised",), sparse=True, not_negative=True)
def frequency_score(X: Any, y: Any = None) -> np.ndarray:
    """Sum of each column: how often a word occurs in all rows together.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts; none may be negative.
    y : Ignored
        Not used.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The sums.

    Examples
    --------
    >>> from fewer.select import frequency_score
    >>> frequency_score([[2, 1], [1, 0], [0, 1]])
    array([3., 2.])
    """
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


@column_score(tasks=("classification",), sparse=True, for_each_class=True)
def svm_weight_score(X: Any, y: Any, *, C: float = 1.0, random_state: Any = None) -> np.ndarray:
    """Size of each column's weight in a linear support vector machine on all columns.

    Unlike the other scores of words, it sees all columns at once: of two that say the same, each gets about half.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; columns in about the same units.
    y : array-like of shape (n_samples,)
        Classes.
    C : float, default=1.0
        How much errors on training rows weigh against the size of the weights.
    random_state : int, RandomState instance or None, default=None
        Order in which the solver visits the rows, where it does.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        Absolute weights for each class, in sorted order, against all others.

    References
    ----------
    .. [1] Brank, J., Grobelnik, M., Milic-Frayling, N. and Mladenic, D. (2002). Feature selection using support vector
       machines. In Data Mining III, WIT Press, 261-273.

    Examples
    --------
    >>> from fewer.select import svm_weight_score
    >>> ham, spam = svm_weight_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"], random_state=0)
    >>> bool(spam[0] > spam[1])
    True
    """
    from sklearn.svm import LinearSVC

    weights = np.abs(LinearSVC(C=C, random_state=random_state).fit(X, y).coef_)
    return np.repeat(weights, 2, axis=0) if len(weights) == 1 else weights


@column_score(tasks=("unsupervised",), sparse=True)
def random_score(X: Any, y: Any = None, *, random_state: Any = None) -> np.ndarray:
    """Uniform random numbers: the control that every score has to beat.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; only its width counts.
    y : Ignored
        Not used.
    random_state : int, RandomState instance or None, default=None
        Draws the numbers.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1.

    Examples
    --------
    >>> from fewer.select import random_score
    >>> random_score([[2, 1], [1, 0], [0, 1]], random_state=0).round(3)
    array([0.549, 0.715])
    """
    return check_random_state(random_state).uniform(size=X.shape[1])
