"""Problems with hidden sources, topics or clusters draw what they say."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kurtosis

from fewer.datasets import make_independent_sources, make_permuted_clusters, make_subspace_clusters, make_topic_words

EVERY_SOURCE = ("uniform", "laplace", "normal", "logistic", "exponential", "binary")


def test_sources_are_independent_with_unit_variance():
    truth = make_independent_sources(200_000, EVERY_SOURCE, random_state=0).truth
    np.testing.assert_allclose(truth["sources"].mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(truth["sources"], rowvar=False), np.eye(6), atol=0.03)


def test_the_kurtosis_in_the_truth_is_that_of_the_sources():
    truth = make_independent_sources(1_000_000, EVERY_SOURCE, random_state=0).truth
    np.testing.assert_allclose(kurtosis(truth["sources"]), truth["kurtosis"], atol=0.15)


def test_sensors_record_the_mixed_sources():
    X, y, truth = make_independent_sources(500, n_sensors=5, random_state=1)
    assert y is None
    assert X.shape == (500, 5)
    np.testing.assert_allclose(X, truth["sources"] @ truth["mixing"].T)


def test_the_seed_alone_decides_the_draw():
    one, same, other = (make_independent_sources(50, random_state=seed).X for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_fewer_sensors_than_sources_are_refused():
    with pytest.raises(ValueError, match="n_sensors=2 is fewer than the 3 sources"):
        make_independent_sources(n_sensors=2)


@pytest.mark.parametrize("sources", ["uniform", (), ("uniform", "cauchy")])
def test_sources_that_do_not_exist_are_refused_with_those_that_do(sources):
    with pytest.raises(ValueError, match="laplace, normal"):
        make_independent_sources(sources=sources)


def test_words_occur_with_the_probabilities_of_the_truth():
    X, y, truth = make_topic_words(
        n_samples=40_000, n_boilerplate=5, n_topic=5, n_neutral=20, share=0.5, random_state=0
    )
    assert sparse.issparse(X)
    assert set(np.unique(X.data)) == {1.0}
    for label in (0, 1):
        rates = X[y == label].mean(axis=0)
        expected = truth["probabilities"][label]
        assert (np.abs(rates - expected) <= 5 * np.sqrt(expected * (1 - expected) / 20_000)).all()


def test_the_truth_names_the_kinds_of_words():
    X, y, truth = make_topic_words(random_state=0)
    assert X.shape == (6000, 3000)
    assert y.sum() == 120
    assert truth["probabilities"][:, truth["topic"]].tolist() == [[0.0005] * 200, [0.03] * 200]
    assert truth["probabilities"][:, truth["boilerplate"]].tolist() == [[0.25] * 300, [0.10] * 300]
    neutral = truth["probabilities"][:, ~(truth["topic"] | truth["boilerplate"])]
    assert np.array_equal(neutral[0], neutral[1])
    assert neutral[0, [0, 5, 6, 9]] == pytest.approx([0.5, 0.5, 3 / 7, 0.3])


def test_the_seed_alone_decides():
    first, second, other = (make_topic_words(n_samples=700, random_state=seed) for seed in (1, 1, 2))
    assert (first.X != second.X).nnz == 0
    assert (first.X != other.X).nnz > 0
    assert np.array_equal(first.y, second.y)


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="share=0"):
        make_topic_words(share=0)
    with pytest.raises(ValueError, match="at least one word"):
        make_topic_words(n_boilerplate=0, n_topic=0, n_neutral=0)
    with pytest.raises(ValueError, match="n_samples=1 must be at least 2, and share=1"):
        make_topic_words(n_samples=1, share=1)


def test_both_kinds_of_documents_are_there_however_small_the_share():
    assert make_topic_words(n_samples=2, share=0.01, random_state=0).y.sum() == 1
    assert make_topic_words(n_samples=2, share=0.99, random_state=0).y.sum() == 1
    assert make_topic_words(n_samples=2, n_boilerplate=0, n_topic=1, n_neutral=0, random_state=0).X.shape == (2, 1)


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
def test_impossible_clusters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad)) if "n_samples" not in bad else "a row for each"):
        make_subspace_clusters(**bad)


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
