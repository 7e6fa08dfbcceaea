"""Hothorn, Buehlmann, Kneib, Schmid and Hofner (2010), Model-based boosting 2.0."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, lars_path

from fewer.learn import (
    ComponentwiseBoostingClassifier,
    ComponentwiseBoostingRegressor,
    CoxFamily,
    LinearLearner,
    QuantileFamily,
    SplineLearner,
    cv_risk,
)
from fewer.learn.boosting._boost import _REFRESH
from fewer.learn.boosting._componentwise_boosting import CLASSIFICATION, REGRESSION
from fewer.learn.boosting._designs import LinearDesign, Smoother, Spectrum
from tolerances import rounding


@pytest.fixture(scope="module")
def diabetes():
    """Columns centred, of unit length."""
    X, y = load_diabetes(return_X_y=True)
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0), y


def lines_without_intercept(n_columns):
    return [LinearLearner(column, fit_intercept=False) for column in range(n_columns)]


def mean_squared_error(model, X, y):
    return float(np.mean((y - model.predict(X)) ** 2))


@pytest.mark.claim("mboost", 1)
@pytest.mark.parametrize("base_learners", ["linear", lines_without_intercept(10)], ids=["intercepts", "none"])
def test_the_first_steps_on_diabetes(diabetes, base_learners, figure):
    X, y = diabetes
    model = ComponentwiseBoostingRegressor(base_learners).fit(X, y)
    error = mean_squared_error(model, X, y)
    assert model.selected_[:12].tolist() == [2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 3]
    assert np.count_nonzero(model.coef_) == 7
    assert error == pytest.approx(2906.13, abs=0.005)
    figure(f"7 columns, {error:.2f}")


@pytest.mark.claim("mboost", 1)
@pytest.mark.parametrize(("n_estimators", "distance"), [(2000, 10), pytest.param(20_000, 0.01, marks=pytest.mark.slow)])
def test_many_steps_come_to_least_squares(diabetes, n_estimators, distance, figure):
    X, y = diabetes
    error = mean_squared_error(ComponentwiseBoostingRegressor(n_estimators=n_estimators).fit(X, y), X, y)
    least = mean_squared_error(LinearRegression().fit(X, y), X, y)
    assert least == pytest.approx(2859.696, abs=0.001)
    assert 0 <= error - least < distance
    figure(f"{n_estimators} steps: {error - least:.4f} above")


@pytest.mark.claim("mboost", 2)
@pytest.mark.parametrize(
    ("learning_rate", "n_estimators", "coefficient_gap", "error_gap"),
    [(0.01, 900, 3, 5), pytest.param(0.001, 9000, 0.3, 0.5, marks=pytest.mark.slow)],
)
def test_small_steps_follow_the_lasso(diabetes, learning_rate, n_estimators, coefficient_gap, error_gap, figure):
    X, y = diabetes
    model = ComponentwiseBoostingRegressor(
        lines_without_intercept(10), n_estimators=n_estimators, learning_rate=learning_rate
    )
    path = model.fit(X, y).coef_path_
    _, _, lasso = lars_path(X, y - y.mean(), method="lasso")
    lengths, gaps = np.abs(lasso).sum(axis=0), []
    assert np.abs(path[-1]).sum() > 1500
    for length in (500, 1000, 1500):
        ours = path[np.argmin(np.abs(np.abs(path).sum(axis=1) - length))]
        theirs = np.array([np.interp(np.abs(ours).sum(), lengths, column) for column in lasso])
        errors = [np.mean((y - y.mean() - X @ coefficients) ** 2) for coefficients in (ours, theirs)]
        gaps.append((np.abs(ours - theirs).max(), abs(errors[0] - errors[1])))
    worst = np.max(gaps, axis=0)
    assert (worst < [coefficient_gap, error_gap]).all()
    figure(f"rate {learning_rate}: coefficients {worst[0]:.2f}, MSE {worst[1]:.2f}")


@pytest.mark.claim("mboost", 3)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_splines_get_the_degrees_of_freedom_asked_for(diabetes, scale, figure):
    x = scale * diabetes[0][:, [2]]
    basis = SplineLearner(0).fitted_basis(x)
    matrix = basis.matrix(x).toarray()
    assert matrix.shape == (442, 24)
    # Four splines overlap; they are made of distances to knots, of which there are 20 in the range.
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=rounding(4, condition=20 * np.abs(x).max() / np.ptp(x)))
    gram = matrix.T @ matrix
    spectrum = Spectrum.of(gram, basis.penalty)
    worst = 0.0
    for df in (2.5, 4, 6, 10):
        smoother = Smoother.of(gram, basis.penalty, df)
        fit = matrix @ smoother.inverse @ matrix.T  # by its definition, beside the eigenvalues
        worst = max(worst, abs(2 * np.trace(fit) - (fit * fit).sum() - df))
    assert worst < 1e-6
    assert spectrum.degrees_of_freedom(1) == pytest.approx(14.739, abs=5e-4)
    assert spectrum.trace(1) == pytest.approx(12.655, abs=5e-4)
    assert spectrum.degrees_of_freedom(1e4) == pytest.approx(2.590, abs=5e-4)
    assert spectrum.degrees_of_freedom(1e15) == pytest.approx(2, abs=1e-6)
    figure(f"within {worst:.0e}")


def additive_table(seed):
    """Three of twenty columns matter: one as a wave, one as a parabola, one as a line."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(200, 20))
    f = 2 * np.sin(2 * np.pi * X[:, 0]) + 3 * (2 * X[:, 1] - 1) ** 2 + 2 * X[:, 2]
    return X, f, f + 0.5 * rng.normal(size=200)


@pytest.mark.claim("mboost", 4)
@pytest.mark.filterwarnings("ignore:The risk is smallest at the last number")
@pytest.mark.parametrize(
    ("n_folds", "seeds"), [(3, [0]), pytest.param(25, range(5), marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_the_terms_of_an_additive_model_are_found(n_folds, seeds, figure):
    lines, curves = np.arange(20), np.arange(20, 40)
    learners = [LinearLearner(column) for column in lines]
    learners += [SplineLearner(column, df=1, penalized_only=True) for column in lines]
    shown = []
    for seed in seeds:
        X, f, y = additive_table(seed)
        model = ComponentwiseBoostingRegressor(learners, n_estimators=300).fit(X, y)
        best = cv_risk(model, X, y, n_repeats=n_folds, random_state=seed).best_n_estimators
        assert best >= 250
        counts = np.bincount(model.set_n_estimators(best).selected_, minlength=40)
        rmse = np.sqrt(np.mean((model.predict(X) - f) ** 2))
        noise = (counts[lines[3:]].sum() + counts[curves[3:]].sum()) / best
        assert rmse < 0.30
        assert np.argmax(counts) == curves[0]
        assert min(counts[curves[1]], counts[lines[2]]) >= 15
        assert max(counts[curves[2]], counts[lines[1]]) <= 3
        assert noise <= 0.12
        assert np.count_nonzero(counts) <= 14
        shown.append(f"{rmse:.2f}/{noise:.0%}/{np.count_nonzero(counts)}")
    figure("error/noise steps/terms: " + ", ".join(shown))


def random_target(family, rng, n_rows):
    if family.task == "survival":
        return np.column_stack([rng.exponential(size=n_rows) + 0.1, rng.random(n_rows) < 0.7])
    if family.task == "classification":
        return rng.choice([-1.0, 1.0], n_rows)
    if family.task == "ordinal":
        return rng.integers(0, 4, n_rows)
    return rng.poisson(3, n_rows).astype(float) if "inomial" in repr(family) or "Poisson" in repr(family) else None


@pytest.mark.claim("mboost", 5)
@pytest.mark.parametrize("name", [*REGRESSION, *CLASSIFICATION])
def test_negative_gradients_are_those_of_the_loss(name, figure):
    family = (REGRESSION | CLASSIFICATION)[name]()
    rng = np.random.default_rng(0)
    f, weights = rng.normal(size=40), rng.uniform(0.5, 2, 40)
    y = random_target(family, rng, 40)
    y = f + rng.choice([-1, 1], 40) * rng.uniform(0.05, 3, 40) if y is None else y  # never at a kink
    nuisance = family.nuisance(y, f, weights)
    if name == "huber":
        nuisance += 1e-3  # the median of the residuals is one of them, which is a kink
    u, step, worst = family.negative_gradient(y, f, weights, nuisance), 1e-5, 0.0
    for row in range(40):
        move = step * (np.arange(40) == row)
        rise = family.risk(y, f + move, weights, nuisance) - family.risk(y, f - move, weights, nuisance)
        slope = rise / (2 * step) * weights.sum() / weights[row]
        worst = max(worst, abs(u[row] * (2 if name == "gaussian" else 1) + slope))
    assert worst < 1e-6
    figure(f"{name} {worst:.0e}")


@pytest.mark.claim("mboost", 6)
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_a_constant_comes_to_the_quantile(tau, figure):
    y = np.random.default_rng(0).exponential(size=500)
    y = (y - y.mean()) / y.std()
    X = np.zeros((500, 1))
    model = ComponentwiseBoostingRegressor([LinearLearner(())], family=QuantileFamily(tau), n_estimators=2000).fit(X, y)
    gap = abs(model.predict(X[:1])[0] - np.quantile(y, tau))
    assert gap < 0.05
    figure(f"tau {tau}: {gap:.3f}")


@pytest.mark.claim("mboost", 6)
def test_the_quantile_of_a_linear_model_covers_its_share(figure):
    rng = np.random.default_rng(0)

    def drawn(n_rows):
        x = rng.uniform(size=(n_rows, 1))
        return x, 2 * x[:, 0] + (0.5 + x[:, 0]) * rng.normal(size=n_rows)

    X, y = drawn(2000)
    model = ComponentwiseBoostingRegressor(family=QuantileFamily(0.9), n_estimators=2000).fit(X, y)
    X_new, y_new = drawn(5000)
    covered = float(np.mean(y_new <= model.predict(X_new)))
    assert covered == pytest.approx(0.9, abs=0.03)
    figure(f"{covered:.3f}")


def partial_likelihood_gradient(y, f):
    """Row by row, as the formula stands."""
    time, event = y.T
    gradient = np.empty(len(f))
    for i in range(len(f)):
        passed = [j for j in range(len(f)) if event[j] and time[j] <= time[i]]
        gradient[i] = event[i] - sum(np.exp(f[i]) / np.exp(f[time >= time[j]]).sum() for j in passed)
    return gradient


@pytest.mark.claim("mboost", 7)
def test_the_gradient_of_cox_is_that_of_the_partial_likelihood(figure):
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(50):
        n_rows = int(rng.integers(5, 60))
        # Rounded times, so that there are ties.
        y = np.column_stack([rng.exponential(size=n_rows).round(1), rng.random(n_rows) < 0.6])
        f = rng.normal(size=n_rows)
        found = CoxFamily().negative_gradient(y, f, np.ones(n_rows))
        worst = max(worst, np.abs(found - partial_likelihood_gradient(y, f)).max())
    assert worst < 1e-8
    figure(f"Cox within {worst:.0e}")


@pytest.mark.claim("mboost", 7)
def test_many_steps_come_to_logistic_regression(figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = rng.random(500) < 1 / (1 + np.exp(-(X @ [1, -0.5, 0.5, 0, 0.2] + 0.3)))
    model = ComponentwiseBoostingClassifier(n_estimators=5000).fit(X, y)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    gap = np.abs(2 * model.coef_ - peer.coef_).max()
    assert gap < 1e-2
    assert 2 * model.intercept_ == pytest.approx(peer.intercept_[0], abs=1e-2)
    figure(f"logistic within {gap:.0e}")


@pytest.mark.claim("mboost", 8)
@pytest.mark.parametrize(
    ("base_learners", "family"),
    [("linear", "gaussian"), ("smooth", "gaussian"), ("tree", "gaussian"), ("linear", "huber")],
)
@pytest.mark.filterwarnings("ignore:The learners compete")
def test_a_model_is_cut_and_continued_exactly(diabetes, base_learners, family):
    X, y = diabetes

    def fitted(n_estimators):
        return ComponentwiseBoostingRegressor(base_learners, family, n_estimators=n_estimators, random_state=0).fit(
            X, y
        )

    for first, then in [(100, 250), (100, 40)]:
        changed, direct = fitted(first).set_n_estimators(then), fitted(then)
        np.testing.assert_array_equal(changed.selected_, direct.selected_)
        np.testing.assert_array_equal(changed.risk_, direct.risk_)
        np.testing.assert_array_equal(changed.coef_, direct.coef_)
        np.testing.assert_array_equal(changed.predict(X), direct.predict(X))


@pytest.mark.claim("mboost", 8)
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "noise", "n_steps"),
    [(100, 500, 0.1, 200), pytest.param(1000, 5000, 1.0, 500, marks=pytest.mark.slow)],
)
def test_a_step_on_a_column_that_was_taken_before_makes_no_pass_over_the_table(
    n_rows, n_columns, noise, n_steps, monkeypatch, figure
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, :5].sum(axis=1) + noise * rng.normal(size=n_rows)
    passes = []
    products = LinearDesign.moments
    monkeypatch.setattr(LinearDesign, "moments", lambda self, v: passes.append(1) or products(self, v))
    model = ComponentwiseBoostingRegressor(n_estimators=n_steps).fit(X, y)
    begun_anew = -(-n_steps // _REFRESH)  # so that rounding does not add up
    assert len(passes) == len(set(model.selected_)) + begun_anew
    assert len(passes) < n_steps / 2
    figure(f"{len(passes)} passes for {n_steps} steps over {n_columns:,} columns")
