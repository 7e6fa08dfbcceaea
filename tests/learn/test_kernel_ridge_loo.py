"""The kernel ridge classifier that tunes itself: its closed forms, its searches and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_four_gaussians, make_twonorm
from fewer.learn import KernelRidgeClassifierLOO, KernelRidgeRegressorLOO
from fewer.learn._kernel_ridge_loo import KernelSpectrum, PressCriterion, bordered_solution, gaussian_kernel
from tolerances import rounding


@pytest.fixture
def small():
    X, y, _ = make_four_gaussians(64, random_state=0)
    return X, y


def test_the_solution_is_that_of_the_bordered_system(small):
    X, y = small
    K, n = gaussian_kernel(X, 3.0), len(y)
    bordered = np.block([[K + 0.3 * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    expected = np.linalg.solve(bordered, np.r_[y, 0])
    model = KernelRidgeClassifierLOO(alpha=0.3, gamma=3.0, select=None).fit(X, y)
    tolerance = rounding(n, np.abs(expected).max(), np.linalg.cond(bordered))
    np.testing.assert_allclose(model.dual_coef_, expected[:-1], rtol=0, atol=tolerance)
    assert model.intercept_ == pytest.approx(expected[-1])
    np.testing.assert_allclose(model.loo_residuals_, expected[:-1] / np.diag(np.linalg.inv(bordered))[:-1], rtol=1e-9)


@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_the_gradient_agrees_with_finite_differences(ard, n_targets):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) * [1, 2, 0.5, 1] + 3
    y = np.sign(rng.normal(size=40)) if n_targets == 1 else np.sign(rng.normal(size=(40, n_targets)))
    criterion = PressCriterion(X, y, 0.7, np.full(4, 0.2), ard, penalty=0.3)
    theta = rng.normal(size=criterion.n_hyperparameters)
    value, gradient = criterion.with_gradient(theta)
    assert value == pytest.approx(criterion(theta), rel=rounding(40))
    np.testing.assert_allclose(gradient, approx_fprime(theta, criterion, 1e-6), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_one_eigendecomposition_serves_every_regularisation(n_targets):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    y = np.sign(rng.normal(size=50)) if n_targets == 1 else np.sign(rng.normal(size=(50, n_targets)))
    K, alphas = gaussian_kernel(X, 0.5), np.geomspace(1e-3, 1e3, 7)
    spectrum = KernelSpectrum.of(K, y)
    press, (dual_coef, intercept) = spectrum.press(alphas), spectrum.dual_coef(alphas)
    for i, alpha in enumerate(alphas):
        plain = bordered_solution(K, y, alpha)
        assert press[i] == pytest.approx((plain.residuals**2).sum(), rel=1e-9)
        np.testing.assert_allclose(dual_coef[:, :, i], plain.dual_coef.reshape(50, -1), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(intercept[:, i], plain.intercept, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "ard"])
def test_simplex_and_gradient_find_the_same_minimum(small, kernel):
    by_simplex, by_gradient = (
        KernelRidgeClassifierLOO(kernel=kernel, solver=solver, tol=1e-5).fit(*small)
        for solver in ("nelder-mead", "lbfgs")
    )
    assert by_simplex.press_ == pytest.approx(by_gradient.press_, rel=1e-5)
    for name in ("alpha", "gamma"):
        np.testing.assert_allclose(by_simplex.hyperparameters_[name], by_gradient.hyperparameters_[name], rtol=0.01)


def test_no_point_around_the_choice_has_a_smaller_press(small):
    model = KernelRidgeClassifierLOO(tol=1e-5).fit(*small)
    for reg_factor, gamma_factor in [(1.1, 1), (1 / 1.1, 1), (1, 1.1), (1, 1 / 1.1)]:
        chosen = model.hyperparameters_
        beside = {"alpha": chosen["alpha"] * reg_factor, "gamma": chosen["gamma"] * gamma_factor}
        assert KernelRidgeClassifierLOO(select=None, **beside).fit(*small).press_ > model.press_


@pytest.mark.parametrize("kernel", ["rbf", "ard"])
def test_the_chosen_hyperparameters_give_the_same_machine_again(small, kernel):
    model = KernelRidgeClassifierLOO(kernel=kernel).fit(*small)
    again = clone(model).set_params(select=None, **model.hyperparameters_).fit(*small)
    np.testing.assert_allclose(again.decision_function(small[0]), model.decision_function(small[0]), rtol=1e-8)


def test_regularisation_alone_is_chosen_as_well_as_by_a_search_over_it(small):
    model = KernelRidgeClassifierLOO(gamma=4.0, select="alpha").fit(*small)
    assert model.hyperparameters_["gamma"] == pytest.approx(4.0)
    alphas = np.geomspace(1e-3, 1e2, 400)
    tried = [KernelRidgeClassifierLOO(gamma=4.0, alpha=alpha, select=None).fit(*small).press_ for alpha in alphas]
    assert model.press_ <= min(tried)
    assert model.press_ == pytest.approx(min(tried), rel=1e-4)


def test_press_falls_along_the_search_and_the_path_ends_at_the_choice(small):
    path = KernelRidgeClassifierLOO(kernel="ard").fit(*small)
    assert (np.diff(path.selection_path_["press"]) <= 1e-9).all()
    assert path.selection_path_["press"][-1] == pytest.approx(path.press_)
    assert path.selection_path_["gamma"].shape == (path.n_iter_ + 1, 2)
    np.testing.assert_allclose(path.selection_path_["gamma"][-1], path.hyperparameters_["gamma"])


def test_early_stopping_ends_the_same_search_sooner(small):
    full = KernelRidgeClassifierLOO().fit(*small)
    with np.testing.assert_no_warnings():
        stopped = KernelRidgeClassifierLOO(max_iter=5, early_stopping=True).fit(*small)
    assert stopped.n_iter_ == 5
    np.testing.assert_allclose(stopped.selection_path_["press"], full.selection_path_["press"][:6])


def test_a_penalty_keeps_the_hyperparameters_nearer_to_their_start(small):
    def distance(penalty):
        model = KernelRidgeClassifierLOO(gamma=1.0, hyper_penalty=penalty, tol=1e-5).fit(*small)
        return np.hypot(np.log(model.hyperparameters_["alpha"]), np.log(model.hyperparameters_["gamma"]))

    distances = [distance(penalty) for penalty in (0.0, 0.3, 3.0, 300.0)]
    assert (np.diff(distances) < 0).all()
    assert distances[-1] < 0.02


def test_a_search_that_is_cut_short_says_how_far_it_came():
    X, y, _ = make_twonorm(60, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"after 20 iterations: PRESS is [\d.]+"):
        KernelRidgeClassifierLOO(kernel="ard", max_iter=20).fit(X, y)


def test_three_classes_are_told_apart_by_their_names():
    iris = load_iris()
    names = iris.target_names[iris.target]
    model = KernelRidgeClassifierLOO().fit(iris.data[::2], names[::2])
    assert model.decision_function(iris.data).shape == (150, 3)
    assert model.score(iris.data[1::2], names[1::2]) > 0.93


def test_a_later_change_of_the_training_table_does_not_change_the_machine(small):
    X, y = small[0].copy(), small[1]
    model = KernelRidgeClassifierLOO(select=None).fit(X, y)
    before = model.predict(small[0])
    X[:] = 0
    np.testing.assert_array_equal(model.predict(small[0]), before)


def test_several_widths_need_the_ard_kernel(small):
    with pytest.raises(ValueError, match="kernel='ard'"):
        KernelRidgeClassifierLOO(gamma=[1.0, 2.0]).fit(*small)
    with pytest.raises(ValueError, match="one positive number"):
        KernelRidgeClassifierLOO(kernel="ard", gamma=[1.0, 2.0, 3.0]).fit(*small)


def test_equal_rows_with_next_to_no_regularisation_are_refused():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="Raise alpha"):
        KernelRidgeClassifierLOO(alpha=1e-18, select=None).fit(X, y)


def numbers(n_rows=30):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n_rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n_rows)


def test_residuals_of_numbers_are_those_of_fits_without_the_row():
    X, y = numbers()
    fixed = KernelRidgeRegressorLOO(alpha=0.3, gamma=0.5, select=None)
    found = clone(fixed).fit(X, y).loo_residuals_
    for row in range(0, len(y), 5):
        others = np.arange(len(y)) != row
        alone = clone(fixed).fit(X[others], y[others]).predict(X[[row]])
        assert found[row] == pytest.approx(y[row] - alone[0], abs=rounding(30, scale=2, condition=30 / 0.3))


def test_the_unit_of_the_numbers_does_not_matter():
    X, y = numbers()
    plain, other = KernelRidgeRegressorLOO().fit(X, y), KernelRidgeRegressorLOO().fit(X, 1024 * y)
    # A power of two changes no digit.
    np.testing.assert_array_equal(other.predict(X), 1024 * plain.predict(X))
    assert other.press_ == 1024**2 * plain.press_


def test_numbers_that_bend_are_predicted_better_than_by_a_line():
    (X, y), new = numbers(100), np.random.default_rng(1).uniform(-2, 2, (200, 2))
    assert np.mean((KernelRidgeRegressorLOO().fit(X, y).predict(new) - np.sin(2 * new[:, 0])) ** 2) < 0.02
