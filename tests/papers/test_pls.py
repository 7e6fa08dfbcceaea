"""Rosipal and Kraemer (2006): overview and recent advances in partial least squares."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_linnerud, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from fewer.evaluate import component_curve
from fewer.extract import CanonicalRidge, KernelPLS, PLSCanonical, PLSDiscriminant, PLSRegressor, pls_shrinkage
from fewer.extract.pls._pls_discriminant import class_targets
from tolerances import rounding

ALGORITHMS = ("nipals", "simpls", "kernel", "krylov")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X - X.mean(axis=0), y - y.mean()


def conjugate_gradients(A, z, n_steps):
    solution, residual = np.zeros_like(z), z.copy()
    direction = residual.copy()
    for _ in range(n_steps):
        step = residual @ residual / (direction @ A @ direction)
        solution = solution + step * direction
        after = residual - step * A @ direction
        direction = after + after @ after / (residual @ residual) * direction
        residual = after
    return solution


def krylov_least_squares(X, y, n_steps):
    A, z = X.T @ X, X.T @ y
    basis = np.linalg.qr(np.column_stack([np.linalg.matrix_power(A, power) @ z for power in range(n_steps)]))[0]
    return basis @ np.linalg.lstsq(X @ basis, y)[0]


@pytest.mark.claim("pls", 1)
@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_coefficients_are_those_of_conjugate_gradients_and_of_krylov_least_squares(diabetes, n_components, figure):
    X, y = diabetes
    peers = [
        PLSRegression(n_components, scale=False).fit(X, y).coef_[0],
        conjugate_gradients(X.T @ X, X.T @ y, n_components),
        krylov_least_squares(X, y, n_components),
    ]
    ours = [PLSRegressor(n_components, solver=each).fit(X, y).coef_ for each in ALGORITHMS]
    worst = max(np.abs(coef - peer).max() for coef in ours for peer in peers)
    figure(f"{n_components} components: {worst:.0e}")
    assert worst < 1e-8


@pytest.mark.claim("pls", 2)
def test_the_shrinkage_identity(diabetes, figure):
    X, y = diabetes
    left, sizes, right = linalg.svd(X, full_matrices=False)
    pieces = (left.T @ y / sizes)[:, None] * right
    report = pls_shrinkage(X, y, 5)
    largest, lengths = [], []
    for n_components in (1, 2, 3, 5):
        model = PLSRegressor(n_components).fit(X, y)
        for factors in (model.shrinkage_factors_, report.factors[n_components - 1]):
            gap = np.linalg.norm(factors @ pieces - model.coef_) / np.linalg.norm(model.coef_)
            assert gap < 1e-8
        largest.append(model.shrinkage_factors_.max())
        lengths.append(np.linalg.norm(model.coef_) / np.linalg.norm(pieces.sum(axis=0)))
    figure(f"largest factors {np.round(largest, 2)}, lengths {np.round(lengths, 3)}")
    np.testing.assert_allclose(largest, [1.12, 1.25, 1.03, 1.04], atol=0.005)
    np.testing.assert_allclose(lengths, [0.395, 0.601, 0.620, 0.626], atol=0.0005)
    assert np.all(np.diff(lengths) > 0)


@pytest.mark.claim("pls", 3)
@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel", "krylov"])
def test_scores_are_orthogonal_and_all_components_are_least_squares(diabetes, algorithm, figure):
    X, y = diabetes
    model = PLSRegressor(10, solver=algorithm).fit(X, y)
    products = model.x_scores_.T @ model.x_scores_
    off = np.abs(products - np.diag(np.diag(products))).max()
    gap = np.abs(model.coef_ - LinearRegression().fit(X, y).coef_).max()
    figure(f"{algorithm}: off the diagonal {off:.0e}, from least squares {gap:.0e}")
    assert off < 1e-8
    assert gap < 1e-6


@pytest.mark.claim("pls", 4)
def test_simpls_is_nipals_for_one_target_and_not_for_several(diabetes, figure):
    X, y = diabetes
    for n_components in (1, 3, 5):
        coefs = [PLSRegressor(n_components, solver=each).fit(X, y).coef_ for each in ("nipals", "simpls")]
        np.testing.assert_allclose(*coefs, atol=1e-8 * np.abs(coefs[0]).max())
    X, Y = (scale(table) for table in load_linnerud(return_X_y=True))
    nipals, simpls = (PLSRegressor(2, solver=each).fit(X, Y).coef_ for each in ("nipals", "simpls"))
    gap = np.linalg.norm(nipals - simpls) / np.linalg.norm(nipals)
    figure(f"standardised linnerud, 2 components: {gap:.1e}")
    assert 1e-4 < gap < 1e-2


@pytest.mark.claim("pls", 4)
@pytest.mark.parametrize("estimator", [PLSRegressor, PLSCanonical])
def test_the_next_singular_value_after_deflation_is_not_below_the_second_before(estimator):
    X, Y = (scale(table) for table in load_linnerud(return_X_y=True))
    model = estimator(3).fit(X, Y)
    second, tolerance = 0.0, rounding(len(X), np.linalg.norm(X.T @ Y))
    for step in range(3):
        values = np.linalg.svd(X.T @ Y, compute_uv=False)
        # The weights of the model are those of this deflation.
        target = model.y_weights_[:, step]
        np.testing.assert_allclose(abs(model.x_weights_[:, step] @ X.T @ Y @ target), values[0], rtol=1e-8)
        assert values[0] >= second - tolerance
        second = values[1]
        t = model.x_scores_[:, step]
        by = model.y_scores_[:, step] if estimator is PLSCanonical else t
        X = X - np.outer(t, t @ X) / (t @ t)
        Y = Y - np.outer(by, by @ Y) / (by @ by)


@pytest.mark.claim("pls", 5)
def test_canonical_ridge_goes_from_correlation_to_covariance(diabetes, figure):
    X, Y = load_linnerud(return_X_y=True)
    correlations = CanonicalRidge(scale=True).fit(X, Y).correlations_
    np.testing.assert_allclose(correlations, [0.7956, 0.2006, 0.0726], atol=1e-4)
    n_rows = len(X)
    values = np.sqrt(CanonicalRidge(gamma_x=1, gamma_y=1, scale=True).fit(X, Y).eigenvalues_) / (n_rows - 1)
    np.testing.assert_allclose(values, [1.1280, 0.0752, 0.0333], atol=1e-4)
    standard = [scale(table) * np.sqrt((n_rows - 1) / n_rows) for table in (X, Y)]
    expected = np.linalg.svd(standard[0].T @ standard[1] / (n_rows - 1))[1]
    # Roots of eigenvalues: the rounding of the largest counts for more in the root of a small one.
    tolerance = rounding(n_rows, expected.max(), condition=expected.max() / expected.min())
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)
    X, y = diabetes
    direction = CanonicalRidge(1, gamma_x=0.3).fit(X, y).x_rotations_[:, 0]
    ridge = np.linalg.solve(0.7 * X.T @ X + 0.3 * np.eye(10), X.T @ y)
    cosine = abs(direction @ ridge) / np.linalg.norm(direction) / np.linalg.norm(ridge)
    figure(f"canonical correlations {correlations.round(4)}, 1 - cosine with ridge {1 - cosine:.0e}")
    assert cosine > 1 - 1e-10


@pytest.mark.claim("pls", 6)
def test_orthonormalised_components_are_those_of_the_scatter_between_classes(figure):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    cross = X.T @ class_targets(y, 3, orthonormalised=True)
    means = np.array([X[y == label].mean(axis=0) for label in range(3)])
    between = means.T @ (np.bincount(y)[:, None] * means)
    assert np.abs(cross @ cross.T - between).max() < 1e-9
    first = PLSDiscriminant(2, deflation="sb").fit(X, y).x_weights_
    leading = linalg.eigh(between)[1][:, :-3:-1]
    np.testing.assert_allclose(np.abs(np.sum(first * leading, axis=0)), 1, atol=1e-9)
    model = PLSDiscriminant(2, estimator=LinearDiscriminantAnalysis())
    accuracies = [
        cross_val_score(model, X, y, cv=StratifiedKFold(10, shuffle=True, random_state=seed)).mean()
        for seed in range(5)
    ]
    figure(f"10-fold accuracy with 2 components: {min(accuracies):.3f} to {max(accuracies):.3f}")
    assert min(accuracies) >= 0.965


def curve_errors(seeds, sizes, most=12):
    """RMSE to the noise-free curve with each number of components, or as many as there are."""
    x = np.linspace(0, 3.5, 100)
    truth = 4.26 * (np.exp(-x) - 4 * np.exp(-2 * x) + 3 * np.exp(-3 * x))
    errors = []
    for seed in seeds:
        y = truth + 0.2 * np.random.default_rng(seed).normal(size=100)
        model = KernelPLS(most, gamma=1 / 1.8).fit(x[:, None], y)
        path = model.predict_path(x[:, None])
        errors.append([np.sqrt(np.mean((path[min(size, len(path)) - 1] - truth) ** 2)) for size in sizes])
    return np.array(errors)


@pytest.mark.claim("pls", 7)
def test_kernel_pls_with_a_linear_kernel_is_pls1(diabetes, figure):
    X, y = diabetes
    worst = 0.0
    for n_components in (1, 3, 5):
        dual = KernelPLS(n_components, kernel="linear").fit(X, y)
        coef = PLSRegressor(n_components).fit(X, y).coef_
        worst = max(worst, np.abs(X.T @ dual.dual_coef_ - coef).max() / np.abs(coef).max())
    figure(f"{worst:.0e}")
    assert worst < 1e-9


@pytest.mark.claim("pls", 7)
@pytest.mark.filterwarnings("ignore:n_components")
def test_kernel_pls_follows_the_curve_with_8_components_and_is_stable_with_25(figure):
    errors = curve_errors(range(50), (1, 4, 8, 12, 25), most=25)
    mean = errors.mean(axis=0)
    figure(f"RMSE with 1, 4, 8, 12, 25 components: {mean.round(3)}")
    assert mean[2] < 0.08
    assert mean[2] < mean[1] < mean[0]
    assert errors[:, 4].max() < 0.25


class CentredByHand(RegressorMixin, BaseEstimator):
    """PLS1 on a table centred by its training rows, by the textbook loop."""

    def fit(self, X, y):
        self.mean_, self.y_mean_ = X.mean(axis=0), y.mean()
        X, y = X - self.mean_, y - self.y_mean_
        self.coef_ = krylov_least_squares(X, y, 3)
        return self

    def predict(self, X):
        return (X - self.mean_) @ self.coef_ + self.y_mean_


@pytest.mark.claim("pls", 8)
def test_nothing_leaks_from_held_out_rows(figure):
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(10, shuffle=True, random_state=0)
    ours, by_hand = (cross_val_score(model, X, y, cv=folds) for model in (PLSRegressor(3), CentredByHand()))
    figure(f"scores differ by {np.abs(ours - by_hand).max():.0e}")
    np.testing.assert_allclose(ours, by_hand, atol=1e-10)


def many_causes(n_rows, n_columns, n_targets, density=1.0):
    """Columns and targets that follow eight hidden causes; of a sparse table, most entries are zero."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(n_rows, 8)) * np.linspace(3, 0.5, 8)
    X = causes @ rng.normal(size=(8, n_columns)) + rng.normal(size=(n_rows, n_columns))
    Y = causes @ rng.normal(size=(8, n_targets)) + rng.normal(size=(n_rows, n_targets))
    return np.where(rng.random(X.shape) < density, X, 0.0), Y


@pytest.mark.claim("pls", 9)
@pytest.mark.parametrize("n_targets", [1, 2, 10])
def test_predictions_are_those_of_scikit_learn_on_every_shape_of_table(n_targets, figure):
    worst = 0.0
    for n_rows, n_columns, density in ((40, 900, 1.0), (900, 40, 1.0), (120, 400, 0.05)):
        X, Y = many_causes(n_rows, n_columns, n_targets, density)
        # Its loop ends at 1e-3 of the weights by default, and has to go on to agree.
        theirs = PLSRegression(6, scale=False, tol=1e-20, max_iter=20_000).fit(X, Y).predict(X)
        table = X if density == 1 else sparse.csr_array(X)
        for algorithm in ("nipals", "kernel"):
            ours = PLSRegressor(6, solver=algorithm).fit(table, Y).predict(table)
            worst = max(worst, np.abs(ours - theirs).max() / np.abs(theirs).max())
    figure(f"{n_targets} targets: {worst:.0e}")
    assert worst < 1e-8


@pytest.mark.claim("pls", 10)
def test_blocks_of_rows_give_the_model_of_all_rows(figure):
    X, Y = many_causes(600, 30, 3)
    whole, stream = PLSRegressor(6).fit(X, Y), PLSRegressor(6)
    for rows in np.array_split(np.arange(600), 7):
        stream.partial_fit(X[rows], Y[rows])
    gap = np.abs(stream.predict(X) - whole.predict(X)).max() / np.abs(Y).max()
    figure(f"{gap:.0e}")
    assert gap < 1e-8


@pytest.mark.claim("pls", 11)
def test_one_fit_in_each_fold_scores_every_number_of_components(monkeypatch, figure):
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5)
    expected = [cross_val_score(PLSRegressor(k), X, y, cv=folds) for k in range(1, 11)]
    fits = []
    fit = PLSRegressor.fit
    monkeypatch.setattr(PLSRegressor, "fit", lambda self, X, y: fits.append(len(X)) or fit(self, X, y))
    curve = component_curve(PLSRegressor(), X, y, n_components=10, cv=folds)
    gap = np.abs(curve.scores[0].T - expected).max()
    figure(f"{len(fits)} fits for 5 folds and 10 numbers, scores differ by {gap:.0e}")
    assert len(fits) == 5
    assert gap < 1e-8


@pytest.mark.claim("pls", 12)
def test_degrees_of_freedom_are_the_trace_of_the_derivative(figure):
    X, y = load_diabetes(return_X_y=True)
    X, y, step = X[:40], y[:40], 1e-3
    found = pls_shrinkage(X, y, 4).degrees_of_freedom
    derivative = np.zeros(4)
    for row in range(40):
        unit = np.eye(40)[row]
        up, down = (PLSRegressor(4).fit(X, y + way * step * unit).predict_path(X)[:, row] for way in (1, -1))
        derivative += (up - down) / (2 * step)
    gap = np.abs(found - derivative).max()
    figure(f"{found.round(2).tolist()} for 1 to 4 components, {gap:.0e} from the derivative")
    np.testing.assert_allclose(found, derivative, rtol=1e-4)
    assert np.all(found > np.arange(1, 5) + 1)
