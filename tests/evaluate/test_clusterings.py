"""Clusterings compared, and the number of clusters by consensus."""

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score

from fewer.evaluate import (
    ConsensusClusterNumber,
    adjusted_information_distance,
    adjusted_mutual_info,
    clustering_comparison,
    consensus_index,
    expected_mi_bounds,
    expected_mutual_info,
    information_distance,
    normalized_information_distance,
    normalized_variation_of_information,
    variation_of_information,
)
from fewer.evaluate.clusterings._consensus import without_clusters
from tolerances import rounding


def test_the_same_clustering_has_similarity_one_whatever_its_names():
    for labels in ([0, 0, 0], ["a", "b", "c"], [5, 5, -1, -1, 3], [True, False, True]):
        names = [f"cluster {label}" for label in labels]
        found = clustering_comparison(labels, names)
        for average in ("joint", "max", "sum", "sqrt", "min"):
            assert found.similarity(average) == 1
            assert found.distance(average, normalized=False) == 0
        assert found.adjusted_mutual_info == found.adjusted_rand_index == found.rand_index == 1
        assert found.reading == "Both are the same clustering."


def test_one_cluster_or_all_single_rows_tell_nothing_about_another_clustering():
    labels = [0, 0, 1, 1, 2]
    for other in ([0] * 5, [0, 1, 2, 3, 4]):
        found = clustering_comparison(labels, other)
        for average in ("max", "sum", "sqrt", "min"):
            assert abs(found.similarity(average, adjust=True)) < rounding(5, condition=10)
        assert abs(found.adjusted_rand_index) < rounding(5, condition=10)  # of the ten pairs of rows
    assert clustering_comparison(labels, [0] * 5).similarity() == 0


def test_bits_are_nats_over_log_two():
    U, V = np.random.default_rng(0).integers(4, size=(2, 50))
    nats, bits = clustering_comparison(U, V), clustering_comparison(U, V, base=2)
    np.testing.assert_allclose(bits.mutual_info * np.log(2), nats.mutual_info)
    np.testing.assert_allclose(variation_of_information(U, V, base=2) * np.log(2), nats.variation_of_information)
    np.testing.assert_allclose(bits.adjusted_mutual_info, adjusted_mutual_info(U, V))
    np.testing.assert_allclose(normalized_information_distance(U, V), 1 - nats.similarity("max"))


@pytest.mark.parametrize("sizes", [[1] * 9, [5, 4], [1, 1, 7], [3, 3, 3]])
def test_expected_information_lies_below_its_bounds(sizes):
    for other in ([2, 7], [1] * 9, [4, 4, 1]):
        expected = expected_mutual_info(sizes, other)
        by_sizes, by_numbers = expected_mi_bounds(sizes, other)
        # At most 81 terms, each the exponential of a sum of log-factorials of at most log 9!.
        tolerance = rounding(81, np.log(9), gammaln(10))
        assert 0 < expected <= by_sizes + tolerance <= by_numbers + 2 * tolerance


def test_expected_information_of_large_clusters_keeps_its_digits():
    # For fixed numbers of clusters, 2 N E[I] comes to (R - 1)(C - 1).
    for n in (10**4, 10**6):
        found = expected_mutual_info([n, n], [n, n])
        np.testing.assert_allclose(2 * (2 * n) * found, 1, rtol=3 / n + 1e-7)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], [0, 1, 2], "2 rows and labels_pred has 3"),
        ([0.0, np.nan], [0, 1], "labels_true contains NaN, in row 1"),
        ([0, 1], ["a", None], "missing label"),
        ([[0, 1]], [0, 1], "one label for each row"),
        ([], [], "one label for each row"),
    ],
)
def test_wrong_labels_are_refused(first, second, message):
    with pytest.raises(ValueError, match=message):
        clustering_comparison(first, np.array(second, dtype=object) if None in second else second)


def test_wrong_arguments_are_refused():
    found = clustering_comparison([0, 0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="no correction for chance"):
        found.similarity("joint", adjust=True)
    with pytest.raises(ValueError, match="average_method='mean'"):
        found.similarity("mean")
    with pytest.raises(ValueError, match="same sum"):
        expected_mutual_info([2, 2], [3, 2])
    with pytest.raises(ValueError, match="base=1"):
        clustering_comparison([0, 1], [0, 1], base=1)
    with pytest.raises(ValueError, match="at least two clusterings"):
        consensus_index([[0, 1]])
    with pytest.raises(ValueError, match="no row in common"):
        consensus_index([[0, 1, -1, -1], [-1, -1, 0, 1]])
    with pytest.raises(ValueError, match="no row in common"):
        consensus_index([[0, 1, 0, 1], [0, 1, -1, -1], [-1, -1, 0, 1]])


def test_named_distances_are_those_of_the_comparison():
    U, V = np.random.default_rng(0).integers(5, size=(2, 80))
    found = clustering_comparison(U, V, base=2)
    assert information_distance(U, V, base=2) == found.distance("max", normalized=False)
    # Sums over 25 cells, differences of entropies of which more than a tenth is left.
    tolerance = rounding(25, condition=10)
    np.testing.assert_allclose(normalized_variation_of_information(U, V), found.distance("joint"), rtol=tolerance)
    np.testing.assert_allclose(adjusted_information_distance(U, V), 1 - found.adjusted_mutual_info, rtol=tolerance)
    nats = clustering_comparison(U, V).variation_of_information
    np.testing.assert_allclose(found.scaled_variation_of_information(), nats / np.log(80), rtol=tolerance)
    np.testing.assert_allclose(found.scaled_variation_of_information(6), nats / (2 * np.log(6)), rtol=tolerance)
    # With at most two clusters, two independent halves are as far apart as can be.
    halves = clustering_comparison([0, 0, 1, 1], [0, 1, 0, 1])
    np.testing.assert_allclose([halves.scaled_variation_of_information(each) for each in (2, None)], 1)
    assert clustering_comparison([3], [4]).scaled_variation_of_information() == 0
    with pytest.raises(ValueError, match="max_clusters=2 is below the number of clusters, 5"):
        found.scaled_variation_of_information(2)


def test_labels_may_be_anything_that_can_be_told_apart():
    plain = clustering_comparison([0, 0, 1, 2, 2], [0, 1, 1, 1, 0])
    mixed = np.array(["a", "a", 1, 2.5, 2.5], dtype=object)
    tuples = [("x", 1), ("y", 2), ("y", 2), ("y", 2), ("x", 1)]
    assert repr(clustering_comparison(mixed, tuples)) == repr(plain)
    with pytest.raises(ValueError, match="labels_true holds labels that cannot be keys"):
        clustering_comparison(np.array([{}, {}, None, 1], dtype=object)[[0, 1, 3]], [0, 1, 1])


def test_noise_can_be_left_out_of_the_comparison():
    U, V = [0, 0, -1, 1, 1, 1], [5, 5, 6, -1, 6, 6]
    kept = clustering_comparison([0, 0, 1, 1], [5, 5, 6, 6])
    assert repr(clustering_comparison(U, V, noise_label=-1)) == repr(kept)
    assert clustering_comparison(U, V).n_clusters == (3, 3)
    with pytest.raises(ValueError, match="Every row is noise"):
        clustering_comparison([-1, 0], [0, -1], noise_label=-1)


def test_consensus_is_the_mean_over_pairs_of_common_rows():
    rng = np.random.default_rng(0)
    labelings = rng.integers(4, size=(5, 60))
    labelings[0, :20] = labelings[3, 10:25] = -1
    pairs = []
    for i in range(5):
        for j in range(i):
            both = (labelings[i] >= 0) & (labelings[j] >= 0)
            pairs.append(adjusted_mutual_info_score(labelings[i][both], labelings[j][both], average_method="max"))
    np.testing.assert_allclose(consensus_index(labelings), np.mean(pairs), atol=1e-10)


def groups(n_groups, distance, n_rows=60, n_columns=12):
    rng = np.random.default_rng(n_groups)
    centres = distance * rng.normal(size=(n_groups, n_columns))
    return rng.normal(size=(n_rows, n_columns)) + centres[np.arange(n_rows) % n_groups]


FEW = {"n_clusters_range": (2, 4), "n_resamples": 6, "null": "both", "n_null": 19, "random_state": 0}


@pytest.fixture(scope="module")
def clustered():
    estimator = KMeans(n_init=2)
    return ConsensusClusterNumber(estimator, **FEW).fit(groups(3, 2.5))


def test_real_clusters_agree_more_than_tables_without_clusters(clustered):
    assert clustered.best_k_ == clustered.n_clusters_ == 3
    assert clustered.p_values_ == {"columns": 0.05, "gaussian": 0.05}
    assert len(np.unique(clustered.labels_)) == 3
    assert clustered.null_index_["gaussian"].shape == (19, 3)
    assert "Tables without clusters agree less" in clustered.reading_
    assert len(clustered.plot().data) == 6


def test_one_long_cloud_has_stable_halves_and_no_clusters():
    X = np.random.default_rng(0).normal(size=(60, 12))
    X += 3 * np.random.default_rng(1).normal(size=(60, 1))
    model = ConsensusClusterNumber(KMeans(n_init=2), **(FEW | {"null": "gaussian"})).fit(X)
    assert model.consensus_index_[0] > 0.8
    assert model.p_values_["gaussian"] > 0.05
    assert model.n_clusters_ == 1
    assert not model.labels_.any()
    assert "no evidence of clusters" in model.reading_


@pytest.mark.parametrize("shape", [(30, 8), (9, 8), (8, 8), (8, 30)])
def test_one_cloud_has_the_mean_and_the_covariance_of_the_table(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.arange(1, shape[1] + 1) + 5
    cloud = without_clusters(X, "gaussian", rng)
    np.testing.assert_allclose(cloud.mean(axis=0), X.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(np.cov(cloud.T), np.cov(X.T), atol=1e-9)
    assert np.abs(cloud - X).max() > 1


@pytest.mark.parametrize(
    ("null", "spread", "n_tables"),
    [
        ("gaussian", 4.0, 25),
        pytest.param("gaussian", 4.0, 200, marks=pytest.mark.slow),
        pytest.param("gaussian", 1.0, 200, marks=pytest.mark.slow),
        pytest.param("columns", 1.0, 200, marks=pytest.mark.slow),
    ],
)
def test_p_values_of_noise_are_uniform(null, spread, n_tables):
    settings = {"n_clusters_range": (2, 3), "n_resamples": 3, "null": null, "n_null": 19}
    found = []
    for seed in range(n_tables):
        X = np.random.default_rng([seed, n_tables]).normal(size=(20, 6))
        X[:, 0] *= spread
        model = ConsensusClusterNumber(KMeans(n_init=1), **settings, random_state=seed).fit(X)
        found.append(model.p_values_[null])
    found = np.array(found)
    for level in (0.05, 0.25, 0.5):
        # Ties only make p-values larger; four standard errors, and one table.
        share = np.mean(found <= level + 1e-9)
        assert share <= level + 4 * np.sqrt(level * (1 - level) / n_tables) + 1 / n_tables
    # Nor are they so large that no clusters would be found: a mean of 0.525 but for ties.
    assert abs(found.mean() - 0.55) < 0.05 + 4 * 0.29 / np.sqrt(n_tables)


def test_too_few_tables_without_clusters_are_announced_and_clusters_are_labels():
    model = ConsensusClusterNumber(KMeans(n_init=1), n_clusters_range=(2, 3), n_resamples=3, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(groups(2, 4.0)), model.labels_)
    with pytest.warns(UserWarning, match="n_null=4 no p-value can be below 0.2"):
        model.set_params(null="columns", n_null=4).fit(groups(2, 4.0))
    assert clustering_comparison([1, "a", (1, 2)], [1, 2, 3]).is_same
    with pytest.raises(ValueError, match="base='2' must be a number above 1"):
        clustering_comparison([1, 2], [1, 2], base="2")


@pytest.mark.filterwarnings("ignore:With n_null=2")
def test_workers_find_the_same(workers, clustered):
    few = FEW | {"null": "columns", "n_null": 2, "n_resamples": 4}
    X = groups(3, 2.5)
    here, there = (ConsensusClusterNumber(KMeans(n_init=1), **few, engine=engine).fit(X) for engine in (None, workers))
    np.testing.assert_array_equal(here.labelings_, there.labelings_)
    np.testing.assert_array_equal(here.null_index_["columns"], there.null_index_["columns"])


def test_rows_can_be_drawn_instead_of_columns():
    estimator = AgglomerativeClustering()
    model = ConsensusClusterNumber(
        estimator, n_clusters_range=(3, 5), n_resamples=5, perturbation="samples", fraction=0.7, random_state=0
    ).fit(groups(3, 2.5))
    assert ((model.labelings_ == -1).sum(axis=2) == 18).all()
    assert model.best_k_ == model.n_clusters_ == 3
    variation = ConsensusClusterNumber(estimator, n_clusters_range=(3, 5), n_resamples=5, measure="vi", random_state=0)
    assert variation.fit(groups(3, 2.5)).best_k_ == 3


@pytest.mark.parametrize("n_columns", [3, 40])
def test_normal_tables_have_the_covariance_of_the_table(n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, n_columns)) * np.arange(1, n_columns + 1) + 7
    drawn = [np.cov(without_clusters(X, "gaussian", rng), rowvar=False) for _ in range(300)]
    variances = np.diag(np.mean(drawn, axis=0))
    # 300 draws of 30 rows: a standard error of 1.5% for each variance.
    np.testing.assert_allclose(variances, X.var(axis=0, ddof=1), rtol=0.08)
    shuffled = without_clusters(X, "columns", rng)
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(X, axis=0))


@pytest.mark.parametrize(
    ("n_clusters_range", "message"), [((1, 3), "from 2 on"), ((5, 4), "in order"), ((2, 70), "70 ")]
)
def test_wrong_ranges_are_refused(n_clusters_range, message):
    with pytest.raises(ValueError, match=message):
        ConsensusClusterNumber(n_clusters_range=n_clusters_range).fit(groups(2, 1))


def test_frames_of_labelings_are_read_by_rows_and_other_forms_refused():
    pandas = pytest.importorskip("pandas")
    labelings = [[0, 0, 1, 1], [0, 1, 1, 1], [2, 2, 0, 0]]
    assert consensus_index(pandas.DataFrame(labelings)) == consensus_index(labelings)
    X = np.random.default_rng(0).normal(size=(20, 4))
    for call, message in (
        (lambda: consensus_index([[[0, 1]], [[1, 0]]]), "one label for each row"),
        (lambda: expected_mi_bounds([3], [1, 9]), "same sum"),
        (lambda: ConsensusClusterNumber(n_clusters_range=(2, 3, 4)).fit(X), "smallest and the largest"),
        (lambda: ConsensusClusterNumber(average_method="joint").fit(X), "does not go with"),
        (lambda: ConsensusClusterNumber(PCA()).fit(X), "PCA has no n_clusters"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
