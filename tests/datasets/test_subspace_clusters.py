"""make_subspace_clusters draws what it says."""

import numpy as np
import pytest

from fewer.datasets import make_subspace_clusters


def test_clusters_are_centred_and_tight_in_their_own_columns():
    X, y, truth = make_subspace_clusters(20_000, n_clusters=4, random_state=0)
    for label, tight in enumerate(truth["tight"]):
        own = X[y == label]
        np.testing.assert_allclose(own.std(axis=0), np.where(np.isin(np.arange(25), tight), 0.1, 1), rtol=0.1)
        np.testing.assert_allclose(own.mean(axis=0), 0, atol=0.12)


def test_sizes_grow_and_noise_is_a_share_of_all_rows():
    y = make_subspace_clusters(random_state=0).y
    np.testing.assert_array_equal(np.bincount(y), np.arange(100, 1001, 50))
    noisy, labels, _ = make_subspace_clusters(4000, noise=0.25, random_state=0)
    assert np.sum(labels == -1) == 1000
    strays = noisy[labels == -1]
    assert strays.min() > noisy[labels >= 0].min()
    np.testing.assert_allclose(strays.std(axis=0), np.ptp(noisy, axis=0) / np.sqrt(12), rtol=0.1)


def test_the_seed_decides_all():
    first, second = (make_subspace_clusters(300, random_state=3).X for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("bad", [{"noise": 1.0}, {"n_tight": 26}, {"n_samples": 10}, {"n_clusters": 0}])
def test_impossible_wishes_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad)) if "n_samples" not in bad else "a row for each"):
        make_subspace_clusters(**bad)
