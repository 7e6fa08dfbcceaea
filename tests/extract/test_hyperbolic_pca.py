"""Hyperbolic PCA: weights, thresholds, pairs, kernels and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from fewer.extract import HyperbolicPCA, normalized_rbf, one_shot_error, plot_projection
from fewer.extract.hyperbolic._pairs import (
    all_pairs,
    best_threshold,
    drawn_pairs,
    judged_pairs,
    margin_risks,
    number_of_positive_eigenvalues,
)
from tolerances import rounding


def clusters(n_classes=6, n_rows=8, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_rows)
    return rng.normal(size=(len(y), n_columns)) + 3 * rng.normal(size=(n_classes, n_columns))[y], y


def test_the_margin_risk_is_the_mean_loss():
    rng = np.random.default_rng(0)
    squared, same = rng.uniform(size=50), rng.random(50) < 0.3
    c, margin = np.array([0.2, 0.5, 0.9]), 0.1
    room = np.where(same, 1, -1) * (c[:, None] ** 2 - squared)
    losses = np.clip(1 - room / margin, 0, 1)
    expected = (losses[:, same].mean(axis=1) + losses[:, ~same].mean(axis=1)) / 2
    assert np.allclose(margin_risks(squared, same, c, margin, balanced=True), expected)
    assert np.allclose(margin_risks(squared, same, c, margin, balanced=False), losses.mean(axis=1))


def test_the_best_threshold_parts_what_can_be_parted():
    squared = np.array([0.001, 0.002, 0.2, 0.3])
    same = np.array([True, True, False, False])
    found = best_threshold(squared, same, 0.05, balanced=True)
    assert found.risk == 0
    assert 0.052 <= found.c**2 <= 0.2
    assert best_threshold(squared, same, 0.05, balanced=True, c_grid=np.array([0.3, 0.9])).c == 0.3


def test_drawn_pairs_are_half_same_and_rightly_told():
    codes = np.array([2, 0, 1, 0, 2, 2, 1, 0, 3])
    pairs = drawn_pairs(codes, 4000, np.random.RandomState(0))
    assert (pairs.first != pairs.second).all()
    assert pairs.same.sum() == 2000
    assert np.array_equal(codes[pairs.first] == codes[pairs.second], pairs.same)
    # All different pairs are as likely.
    other = np.sort(np.column_stack([pairs.first, pairs.second])[~pairs.same], axis=1)
    counts = np.unique(other, axis=0, return_counts=True)[1]
    assert len(counts) == (~all_pairs(codes).same).sum()
    assert counts.min() > 2000 / len(counts) / 2


def test_very_many_pairs_are_judged_by_a_sample(monkeypatch):
    X, y = clusters()
    exact = HyperbolicPCA(3, kernel="linear", random_state=0).fit(X, y)
    monkeypatch.setattr("fewer.extract.hyperbolic._pairs.MOST_PAIRS", 800)
    assert len(judged_pairs(y, np.random.RandomState(0)).same) == 800
    drawn = HyperbolicPCA(3, kernel="linear", random_state=0).fit(X, y)
    assert abs(drawn.train_risk_ - exact.train_risk_) < 0.1


def test_directions_have_unit_length_in_feature_space():
    X, y = clusters()
    model = HyperbolicPCA(4, gamma=0.1).fit(X, y)
    G = rbf_kernel(X, gamma=0.1) / 2
    assert np.allclose(model.dual_coef_.T @ G @ model.dual_coef_, np.eye(model.n_components_), atol=1e-8)
    assert np.allclose(model.transform(X), G @ model.dual_coef_)


def test_a_linear_kernel_is_the_same_with_more_columns_than_rows():
    X, y = clusters(n_rows=4)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(40, 5)))[0]
    narrow = HyperbolicPCA(3, kernel="linear").fit(X, y)
    wide = HyperbolicPCA(3, kernel="linear").fit(X @ turn.T, y)
    assert wide.components_.shape == (3, 40)
    assert wide.eta_ == narrow.eta_
    assert np.allclose(wide.eigenvalues_, narrow.eigenvalues_)
    assert np.allclose(np.abs(wide.components_ @ turn), np.abs(narrow.components_), atol=1e-8)
    for model, table in ((narrow, X), (wide, X @ turn.T)):
        assert np.allclose(table.T @ model.dual_coef_, model.components_.T, atol=1e-8)
        assert np.allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-8)
    own = HyperbolicPCA(3, kernel=lambda A, B: A @ B.T).fit(X, y)
    assert np.allclose(np.abs(own.transform(X)), np.abs(narrow.transform(X)), atol=1e-6)


def test_little_weight_on_different_pairs_is_near_discriminant_analysis():
    """With a small eta, T is positive only where the ratio of both scatters is above 1 / eta."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3)) @ np.diag([0.05, 1, 1]) + np.outer(y, [0.5, 1, 0])
    model = HyperbolicPCA(1, kernel="linear", eta=0.05).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y).coef_
    assert abs(model.components_[0] @ lda[0]) / np.linalg.norm(lda) > 0.99


def test_only_directions_with_positive_eigenvalues_are_kept():
    X, y = clusters(3, 10, 6)
    with pytest.warns(UserWarning, match=r"n_components=5 are asked for, and there are \d, as many as keep different"):
        model = HyperbolicPCA(5, kernel="linear", eta=0.2).fit(X, y)
    assert model.n_components_ == model.n_positive_eigenvalues_ <= 2
    assert (model.eigenvalues_ > 0).all()
    assert HyperbolicPCA(kernel="linear", eta=0.2).fit(X, y).n_components_ == model.n_components_
    assert HyperbolicPCA(None, kernel="linear", eta=0.2).fit(X, y).n_components_ == model.n_components_
    with pytest.raises(ValueError, match=r"with eta=1e-09; raise eta"):
        HyperbolicPCA(kernel="linear", eta=1e-9).fit(X, y)


def test_weights_from_thresholds_part_as_well():
    X, y = clusters()
    model = HyperbolicPCA(3, kernel="linear", eta="threshold").fit(X, y)
    assert model.score_pairs(X, y) < 0.1
    model = HyperbolicPCA(2, kernel="linear", eta="threshold", c_grid=[0.1, 0.2, 0.3]).fit(X, y)
    assert model.threshold_ in (0.1, 0.2, 0.3)


def test_pairs_are_decided_by_the_threshold():
    X, y = clusters()
    model = HyperbolicPCA(3, kernel="linear").fit(X, y)
    pairs = all_pairs(y)
    decision = model.pair_decision(X[pairs.first], X[pairs.second])
    wrong = (decision > 0) != pairs.same
    expected = (wrong[pairs.same].mean() + wrong[~pairs.same].mean()) / 2
    assert model.score_pairs(X, y) == pytest.approx(expected)
    numbers = np.column_stack([pairs.first, pairs.second])
    assert model.score_pairs(X, np.where(pairs.same, 1, -1), numbers) == pytest.approx(expected)
    assert model.score_pairs(X, y) <= model.train_risk_ + rounding(len(wrong))
    assert euclidean_distances(X).max() <= model.diameter_
    with pytest.raises(ValueError, match="X1 has 3 rows and X2 has 2"):
        model.pair_decision(X[:3], X[:2])


def test_random_pairs_find_nearly_what_all_do():
    X, y = clusters(8, 20)
    whole = HyperbolicPCA(3, kernel="linear", eta=0.5).fit(X, y)
    some = HyperbolicPCA(3, kernel="linear", eta=0.5, pairs=3000, random_state=0).fit(X, y)
    assert np.sin(subspace_angles(whole.components_.T, some.components_.T)).max() < 0.15
    again = HyperbolicPCA(3, kernel="linear", eta=0.5, pairs=3000, random_state=0).fit(X, y)
    assert np.array_equal(again.components_, some.components_)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("shape", [(6, 8, 5), (6, 4, 60)])
def test_sparse_tables_give_what_dense_ones_give(kernel, shape):
    X, y = clusters(*shape)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0
    dense = HyperbolicPCA(3, kernel=kernel, normalize_rows=True).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_matrix):
        thin = HyperbolicPCA(3, kernel=kernel, normalize_rows=True).fit(form(X), y)
        assert np.allclose(thin.transform(form(X)), dense.transform(X), atol=1e-7)


def test_rows_of_unit_length_get_the_usual_width():
    X, y = clusters()
    model = HyperbolicPCA(3, normalize_rows=True).fit(X, y)
    own = HyperbolicPCA(3, kernel=normalized_rbf(8)).fit(X, y)
    assert model.gamma_ == 8
    assert np.allclose(model.transform(5 * X), model.transform(X))
    assert np.allclose(np.abs(own.transform(X)), np.abs(model.transform(X)), atol=1e-6)


def test_names_and_precision_are_kept():
    X, y = clusters()
    names = np.array(list("abcdef"))[y]
    frame = pd.DataFrame(X.astype(np.float32), columns=list("vwxyz"))
    model = HyperbolicPCA(2).fit(frame, names)
    assert model.transform(frame).dtype == np.float32
    assert list(model.get_feature_names_out()) == ["hyperbolicpca0", "hyperbolicpca1"]
    assert len(plot_projection(model, frame, names).data) == 6
    assert np.allclose(model.transform(frame), HyperbolicPCA(2).fit(X, y).transform(X), atol=1e-3)


def test_equal_rows_do_no_harm():
    X, y = clusters()
    once, twice = HyperbolicPCA(3, gamma=0.1, eta=0.1), HyperbolicPCA(3, gamma=0.1, eta=0.1)
    once.fit(X, y)
    twice.fit(np.vstack([X, X]), np.append(y, y))
    assert np.isfinite(twice.dual_coef_).all()
    assert np.sin(subspace_angles(once.transform(X), twice.transform(X))).max() < 0.3


def test_a_class_of_one_row_has_different_pairs_only():
    X, y = clusters()
    y[0] = 99
    assert HyperbolicPCA(2).fit(X, y).train_risk_ < 0.5


def test_what_tells_nothing_is_refused():
    X, y = clusters()
    with pytest.raises(ValueError, match="No two rows are of the same class"):
        HyperbolicPCA().fit(X, np.arange(len(X)))
    assert HyperbolicPCA(2, kernel="linear", balanced=False).fit(X, np.arange(len(X))).eta_ == 1
    with pytest.raises(ValueError, match="one class only"):
        HyperbolicPCA().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="No two rows are of different classes"):
        HyperbolicPCA().fit_pairs(X, [[0, 1], [1, 2]], [1, 1])
    with pytest.raises(ValueError, match="r must be 1"):
        HyperbolicPCA().fit_pairs(X, [[0, 1], [1, 2]], [2, 1])
    with pytest.raises(ValueError, match="numbers of rows from 0 to 47"):
        HyperbolicPCA().fit_pairs(X, [[0, 48], [1, 2]], [1, -1])
    with pytest.raises(ValueError, match="pairs has 3 columns"):
        HyperbolicPCA().fit_pairs(X, [[0, 1, 2]], [1])
    with pytest.raises(ValueError, match="All rows are equal in feature space"):
        HyperbolicPCA(kernel="linear").fit(np.full((6, 2), 0.1), [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="c_grid must hold thresholds between 0 and 1"):
        HyperbolicPCA(c_grid=[0.5, 1.5]).fit(X, y)
    with pytest.raises(ValueError, match="delta=2 must lie between 0 and 1"):
        HyperbolicPCA(2).fit(X, y).risk_bound(2)
    with pytest.raises(ValueError, match=r"NaN, in column 1 \(row 2\)"):
        HyperbolicPCA().fit(np.where(np.arange(10).reshape(5, 2) == 5, np.nan, 1.0), [0, 0, 1, 1, 1])
    for grid in ([], ["wide"], [np.nan]):
        with pytest.raises(ValueError, match="c_grid must hold thresholds between 0 and 1"):
            HyperbolicPCA(c_grid=grid).fit(X, y)
    for wrong in (0, "wide", None, np.nan):
        with pytest.raises(ValueError, match="C must be a number above 0, such as 8; it is"):
            normalized_rbf(wrong)


def test_pairs_may_be_told_by_signs_zeros_and_truth():
    X, y = clusters()
    pairs = np.array([[0, 1], [0, 20], [5, 6], [7, 40], [30, 31]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    model = HyperbolicPCA(2, kernel="linear", balanced=False)
    signs, truth, zeros = (
        model.fit_pairs(X, pairs, r).transform(X) for r in (np.where(same, 1, -1), same, same.astype(int))
    )
    np.testing.assert_array_equal(signs, truth)
    np.testing.assert_array_equal(signs, zeros)


def test_one_example_of_each_class_is_enough_where_classes_are_far_apart():
    X, y = clusters()
    assert one_shot_error(y[:, None] * 100.0 + 0.01 * X, np.array(list("abcdef"))[y], random_state=0) == 0
    noise = np.random.default_rng(0).normal(size=(60, 3))
    assert 0.7 < one_shot_error(noise, np.repeat(np.arange(6), 10), random_state=0) < 0.95
    assert one_shot_error(sparse.csr_array(X), y, random_state=0) == one_shot_error(X, y, random_state=0)
    with pytest.raises(ValueError, match="n_repeats=0"):
        one_shot_error(X, y, n_repeats=0)
    with pytest.raises(ValueError, match="Every class has a single row"):
        one_shot_error(X[:3], [0, 1, 2])


def test_positive_eigenvalues_are_counted_without_eigenvalues():
    rng = np.random.default_rng(0)
    for size in (1, 7, 60):
        A = rng.normal(size=(size, size))
        assert number_of_positive_eigenvalues(A + A.T) == np.sum(np.linalg.eigvalsh(A + A.T) > 0)
