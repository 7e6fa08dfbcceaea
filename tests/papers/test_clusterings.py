"""Vinh, Epps and Bailey (2010): information theoretic measures for clusterings comparison."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    mutual_info_score,
    normalized_mutual_info_score,
    rand_score,
)

from fewer.evaluate import (
    ConsensusClusterNumber,
    adjusted_mutual_info,
    clustering_comparison,
    consensus_index,
    expected_mi_bounds,
    expected_mutual_info,
)
from tolerances import rounding

UNEQUAL = np.array([2, 4, 6, 8, 10, 10, 12, 14, 16, 18])


@pytest.mark.claim("clusterings", 1)
def test_the_worked_example_of_the_paper(figure):
    equal = np.full(10, 10)
    found = [expected_mutual_info(equal, UNEQUAL), *expected_mi_bounds(equal, UNEQUAL)]
    np.testing.assert_allclose(found, [0.4618, 0.5584, 0.5978], atol=5e-5)
    larger = [expected_mutual_info(10 * equal, 10 * UNEQUAL), *expected_mi_bounds(10 * equal, 10 * UNEQUAL)]
    np.testing.assert_allclose(larger, [0.0422, 0.0764, 0.0780], atol=5e-5)
    figure(", ".join(f"{value:.4f}" for value in found + larger))


@pytest.mark.claim("clusterings", 2)
def test_expected_information_is_the_mean_over_all_orders():
    for first, second in (([0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 1, 1, 2, 3]), ([0, 0, 0, 0, 1], [0, 1, 1, 2, 2])):
        every = [mutual_info_score(first, order) for order in set(permutations(second))]
        found = expected_mutual_info(np.bincount(first), np.bincount(second))
        # Terms are exponentials of sums of log-factorials, of at most log 7!; the mean is of at most 420 orders.
        tolerance = rounding(max(len(every), 49), np.log(7), gammaln(8))
        np.testing.assert_allclose(found, np.mean(every), rtol=0, atol=tolerance)


@pytest.mark.claim("clusterings", 2)
def test_expected_information_is_the_mean_over_random_orders(figure):
    rng = np.random.default_rng(0)
    first, second = rng.integers(5, size=60), rng.integers(7, size=60)
    keys = 7 * first + np.array([rng.permutation(second) for _ in range(20_000)])
    overlaps = np.apply_along_axis(np.bincount, 1, keys, minlength=35) / 60
    joint = -np.where(overlaps > 0, overlaps * np.log(np.maximum(overlaps, 1e-9)), 0).sum(axis=1)
    shares = [np.bincount(labels) / 60 for labels in (first, second)]
    drawn = -sum(share @ np.log(share) for share in shares) - joint
    error = drawn.std() / np.sqrt(len(drawn))
    found = expected_mutual_info(np.bincount(first), np.bincount(second))
    assert abs(found - drawn.mean()) < 3 * error
    figure(f"{found:.5f}, drawn {drawn.mean():.5f} +- {error:.5f}")


def labels_of(table):
    """Two labelings with these overlaps."""
    table = np.array(table)
    rows, columns = np.indices(table.shape)
    return np.repeat(rows.ravel(), table.ravel()), np.repeat(columns.ravel(), table.ravel())


WORSE = labels_of([[10, 0, 0, 0, 0]] * 3 + [[0, 0, 0, 10, 0], [0, 2, 6, 0, 2]])
BETTER = labels_of([[27, 0, 0, 2, 0], [0, 2, 0, 0, 0], [0, 0, 6, 0, 0], [3, 0, 0, 8, 0], [0, 0, 0, 0, 2]])


@pytest.mark.claim("clusterings", 3)
def test_only_the_smaller_entropy_prefers_the_worse_clustering():
    worse, better = clustering_comparison(*WORSE), clustering_comparison(*BETTER)
    for found, information, expected, variation, similar, adjusted in (
        (worse, 0.9503, 0.1838, 0.8492, (0.5281, 0.5904, 0.6912, 0.7014, 0.8333), (0.5376, 0.6435, 0.6546, 0.8013)),
        (better, 0.8659, 0.1522, 0.5696, (0.6032, 0.7458, 0.7525, 0.7525, 0.7593), (0.7074, 0.7148, 0.7148, 0.7222)),
    ):
        np.testing.assert_allclose(found.mutual_info, information, atol=5.1e-5)
        np.testing.assert_allclose(found.expected_mutual_info, expected, atol=5.1e-5)
        np.testing.assert_allclose(found.variation_of_information, variation, atol=5.1e-5)
        names = ("joint", "max", "sum", "sqrt", "min")
        np.testing.assert_allclose([found.similarity(name) for name in names], similar, atol=5.1e-5)
        np.testing.assert_allclose([found.similarity(name, adjust=True) for name in names[1:]], adjusted, atol=5.1e-5)
    prefer_worse = {name for name in names if worse.similarity(name) > better.similarity(name)}
    assert prefer_worse == {"min"}
    for options in ({"normalized": False}, {"normalized": True}, {"adjust": True}):
        for name in names[1:] if "adjust" in options else names:
            prefers_worse = worse.distance(name, **options) < better.distance(name, **options)
            assert prefers_worse == (name == "min")
    assert worse.mutual_info > better.mutual_info


@pytest.mark.claim("clusterings", 4)
def test_joint_and_largest_entropy_give_metrics():
    rng = np.random.default_rng(0)
    for _ in range(300):
        U, V, W = (rng.integers(rng.integers(1, 7), size=12) for _ in range(3))
        pairs = [clustering_comparison(*pair) for pair in ((U, V), (U, W), (W, V))]
        for normalized in (True, False):
            for name in ("joint", "max"):
                far, first, second = (pair.distance(name, normalized=normalized) for pair in pairs)
                # Entropies of twelve rows, of at most log 12.
                assert far <= first + second + rounding(36, np.log(12))


@pytest.mark.claim("clusterings", 4)
def test_the_other_distances_violate_the_triangle_inequality(figure):
    X, Y = [0, 0, 1, 1], [0, 1, 0, 1]
    pairs = [clustering_comparison(*pair) for pair in ((X, Y), (X, [0, 1, 2, 3]), ([0, 1, 2, 3], Y))]
    for name, normalized in (("min", False), ("sqrt", False), ("min", True), ("sum", True), ("sqrt", True)):
        far, first, second = (pair.distance(name, normalized=normalized) for pair in pairs)
        assert far > first + second + 1e-9
    U, V, X = [3, 1, 1, 1, 2], [2, 2, 3, 1, 2], [2, 1, 1, 1, 2]
    pairs = [clustering_comparison(*pair) for pair in ((U, V), (U, X), (X, V))]
    found = {name: [pair.distance(name, adjust=True) for pair in pairs] for name in ("max", "sum", "sqrt", "min")}
    assert all(far > first + second for far, first, second in found.values())
    np.testing.assert_allclose(found["max"], [1.5441, 0.4465, 1.0615], atol=5e-5)
    np.testing.assert_allclose(found["min"], [1.5441, 0, 1.1111], atol=5e-5)
    figure(f"Ad_max {found['max'][0]:.4f} > {found['max'][1]:.4f} + {found['max'][2]:.4f}")


@pytest.mark.claim("clusterings", 5)
def test_agreement_with_scikit_learn(figure):
    rng, gaps = np.random.default_rng(0), []
    averages = {"max": "max", "sum": "arithmetic", "sqrt": "geometric", "min": "min"}
    for _ in range(100):
        n = int(rng.integers(10, 300))
        U, V = rng.integers(rng.integers(2, 12), size=n), rng.integers(rng.integers(2, 12), size=n)
        V = np.where(rng.random(n) < rng.random(), U, V)
        found = clustering_comparison(U, V)
        for ours, theirs in averages.items():
            gaps.append(found.similarity(ours) - normalized_mutual_info_score(U, V, average_method=theirs))
            gaps.append(found.similarity(ours, adjust=True) - adjusted_mutual_info_score(U, V, average_method=theirs))
        gaps.append(found.adjusted_rand_index - adjusted_rand_score(U, V))
        gaps.append(found.rand_index - rand_score(U, V))
        # What it lacks: the same information over the joint entropy, and the distances.
        entropies = mutual_info_score(U, U), mutual_info_score(V, V)
        information = mutual_info_score(U, V)
        gaps.append(found.similarity("joint") - information / (sum(entropies) - information))
        gaps.append(found.variation_of_information - (sum(entropies) - 2 * information))
        gaps.append(found.normalized_information_distance - (1 - information / max(entropies)))
    assert np.abs(gaps).max() < 1e-10
    figure(f"largest difference {np.abs(gaps).max():.1e}")


@pytest.mark.claim("clusterings", 6)
def test_only_adjusted_scores_of_random_labels_are_zero(figure):
    rng = np.random.default_rng(0)
    few = [clustering_comparison(*rng.integers(10, size=(2, 50))) for _ in range(500)]
    plain, adjusted = np.mean([(each.similarity(), each.similarity(adjust=True)) for each in few], axis=0)
    assert abs(plain - 0.36) < 0.01
    assert abs(adjusted) < 0.01
    many = np.mean([clustering_comparison(*rng.integers(10, size=(2, 1000))).similarity() for _ in range(100)])
    assert abs(many - 0.018) < 0.001
    figure(f"NMI {plain:.3f}, AMI {adjusted:+.4f}; with 1,000 rows NMI {many:.4f}")


def four_classes(n_rows=40, n_columns=600):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    for label in range(4):
        X[label * 10 : (label + 1) * 10, label * 50 : (label + 1) * 50] += 1.5
    return X


@pytest.mark.claim("clusterings", 7)
@pytest.mark.parametrize(
    ("n_clusters_range", "n_resamples"), [((3, 6), 6), pytest.param((2, 8), 20, marks=pytest.mark.slow)]
)
def test_adjusted_consensus_peaks_at_the_four_true_clusters(n_clusters_range, n_resamples, figure):
    model = ConsensusClusterNumber(n_clusters_range=n_clusters_range, n_resamples=n_resamples, random_state=0).fit(
        four_classes()
    )
    index = {
        measure: [consensus_index(labels, measure=measure) for labels in model.labelings_]
        for measure in ("ami", "ari", "mi")
    }
    np.testing.assert_allclose(index["ami"], model.consensus_index_, atol=rounding(40))
    assert model.best_k_ == model.k_values_[np.argmax(index["ari"])] == 4
    assert 0.9 < max(index["ami"]) <= 1
    assert np.argmax(index["mi"]) == len(model.k_values_) - 1
    figure(f"AMI {max(index['ami']):.3f} at {model.best_k_}")


@pytest.mark.claim("clusterings", 7)
def test_unadjusted_consensus_of_noise_grows_with_the_number_of_clusters(figure):
    noise = np.random.default_rng(1).normal(size=(40, 600))
    single = KMeans(init="random", n_init=1)
    model = ConsensusClusterNumber(single, n_clusters_range=(2, 10), n_resamples=12, random_state=0).fit(noise)
    plain = [consensus_index(labels, measure="nmi") for labels in model.labelings_]
    assert plain[0] < 0.1
    assert 0.35 < plain[-1] < 0.5
    assert (np.diff(plain) > 0).all()
    assert model.consensus_index_.max() < 0.1
    figure(f"NMI {plain[0]:.2f} to {plain[-1]:.2f}, AMI at most {model.consensus_index_.max():.2f}")


@pytest.mark.claim("clusterings", 8)
def test_large_clusterings_are_compared_without_a_table_of_all_clusters():
    import tracemalloc

    rng = np.random.default_rng(0)
    # Clusters in numbers of which a dense table would have 10^10 entries.
    U = rng.integers(100_000, size=100_000)
    tracemalloc.start()
    found = clustering_comparison(U, np.roll(U, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert abs(found.adjusted_mutual_info) < 0.02
    assert peak < 100e6
    U, V = rng.integers(300, size=(2, 100_000))
    # Four standard errors: 2 N I is chi-square with 299^2 degrees of freedom.
    assert abs(adjusted_mutual_info(U, V)) < 4 * np.sqrt(2) * 299 / 200_000 / np.log(300)
