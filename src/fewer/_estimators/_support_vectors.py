"""Predictions of support vector machines from whole blocks of their kernel.

libsvm takes one row and one support vector at a time; on a block, distances are a product of matrices.
"""

from itertools import pairwise
from typing import Any

import numpy as np

_CELLS = 100_000


def machine_predictions(model: Any, X: Any) -> np.ndarray | None:
    """``model.predict(X)`` of an SVC or SVR with the RBF kernel; None for others, and for tables that want checks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> bool((machine_predictions(model, X) == model.predict(X)).all())
    True
    """
    from sklearn.svm import SVC, SVR
    from sklearn.utils import gen_batches

    if type(model) not in (SVC, SVR) or model.kernel != "rbf" or model._sparse or getattr(model, "break_ties", False):
        return None
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
    if not (is_table and 0 < X.shape[1] == model.n_features_in_ and len(X) and np.isfinite(X.sum())):
        return None
    if not len(model.support_vectors_):
        return None
    middle = model.support_vectors_.mean(axis=0)  # numbers far from zero would lose their digits in the squares
    vectors, found = model.support_vectors_ - middle, []
    starts = np.concatenate([[0], np.cumsum(model._n_support)])
    lengths = (vectors**2).sum(axis=1)
    for rows in gen_batches(len(X), max(1, _CELLS // len(vectors))):
        block = X[rows] - middle
        squares = (block**2).sum(axis=1)[:, None] + lengths - 2 * block @ vectors.T
        kernel = np.exp(-model._gamma * np.maximum(squares, 0.0))
        if type(model) is SVR:
            found.append(kernel @ model._dual_coef_[0] + model._intercept_[0])
        else:
            found.append(elected(kernel, starts, model._dual_coef_.T, -model._intercept_))
    together = np.concatenate(found)
    return together if type(model) is SVR else model.classes_[together]


def elected(kernel: np.ndarray, starts: np.ndarray, weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Place of the class that most machines of two classes choose, for each row; of equals the first.

    Parameters
    ----------
    kernel : ndarray of shape (n_rows, n_vectors)
        Kernel of the rows with the vectors, which are ordered by their class.
    starts : ndarray of shape (n_classes + 1,)
        Where the vectors of each class start, and their number.
    weights : ndarray of shape (n_vectors, n_classes - 1)
        Weight of each vector in the machine of its class with each of the others.
    offsets : ndarray of shape (n_pairs,)
        What is subtracted in each machine.
    """
    n_classes = len(starts) - 1
    first, second = np.triu_indices(n_classes, 1)
    shares = np.stack([kernel[:, start:stop] @ weights[start:stop] for start, stop in pairwise(starts)])
    for_first = shares[first, :, second - 1] + shares[second, :, first] > offsets[:, None]
    classes = np.arange(n_classes)[:, None]
    votes = (classes == first) @ for_first.astype(float) + (classes == second) @ (~for_first).astype(float)
    return votes.argmax(axis=0)
