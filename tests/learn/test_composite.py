"""Losses for probabilities, and the classifier that minimises them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import brier_score_loss, log_loss, make_scorer
from sklearn.model_selection import cross_val_score

from fewer.learn import CompositeLoss, CompositeLossClassifier, ProperLoss, link_named, proper_loss

X, Y = load_breast_cancer(return_X_y=True)


def test_mean_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, p, weights = rng.integers(2, size=50), rng.uniform(size=50), rng.uniform(size=50)
    np.testing.assert_allclose(proper_loss("log").loss(y, p), log_loss(y, p))
    np.testing.assert_allclose(2 * proper_loss("square").loss(y, p), brier_score_loss(y, p))
    weighted = proper_loss("log").loss(y, p, sample_weight=weights)
    np.testing.assert_allclose(weighted, log_loss(y, p, sample_weight=weights))
    assert proper_loss("zero-one").loss(y, p) == np.mean(y != (p >= 0.5))


def test_a_loss_makes_a_scorer():
    scorer = make_scorer(proper_loss("log").loss, response_method="predict_proba", greater_is_better=False)
    scores = cross_val_score(CompositeLossClassifier(alpha=0.01), X, Y, scoring=scorer, cv=3)
    assert (scores < -0.05).all()
    assert (scores > -0.4).all()


def test_losses_from_the_bayes_risk_and_from_a_partial_loss():
    e = np.linspace(0.1, 0.9, 9)
    named = proper_loss("square")
    for built in (ProperLoss.from_bayes_risk(named.bayes_risk), ProperLoss.from_partial(lambda e: e**2 / 2)):
        for ours, expected in zip(built.partial_losses(e), named.partial_losses(e), strict=True):
            np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_corrupted_losses_are_best_at_the_corrupted_probability():
    e = np.linspace(0.001, 0.999, 999)
    negative, positive = proper_loss("log").corrupted_partial_losses(e, 0.2)
    best = e[np.argmin(0.9 * positive + 0.1 * negative)]
    assert abs(best - (0.2 * 0.1 + 0.8 * 0.9)) < 1e-3


def test_canonical_links_of_other_weights_are_found_numerically():
    named = proper_loss("boosting")
    copied = ProperLoss(named.weight, "a copy")
    e = np.linspace(0.02, 0.98, 25)
    ours, expected = link_named("canonical", copied), link_named("canonical", named)
    # Scores of a copy begin at another point, and inverses do not care.
    np.testing.assert_allclose(ours.score(e) - ours.score(0.5), expected.score(e), atol=1e-5)
    np.testing.assert_allclose(ours.probability(ours.score(e)), e, atol=1e-9)
    assert not ours.is_bounded
    assert link_named("canonical", ProperLoss(np.ones_like)).is_bounded
    first, second = (CompositeLossClassifier(loss, alpha=0.01).fit(X, Y) for loss in (named, copied))
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("name", ["identity", "logit", "cloglog", "square", "cosine"])
def test_links_are_inverted_and_have_the_right_slopes(name):
    link = link_named(name)
    e = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(link.probability(link.score(e)), e, atol=1e-12)
    np.testing.assert_allclose(link.slope(e), (link.score(e + 1e-6) - link.score(e - 1e-6)) / 2e-6, rtol=1e-6)


def test_losses_and_links_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="lie between 0 and 1"):
        CompositeLossClassifier("square").fit(X, Y)
    with pytest.raises(ValueError, match="not strictly proper"):
        CompositeLossClassifier("zero-one", "logit").fit(X, Y)
    with pytest.raises(ValueError, match="'hinge' is not one of the losses"):
        CompositeLossClassifier("hinge").fit(X, Y)
    with pytest.raises(ValueError, match="'probit' is not one of the links"):
        CompositeLossClassifier("log", "probit").fit(X, Y)
    with pytest.raises(ValueError, match="belongs to a loss"):
        link_named("canonical")
    with pytest.raises(ValueError, match="threshold=1"):
        proper_loss("cost", 1)


def test_a_loss_that_is_not_convex_is_announced():
    with pytest.warns(UserWarning, match="not convex"):
        model = CompositeLossClassifier("square", "logit", alpha=0.01).fit(X, Y)
    assert not model.is_convex_
    assert model.score(X, Y) > 0.95


def test_bands_hold_the_bounds_of_the_sheet():
    x = np.array([0.2, 0.7])
    low, high = CompositeLoss("square", "identity").convexity_band(x)
    np.testing.assert_allclose([low[0], high[0]], sorted([1 / 0.4, 1 / 1.6]))
    low, high = CompositeLoss("log", "logit").convexity_band(x)
    expected = [1 / (8 * 0.7**2 * 0.3), 1 / (8 * 0.7 * 0.3**2)]
    np.testing.assert_allclose([low[1], high[1]], sorted(expected))
