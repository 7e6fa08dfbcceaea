"""Losses, where they start, and what boosting makes of them."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor

from fewer.learn import (
    BinomialFamily,
    ComponentwiseBoostingClassifier,
    ComponentwiseBoostingRegressor,
    CoxFamily,
    ExpectileFamily,
    GaussianFamily,
    HuberFamily,
    NegativeBinomialFamily,
    ProportionalOddsFamily,
    QuantileFamily,
)
from fewer.learn.boosting._componentwise_boosting import CLASSIFICATION, REGRESSION
from fewer.learn.boosting._families import weighted_median
from tolerances import rounding


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "expectile", "poisson", "negative_binomial"])
def test_the_offset_is_the_best_constant(name, rng):
    family = REGRESSION[name]()
    y, weights = rng.poisson(3, 101).astype(float), rng.integers(1, 4, 101).astype(float)
    start = family.offset(y, weights)
    nuisance = family.nuisance(y, np.full(101, start), weights)
    risks = [family.risk(y, np.full(101, start + move), weights, nuisance) for move in (-0.3, 0, 0.3)]
    assert risks[1] == min(risks)


@pytest.mark.parametrize("name", ["weibull", "log_logistic", "log_normal"])
def test_the_offset_and_the_scale_of_times_are_found(name, rng):
    noise = {"weibull": np.log(rng.exponential(size=4000)), "log_logistic": rng.logistic(size=4000)}
    errors = noise.get(name, rng.normal(size=4000))
    times, ends = np.exp(1.0 + 0.5 * errors), rng.exponential(12, size=4000)
    y = np.column_stack([np.minimum(times, ends), times <= ends])
    assert 0.6 < y[:, 1].mean() < 0.95
    family = REGRESSION[name]()
    assert family.nuisance(y, np.full(4000, 1.0), np.ones(4000)) == pytest.approx(0.5, abs=0.03)
    model = ComponentwiseBoostingRegressor(family=name, n_estimators=50).fit(rng.normal(size=(4000, 2)), y)
    assert model.intercept_ == pytest.approx(1.0, abs=0.05)


def test_thresholds_are_those_of_the_largest_likelihood(rng):
    y, f, weights = rng.integers(0, 4, 200), rng.normal(size=200), rng.uniform(0.5, 2, 200)
    family = ProportionalOddsFamily()
    found = family.nuisance(y, f, weights)
    best = minimize(lambda steps: family.risk(y, f, weights, np.cumsum([steps[0], *np.exp(steps[1:])])), np.zeros(3))
    np.testing.assert_allclose(found, np.cumsum([best.x[0], *np.exp(best.x[1:])]), atol=1e-3)
    assert family.risk(y, f, weights, found) <= best.fun + rounding(200, scale=best.fun)


def test_ordered_classes_come_to_proportional_odds(rng):
    X = rng.normal(size=(1000, 2))
    latent = X @ [1.5, 0.0] + rng.logistic(size=1000)
    y = np.array(["a low", "b middle", "c high"])[np.digitize(latent, [-1.0, 1.0])]
    model = ComponentwiseBoostingClassifier(family="proportional_odds", n_estimators=150).fit(X, y)
    assert model.coef_ == pytest.approx([1.5, 0.0], abs=0.2)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    shares = [(y == label).mean() for label in model.classes_]
    np.testing.assert_allclose(probabilities.mean(axis=0), shares, atol=0.01)
    assert (model.predict(X) == model.classes_[probabilities.argmax(axis=1)]).all()


def test_overdispersion_is_estimated(rng):
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + 5.0), size=5000).astype(float)  # mean 5, theta 2
    family = NegativeBinomialFamily()
    assert family.nuisance(counts, np.full(5000, np.log(5)), np.ones(5000)) == pytest.approx(2, abs=0.2)
    poisson = rng.poisson(5, 5000).astype(float)
    assert family.nuisance(poisson, np.full(5000, np.log(5)), np.ones(5000)) > 30


def test_counts_come_to_poisson_regression(rng):
    from sklearn.linear_model import PoissonRegressor

    X = rng.normal(size=(400, 3))
    y = rng.poisson(np.exp(0.5 + X @ [0.4, -0.2, 0]))
    peer = PoissonRegressor(alpha=0, tol=1e-10).fit(X, y)
    model = ComponentwiseBoostingRegressor(family="poisson", n_estimators=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-2)


def test_the_median_is_not_moved_by_outliers(rng):
    X = rng.normal(size=(300, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    y[:30] += 100 * rng.random(30)
    moved = ComponentwiseBoostingRegressor(n_estimators=300).fit(X, y).intercept_
    for family in ("laplace", HuberFamily(), QuantileFamily(0.5)):
        model = ComponentwiseBoostingRegressor(family=family, n_estimators=500).fit(X, y)
        assert abs(model.intercept_) < 0.15 < abs(moved)
        assert model.coef_[0] == pytest.approx(1, abs=0.15)


def test_expectiles_of_one_half_are_means(rng):
    X = rng.normal(size=(100, 3))
    y = X @ [1, 2, 0] + rng.normal(size=100)
    mean = ComponentwiseBoostingRegressor(n_estimators=50).fit(X, y)
    expectile = ComponentwiseBoostingRegressor(family=ExpectileFamily(0.5), n_estimators=50).fit(X, y)
    np.testing.assert_allclose(mean.predict(X), expectile.predict(X))


def test_cox_finds_the_relative_hazards(rng):
    X = rng.normal(size=(800, 3))
    times, ends = rng.exponential(np.exp(-X @ [1.0, -0.5, 0.0])), rng.exponential(3, size=800)
    y = np.array(list(zip(times <= ends, np.minimum(times, ends), strict=True)), dtype=[("e", bool), ("t", float)])
    model = ComponentwiseBoostingRegressor(family="cox", n_estimators=150).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -0.5, 0.0], atol=0.15)
    assert model.score(X, y) > 0.7
    columns = np.column_stack([y["t"], y["e"]])
    np.testing.assert_array_equal(
        ComponentwiseBoostingRegressor(family="cox", n_estimators=150).fit(X, columns).coef_, model.coef_
    )
    later = ComponentwiseBoostingRegressor(family="weibull", n_estimators=150).fit(X, y)
    assert later.coef_[0] == pytest.approx(-1.0, abs=0.15)
    assert later.score(X, y) == pytest.approx(model.score(X, y), abs=0.01)


@pytest.mark.filterwarnings("ignore:20 steps of .* move no prediction by more")
@pytest.mark.parametrize("name", [*REGRESSION, *CLASSIFICATION])
def test_rows_count_as_often_as_their_weights_say(name, rng):
    family = (REGRESSION | CLASSIFICATION)[name]()
    X, counts = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    y = {
        "survival": np.column_stack([rng.exponential(size=40), rng.random(40) < 0.7]),
        "classification": rng.integers(0, 2, 40),
        "ordinal": rng.integers(0, 3, 40),
        "regression": rng.poisson(2, 40).astype(float),
    }[family.task]
    kind = ComponentwiseBoostingRegressor if name in REGRESSION else ComponentwiseBoostingClassifier
    weighted = kind(family=name, n_estimators=20).fit(X, y, sample_weight=counts)
    repeated = kind(family=name, n_estimators=20).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)


def test_the_middle_of_weighted_values():
    values, weights = np.array([5.0, 1.0, 2.0, 8.0]), np.array([2.0, 1.0, 3.0, 2.0])
    assert weighted_median(values, weights) == np.median(np.repeat(values, [2, 1, 3, 2]))
    assert weighted_median(values, np.array([1.0, 1, 3, 2])) == 2.0


@pytest.mark.parametrize(
    ("family", "y", "said"),
    [
        ("poisson", [1.0, -1.0, 2.0, 0.0], "negative entries"),
        ("negative_binomial", [0.0, 0.0, 0.0, 0.0], "zero throughout"),
        ("cox", [1.0, 2.0, 3.0, 4.0], "two columns, time and event"),
        ("cox", [[1, 2], [2, 1], [3, 0], [4, 0]], "must be 0 or 1"),
        ("cox", [[1, 0], [2, 0], [3, 0], [4, 0]], "No event"),
        ("weibull", [[0, 1], [2, 0], [3, 0], [4, 0]], "not positive"),
        ("log_normal", [[np.nan, 1], [2, 0], [3, 0], [4, 0]], "NaN"),
        (BinomialFamily(), [1.0, 2.0, 3.0, 4.0], "ComponentwiseBoostingClassifier"),
    ],
)
def test_targets_that_do_not_suit_are_refused(family, y, said):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=said):
        ComponentwiseBoostingRegressor(family=family).fit(X, np.array(y))


def test_a_family_for_numbers_is_refused_for_classes():
    with pytest.raises(ValueError, match="ComponentwiseBoostingRegressor"):
        ComponentwiseBoostingClassifier(family=GaussianFamily()).fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])


@pytest.mark.parametrize("wrong", [QuantileFamily, ExpectileFamily])
def test_quantiles_lie_between_0_and_1(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        wrong(1.0)


def test_steps_that_are_too_long_end_with_a_warning(rng):
    X = 100 * rng.normal(size=(50, 2))
    y = rng.poisson(5, 50) + 1000 * (X[:, 0] > 150)
    with pytest.warns(ConvergenceWarning, match="Decrease learning_rate"):
        model = ComponentwiseBoostingRegressor(family="poisson", learning_rate=1.0, n_estimators=200).fit(X, y)
    assert model.n_estimators_ < 200
    assert np.isfinite(model.risk_).all()


def test_counts_are_never_predicted_worse_than_by_a_constant_and_small_steps_fit_them():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"after 0 steps.*about 0\.1 divided by their mean"):
        diverged = ComponentwiseBoostingRegressor(family="poisson").fit(X, y)
    assert diverged.predict(X) == pytest.approx(np.full(len(y), y.mean()))
    fitted = ComponentwiseBoostingRegressor(family="poisson", learning_rate=0.1 / y.mean(), n_estimators=300).fit(X, y)
    exact = PoissonRegressor(alpha=0, max_iter=1000).fit(X, y)
    assert np.corrcoef(fitted.predict(X), exact.predict(X))[0, 1] > 0.98
    assert (np.diff(fitted.risk_) < 0).all()


@pytest.mark.parametrize(("family", "reach"), [("laplace", "10"), (QuantileFamily(0.9), "9")])
def test_a_target_that_bounded_steps_cannot_reach_is_told_of(family, reach):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match=rf"100 steps of \w+ move no prediction by more than {reach}, "):
        ComponentwiseBoostingRegressor(family=family).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ComponentwiseBoostingRegressor(family=family).fit(X, (y - y.mean()) / y.std())


def test_two_fields_of_truth_values_are_not_times():
    y = np.array([(True, False)], dtype=[("a", bool), ("b", bool)])
    with pytest.raises(ValueError, match="one boolean field"):
        CoxFamily().checked(y)
