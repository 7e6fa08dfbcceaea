"""Tables whose columns depend on one another by a known graph."""

import numpy as np
import pytest

from fewer.datasets import make_graph_gaussian, simulate_sparse_var


@pytest.mark.parametrize("structure", ["chain", "random", "hubs"])
def test_the_precision_has_the_graph_and_inverts_the_covariance(structure):
    X, y, truth = make_graph_gaussian(4000, 12, structure, degree=3, rho=0.6, random_state=0)
    assert y is None
    assert np.array_equal(truth["precision"] != 0, truth["adjacency"] | np.eye(12, dtype=bool))
    assert np.allclose(truth["precision"] @ truth["covariance"], np.eye(12), atol=1e-10)
    assert np.allclose(np.diag(truth["covariance"]), 1)
    assert np.abs(np.cov(X.T) - truth["covariance"]).max() < 5 / np.sqrt(4000)


def test_graphs_have_the_edges_that_were_asked_for():
    assert make_graph_gaussian(5, 10, "random", degree=4, random_state=0).truth["adjacency"].sum() == 40
    hubs = make_graph_gaussian(5, 12, "hubs", degree=3, random_state=0).truth["adjacency"]
    assert hubs.sum(axis=0).tolist() == [3, 1, 1, 1] * 3
    assert make_graph_gaussian(5, 6, "chain", rho=0.0).truth["adjacency"].sum() == 0
    with pytest.raises(ValueError, match="'chain', 'random' or 'hubs'"):
        make_graph_gaussian(structure="ring")
    with pytest.raises(ValueError, match="below 1"):
        make_graph_gaussian(rho=1.0)


def test_series_are_stationary_with_the_covariance_of_their_model():
    X, _, truth = simulate_sparse_var(50_000, 4, order=2, n_nonzero=3, random_state=1)
    assert [np.count_nonzero(coef) for coef in truth["ar_coef"]] == [3, 3]
    residuals = X[2:] - X[1:-1] @ truth["ar_coef"][0].T - X[:-2] @ truth["ar_coef"][1].T
    assert np.abs(np.cov(residuals.T) - np.eye(4)).max() < 0.03  # 5 standard errors of 1 / sqrt(50,000)
    early, late = X[:25_000].var(axis=0), X[25_000:].var(axis=0)
    assert np.abs(early / late - 1).max() < 0.1
    with pytest.raises(ValueError, match="lower triangle"):
        simulate_sparse_var(n_features=3, n_nonzero=7)
