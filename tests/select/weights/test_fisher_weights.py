"""Weights by Fisher's criterion: the matrices of algorithm 3 written out, degenerate tables, and bad input."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fewer.datasets import make_permuted_clusters
from fewer.evaluate import selection_curve
from fewer.select import FisherWeightSelector
from fewer.select.weights._fisher_weights import class_offsets, criterion_product, spanned_axes
from fewer.select.weights._unit_columns import column_scale
from tolerances import rounding


def shifted(n_rows, n_columns, n_classes=2, n_relevant=5, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :n_relevant] += shift * np.linspace(-1, 1, n_classes)[y, None]
    return X, y


def written_out(X, y, alpha, rank=None):
    """P o (B - alpha W) as algorithm 3 defines it, with its slips corrected."""
    M = X - X.mean(axis=0)
    M /= np.linalg.norm(M, axis=0)
    _, singular, axes = np.linalg.svd(M, full_matrices=False)
    axes = axes[singular > 1e-10 * singular[0]][:rank]
    P = axes.T @ axes
    between, within = np.zeros_like(P), np.zeros_like(P)
    for label in np.unique(y):
        part = M[y == label]
        mean = part.mean(axis=0)
        between += len(part) * np.outer(mean, mean)
        within += part.T @ part - len(part) * np.outer(mean, mean)
    return P * (between - alpha * within)


@pytest.mark.parametrize("alpha", [0, 0.3, 2])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("shape", "rank"), [((30, 80), None), ((30, 80), 10), ((80, 30), 12)])
def test_products_and_weights_equal_the_matrices_written_out(shape, rank, n_classes, alpha):
    X, y = shifted(*shape, n_classes)
    criterion = written_out(X, y, alpha, rank)
    scale = column_scale(X)
    product = criterion_product(spanned_axes(X, scale, 1e-10), class_offsets(X, y, scale), alpha, rank)
    vector = np.random.default_rng(0).normal(size=shape[1])
    np.testing.assert_allclose(product(vector), criterion @ vector, atol=1e-10)

    values, vectors = np.linalg.eigh(criterion)
    expected = vectors[:, -1] * np.sign(vectors[:, -1].sum())
    expected = np.maximum(expected, 0) / np.linalg.norm(np.maximum(expected, 0))
    selector = FisherWeightSelector(alpha, projection_rank=rank).fit(X, y)
    np.testing.assert_allclose(selector.weights_, expected, atol=1e-7)
    assert selector.objective_ == pytest.approx(values[-1])


def test_weights_are_never_negative_and_ties_at_zero_are_ranked_by_the_share_between_classes():
    X, y = shifted(60, 300)
    selector = FisherWeightSelector(1.0).fit(X, y)
    assert selector.weights_.min() == 0
    assert np.linalg.norm(selector.weights_) == pytest.approx(1)
    dropped = selector.weights_ == 0
    assert dropped.sum() > 50
    assert sorted(selector.ranking_) == list(range(1, 301))
    assert selector.ranking_[dropped].min() > selector.ranking_[~dropped].max()
    order = np.argsort(selector.ranking_[dropped])
    assert np.all(np.diff(selector.between_shares_[dropped][order]) <= 0)


def test_shares_between_classes_are_those_of_an_analysis_of_variance():
    X, y = shifted(45, 60, n_classes=3)
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    within = sum(((X[y == label] - X[y == label].mean(axis=0)) ** 2).sum(axis=0) for label in range(3))
    shares = FisherWeightSelector().fit(X, y).between_shares_
    np.testing.assert_allclose(shares, 1 - within / total, rtol=0, atol=rounding(45))


def test_a_tall_table_is_told_and_a_smaller_rank_cures_it():
    X, y = shifted(200, 20)
    with pytest.warns(UserWarning, match=r"span all 20 columns.*degenerate.*projection_rank=10"):
        fallback = FisherWeightSelector().fit(X, y)
    assert fallback.rank_ == 20
    expected = fallback.between_shares_ / np.linalg.norm(fallback.between_shares_)
    np.testing.assert_allclose(fallback.weights_, expected, rtol=0, atol=rounding(20))
    assert set(np.argsort(fallback.ranking_)[:5]) == set(range(5))
    with pytest.warns(UserWarning, match="Lower it"):
        FisherWeightSelector(projection_rank=20).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FisherWeightSelector(projection_rank=10).fit(X, y)
        repeated = FisherWeightSelector().fit(np.column_stack([X, X]), y)  # twice the columns, the same rank
    assert repeated.rank_ == 20
    np.testing.assert_allclose(repeated.weights_[:20], repeated.weights_[20:], atol=1e-9)


def test_labels_of_any_kind_and_classes_of_one_row():
    X, y = shifted(31, 100)
    names = np.array(["ill", "well"], dtype=object)[y]
    np.testing.assert_array_equal(
        FisherWeightSelector().fit(X, names).weights_, FisherWeightSelector().fit(X, y).weights_
    )
    y[-1] = 7
    assert np.isfinite(FisherWeightSelector().fit(X, y).weights_).all()
    assert list(FisherWeightSelector().fit(X, y).classes_) == [0, 1, 7]


def test_constant_columns_come_last():
    X, y = shifted(30, 60)
    X[:, [0, 59]] = 3.0
    with pytest.warns(UserWarning, match="Columns 0, 59 are constant"):
        selector = FisherWeightSelector().fit(X, y)
    assert sorted(selector.ranking_[[0, 59]]) == [59, 60]
    assert not selector.get_support()[[0, 59]].any()
    assert selector.transform(X).shape == (30, 58)


def test_single_precision_gives_the_same_columns():
    X, y = shifted(60, 500)
    expected = FisherWeightSelector(0.1).fit(X, y).weights_
    found = FisherWeightSelector(0.1).fit((X + 10).astype(np.float32), y)
    assert found.rank_ == 59
    np.testing.assert_allclose(found.weights_, expected, atol=1e-3)


def test_a_wide_table_of_genes():
    X, y, truth = make_permuted_clusters(60, 20_000, 30, random_state=0)
    selector = FisherWeightSelector(n_features_to_select=30).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), truth["support"])


@pytest.mark.filterwarnings("ignore:The rows span all")
def test_labels_that_say_nothing_and_a_single_column_are_taken():
    X = np.array([[1.0, 2], [-1, 2.5], [1, 2], [-1, 2.5]])
    selector = FisherWeightSelector().fit(X, [0, 0, 1, 1])  # every column has the same mean in both classes
    np.testing.assert_allclose(np.linalg.norm(selector.weights_), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FisherWeightSelector().fit(X[:, :1], [0, 1, 0, 1]).weights_ == [1]


def test_bad_labels_are_refused():
    X, _ = shifted(20, 40)
    with pytest.raises(ValueError, match="one class only, 0"):
        FisherWeightSelector().fit(X, np.zeros(20, dtype=int))
    with pytest.raises(ValueError, match="continuous"):
        FisherWeightSelector().fit(X, X[:, 0])


def test_it_works_in_a_pipeline_and_inside_a_selection_curve():
    X, y = shifted(60, 300, n_relevant=8)
    model = make_pipeline(FisherWeightSelector(n_features_to_select=8), StandardScaler(), LinearSVC())
    assert cross_val_score(model, X, y).mean() > 0.9
    curve = selection_curve(FisherWeightSelector(), LogisticRegression(), X, y, sizes=[1, 8, 300], random_state=0)
    assert curve.mean[1] > curve.mean[0]
