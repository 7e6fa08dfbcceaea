"""Savu-Krohn and Auer (2006): a simple feature extraction for high dimensional image representations."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from fewer.datasets import make_subspace_clusters
from fewer.extract import FastProjectiveClustering, SubspaceDistanceFeatures, cluster_coverage
from fewer.extract.subspace_clusters._boxes import Rule, SortedColumns, logs_up_to
from fewer.learn import LPBoost
from tolerances import rounding

BIC = {"gain_per_log": 1.5, "gain_at_least": 0.0}


def intervals(x, rule, n_passes=1_000_000):
    """Bounds of the one column, None if there is no interval, and the gain of the first pass."""
    found = SortedColumns.of(x[:, None]).intervals(rule, logs_up_to(len(x)), n_passes)
    return (None if found.slices[0, 1] == 0 else found.bounds[0]), float(found.gains[0])


def best_of_all_pairs(x):
    """The best of all intervals, by all pairs of bounds: its gain and its bounds."""
    x = np.sort(x)
    m = len(x)
    positions = np.r_[x[0], (x[1:] + x[:-1]) / 2, x[-1]]
    low, high = np.triu_indices(m + 1, 1)
    partly = (low > 0) | (high < m)
    low, high = low[partly], high[partly]
    inside, width = high - low, (positions[high] - positions[low]) / (x[-1] - x[0])
    outside = m - inside
    gains = inside * np.log(inside / (m * width)) + outside * np.log(outside / (m * (1 - width)))
    best = gains.argmax()
    return gains[best], positions[low[best]], positions[high[best]]


@pytest.mark.claim("subspace-clusters", 1)
def test_the_dense_block_is_found_and_not_cut_further(figure):
    ends, gains = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.r_[rng.uniform(size=500), rng.uniform(0.4, 0.45, size=500)]
        first, gain = intervals(x, Rule(32), n_passes=1)
        ends.append(np.abs(first - [0.4, 0.45]).max())
        gains.append(gain)
        np.testing.assert_array_equal(intervals(x, Rule(32, **BIC))[0], first)
    figure(f"ends within {max(ends):.4f} in 20 of 20, gain {min(gains):.0f} or more")
    assert max(ends) < 0.002
    assert min(gains) > 800


@pytest.mark.claim("subspace-clusters", 1)
def test_even_density_has_no_interval(figure):
    draws = [np.random.default_rng(seed).uniform(size=1000) for seed in range(20)]
    without, with_bic = (sum(intervals(x, rule)[0] is not None for x in draws) for rule in (Rule(32), Rule(32, **BIC)))
    figure(f"intervals in uniform points: {with_bic} of 20 with BIC, {without} of 20 without")
    assert with_bic <= 1
    assert without > 5


@pytest.mark.claim("subspace-clusters", 2)
def test_a_valley_is_never_taken_for_a_cluster(figure):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = np.r_[rng.normal(0, 0.1, size=500), rng.normal(5, 0.1, size=500)]
        _, *valley = best_of_all_pairs(x)
        assert 0 < valley[0] < 0.5 < 4.5 < valley[1] < 5
        for n_passes in (1, 1_000_000):
            low, high = intervals(x, Rule(32, **BIC), n_passes)[0]
            assert -0.5 < low < high < 0.5 or 4.5 < low < high < 5.5
    figure("in one of the two modes in 5 of 5")


@pytest.mark.claim("subspace-clusters", 3)
def test_coarse_to_fine_reaches_the_exhaustive_gain(figure):
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.r_[rng.uniform(size=120), rng.uniform(0.3, 0.4, size=80)]
        best, low, high = best_of_all_pairs(x)
        shares.append(intervals(x, Rule(15), n_passes=1)[1] / best)
        # A gain is two logarithms of shares of the range, each times a number of rows.
        assert shares[-1] <= 1 + rounding(4, scale=200 * np.log(200) / best, condition=1 / (high - low))
    figure(f"{min(shares):.3f} or more of it in 20 samples")
    assert min(shares) >= 0.98


def k_means_coverage(X, y, k):
    return cluster_coverage(y, KMeans(k, n_init=1, max_iter=30, random_state=0).fit(X).labels_)


def recipe(noise, seed):
    """The recipe: 10,450 rows in 19 clusters and, if asked for, a quarter of the rows noise."""
    return make_subspace_clusters(round(10_450 / (1 - noise)), noise=noise, random_state=seed)


@pytest.mark.claim("subspace-clusters", 4)
def test_boxes_cover_what_k_means_cannot_see(figure):
    X, y, truth = recipe(0.0, 0)
    model = FastProjectiveClustering(min_gain=None).fit(X)
    ours, theirs = cluster_coverage(y, model.labels_), k_means_coverage(X, y, model.n_clusters_)
    best = np.bincount(model.labels_[y == 18]).argmax()
    figure(f"no noise, seed 0: {model.n_clusters_} boxes cover {ours:.3f}, k-means {theirs:.3f}")
    assert ours > 0.45
    assert ours > 3 * theirs
    assert set(truth["tight"][18]) <= set(model.bounds_[best])


@pytest.mark.slow
@pytest.mark.claim("subspace-clusters", 4)
@pytest.mark.parametrize(("noise", "enough"), [(0.0, 0.45), (0.25, 0.33)])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("min_gain", [None, "bic"])
def test_boxes_cover_what_k_means_cannot_see_with_noise_too(noise, enough, seed, min_gain, figure):
    X, y, truth = recipe(noise, seed)
    model = FastProjectiveClustering(min_gain=min_gain).fit(X)
    ours = cluster_coverage(y, model.labels_)
    same, true = (k_means_coverage(X, y, k) for k in (model.n_clusters_, 19))
    best = np.bincount(model.labels_[y == 18]).argmax()
    figure(
        f"noise {noise}, seed {seed}, {min_gain}: {model.n_clusters_} boxes {ours:.3f}, k-means {same:.3f}, {true:.3f}"
    )
    assert ours > enough
    assert ours > 3 * same
    assert set(truth["tight"][18]) <= set(model.bounds_[best])


@pytest.mark.claim("subspace-clusters", 5)
@pytest.mark.parametrize("min_gain", [None, "bic"])
def test_neither_order_of_rows_nor_units_matter(min_gain, figure):
    X, _, _ = make_subspace_clusters(2000, n_clusters=5, random_state=0)
    model = FastProjectiveClustering(min_gain=min_gain)
    labels = model.fit(X).labels_
    assert len(np.unique(labels)) > 3
    np.testing.assert_array_equal(model.fit(X).labels_, labels)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.fit(X[order]).labels_, labels[order])
    for column in (0, 12):
        scaled = X.copy()
        scaled[:, column] *= 1000
        np.testing.assert_array_equal(model.fit(scaled).labels_, labels)
    figure(f"{min_gain}: {labels.max() + 1} clusters, the same every time")


@pytest.mark.claim("subspace-clusters", 6)
@pytest.mark.parametrize("min_gain", [None, "bic"])
def test_clusters_are_a_partition_and_cuts_leave_enough_on_both_sides(min_gain, monkeypatch, figure):
    sides = []
    keep = SortedColumns.keep

    def watched(self, kept, into):
        n_before = self.n_rows
        keep(self, kept, into)
        sides.extend([into.n_rows, n_before - into.n_rows])

    monkeypatch.setattr(SortedColumns, "keep", watched)
    X, _, _ = make_subspace_clusters(2000, n_clusters=5, random_state=0)
    model = FastProjectiveClustering(min_gain=min_gain).fit(X)
    figure(f"{min_gain}: {len(sides) // 2} cuts left {min(sides)} rows or more on both sides; 45 are asked for")
    assert min(sides) >= 45
    np.testing.assert_array_equal(np.bincount(model.labels_, minlength=model.n_clusters_), model.sizes_)
    assert model.sizes_.sum() == len(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.claim("subspace-clusters", 7)
def test_a_box_takes_less_than_a_look_at_every_cell_and_twice_the_columns_twice_the_work(monkeypatch, figure):
    """Seconds differ from machine to machine; the cells in which intervals are looked for do not."""
    cells = [0]
    intervals_of = SortedColumns.intervals

    def counted(self, *arguments):
        cells[0] += self.n_rows * len(self.values)
        return intervals_of(self, *arguments)

    monkeypatch.setattr(SortedColumns, "intervals", counted)
    X = make_subspace_clusters(10_000, random_state=0).X
    looked_at = []
    for table in (X, np.hstack([X, X])):  # the same columns once more: the same boxes, for twice the work
        cells[0] = 0
        n_boxes = FastProjectiveClustering(min_gain=None).fit(table).n_clusters_
        looked_at.append(cells[0])
    figure(f"each cell is looked at {looked_at[0] / X.size:.1f} times for {n_boxes} boxes")
    assert looked_at[0] < n_boxes * X.size
    assert looked_at[1] == 2 * looked_at[0]


def two_boxes(n_rows=600, seed=0):
    """Rows of two boxes, each tight in two columns of its own, among rows from anywhere else."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 6))
    X[:150, :2] = 0.2 + 0.05 * X[:150, :2]
    X[150:300, 2:4] = 0.7 + 0.05 * X[150:300, 2:4]
    return X


@pytest.mark.claim("subspace-clusters", 8)
def test_rows_have_their_distance_inside_and_infinity_outside():
    X = two_boxes()
    model = FastProjectiveClustering().fit(X)
    distances = model.transform(X)
    assert model.n_clusters_ >= 3
    for label, bounds in enumerate(model.bounds_):
        inside = np.all([(X[:, j] >= low) & (X[:, j] <= high) for j, (low, high) in bounds.items()], axis=0)
        inside = np.broadcast_to(inside, len(X))
        expected = np.linalg.norm(X - X[model.labels_ == label].mean(axis=0), axis=1)
        np.testing.assert_allclose(distances[inside, label], expected[inside])
        assert np.isinf(distances[~inside, label]).all()


@pytest.mark.claim("subspace-clusters", 8)
def test_boosted_stumps_tell_the_rows_of_two_boxes_from_all_others(figure):
    X = two_boxes()
    features = SubspaceDistanceFeatures().fit(X)
    y = np.where(features.clustering_.labels_ < 2, "in", "out")
    distances = features.transform(X)
    model = LPBoost().fit(distances, y)
    figure(f"{model.score(distances, y):.0%} by {len(model.estimators_)} thresholds")
    assert model.score(distances, y) == 1
    assert set(np.flatnonzero(model.feature_importances_)) == {0, 1}
