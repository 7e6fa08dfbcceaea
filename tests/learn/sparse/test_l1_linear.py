"""The sparse classifier and regressor as users meet them.

Offsets and units of the columns: what they must not change, and what is reported where they must.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.preprocessing import scale

from fewer.learn import L1LinearClassifier, L1LinearRegressor, L1PathClassifierCV, L1PathRegressorCV, l1_path
from fewer.learn.sparse._problem import prepared
from fewer.learn.sparse._solvers import SOLVERS
from fewer.select import SparsePathSelector
from tolerances import rounding


@pytest.fixture(scope="module")
def three_classes():
    X, y = make_classification(150, 12, n_informative=5, n_classes=3, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


def test_the_regressor_is_the_lasso():
    X, y = load_diabetes(return_X_y=True)
    for alpha in (0.05, 0.5, 2.0):
        ours = L1LinearRegressor(alpha, tol=1e-10).fit(X, y)
        theirs = Lasso(alpha, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert ours.intercept_ == pytest.approx(theirs.intercept_)
        residual = y - theirs.predict(X)
        assert ours.objective_ == pytest.approx(alpha * np.abs(theirs.coef_).sum() + (residual**2).mean() / 2)
        assert 0 <= ours.dual_gap_ <= 1e-6 * ours.objective_


def test_weights_of_rows_are_copies_of_rows():
    X, y = load_diabetes(return_X_y=True)
    counts = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = L1LinearRegressor(0.3, tol=1e-10).fit(X, y, sample_weight=counts)
    copied = L1LinearRegressor(0.3, tol=1e-10).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-5)


def test_balanced_classes_weigh_the_same(three_classes):
    X, y = three_classes
    few = np.r_[np.flatnonzero(y == "a")[:10], np.flatnonzero(y == "b")]
    balanced = L1LinearClassifier(class_weight="balanced", tol=1e-10).fit(X[few], y[few])
    weights = np.where(y[few] == "a", len(few) / 20, len(few) / (2 * (len(few) - 10)))
    by_hand = L1LinearClassifier(tol=1e-10).fit(X[few], y[few], sample_weight=weights)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-6)


def test_each_class_is_told_from_the_rest(three_classes):
    X, y = three_classes
    model = L1LinearClassifier(C=0.3, tol=1e-9, fit_intercept=False).fit(X, y)
    for place, label in enumerate("abc"):
        peer = LogisticRegression(
            l1_ratio=1, C=0.3, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000
        ).fit(X, y == label)
        np.testing.assert_allclose(model.coef_[place], peer.coef_[0], atol=1e-4)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert set(model.predict(X)) <= set("abc")
    assert model.score(X, y) > 0.6


def test_only_the_log_loss_has_probabilities(three_classes):
    X, y = three_classes
    assert not hasattr(L1LinearClassifier("squared_hinge").fit(X, y), "predict_proba")


def test_a_warm_start_continues_and_a_record_tells_the_way(three_classes):
    X, y = three_classes
    model = L1LinearClassifier(tol=1e-9, warm_start=True, record=True).fit(X, y == "a")
    first = model.history_[0]
    assert len(first.seconds) == len(first.objective) == model.n_iter_[0] + 1
    assert first.objective[-1] == pytest.approx(model.objective_[0])
    assert first.n_nonzero[-1] == len(model.support_)
    model.fit(X, y == "a")
    assert model.n_iter_[0] == 0


def test_an_early_stop_is_told_and_so_is_a_support_that_still_changed(three_classes):
    X, y = three_classes
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations.*still changed"):
        L1LinearClassifier(C=0.05, solver="owlqn", max_iter=2).fit(X, y == "a")


def test_constant_columns_get_no_weight_and_copies_share():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    X = np.hstack([x, x, np.ones((80, 1)), np.zeros((80, 1))])
    model = L1LinearClassifier(C=1.0).fit(X, x[:, 0] + 0.5 * rng.normal(size=80) > 0)
    assert model.coef_[0, 2:].tolist() == [0.0, 0.0]
    alone = L1LinearClassifier(C=1.0).fit(x, x[:, 0] + 0.5 * rng.normal(size=80) > 0)
    assert np.abs(model.coef_[0, :2]).sum() > 0
    assert alone.coef_.shape == (1, 1)


def test_it_chooses_columns_for_another_model(three_classes):
    X, y = three_classes
    select = SelectFromModel(L1LinearClassifier(C=0.05)).fit(X, y)
    assert select.get_support(indices=True).tolist() == select.estimator_.support_.tolist()


def test_sparse_coefficients_predict_the_same(three_classes):
    X, y = three_classes
    model = L1LinearClassifier(C=0.1).fit(sparse.csr_array(X), y)
    before = model.decision_function(X)
    np.testing.assert_allclose(model.sparsify().decision_function(X), before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_coefficients_and_predictions_are_as_precise_as_the_table(kind, three_classes):
    X, y = three_classes
    for model in (L1LinearClassifier(C=0.1), L1LinearRegressor(alpha=0.1), L1PathClassifierCV(n_alphas=4, cv=2)):
        target = X[:, 0] if isinstance(model, L1LinearRegressor) else y
        exact, coarse = (clone(model).fit(kind(X.astype(dtype)), target) for dtype in (np.float64, np.float32))
        assert (exact.coef_.dtype, coarse.coef_.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(coarse.coef_, exact.coef_, atol=1e-3)
    assert coarse.decision_function(X.astype(np.float32)).dtype == np.float32


KINDS = {"dense": np.asarray, "fortran": np.asfortranarray, "sparse": sparse.csr_array}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def spectra():
    """60 smooth spectra of 268 wavelengths, which share a large offset; a target that is linear in their components."""
    rng = np.random.default_rng(0)
    wavelengths = np.linspace(0, 1, 268)
    peaks, widths = rng.random((8, 1)), rng.uniform(0.1, 0.3, (8, 1))
    concentrations = rng.random((60, 8))
    X = 5 + 0.3 * concentrations @ np.exp(-((wavelengths - peaks) ** 2) / (2 * widths**2))
    return X + 1e-5 * rng.normal(size=X.shape), concentrations @ rng.normal(size=8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.parametrize("solver", SOLVERS)
def test_an_offset_of_the_columns_does_not_change_the_regression(solver, offset, kind, diabetes):
    X, y = diabetes
    table = KINDS[kind](X + offset)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = L1LinearRegressor(solver=solver, random_state=0).fit(table, y)
    peer = Lasso(1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    # A number near the offset is precise to eps times the offset; the gap may be 1e-8 of the null objective.
    np.testing.assert_allclose(model.predict(table), peer.predict(X), atol=0.05)
    minimum = np.abs(peer.coef_).sum() + ((y - peer.predict(X)) ** 2).mean() / 2
    assert model.objective_ == pytest.approx(minimum, rel=1e-6)
    assert 0 <= model.dual_gap_ <= 1e-8 * y.var() / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_an_offset_of_the_columns_does_not_change_the_classifier(solver, kind, cancer):
    X, y = cancer
    model = L1LinearClassifier(C=0.05, solver=solver, tol=1e-6, random_state=0).fit(KINDS[kind](X + 1e3), y)
    peer = LogisticRegression(l1_ratio=1, C=0.05, solver="saga", tol=1e-6, max_iter=3000).fit(X, y)
    signs = 2 * y - 1
    minimum = np.abs(peer.coef_).sum() + 0.05 * np.logaddexp(0, -signs * peer.decision_function(X)).sum()
    assert model.objective_[0] == pytest.approx(minimum, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(X + 1e3), peer.decision_function(X), atol=0.02)


def test_spectra_with_an_offset_take_as_few_iterations_as_centred_ones(spectra):
    X, y = spectra
    model, centred = (L1LinearRegressor(1e-3).fit(table, y) for table in (X, X - X.mean(axis=0)))
    assert model.n_iter_ <= 2 * centred.n_iter_ <= 40
    assert model.objective_ == pytest.approx(centred.objective_, rel=1e-8)
    assert model.dual_gap_ <= 1e-8 * y.var() / 2


def test_a_fit_above_its_tolerance_reports_the_gap_it_reached(spectra):
    X, y = spectra
    with pytest.warns(ConvergenceWarning, match=r"stopped after 20 iterations at a duality gap of .*above tol=1e-08"):
        model = L1LinearRegressor(1e-4, solver="owlqn", max_iter=20).fit(X, y)
    assert model.dual_gap_ > 1e-8 * y.var() / 2


def test_a_path_above_its_tolerance_reports_the_largest_subgradient(cancer):
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match="models of the path are not within tol=1e-16"):
        l1_path(X, y, n_alphas=5, tol=1e-16)


def test_without_an_intercept_nothing_is_centred(diabetes):
    X, y = diabetes
    model = L1LinearRegressor(fit_intercept=False, tol=1e-10).fit(X + 3, y)
    peer = Lasso(1.0, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X + 3, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)


def test_a_centred_table_is_not_copied_and_a_sparse_one_stays_sparse():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(scale(rng.normal(size=(50, 4))))
    assert np.shares_memory(prepared(X, None, True).X, X)
    words = sparse.random_array((200, 50), density=0.05, format="csc", rng=rng)
    words.data += 1.0
    table = prepared(sparse.hstack([words, np.full((200, 1), 7.0) + rng.normal(size=(200, 1))]), None, True)
    assert table.X.nnz <= words.nnz + 200
    assert np.flatnonzero(table.centres).tolist() == [50]
    assert abs(table.X[:, [50]].mean()) < rounding(200, 10)  # of a column with values up to 10


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_path_by_cross_validation_does_not_depend_on_the_unit_of_the_table(task, kind):
    X, y = load_diabetes(return_X_y=True) if task == "numbers" else load_wine(return_X_y=True)
    model = (L1PathRegressorCV if task == "numbers" else L1PathClassifierCV)(n_alphas=12, cv=3)
    expected = predicted(clone(model).fit(X, y), X)
    for factor in (1e-12, 1e-6, 1e6, 1e12):
        table = KINDS[kind](factor * X)
        np.testing.assert_allclose(predicted(clone(model).fit(table, y), table), expected, rtol=1e-6, atol=1e-6)
    moved = X + 1e6 * X.std(axis=0)
    np.testing.assert_allclose(predicted(clone(model).fit(moved, y), moved), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_a_path_by_cross_validation_does_not_depend_on_the_unit_of_the_target(factor, diabetes):
    X, y = diabetes
    model = L1PathRegressorCV(n_alphas=12, cv=3)
    expected = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, factor * y + factor * 1e6).predict(X) / factor - 1e6, expected)


@pytest.mark.parametrize("factor", [1e-12, 1e-6])
def test_a_fixed_penalty_that_the_unit_makes_too_strong_is_reported_with_the_cure(factor, diabetes, cancer):
    X, y = diabetes
    with pytest.warns(UserWarning, match=r"alpha=1 depends on the unit of the columns.*L1PathRegressorCV"):
        assert not L1LinearRegressor().fit(factor * X, y).coef_.any()
    with pytest.warns(UserWarning, match=r"alpha=1 depends on the unit of the target"):
        assert not L1LinearRegressor().fit(X, factor * y).coef_.any()
    X, y = cancer
    with pytest.warns(UserWarning, match=r"C=1 depends on the unit of the columns.*deviation 1e-.*L1PathClassifierCV"):
        assert not L1LinearClassifier().fit(sparse.csr_array(factor * X), y).coef_.any()


def test_a_strong_penalty_on_standardised_columns_is_no_matter_of_units(diabetes):
    X, y = diabetes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not L1LinearRegressor(alpha=100.0).fit(X, y).coef_.any()


def test_rankings_by_a_path_do_not_depend_on_unit_or_offset():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    expected = SparsePathSelector(3, n_alphas=30).fit(X, y).ranking_
    for table in (1e-12 * X, 1e12 * X, X + 1e4, sparse.csr_array(X + 1e4)):
        np.testing.assert_array_equal(SparsePathSelector(3, n_alphas=30).fit(table, y).ranking_, expected)


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_tables_with_indices_of_64_bits_are_taken(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    for model, target in [
        (L1LinearRegressor(0.05), y),
        (L1LinearClassifier(), y > 0),
        (L1PathRegressorCV(n_alphas=5, cv=2), y),
        (L1PathClassifierCV(n_alphas=5, cv=2), y > 0),
    ]:
        short, long = (clone(model).fit(table, target).coef_ for table in (kind(X), with_long_indices(kind(X))))
        np.testing.assert_array_equal(long, short)
    path = l1_path(with_long_indices(kind(X)), y, loss="squared", n_alphas=5)
    np.testing.assert_array_equal(path.coefs.toarray(), l1_path(kind(X), y, loss="squared", n_alphas=5).coefs.toarray())


def test_a_table_with_duplicate_entries_stays_as_it_was():
    X = sparse.csc_array((np.ones(4), [0, 0, 1, 2], [0, 2, 4]), shape=(3, 2))
    L1LinearRegressor(0.01).fit(X, [0.0, 1.0, 3.0])
    assert X.data.tolist() == [1.0, 1.0, 1.0, 1.0]
