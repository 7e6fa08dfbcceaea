"""Weights by variance: closed forms, a plain second implementation, sparse and tall tables, and bad input."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.datasets import make_permuted_clusters
from fewer.evaluate import selection_curve
from fewer.select import VarianceWeightSelector
from fewer.select.weights import _unit_columns, _variance_weights
from fewer.select.weights._unit_columns import (
    SparseUnitColumns,
    column_scale,
    leading_eigenvector,
    scaled,
    unit_columns,
)
from tolerances import rounding


def unit(X):
    centred = X - X.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0)


def plain_direct(X):
    last = X.shape[1] - 1
    _, vectors = linalg.eigh(np.corrcoef(X, rowvar=False) ** 2, subset_by_index=[last, last])
    return np.abs(vectors[:, 0])


def plain_q_alpha(X, k, n_sweeps):
    """Algorithm 1 as it is printed, from the direct weights."""
    M = unit(X)

    def directions(weights):
        return np.linalg.eigh((M * weights) @ M.T)[1][:, -k:]

    Q = directions(plain_direct(X))
    for _ in range(n_sweeps):
        G = (M.T @ M) * (M.T @ Q @ Q.T @ M)
        weights = np.linalg.eigh(G)[1][:, -1]
        weights *= np.sign(weights.sum())
        Q = directions(weights)
    return weights


def sparse_counts(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 2, n_rows)
    rates = np.full((2, n_columns), 0.1)
    rates[1, :10] = 1.5
    counts = rng.poisson(rates[topic]).astype(float)
    counts[0, counts.sum(axis=0) == 0] = 1  # no constant column
    return counts


@pytest.mark.parametrize("most", [2000, 10], ids=["with the matrix", "without it where there are fewer rows"])
@pytest.mark.parametrize("shape", [(60, 30), (30, 60), (5, 2)])
def test_direct_weights_equal_the_dense_eigenvector(shape, most, monkeypatch):
    monkeypatch.setattr(_variance_weights, "MATRIX_FREE", most)
    X = np.random.default_rng(0).normal(size=shape) + np.random.default_rng(1).normal(size=(shape[0], 1))
    np.testing.assert_allclose(VarianceWeightSelector().fit(X).weights_, plain_direct(X), atol=1e-8)


@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_one_column_and_two_rows(method):
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(VarianceWeightSelector(method).fit(rng.normal(size=(9, 1))).weights_, [1])
    # Two rows make every pair of columns correlate fully.
    np.testing.assert_allclose(VarianceWeightSelector(method).fit(rng.normal(size=(2, 4))).weights_, np.full(4, 0.5))


@pytest.mark.parametrize("shape", [(50, 120), (200, 25)])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_iterated_weights_equal_algorithm_1_as_printed(shape, k):
    X, _, _ = make_permuted_clusters(*shape, n_relevant=5, random_state=0)
    found = VarianceWeightSelector("iterative", n_directions=k, max_iter=7, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found.fit(X)
    np.testing.assert_allclose(found.weights_, plain_q_alpha(X, k, found.n_iter_), atol=1e-7)
    M = unit(X)
    variances = np.linalg.eigvalsh((M * found.weights_) @ M.T)[-k:]
    assert found.objective_ == pytest.approx(np.sum(variances**2))


def test_columns_that_are_copies_share_the_weight_and_an_unrelated_one_gets_none():
    rng = np.random.default_rng(0)
    one, other = np.linalg.qr(rng.normal(size=(50, 2)))[0].T
    one, other = one - one.mean(), other - other.mean()
    other -= one * (one @ other) / (one @ one)
    X = np.column_stack([one, -3 * one + 5, other, 0.1 * one])
    for method in ("direct", "iterative"):
        selector = VarianceWeightSelector(method, n_directions=1).fit(X)
        np.testing.assert_allclose(selector.weights_, np.array([1, 1, 0, 1]) / np.sqrt(3), atol=1e-9)
        assert selector.objective_ == pytest.approx(3)  # one direction with variance 3 / sqrt(3)


def test_uncorrelated_columns_get_equal_weights():
    X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    np.testing.assert_allclose(VarianceWeightSelector().fit(X).weights_, np.full(3, 3**-0.5), rtol=rounding(4))


def test_weights_do_not_see_shift_scale_or_sign_of_a_column():
    X, _, _ = make_permuted_clusters(n_features=40, random_state=0)
    rng = np.random.default_rng(0)
    moved = X * rng.choice([-5, 0.01, 1000], 40) + rng.normal(size=40)
    for method in ("direct", "iterative"):
        before, after = (VarianceWeightSelector(method).fit(table).weights_ for table in (X, moved))
        np.testing.assert_allclose(before, after, atol=1e-8)


@pytest.mark.parametrize("most", [2000, 10])
@pytest.mark.parametrize("shape", [(60, 30), (30, 60)])
@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_sparse_tables_give_the_same_weights(shape, method, most, monkeypatch):
    monkeypatch.setattr(_variance_weights, "MATRIX_FREE", most)
    X = sparse_counts(*shape)
    expected = VarianceWeightSelector(method).fit(X)
    for form in (sparse.csr_array, sparse.csc_matrix):
        found = VarianceWeightSelector(method).fit(form(X))
        np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-7)
        assert found.objective_ == pytest.approx(expected.objective_)


@pytest.mark.parametrize("block", [2**21, 50])
def test_products_of_sparse_unit_columns_equal_dense_ones(block, monkeypatch):
    monkeypatch.setattr(_unit_columns, "_BLOCK", block)
    X = sparse_counts(20, 35)
    M = unit(X)
    rng = np.random.default_rng(0)
    vector, Q, B = rng.normal(size=35), rng.normal(size=(20, 3)), rng.normal(size=(35, 3))
    scale = column_scale(sparse.csr_array(X))
    # Columns have length 1, rows the length of all of them at most.
    lengths = {"along": np.linalg.norm(Q, axis=0), "combined": np.sqrt(35) * np.linalg.norm(B, axis=0)}
    near = {name: {"rtol": 0, "atol": rounding(35, size.max())} for name, size in lengths.items()}
    near["squares"] = {"rtol": 0, "atol": rounding(35, np.abs(vector).sum())}
    for table in (SparseUnitColumns(sparse.csr_array(X), scale), unit_columns(X, column_scale(X))):
        np.testing.assert_allclose(table.along(Q), M.T @ Q, **near["along"])
        np.testing.assert_allclose(table.along(Q[:, 0]), M.T @ Q[:, 0], **near["along"])
        np.testing.assert_allclose(table.combined(B), M @ B, **near["combined"])
        np.testing.assert_allclose(table.combined(B[:, 0]), M @ B[:, 0], **near["combined"])
        np.testing.assert_allclose(table.gram(vector), (M * vector) @ M.T, **near["squares"])
        np.testing.assert_allclose(
            table.squared_correlation_product(vector), (M.T @ M) ** 2 @ vector, **near["squares"]
        )


def test_a_wide_sparse_table_is_never_densified(monkeypatch):
    X = sparse.csc_array(sparse_counts(50, 3000))
    entries = []
    whole = sparse.csr_array.toarray
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda self: entries.append(self.shape) or whole(self))
    monkeypatch.setattr(sparse.csc_array, "toarray", lambda *_, **__: pytest.fail("densified"))
    VarianceWeightSelector().fit(X)
    assert set(entries) == {(50, 50)}  # inner products of rows


def test_a_sparse_table_stays_sparse_without_the_mean_and_keeps_its_distances():
    X = sparse.csr_array(sparse_counts(30, 60))
    centred = VarianceWeightSelector().fit(X).transform(X)
    plain = VarianceWeightSelector(with_mean=False).fit(X).transform(X)
    assert sparse.issparse(plain)
    assert not sparse.issparse(centred)
    first, second = pairwise_distances(plain.toarray()), pairwise_distances(centred)
    # scikit-learn takes squared distances from squared lengths; their root magnifies the rounding of small ones.
    squares, smallest = np.sum(plain.toarray() ** 2, axis=1).max(), second[second > 0].min()
    np.testing.assert_allclose(first, second, rtol=0, atol=rounding(60, squares / smallest))


def test_transform_centres_scales_and_weights_by_training_statistics():
    X, _, _ = make_permuted_clusters(n_features=12, random_state=0)
    new = make_permuted_clusters(n_features=12, random_state=1).X
    selector = VarianceWeightSelector().fit(X)
    norm = np.linalg.norm(X - X.mean(axis=0), axis=0)
    expected = (new - X.mean(axis=0)) / norm * np.sqrt(selector.weights_)
    np.testing.assert_allclose(selector.transform(new), expected, rtol=0, atol=rounding(len(X), np.abs(expected).max()))
    np.testing.assert_allclose(selector.inverse_transform(selector.transform(new)), new, atol=1e-10)


def test_columns_are_dropped_by_number_and_by_weight():
    X, _, truth = make_permuted_clusters(n_features=50, random_state=0)
    weights = VarianceWeightSelector("iterative").fit(X).weights_
    by_number = VarianceWeightSelector("iterative", n_features_to_select=3).fit(X)
    by_weight = VarianceWeightSelector("iterative", threshold=0.3).fit(X)
    for selector in (by_number, by_weight):
        np.testing.assert_array_equal(selector.get_support(), truth["support"])
        assert selector.transform(X).shape == (100, 3)
        rebuilt = selector.inverse_transform(selector.transform(X))
        np.testing.assert_allclose(rebuilt[:, :3], X[:, :3], atol=1e-10)
        np.testing.assert_allclose(rebuilt[:, 3:], np.tile(X[:, 3:].mean(axis=0), (100, 1)))
        np.testing.assert_array_equal(selector.weights_, weights)
    with pytest.warns(UserWarning, match="n_features_to_select=99 columns are asked for"):
        assert VarianceWeightSelector(n_features_to_select=99).fit(X).get_support().all()
    with pytest.warns(UserWarning, match=r"No column reaches threshold=1.5 \(the highest weight is 0.\d+\)"):
        heaviest = VarianceWeightSelector("iterative", threshold=1.5).fit(X).get_support(indices=True)
    assert heaviest.tolist() == [weights.argmax()]
    with pytest.raises(ValueError, match="X has 4 columns, but transform gives 3"):
        by_number.inverse_transform(X[:, :4])


def test_constant_columns_are_told_by_name_and_come_last():
    pd = pytest.importorskip("pandas")
    X, _, _ = make_permuted_clusters(n_features=6, random_state=0)
    X[:, [1, 4]] = [0.1, 7.0]
    frame = pd.DataFrame(X, columns=["height", "age", "width", "depth", "planet", "speed"])
    for table in (frame, sparse.csr_array(X)):
        message = "Columns age, planet are constant" if table is frame else "Columns 1, 4 are constant"
        with pytest.warns(UserWarning, match=message):
            selector = VarianceWeightSelector().fit(table)
        np.testing.assert_array_equal(selector.weights_[[1, 4]], 0)
        assert sorted(selector.ranking_[[1, 4]]) == [5, 6]
        np.testing.assert_array_equal(selector.get_support(), [True, False, True, True, False, True])
        np.testing.assert_allclose(selector.weights_[[0, 2, 3, 5]], plain_direct(X[:, [0, 2, 3, 5]]), atol=1e-9)
    with pytest.raises(ValueError, match="All columns are constant"):
        VarianceWeightSelector().fit(np.ones((5, 3)))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_columns_of_any_size_are_taken(size):
    X, _, _ = make_permuted_clusters(n_features=10, random_state=0)
    expected = VarianceWeightSelector().fit(X).weights_
    np.testing.assert_allclose(VarianceWeightSelector().fit(X * size).weights_, expected, atol=1e-10)


def test_single_precision_and_integers_are_taken():
    X, _, _ = make_permuted_clusters(n_features=2100, n_relevant=30, random_state=0)
    X += 100  # a large mean costs digits in single precision
    for method in ("direct", "iterative"):
        expected = VarianceWeightSelector(method).fit(X)
        single = VarianceWeightSelector(method).fit(X.astype(np.float32))
        np.testing.assert_allclose(single.weights_, expected.weights_, atol=2e-4)
        assert single.transform(X.astype(np.float32)).dtype == np.float32
    counts = np.random.default_rng(0).poisson(3, size=(40, 5))
    np.testing.assert_allclose(VarianceWeightSelector().fit(counts).weights_, plain_direct(counts), atol=1e-9)


def test_tall_tables_are_not_copied():
    X = np.random.default_rng(0).normal(size=(200_000, 10))
    tracemalloc.start()
    VarianceWeightSelector().fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * 2**21  # some blocks of rows; a table of any height needs no more


def test_wide_table_of_few_rows():
    X, _, truth = make_permuted_clusters(60, 5_000, 100, random_state=0)
    selector = VarianceWeightSelector("iterative", n_features_to_select=100, tol=1e-6).fit(X)
    np.testing.assert_array_equal(selector.get_support(), truth["support"])


def test_many_random_starts_find_what_one_may_miss():
    one, best = 0, 0
    for seed in range(3):
        X, _, truth = make_permuted_clusters(n_features=100, random_state=seed)
        settings = {"init": "random", "tol": 1e-5, "n_features_to_select": 3, "random_state": seed}
        one += (
            VarianceWeightSelector("iterative", n_init=1, **settings).fit(X).get_support() == truth["support"]
        ).all()
        best += (
            VarianceWeightSelector("iterative", n_init=15, **settings).fit(X).get_support() == truth["support"]
        ).all()
    assert one < best == 3


@pytest.mark.parametrize("init", ["direct", "pca", "random"])
def test_the_objective_never_falls(init):
    X, _, _ = make_permuted_clusters(n_features=60, delta=1.0, random_state=0)
    selector = VarianceWeightSelector("iterative", init=init, n_init=3, max_iter=500, random_state=0).fit(X)
    assert np.diff(selector.objective_path_).min() >= -1e-9
    assert selector.n_iter_ == len(selector.objective_path_)
    assert selector.objective_ == selector.objective_path_[-1]


def test_more_directions_than_there_are_mean_all():
    X, _, _ = make_permuted_clusters(20, 6, random_state=0)
    all_of_them = VarianceWeightSelector("iterative", n_directions=6).fit(X)
    np.testing.assert_allclose(all_of_them.weights_, VarianceWeightSelector().fit(X).weights_, atol=1e-5)
    np.testing.assert_array_equal(
        VarianceWeightSelector("iterative", n_directions=99).fit(X).weights_, all_of_them.weights_
    )


def test_weights_that_still_move_are_told_with_the_figure():
    X, _, _ = make_permuted_clusters(random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations: the objective, .* rose by .* Raise max_iter"):
        VarianceWeightSelector("iterative", max_iter=2).fit(X)


class StopAfter:
    """A callback that stops a fit after some steps."""

    def __init__(self, steps):
        self.left = steps

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.parent is not None:
            self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("method", ["direct", "iterative"])
@pytest.mark.parametrize("init", ["direct", "random"])
def test_a_callback_stops_without_a_warning_and_keeps_the_weights(method, init):
    X, _, _ = make_permuted_clusters(random_state=0)
    selector = VarianceWeightSelector(method, init=init, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector.set_callbacks(StopAfter(2)).fit(X)
    assert selector.n_iter_ == 2
    assert np.linalg.norm(selector.weights_) == pytest.approx(1)


def test_it_works_in_a_pipeline_and_inside_a_selection_curve():
    X, y, _ = make_permuted_clusters(n_features=60, n_relevant=10, delta=0.7, random_state=0)
    selector = VarianceWeightSelector("iterative", n_features_to_select=10)
    assert cross_val_score(make_pipeline(selector, StandardScaler(), LogisticRegression()), X, y).mean() > 0.9
    curve = selection_curve(VarianceWeightSelector(), LogisticRegression(), X, y, sizes=[1, 10, 60], random_state=0)
    assert curve.mean[1] > curve.mean[0] + 0.05


def test_the_eigenvector_survives_restarts_and_shared_eigenvalues():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.concatenate([[1.0], 0.999 - 1e-4 * np.arange(299)])
    close = (axes * values) @ axes.T
    found = leading_eigenvector(close.__matmul__, rng.normal(size=300), tol=1e-10)
    assert found.converged
    assert len(found.path) > 40
    np.testing.assert_allclose(abs(found.vector @ axes[:, 0]), 1, atol=1e-9)

    shared = (axes * np.concatenate([[2.0, 2.0], np.linspace(0, 1, 298)])) @ axes.T
    start = rng.normal(size=300)
    found = leading_eigenvector(shared.__matmul__, start, tol=1e-12)
    projection = axes[:, :2] @ (axes[:, :2].T @ start)
    projection /= np.linalg.norm(projection) * np.sign(projection.sum())
    np.testing.assert_allclose(found.vector, projection, atol=1e-9)


def test_unit_columns_of_a_far_mean_are_centred_in_single_precision():
    X = (np.random.default_rng(0).normal(size=(500, 4)) + 1000).astype(np.float32)
    columns = scaled(X, column_scale(X))
    np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(columns, axis=0), 1, atol=1e-3)
