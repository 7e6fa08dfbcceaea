"""Hubs: neighbours, counts, distances without hubs."""

import sys
import tracemalloc
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler, scale
from sklearn.semi_supervised import LabelPropagation

from fewer._kernels import _neighbours
from fewer._kernels._neighbours import (
    nearest_neighbours,
)
from fewer.evaluate import (
    HubnessAnalyzer,
    cluster_assumption_violation,
    hubness_curve,
    hubness_sample_weight,
    k_occurrences,
    mle_intrinsic_dimension,
    outlier_hubness,
    relative_silhouette,
    secondary_distances,
)
from fewer.evaluate.hubs._hubness import betweenness
from fewer.evaluate.hubs._occurrences import log_normal_tail
from fewer.learn import HarmonicClassifier, HubnessWeightedKNeighborsClassifier
from tolerances import rounding


def listed_by_hand(X, k):
    """Neighbours from sorted differences; of equal distances, the smaller row number first."""
    found = []
    for row in range(len(X)):
        squares = ((X - X[row]) ** 2).sum(axis=1)
        squares[row] = np.inf
        found.append(np.argsort(squares, kind="stable")[:k])
    return np.array(found)


@pytest.mark.parametrize(("n_rows", "shift", "unit"), [(40, 0, 1), (700, 0, 1e-150), (1300, 1e5, 1), (513, 0, 1e150)])
def test_exact_neighbours_are_those_of_all_differences(n_rows, shift, unit):
    X = (np.random.default_rng(n_rows).normal(size=(n_rows, 9)) + shift) * unit
    neighbours, distances = nearest_neighbours(X, 6)
    np.testing.assert_array_equal(neighbours, listed_by_hand(X / unit, 6))
    expected = np.linalg.norm((X[:, None] - X[neighbours]) / unit, axis=2) * unit
    np.testing.assert_allclose(distances, expected, rtol=rounding(9))  # of differences, which are taken first


def test_of_equal_distances_the_smaller_row_number_comes_first():
    X = np.random.default_rng(0).integers(3, size=(900, 4)).astype(float)
    for start in (None, 5):
        table = X if start is None else X[:start]
        k = 8 if start is None else 2
        np.testing.assert_array_equal(nearest_neighbours(table, k)[0], listed_by_hand(table, k))
    given = nearest_neighbours(pairwise_distances(X[:200]), 8, "precomputed")[0]
    np.testing.assert_array_equal(given, listed_by_hand(X[:200], 8))


def test_rows_in_far_clusters_still_find_their_neighbours():
    rng = np.random.default_rng(0)
    X = 1e4 * rng.integers(5, size=(600, 1)) + 1e-3 * rng.normal(size=(600, 8))
    np.testing.assert_array_equal(nearest_neighbours(X, 5)[0], listed_by_hand(X, 5))


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2100, 30))
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr(_neighbours, "_n_threads", lambda n_threads=n_threads: n_threads)
        results.append(nearest_neighbours(X, 5))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "canberra", "braycurtis", "minkowski", "sqeuclidean"])
def test_other_metrics_agree_with_scikit_learn(metric):
    X = np.random.default_rng(0).exponential(size=(200, 7))
    params = {"p": 3} if metric == "minkowski" else None
    neighbours, distances = nearest_neighbours(X, 4, metric, params)
    search = NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute", p=3).fit(X)
    expected = search.kneighbors()
    np.testing.assert_array_equal(neighbours, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-9)


def test_fractional_norms_are_taken():
    X = np.random.default_rng(0).normal(size=(100, 5))
    D = (np.abs(X[:, None] - X) ** 0.5).sum(axis=2) ** 2
    found = k_occurrences(X, 3, metric="minkowski", metric_params={"p": 0.5})
    np.testing.assert_array_equal(found.neighbors, k_occurrences(D, 3, metric="precomputed").neighbors)


def test_sparse_tables_give_the_same_counts():
    X = np.random.default_rng(0).poisson(0.5, size=(150, 30)) + np.random.default_rng(1).uniform(size=(150, 30))
    for metric in ("euclidean", "cosine"):
        dense, stored = (k_occurrences(table, 5, metric=metric) for table in (X, sparse.csr_array(X)))
        np.testing.assert_array_equal(dense.n_occurrences, stored.n_occurrences)


def test_large_tables_announce_how_neighbours_are_found(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    monkeypatch.setattr("fewer.evaluate.hubs._occurrences.EXACT_ROWS", 50)
    with pytest.warns(UserWarning, match="60 rows.*neighbours are exact.*pynndescent"):
        exact = k_occurrences(X, 4)

    class NNDescent:
        """Exact neighbours, the row itself first, and -1 where there are too few, as pynndescent gives them."""

        missing = 0

        def __init__(self, X, metric, metric_kwds, n_neighbors, random_state):
            assert n_neighbors <= len(X)
            distances, found = NearestNeighbors(n_neighbors=n_neighbors, metric=metric).fit(X).kneighbors(X)
            if self.missing:
                found[0, -self.missing :], distances[0, -self.missing :] = -1, np.inf
            self.neighbor_graph = found.astype(np.int32), distances.astype(np.float32)

    fake = ModuleType("pynndescent")
    fake.NNDescent = NNDescent
    fake.__spec__ = ModuleSpec("pynndescent", None)
    monkeypatch.setitem(sys.modules, "pynndescent", fake)
    with pytest.warns(UserWarning, match="neighbours are approximate"):
        approximate = k_occurrences(X, 4, random_state=0)
    np.testing.assert_array_equal(exact.neighbors, approximate.neighbors)
    k_occurrences(X, 4, solver="approximate")
    NNDescent.missing = 26  # of the 31 that are asked for: 4 others and the row itself are left
    np.testing.assert_array_equal(k_occurrences(X, 4, solver="approximate").neighbors, exact.neighbors)
    NNDescent.missing = 27
    with pytest.raises(ValueError, match="fewer than 4 neighbours of 1 of 60 rows"):
        k_occurrences(X, 4, solver="approximate")
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"needs the package pynndescent: pip install .fewer\[neighbours\]"):
        k_occurrences(X, 4, solver="approximate")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 20}, "below the number of rows"),
        ({"metric": "precomputed"}, "square"),
        ({"metric": "neighbors"}, "row numbers"),
        ({"y": [0, 1]}, "20 rows and y has 2"),
        ({"solver": "fast"}, "solver='fast'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        k_occurrences(np.random.default_rng(0).normal(size=(20, 3)), **({"n_neighbors": 5} | arguments))


def test_equal_counts_have_no_skewness():
    circle = np.exp(2j * np.pi * np.arange(4) / 4)
    square = np.column_stack([circle.real, circle.imag]).round(6)
    with pytest.warns(UserWarning, match="equally often"):
        model = HubnessAnalyzer(2).fit(square)
    assert np.isnan(model.skewness_)
    assert np.isnan(model.intrinsic_dim_)
    assert len(model.hubs_) == 0


def test_hubs_of_wine_lie_at_the_centres_of_clusters():
    X, y = load_wine(return_X_y=True)
    model = HubnessAnalyzer(cluster=True, n_init=2, random_state=0).fit(scale(X), y)
    # The paper has -0.874 and the sheet's own run -0.875, from ten starts.
    assert abs(model.cluster_correlation_ + 0.874) < 0.03
    assert 0.04 < model.cav_ < 0.12
    assert set(model.hubs_) & set(model.antihubs_) == set()
    assert "of all neighbours are of another class" in model.reading_
    assert [trace.name for trace in model.plot().data] == ["this table", "without hubs (Poisson)", "log-normal tail"]


def test_duplicate_rows_do_not_change_the_dimension():
    X = np.random.default_rng(0).uniform(size=(300, 4))
    doubled = np.r_[X, X[:100]]
    expected = mle_intrinsic_dimension(X)
    assert 3 < expected < 4.5
    tolerance = rounding(300 * 12)  # the same distances to twelve neighbours each, summed in another order of the rows
    np.testing.assert_allclose(mle_intrinsic_dimension(doubled), expected, rtol=tolerance)
    np.testing.assert_allclose(HubnessAnalyzer().fit(doubled).intrinsic_dim_, expected, rtol=tolerance)
    np.testing.assert_allclose(mle_intrinsic_dimension(sparse.csr_array(doubled)), expected, rtol=1e-6)
    given = mle_intrinsic_dimension(pairwise_distances(X), metric="precomputed")
    np.testing.assert_allclose(given, expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["local_scaling", "mutual_proximity"])
def test_secondary_distances_are_symmetric_and_have_fewer_hubs(method):
    X = np.random.default_rng(0).normal(size=(600, 60))
    D = secondary_distances(X, method)
    # The probability that a normal distribution leaves beyond a distance, in units of a spread that is a 15th of it.
    np.testing.assert_allclose(D, D.T, rtol=0, atol=rounding(len(X), condition=15))
    assert (D.diagonal() == 0).all()
    assert D.min() == 0
    assert D.max() <= 1
    corrected = k_occurrences(D, 10, metric="precomputed")
    plain = k_occurrences(X, 10)
    assert corrected.skewness < 0.6 * plain.skewness
    assert corrected.antihub_fraction < 0.5 * plain.antihub_fraction


def test_local_scaling_is_its_formula():
    X = np.random.default_rng(0).normal(size=(30, 5))
    D = pairwise_distances(X)
    kth = np.sort(D, axis=1)[:, 4]
    expected = 1 - np.exp(-(D**2) / np.outer(kth, kth))
    # The peer's squared distances are squares of lengths less products; the exponent has them over those of the kth.
    tolerance = rounding(5, condition=(X**2).sum(axis=1).max() / kth.min() ** 2)
    np.testing.assert_allclose(secondary_distances(X, "local_scaling", 4), expected, rtol=0, atol=tolerance)


def test_rows_with_many_equals_have_finite_corrected_distances():
    X = np.random.default_rng(0).normal(size=(40, 5))
    X[:12] = X[0]
    for method in ("local_scaling", "mutual_proximity"):
        D = secondary_distances(X, method, 5)
        assert np.isfinite(D).all()
    D = secondary_distances(X, "local_scaling", 5)
    assert (D[:12, :12] == 0).all()
    assert (D[0, 12:] == 1).all()


def test_training_rows_classify_themselves_by_the_same_corrected_distances():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 40)) + y[:, None]
    for correction in ("local_scaling", "mutual_proximity"):
        model = HubnessWeightedKNeighborsClassifier(5, correction=correction, weights="uniform").fit(X, y)
        D = secondary_distances(X, correction, 5)
        expected = KNeighborsClassifier(5, metric="precomputed").fit(D, y)
        new = rng.normal(size=(40, 40)) + np.repeat([0, 1], 20)[:, None]
        assert model.score(new, np.repeat([0, 1], 20)) > 0.9
        assert np.mean(model.predict(X) == expected.predict(D)) > 0.95


def test_uniform_votes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 10)), rng.integers(3, size=150)
    new = rng.normal(size=(60, 10))
    ours = HubnessWeightedKNeighborsClassifier(7, weights="uniform").fit(X, y).predict_proba(new)
    np.testing.assert_allclose(ours, KNeighborsClassifier(7).fit(X, y).predict_proba(new), rtol=0, atol=rounding(7))


def test_sample_weights_are_largest_for_usual_rows():
    X = np.random.default_rng(0).normal(size=(300, 60))
    weights = hubness_sample_weight(X)
    counts = k_occurrences(X).n_occurrences
    np.testing.assert_allclose(weights.sum(), 1)
    assert abs(counts[weights.argmax()] - 10) <= 1
    assert weights[counts.argmax()] < weights.mean() > weights[counts.argmin()]


def test_clusters_of_one_class_violate_nothing():
    X = np.repeat([[0.0], [10.0], [20.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(60, 1))
    y = np.repeat([0, 1, 2], 20)
    assert cluster_assumption_violation(X, y, 3, random_state=0) == 0
    # 3 clusters of 10 + 10 rows of two classes: 100 of 190 pairs differ.
    np.testing.assert_allclose(cluster_assumption_violation(X, np.arange(60) % 2, 3, random_state=0), 100 / 190)


def test_outliers_are_antihubs_in_many_dimensions():
    X = np.random.default_rng(0).normal(size=(400, 80))
    X[0] += 5
    found = outlier_hubness(X)
    assert found.scores.argmax() == 0
    assert found.n_occurrences[0] == 0
    assert found.correlation < -0.8
    assert found.contrast > 0
    assert found.to_dict()["correlation"] == found.correlation


def test_antihubs_lie_far_from_their_own_cluster():
    labels = np.repeat([0, 1], 150)
    X = np.random.default_rng(0).normal(size=(300, 50)) + labels[:, None]
    found = relative_silhouette(X, labels, random_state=0)
    assert found.hubs["within"] < 1 < found.antihubs["within"]
    assert found.antihubs["silhouette"] < 1


def test_betweenness_counts_shortest_paths_as_networkx_does():
    networkx = pytest.importorskip("networkx")
    neighbours = k_occurrences(np.random.default_rng(0).normal(size=(150, 8)), 4).neighbors
    graph = networkx.DiGraph([(row, int(other)) for row, others in enumerate(neighbours) for other in others])
    expected = networkx.betweenness_centrality(graph, normalized=False)
    np.testing.assert_allclose(betweenness(neighbours), [expected[row] for row in range(150)], rtol=1e-10)


def test_paths_lead_through_hubs_the_more_the_more_dimensions_there_are():
    found = [HubnessAnalyzer(5, betweenness=True).fit(np.random.default_rng(0).uniform(size=(600, d))) for d in (3, 20)]
    assert found[0].betweenness_correlation_ < 0.5 < 0.7 < found[1].betweenness_correlation_
    assert HubnessAnalyzer(5).fit(np.eye(20)).betweenness_correlation_ is None


def test_tails_of_hubs_are_log_normal_where_counts_are():
    rng = np.random.default_rng(0)
    counts = np.round(rng.lognormal(1.8, 0.8, size=20_000)).astype(int)
    tail = log_normal_tail(counts, 6)
    assert tail.n_rows == np.sum(counts >= 6)
    # Standard errors of mean and std from 11,000 truncated counts are about 0.03 and 0.015.
    assert abs(tail.mean - 1.8) < 0.12
    assert abs(tail.std - 0.8) < 0.06
    assert tail.p_value > 1e-3
    assert log_normal_tail(6 + rng.integers(60, size=20_000), 6).p_value < 1e-6
    np.testing.assert_allclose(tail.expected(np.arange(6, 100_000)).sum(), tail.n_rows, rtol=1e-6)
    assert log_normal_tail(np.full(100, 7), 6) is None
    assert k_occurrences(rng.normal(size=(400, 50)), 5).log_normal_tail.start == 6


def partly_labelled(y, rows, value=-1):
    partly = np.full(len(y), value, dtype=object if value is None else y.dtype)
    partly[rows] = y[rows]
    return partly


def test_the_harmonic_function_is_its_formula_and_the_limit_of_label_propagation():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    rows = np.arange(9)
    model = HarmonicClassifier(gamma=0.7).fit(X, partly_labelled(y, rows))
    W = np.exp(-0.7 * pairwise_distances(X) ** 2)
    np.fill_diagonal(W, 0)
    expected = np.linalg.solve(np.diag(W.sum(axis=1)[9:]) - W[9:, 9:], W[9:, :9] @ np.eye(3)[y[:9]])
    np.testing.assert_allclose(model.label_distributions_[9:], expected, atol=1e-7)
    peer = LabelPropagation(gamma=0.7, max_iter=20_000, tol=1e-10).fit(X, partly_labelled(y, rows))
    np.testing.assert_allclose(model.label_distributions_, peer.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, peer.transduction_)


def test_labels_stay_in_their_cluster_and_far_rows_take_the_usual_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + np.repeat([0, 20, 5000], 30)[:, None]
    y = np.repeat(["a", "b", "c"], 30)
    # No label in the third cluster, which is too far from both to have any weight.
    rows = [0, 1, 30]
    for value in ("?", None):
        model = HarmonicClassifier(unlabeled_value=value).fit(X, partly_labelled(y, rows, value))
        assert (model.transduction_[:60] == y[:60]).all()
        np.testing.assert_allclose(model.label_distributions_[60:], np.tile([2 / 3, 1 / 3], (30, 1)), atol=1e-6)
        assert (model.predict(X[:60] + 0.1) == y[:60]).all()
    with pytest.raises(ValueError, match="No row has a label"):
        HarmonicClassifier().fit(X, np.full(90, -1))
    with pytest.raises(ValueError, match="count as rows without a label"):
        HarmonicClassifier().fit(X, np.where(np.arange(90) < 5, 1, -1))


def test_rows_and_arguments_that_do_not_fit_are_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    for call, message in (
        (lambda: k_occurrences(X, 2.5), "must be a whole number"),
        (lambda: k_occurrences(X, "5"), "must be a whole number"),
        (lambda: HubnessAnalyzer(5).fit(X, y[:9]), "X has 40 rows and y has 9"),
        (lambda: HubnessAnalyzer(5, metric="precomputed").fit(X), "must be square"),
        (lambda: cluster_assumption_violation(X, y[:9]), "X has 40 rows and y has 9"),
        (lambda: relative_silhouette(X, y, 500), "below the number of rows"),
        (lambda: relative_silhouette(X, np.where(y, 1.0, np.nan)), "NaN, in row 0"),
        (lambda: relative_silhouette(X, y, n_draws=0), "n_draws=0 must be at least 1"),
        (lambda: k_occurrences(X, metric="minkowski", metric_params={"p": -1}), "p=-1 .* must be above 0"),
        (lambda: k_occurrences(-np.ones((9, 9)), 3, metric="precomputed"), "must not be negative"),
        (lambda: hubness_curve("pca", X, [2]), "must be an estimator"),
        (lambda: hubness_curve(StandardScaler(), X, [2]), "has no n_components"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.warns(UserWarning, match="at distance 0"):
        k_occurrences(np.ones((20, 3)), 5)


def test_memory_does_not_grow_with_the_square_of_the_rows():
    X = np.random.default_rng(0).normal(size=(4000, 20))
    k_occurrences(X[:100])
    tracemalloc.start()
    k_occurrences(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 4000**2
