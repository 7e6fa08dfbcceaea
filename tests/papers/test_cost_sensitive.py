"""Dmochowski, Sajda and Parra (2010): maximum likelihood in cost-sensitive learning."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fewer.evaluate import cost_curve
from fewer.learn import (
    MetaCostClassifier,
    SigmoidRiskClassifier,
    ThresholdedLogisticRegression,
    WeightedLogisticRegression,
)
from fewer.learn.costs._costs import log_risk, sigmoid_risk
from fewer.theory import gaussian_plane_risk, min_risk_plane
from tolerances import rounding

MEANS = (np.array([0, 0.5]), np.array([0.5, 0]))
COVARIANCES = (np.diag([0.5, 1.0]), np.diag([1.0, 0.5]))


@pytest.mark.claim("cost-sensitive", 1)
def test_the_cheapest_planes_between_two_normal_classes(figure):
    risks = {0.1: (0.9445, -9.7), 0.2: (0.8959, -12.1), 0.3: (0.8420, -15.1), 0.4: (0.7766, -20.2), 0.5: (0.6831, -45)}
    found = []
    for pcf, (risk, angle) in risks.items():
        plane = min_risk_plane(MEANS, COVARIANCES, pcf, n_init=8)
        assert abs(plane.normalized_risk - risk) < 2e-4
        assert abs(np.degrees(np.arctan2(plane.coef[1], plane.coef[0])) - angle) < 0.5
        mirrored = min_risk_plane(MEANS, COVARIANCES, 1 - pcf, n_init=8)
        assert abs(mirrored.normalized_risk - risk) < 2e-4
        found.append(f"{plane.normalized_risk:.4f}")
    figure(", ".join(found))


@cache
def sample(n):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n // 2)
    spreads = [np.sqrt(np.diag(covariance)) for covariance in COVARIANCES]
    return np.vstack([rng.normal(*each, size=(n // 2, 2)) for each in zip(MEANS, spreads, strict=True)]), y


def population_risk(model, pcf):
    threshold = model.threshold_ - model.intercept_[0]
    return gaussian_plane_risk(model.coef_[0], threshold, MEANS, COVARIANCES, pcf) / min(pcf, 1 - pcf)


@pytest.mark.claim("cost-sensitive", 2)
@pytest.mark.parametrize(("n", "room"), [(20_000, 0.01), pytest.param(200_000, 0.004, marks=pytest.mark.slow)])
def test_weighted_likelihood_is_better_than_a_threshold_and_sigmoid_risk_is_best(n, room, figure):
    X, y = sample(n)
    said = []
    for pcf, best, weighted_risk in ((0.2, 0.8959, 0.941), (0.5, 0.6831, 0.683), (0.8, 0.8959, 0.941)):
        weighted = population_risk(WeightedLogisticRegression(pcf, alpha=0).fit(X, y), pcf)
        threshold = population_risk(ThresholdedLogisticRegression(pcf, alpha=0).fit(X, y), pcf)
        sigmoid = SigmoidRiskClassifier(pcf, alpha=0, n_init=10 if n > 50_000 else 5, random_state=0).fit(X, y)
        cheapest = population_risk(sigmoid, pcf)
        assert abs(weighted - weighted_risk) < room
        assert best - 1e-3 < cheapest < best + max(room, 0.005)
        if pcf != 0.5:
            assert cheapest <= weighted + 0.003
            assert weighted <= threshold + 0.003
        said.append(f"{pcf}: {cheapest:.4f}, {weighted:.4f}, {threshold:.4f}")
    figure("; ".join(said))


@pytest.mark.claim("cost-sensitive", 3)
def test_weighted_likelihood_is_logistic_regression_with_sample_weights(figure):
    X, y = load_breast_cancer(return_X_y=True)
    costs = np.where(y == 1, 1.0, 4.0)
    ours = WeightedLogisticRegression((4.0, 1.0), alpha=0.01).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(C=1 / (len(y) * 0.01), tol=1e-10, max_iter=5000).fit(Z, y, sample_weight=costs)
    coefficients = ours.coef_[0] * X.std(axis=0)
    np.testing.assert_allclose(coefficients, peer.coef_[0], atol=1e-5)
    by_rows = WeightedLogisticRegression(alpha=0.01).fit(X, y, cost=costs)
    np.testing.assert_allclose(by_rows.coef_, ours.coef_, rtol=1e-6)
    figure(f"within {np.abs(coefficients - peer.coef_[0]).max():.0e}")


@pytest.mark.claim("cost-sensitive", 4)
def test_the_weighted_loss_bounds_the_sigmoid_risk():
    rng = np.random.default_rng(0)
    X, signs, weights = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], 60), rng.uniform(0.1, 5, size=60) / 60
    for _ in range(1000):
        v = rng.normal(size=4) * rng.exponential(3)
        value = sigmoid_risk(v, X, signs, weights, 0.1)[0]
        assert value <= log_risk(v, X, signs, weights, 0.1)
    by_hand = sum(w * expit(-s * (x @ v[:3] + v[3])) for x, s, w in zip(X, signs, weights, strict=True))
    # Margins of this size in exponentials, then a sum of 60 positive terms.
    margin = np.abs(X @ v[:3] + v[3]).max()
    np.testing.assert_allclose(value, by_hand + 0.05 * v[:3] @ v[:3], rtol=rounding(60, condition=max(1, margin)))
    v = rng.normal(size=4)
    gradient = sigmoid_risk(v, X, signs, weights, 0.1)[1]
    numeric = approx_fprime(v, lambda v: sigmoid_risk(v, X, signs, weights, 0.1)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


@pytest.mark.claim("cost-sensitive", 5)
@pytest.mark.parametrize(("n", "room"), [(20_000, 0.02), pytest.param(100_000, 0.01, marks=pytest.mark.slow)])
def test_with_linear_log_odds_all_three_cost_the_same(n, room, figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < expit(X @ [1.5, -1, 0.5] - 0.3)).astype(int)
    new = rng.normal(size=(200_000, 3))
    labels = (rng.random(200_000) < expit(new @ [1.5, -1, 0.5] - 0.3)).astype(int)
    said = []
    for pcf in (0.1, 0.5, 0.9):
        models = [ThresholdedLogisticRegression(pcf, alpha=0), WeightedLogisticRegression(pcf, alpha=0)]
        models.append(SigmoidRiskClassifier(pcf, alpha=0, n_init=3, init="weighted", random_state=0))
        risks = [model.fit(X, y).expected_cost(new, labels) for model in models]
        assert max(risks) < (1 + room) * min(risks)
        said.append(f"{pcf}: {max(risks) / min(risks) - 1:.2%}")
    figure(", ".join(said))


@pytest.mark.claim("cost-sensitive", 6)
def test_only_the_ratio_of_costs_counts():
    X, y = load_breast_cancer(return_X_y=True)
    first = WeightedLogisticRegression((1, 3), alpha=0.01).fit(X, y)
    second = WeightedLogisticRegression((10, 30), alpha=0.1).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-6)
    equal = WeightedLogisticRegression((1, 1), alpha=0.01).fit(X, y)
    plain = ThresholdedLogisticRegression(alpha=0.01).fit(X, y)
    np.testing.assert_allclose(equal.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(equal.predict_proba(X), plain.predict_proba(X), atol=1e-9)


@pytest.mark.claim("cost-sensitive", 7)
@pytest.mark.parametrize(
    ("pcfs", "n_bags"),
    [((0.1, 0.5, 0.9), 3), pytest.param(tuple(np.arange(1, 10) / 10), 20, marks=pytest.mark.slow)],
)
def test_all_methods_save_costs_on_breast_cancer_and_none_on_permuted_labels(pcfs, n_bags, figure):
    X, y = load_breast_cancer(return_X_y=True)
    models = {
        "threshold": ThresholdedLogisticRegression(alpha=0.01),
        "weighted": WeightedLogisticRegression(alpha=0.01),
        "sigmoid": SigmoidRiskClassifier(alpha=0.01, n_init=2, init="weighted", random_state=0),
        "MetaCost": MetaCostClassifier(WeightedLogisticRegression(alpha=0.01), n_estimators=n_bags, random_state=0),
    }
    said = []
    for name, model in models.items():
        curve = cost_curve(model, X, y, pcfs=pcfs, cv=5)
        assert (curve.normalized_cost < 1).all()
        said.append(f"{name} {curve.normalized_cost.mean():.2f}")
    permuted = np.random.default_rng(0).permutation(y)
    nested = cost_curve(WeightedLogisticRegression(), X, permuted, pcfs=pcfs, alphas=[0.01, 1.0, 100.0], inner_cv=3)
    assert (nested.normalized_cost > 0.97 - 2 * nested.se).all()
    assert nested.normalized_cost.mean() > 0.97
    figure(", ".join(said) + f"; permuted {nested.normalized_cost.min():.2f}")
