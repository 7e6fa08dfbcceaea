"""One outer fold of a curve over the number of new columns: extract on the rows held in, score the rows held out."""

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fewer.evaluate._fold_scores import size_scores
from fewer.evaluate._subset_path import SubsetPath
from fewer.extract import loadings, with_components


class ComponentScores(NamedTuple):
    """What came of one fold; made by :func:`score_components`.

    Attributes
    ----------
    sizes : list of int
        Numbers of new columns, and at the end the number of columns of the table, which stands for these themselves.
    scores : ndarray of shape (n_sizes,)
        Score of the learner on the rows held out, for each of these.
    weights : ndarray of shape (n_features,)
        How much of each column is in the largest set of new ones: the length of its loadings.
    """

    sizes: list[int]
    scores: np.ndarray
    weights: np.ndarray


def score_components(
    extractor: Any,
    estimator: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    *,
    sizes: Iterable[int],
    scoring: Any = None,
) -> ComponentScores:
    """Make new columns from some rows, learn on them with every number of new columns, and score on others.

    Parameters
    ----------
    extractor : transformer with ``n_components``
        Not fitted.
    estimator : estimator
        Not fitted.
    X_train, X_test : array or sparse matrix
        Rows to learn from, and rows held out.
    y_train, y_test : ndarray
        Their targets.
    sizes : iterable of int
        Numbers of new columns to try; those that the extractor cannot give are left out. All columns of the table, as
        they are, always come last.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.

    Returns
    -------
    found : ComponentScores
        Sizes, scores, and how much of each column is in the new ones.

    See Also
    --------
    score_sizes : The same for columns that are chosen rather than made.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import score_components
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = score_components(PCA(), GaussianNB(), X[:400], y[:400], X[400:], y[400:], sizes=[1, 5])
    >>> found.sizes, found.scores.round(3)
    ([1, 5, 30], array([0.935, 0.929, 0.964]))
    """
    n_columns = X_train.shape[1]
    wanted = sorted({int(size) for size in sizes if size < n_columns})
    nested = getattr(extractor, "_nested", False)
    tried: list[int] = []
    scores: list[float] = []
    weights = np.zeros(n_columns)
    for group in [wanted] if nested else [[size] for size in wanted]:
        fitted = _fitted(extractor, X_train, y_train, group[-1])
        new_train, new_test = (_dense(fitted.transform(X)) for X in (X_train, X_test))
        n_new = new_train.shape[1]
        possible = [size for size in group if size <= n_new]
        if not possible:
            break
        path = SubsetPath(n_new, np.arange(n_new))
        widths = possible if nested else [n_new]
        scores += size_scores(estimator, new_train, y_train, new_test, y_test, path, widths, scoring)[0].tolist()
        tried += possible
        weights = np.linalg.norm(loadings(X_train, new_train), axis=1)
    everything = SubsetPath(n_columns, np.arange(n_columns))
    scores += size_scores(estimator, X_train, y_train, X_test, y_test, everything, [n_columns], scoring)[0].tolist()
    return ComponentScores([*tried, n_columns], np.array(scores), weights)


def _fitted(extractor: Any, X: Any, y: np.ndarray, size: int) -> Any:
    """The extractor with this many new columns, or as many as there can be."""
    with warnings.catch_warnings():
        # Sizes that cannot be had are left out, so nobody needs to be told.
        warnings.filterwarnings("ignore", r"n_components=\d+ are asked for")
        return with_components(extractor, size).fit(X, y)


def _dense(new: Any) -> np.ndarray:
    return new.toarray() if hasattr(new, "toarray") else np.asarray(new)
