"""Reid and Williamson (2010): composite binary losses."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from fewer.learn import (
    CompositeLoss,
    CompositeLossClassifier,
    ProperLoss,
    proper_loss,
    reference_link,
    symmetric_from_half,
    zero_one_regret_bound,
)
from tolerances import rounding

NAMES = ("log", "square", "boosting", "asymmetric-1", "asymmetric-2", "minimal")
GRID = np.linspace(0.01, 0.99, 99)


def random_weight(rng):
    """A positive, smooth weight function."""
    a, b, shift = rng.normal(size=3)
    return lambda c: np.exp(a * np.sin(3 * c + shift) + b * c)


@pytest.mark.claim("composite-losses", 1)
@pytest.mark.parametrize("name", NAMES)
def test_integrals_of_the_weight_are_the_closed_forms(name):
    named = proper_loss(name)
    computed = ProperLoss(named.weight)
    for ours, expected in zip(computed.partial_losses(GRID), named.partial_losses(GRID), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-8)
    h = 1e-5
    (low_negative, low_positive), (negative, positive) = named.partial_losses(GRID - h), named.partial_losses(GRID + h)
    by_positive = -(positive - low_positive) / (2 * h * (1 - GRID))
    by_negative = (negative - low_negative) / (2 * h * GRID)
    away = np.abs(GRID - 0.5) > 2 * h  # the weight of "minimal" has a corner there
    np.testing.assert_allclose(by_positive[away], named.weight(GRID)[away], rtol=1e-6)
    np.testing.assert_allclose(by_negative[away], named.weight(GRID)[away], rtol=1e-6)


@pytest.mark.claim("composite-losses", 1)
def test_every_proper_loss_is_a_mixture_of_costs():
    weight = random_weight(np.random.default_rng(0))
    negative, positive = ProperLoss(weight).partial_losses(np.array([0.3]))
    by_costs = quad(lambda c: proper_loss("cost", c).partial_losses(0.3)[0] * weight(c), 0, 0.3)[0]
    np.testing.assert_allclose(negative, by_costs, rtol=1e-7)
    np.testing.assert_allclose(positive, quad(lambda c: (1 - c) * weight(c), 0.3, 1)[0], rtol=1e-7)


@pytest.mark.claim("composite-losses", 2)
def test_the_true_probability_is_the_best_prediction():
    rng = np.random.default_rng(0)
    losses = [proper_loss(name) for name in NAMES] + [ProperLoss(random_weight(rng)) for _ in range(20)]
    predictions = np.linspace(1e-4, 1 - 1e-4, 9999)
    for loss in losses:
        assert loss.is_strictly_proper
        negative, positive = loss.partial_losses(predictions)
        for eta in (0.05, 0.3, 0.5, 0.81):
            best = predictions[np.argmin(eta * positive + (1 - eta) * negative)]
            assert abs(best - eta) < 2e-4
            assert loss.regret(eta, 0.4) >= 0
    assert not proper_loss("zero-one").is_strictly_proper
    assert [name for name in NAMES if not proper_loss(name).is_symmetric] == ["asymmetric-1", "asymmetric-2"]


@pytest.mark.claim("composite-losses", 3)
def test_convexity_is_what_second_differences_say():
    convex = [("log", "logit"), ("square", "identity"), ("boosting", "canonical"), ("minimal", "identity")]
    assert all(CompositeLoss(*each).is_convex() for each in convex)
    assert not CompositeLoss("square", "logit").is_convex()
    # Inside of the band that convexity needs, and yet not convex.
    wavy = ProperLoss(lambda c: 1 + (c - 0.5) * np.sin(200 * (c - 0.5)))
    loss = CompositeLoss(wavy, "identity")
    low, high = loss.convexity_band(GRID)
    weights = wavy.weight(GRID)
    tolerance = rounding(2, 1.5)  # at 0.5, where both ends of the band are one, and below 1.5 everywhere
    assert ((low <= weights + tolerance) & (weights <= high + tolerance)).all()
    assert not loss.is_convex()
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(50):
        loss = CompositeLoss(
            ProperLoss(random_weight(rng)), ("identity", "logit", "cloglog", "square")[rng.integers(4)]
        )
        scores = loss.link.score(np.linspace(0.002, 0.998, 400))
        even = np.linspace(scores[0], scores[-1], 2000)
        step = even[1] - even[0]
        bends = [np.diff(part, 2).min() / step**2 for part in loss.partial_losses(even)]
        verdict = loss.is_convex()
        verdicts.append(verdict)
        if verdict:
            assert min(bends) > -1e-3
        else:
            assert min(bends) < 0
    assert 5 < sum(verdicts) < 45


@pytest.mark.claim("composite-losses", 4)
def test_the_best_slopes_of_the_example_and_their_true_error_rates(figure):
    """Predictions e = alpha x of eta = x^2 and (1 + x) / 3, by the two asymmetric losses."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x, weights = (nodes + 1) / 2, weights / 2
    found = []
    for eta, name in product((lambda x: x**2, lambda x: (1 + x) / 3), ("asymmetric-1", "asymmetric-2")):
        loss = proper_loss(name)

        def risk(alpha, eta=eta, loss=loss):
            return weights @ loss.risk(eta(x), alpha * x)

        best = minimize_scalar(risk, bounds=(0.5, 1), method="bounded", options={"xatol": 1e-10}).x
        cut = 1 / (2 * best)
        error = quad(eta, 0, cut)[0] + quad(lambda x, eta=eta: 1 - eta(x), cut, 1)[0]
        found.append((best, error))
    np.testing.assert_allclose([best for best, _ in found], [0.666667, 0.817793, 1.0, 0.777635], atol=1e-5)
    np.testing.assert_allclose([error for _, error in found], [0.197917, 0.207631, 0.416667, 0.423481], atol=1e-5)
    figure(", ".join(f"{best:.4f} ({error:.4f})" for best, error in found))


@pytest.mark.claim("composite-losses", 5)
def test_the_regret_bound_inverts_the_regret_of_the_minimal_loss():
    a = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    regrets = (a / 2 + 0.25) * np.log(2 * a + 1) - a / 2
    np.testing.assert_allclose(zero_one_regret_bound(regrets), a, atol=1e-6)
    np.testing.assert_allclose(proper_loss("minimal").regret(0.5 + a[:4], 0.5), regrets[:4], atol=1e-10)


@pytest.mark.claim("composite-losses", 6)
def test_log_loss_with_logit_link_is_logistic_regression(figure):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    ours = CompositeLossClassifier("log", "logit", alpha=0.01).fit(X, y)
    # The weight of the log loss is 4 at 1/2.
    peer = LogisticRegression(C=1 / (4 * len(y) * 0.01), tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    figure(f"coefficients within {np.abs(ours.coef_ - peer.coef_).max():.0e}")


@pytest.mark.claim("composite-losses", 6)
@pytest.mark.parametrize(("name", "link"), list(product(NAMES, ("logit", "cloglog", "identity"))))
def test_slopes_pass_finite_differences(name, link):
    loss = CompositeLoss(name, link)
    scores = loss.link.score(np.array([0.07, 0.2, 0.45, 0.6, 0.85, 0.95]))
    h = 1e-6
    for slope, low, high in zip(
        loss.slopes(scores), loss.partial_losses(scores - h), loss.partial_losses(scores + h), strict=True
    ):
        np.testing.assert_allclose(slope, (high - low) / (2 * h), rtol=1e-5, atol=1e-8)


@pytest.mark.claim("composite-losses", 7)
def test_flipped_labels_pull_probabilities_towards_one_half(figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 2))
    eta = expit(X @ [1.0, -0.7] + 0.2)
    y = (rng.random(len(X)) < eta) ^ (rng.random(len(X)) < 0.2)
    noisy = 0.2 * (1 - eta) + 0.8 * eta
    # The linear logistic family does not hold the corrupted probabilities; with a few powers it nearly does.
    linear = CompositeLossClassifier("log", "logit", alpha=0).fit(X, y).predict_proba(X)[:, 1]
    assert 0.01 < np.abs(linear - noisy).mean() < 0.013
    powers = np.column_stack([X @ [1.0, -0.7], (X @ [1.0, -0.7]) ** 2, (X @ [1.0, -0.7]) ** 3])
    found = CompositeLossClassifier("log", "logit", alpha=0).fit(powers, y).predict_proba(powers)[:, 1]
    assert np.abs(found - noisy).mean() < 0.01
    assert np.abs(found - eta).mean() > 0.05
    figure(f"mean gap {np.abs(found - noisy).mean():.4f} to corrupted, {np.abs(found - eta).mean():.3f} to true")


@pytest.mark.claim("composite-losses", 1)
def test_half_of_a_symmetric_loss_gives_the_other_half():
    e = np.linspace(0.55, 0.95, 9)
    pairs = [
        (lambda e: e, lambda e: 1 - np.log(2) - e - np.log(1 - e)),
        (lambda e: 1 / (1 - e), lambda e: 2 + np.log(e / (1 - e))),
        (lambda e: 1 / (1 - e) ** 2, lambda e: 4 + 2 * (2 + np.log(e / (1 - e)) - 1 / e)),
    ]
    for half, expected in pairs:
        loss = symmetric_from_half(half)
        shift = half(np.array([0.5]))[0] - loss.partial_losses(np.array([0.5]))[0][0]
        np.testing.assert_allclose(loss.partial_losses(e)[0] + shift, expected(e), atol=1e-6)


def test_reference_links_of_margin_losses():
    v = np.linspace(-2, 2, 9)
    exponential = reference_link(np.exp, lambda v: -np.exp(-v))
    np.testing.assert_allclose(exponential(v), expit(2 * v), rtol=rounding(2, condition=2))  # exponents up to 2
    a = 3.0
    soft_hinge = reference_link(lambda v: expit(a * (1 + v)), lambda v: -expit(a * (1 - v)))
    expected = 1 / (1 + (np.exp(2 * a) + np.exp(a * (1 - v))) / (np.exp(2 * a) + np.exp(a * (1 + v))))
    np.testing.assert_allclose(soft_hinge(v), expected, rtol=rounding(2, condition=9))  # and up to 9
