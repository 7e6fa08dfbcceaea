"""The committee: the same machines as scikit-learn's, nested sets of columns, degenerate tables."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from fewer._kernels._hinge_dual import hinge_dual
from fewer._kernels._row_products import centred_products
from fewer.datasets import make_gene_blocks
from fewer.learn import OVRLinearSVMCommittee
from fewer.learn._ovr_committee import interior_machine
from tolerances import rounding


@pytest.fixture(scope="module")
def blocks():
    X, y, _ = make_gene_blocks(n_per_class=15, n_blocks=40, random_state=0)
    return X, y


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("table", ["wine", "blocks"])
def test_machines_are_those_of_scikit_learn(table, C, blocks):
    X, y = (scale(load_wine().data), load_wine().target) if table == "wine" else blocks
    ours = OVRLinearSVMCommittee(C=C).fit(X, y)
    peer = OneVsRestClassifier(SVC(kernel="linear", C=C, tol=1e-9)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, np.vstack([machine.coef_ for machine in peer.estimators_]), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_two_classes_have_one_machine():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.array(["no", "yes"])[y[50:] - 1]
    ours, peer = OVRLinearSVMCommittee().fit(X, y), SVC(kernel="linear", tol=1e-9).fit(X, y)
    assert ours.coef_.shape == (1, 4)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_the_optimum_is_the_same_from_any_start(blocks):
    X, y = blocks
    signs = np.where(y == "A", 1.0, -1.0)
    products = centred_products(X)
    start = np.where(signs > 0, 0.3, -0.15)
    found = [np.zeros(len(signs)), start.copy()]
    for beta in found:
        _, violation = hinge_dual(products, signs, 1.0, 1e-9, 3000, beta)
        assert violation == 0.0
        assert abs(beta.sum()) < rounding(3000, np.abs(beta).max())  # every step moves two of them
        assert ((signs * beta >= 0) & (signs * beta <= 1)).all()
    np.testing.assert_allclose(X.T @ found[0], X.T @ found[1], atol=1e-7)


def test_many_rows_with_most_of_them_set_aside_reach_the_same_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.normal(scale=0.7, size=1500) > 0).astype(int)
    ours, peer = OVRLinearSVMCommittee().fit(X, y), SVC(kernel="linear", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


def test_nested_sets_predict_like_committees_fitted_on_each(blocks):
    X, y = blocks
    new, _, _ = make_gene_blocks(n_per_class=50, n_blocks=40, random_state=1)
    order, sizes = np.random.default_rng(0).permutation(200), [1, 5, 5, 30, 120, 200]
    found = OVRLinearSVMCommittee().nested_predictions(X, y, new, order, sizes)
    thin = OVRLinearSVMCommittee().nested_predictions(sparse.csr_array(X), y, sparse.csr_array(new), order, sizes)
    np.testing.assert_array_equal(found, thin)
    for size, predicted in zip(sizes, found, strict=True):
        fitted = OVRLinearSVMCommittee().fit(X[:, order[:size]], y)
        np.testing.assert_array_equal(predicted, fitted.predict(new[:, order[:size]]))


@pytest.mark.parametrize("sizes", [[], [0, 1], [3, 2], [500]])
def test_sizes_that_do_not_rise_are_refused(sizes, blocks):
    with pytest.raises(ValueError, match="sizes must rise"):
        OVRLinearSVMCommittee().nested_predictions(*blocks, blocks[0], np.arange(200), sizes)


def test_columns_that_tell_nothing_leave_machines_without_weights():
    y = np.repeat([0, 1, 2], [4, 4, 5])
    committee = OVRLinearSVMCommittee().fit(np.ones((13, 3)), y)
    assert not committee.coef_.any()
    assert committee.intercept_.tolist() == [-1, -1, -1]


def test_products_lose_no_digits_to_a_large_mean():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 50)), rng.normal(size=(7, 50))
    centre = X.mean(axis=0)
    expected = (X - centre) @ (X - centre).T, (Z - centre) @ (X - centre).T
    np.testing.assert_allclose(centred_products(X + 1e6), expected[0], atol=1e-7)
    np.testing.assert_allclose(centred_products(X + 1e6, Z + 1e6), expected[1], atol=1e-7)
    thin = centred_products(sparse.csr_array(X), sparse.csr_array(Z))
    scale = np.linalg.norm(X, axis=1).max() * np.linalg.norm(Z, axis=1).max()
    np.testing.assert_allclose(thin, expected[1], rtol=0, atol=rounding(50, scale))


@pytest.mark.parametrize("table", ["wine", "breast cancer", "noise"])
def test_the_interior_point_method_finds_the_same_machine(table):
    """Also with columns of very different scale, where scikit-learn's machine is far from the optimum."""
    rng = np.random.default_rng(0)
    if table == "noise":
        X, y = rng.normal(size=(400, 5)) + 1e4, rng.integers(0, 2, 400)
    else:
        X, y = (load_wine if table == "wine" else load_breast_cancer)(return_X_y=True)
        X = X / X.std(axis=0) * np.linspace(0.3, 3.0, X.shape[1])
    signs = np.where(y == 1, 1.0, -1.0)
    beta = np.zeros(len(signs))
    intercept, _ = hinge_dual(centred_products(X), signs, 1.0, 1e-9, 10**7, beta)
    for form in (X, sparse.csr_array(X)):
        found = interior_machine(form, signs, C=1.0, tol=1e-11)
        np.testing.assert_allclose(found.weights, X.T @ beta, atol=1e-5)
        assert found.intercept == pytest.approx(intercept, abs=1e-5)


def test_unscaled_columns_reach_the_optimum_without_duality_gap():
    X, y = load_breast_cancer(return_X_y=True)
    signs = np.where(y == 1, 1.0, -1.0)
    weights, intercept, violation = interior_machine(X, signs, C=1.0, tol=1e-9)
    margins = signs * ((X - X.mean(axis=0)) @ weights + intercept)
    objective = weights @ weights / 2 + np.maximum(0, 1 - margins).sum()
    assert violation < 1e-9
    assert objective == pytest.approx(48.8757257, abs=1e-5)
    peer = SVC(kernel="linear").fit(X, signs)
    there = peer.coef_ @ peer.coef_.T / 2 + np.maximum(0, 1 - signs * peer.decision_function(X)).sum()
    assert objective <= there.item()


def test_more_rows_and_columns_than_products_hold_are_left_to_liblinear(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X @ [1.0, 1.0, 0.0] + rng.normal(scale=0.3, size=300), [-0.8, 0.8])
    exact = OVRLinearSVMCommittee().fit(X, y)
    monkeypatch.setattr("fewer.learn._ovr_committee._MOST_ROWS_IN_PAIRS", 10)
    monkeypatch.setattr("fewer.learn._ovr_committee._MOST_COLUMNS_IN_PAIRS", 2)
    many = OVRLinearSVMCommittee().fit(X, y)
    assert np.mean(many.predict(X) != exact.predict(X)) < 0.02
    np.testing.assert_allclose(many.coef_[0], exact.coef_[0], atol=0.1)
    found = OVRLinearSVMCommittee().nested_predictions(X, y, X, np.arange(3), [1, 3])
    np.testing.assert_array_equal(found[1], many.predict(X))


def test_machines_that_are_not_done_say_so(monkeypatch, blocks):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr("fewer.learn._ovr_committee._MOST_ITERATIONS", 3)
    with pytest.warns(ConvergenceWarning, match=r"break the conditions of the optimum by"):
        OVRLinearSVMCommittee().fit(X, y)
    X, y = blocks
    monkeypatch.setattr("fewer._kernels._hinge_dual._MOST_STEPS", 10)
    with pytest.warns(ConvergenceWarning, match=r"by [\d.e+]+ .* after 10 steps"):
        OVRLinearSVMCommittee().fit(X, y)


def test_rows_far_from_zero_and_large_numbers_are_taken():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 4)) + y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = OVRLinearSVMCommittee(C=1.0).fit(X, y).predict(X)
        large = OVRLinearSVMCommittee(C=1e-8).fit(1e4 * X + 1e7, y).predict(1e4 * X + 1e7)
    np.testing.assert_array_equal(small, large)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only, 'x'"):
        OVRLinearSVMCommittee().fit(np.eye(3), ["x", "x", "x"])


@pytest.mark.parametrize("unit", [1e-12, 1e-6])
@pytest.mark.parametrize("n_columns", [4, 60])
def test_columns_too_small_for_the_cost_are_told(unit, n_columns):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = unit * (rng.normal(size=(45, n_columns)) + 3 * np.eye(n_columns)[y])
    with pytest.warns(ConvergenceWarning, match=r"all rows fall to one class.*unit of the columns.*StandardScaler"):
        OVRLinearSVMCommittee().fit(X, y)


@pytest.mark.parametrize("unit", [1e6, 1e12])
def test_classes_that_can_be_told_without_error_are_so_in_any_larger_unit(unit):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = rng.normal(size=(45, 100)) + 3 * np.eye(100)[y]
    expected = OVRLinearSVMCommittee(C=1e6).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="more than double precision resolves"):
        found = OVRLinearSVMCommittee().fit(unit * X, y)
    assert unit * found.coef_ == pytest.approx(expected.coef_, abs=1e-6)
    assert (found.predict(unit * X) == y).all()
