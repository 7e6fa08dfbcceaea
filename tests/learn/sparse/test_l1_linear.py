"""The sparse classifier and regressor as users meet them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Lasso, LogisticRegression

from fewer.learn import L1LinearClassifier, L1LinearRegressor, L1PathClassifierCV


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
    for model in (L1LinearClassifier(C=0.1), L1LinearRegressor(alpha=0.1), L1PathClassifierCV(n_points=4, cv=2)):
        target = X[:, 0] if isinstance(model, L1LinearRegressor) else y
        exact, coarse = (clone(model).fit(kind(X.astype(dtype)), target) for dtype in (np.float64, np.float32))
        assert (exact.coef_.dtype, coarse.coef_.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(coarse.coef_, exact.coef_, atol=1e-3)
    assert coarse.decision_function(X.astype(np.float32)).dtype == np.float32
