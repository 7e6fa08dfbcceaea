"""Two clusters that show in a few columns, and nowhere else."""

import numpy as np
import pytest

from fewer.datasets import make_permuted_clusters


def test_relevant_columns_know_the_cluster_and_the_others_do_not():
    X, y, truth = make_permuted_clusters(n_samples=2000, n_features=40, n_relevant=5, delta=1.5, random_state=0)
    gaps = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert truth["support"].sum() == 5
    # Standard errors: sqrt(2 / 1000) inside clusters; 2 sd / sqrt(2000) of a column with both humps.
    np.testing.assert_allclose(gaps[truth["support"]], 3.0, atol=5 * np.sqrt(2 / 1000))
    np.testing.assert_allclose(gaps[~truth["support"]], 0.0, atol=5 * 2 * np.sqrt(1 + 1.5**2) / np.sqrt(2000))


def test_all_columns_have_the_same_centre_and_spread():
    X, _, _ = make_permuted_clusters(n_samples=5000, n_features=20, random_state=0)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=5 / np.sqrt(5000))
    np.testing.assert_allclose(X.var(axis=0), 1 + 2.0**2, rtol=0.1)


def test_the_seed_decides_everything():
    first, second = (make_permuted_clusters(random_state=3).X for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="n_relevant=4 must lie between 0 and n_features=3"):
        make_permuted_clusters(n_features=3, n_relevant=4)
    with pytest.raises(ValueError, match="n_samples=1"):
        make_permuted_clusters(n_samples=1)
