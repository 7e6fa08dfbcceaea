"""Scores that need no target: variance, and smoothness along neighbourhoods."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fewer.select import laplacian_score, variance_score


def test_variance_is_that_of_numpy():
    X = np.random.default_rng(0).exponential(size=(50, 4)) * (np.random.default_rng(1).random((50, 4)) < 0.5)
    assert variance_score(X) == pytest.approx(X.var(axis=0))
    assert variance_score(sparse.csr_matrix(X)) == pytest.approx(X.var(axis=0))
    assert variance_score(np.full((50, 1), 0.1)).tolist() == [0]


def plain_laplacian(X, n_neighbors, bandwidth):
    """He, Cai and Niyogi's score, by dense matrices."""
    distances = cdist(X, X)
    order = np.argsort(distances, axis=1)[:, 1 : n_neighbors + 1]
    joined = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(joined, order, True, axis=1)
    weights = np.where(joined | joined.T, np.exp(-(distances**2) / bandwidth), 0)
    degrees = weights.sum(axis=1)
    laplacian = np.diag(degrees) - weights
    centred = X - degrees @ X / degrees.sum()
    return np.diag(centred.T @ laplacian @ centred) / (degrees @ centred**2)


def test_laplacian_score_is_one_less_the_published_one():
    X = np.random.default_rng(2).normal(size=(40, 5))
    found = laplacian_score(X, n_neighbors=4, bandwidth=3.0)
    assert found == pytest.approx(1 - plain_laplacian(X, 4, 3.0))
    assert laplacian_score(sparse.csr_array(X), n_neighbors=4, bandwidth=3.0) == pytest.approx(found)


def test_columns_that_keep_the_clusters_come_first():
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 6))
    X[:, :2] += 5 * np.stack([clusters == 0, clusters == 1], axis=1)
    assert set(np.argsort(-laplacian_score(X))[:2]) == {0, 1}


def test_constant_columns_are_last_and_few_rows_suffice():
    X = np.column_stack([np.random.default_rng(4).normal(size=3), np.full(3, 0.1)])
    scores = laplacian_score(X)
    assert scores[1] == -np.inf
    assert np.isfinite(scores[0])
    with pytest.raises(ValueError, match="1 or more"):
        laplacian_score(X, n_neighbors=0)


def test_rows_that_are_all_the_same_are_no_trouble():
    assert laplacian_score(np.ones((10, 2))).tolist() == [-np.inf, -np.inf]
