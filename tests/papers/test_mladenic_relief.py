"""Mladenic (2006), Feature selection for dimensionality reduction: Relief."""

from functools import partial

import numpy as np
import pytest

from fewer.select import SelectTop, relief_score


@pytest.mark.claim("mladenic-text-fs", 8)
@pytest.mark.parametrize("n_neighbors", [1, 10])
def test_relief_finds_both_bits_of_a_parity(n_neighbors, figure):
    relief = partial(relief_score, n_neighbors=n_neighbors)
    found, by_themselves = 0, 0
    for seed in range(20):
        X = np.random.default_rng(seed).integers(0, 2, size=(200, 10))
        y = X[:, 0] ^ X[:, 1]
        found += set(
            np.flatnonzero(SelectTop(relief, n_features_to_select=2, random_state=seed).fit(X, y).get_support())
        ) == {0, 1}
        by_themselves += set(np.flatnonzero(SelectTop("fisher", n_features_to_select=2).fit(X, y).get_support())) == {
            0,
            1,
        }
    figure(f"{found} of 20 with {n_neighbors} neighbours; by Fisher's score {by_themselves} of 20")
    assert found >= 19
    assert by_themselves <= 5
