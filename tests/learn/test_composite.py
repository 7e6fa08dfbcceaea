"""Losses for probabilities, and the classifier that minimises them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss, log_loss, make_scorer
from sklearn.model_selection import cross_val_score

from fewer.learn import (
    CompositeLoss,
    CompositeLossClassifier,
    CompositeLossClassifierCV,
    ProperLoss,
    beta_loss,
    is_calibrated_at,
    is_noise_robust,
    link_named,
    proper_loss,
    zero_one_regret_bound,
)
from tolerances import rounding

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
    # The slopes of these links from 0.05 to 0.95 differ by less than a factor of ten.
    np.testing.assert_allclose(link.probability(link.score(e)), e, rtol=0, atol=rounding(1, condition=10))
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


def test_the_beta_family_holds_the_named_losses_and_is_convex_where_theory_says():
    e = np.linspace(0.05, 0.95, 19)
    for low, high, name in ((0, 0, "log"), (1, 1, "square"), (-0.5, -0.5, "boosting"), (0, 1, "asymmetric-1")):
        # Close by, the integrals must come to the closed form.
        near = beta_loss(low + 1e-9, high)
        for ours, expected in zip(near.partial_losses(e), proper_loss(name).partial_losses(e), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-6)
    for low in (-0.9, -0.5, 0.0, 0.3):
        for high in (-0.9, -0.25, 0.0, 0.3):
            assert CompositeLoss(beta_loss(low, high), "logit").is_convex() == (max(low, high) <= 0)
    # c^low is integrated over (0, e): e^(low + 1) / (low + 1) times about 1 for small e.
    small = beta_loss(-0.9, 0.5).partial_losses(np.array([1e-9]))[0]
    np.testing.assert_allclose(small, 1e-9**0.1 / 0.1, rtol=1e-5)
    with pytest.raises(ValueError, match="must be above -1"):
        beta_loss(-1, 0)


def test_stochastic_gradients_come_to_the_minimum_also_with_weights():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 5)) * [1, 10, 0.1, 1, 1] + 3
    y = (rows[:, 0] - rows[:, 3] + rng.logistic(size=4000) > 0).astype(int)
    weights = rng.integers(3, size=4000).astype(float)
    for options in ({}, {"sample_weight": weights}):
        for loss in ("log", "boosting"):
            exact = CompositeLossClassifier(loss, "logit", alpha=1e-3).fit(rows, y, **options)
            drawn = CompositeLossClassifier(loss, "logit", alpha=1e-3, solver="sgd", random_state=0)
            drawn.fit(rows, y, **options)
            difference = np.abs(drawn.predict_proba(rows) - exact.predict_proba(rows)).max()
            assert difference < 0.01
    again = CompositeLossClassifier(solver="sgd", random_state=0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="still falls after max_iter=2 passes"):
        again.fit(rows, y)
    assert again.n_iter_ == 2


def test_the_loss_is_chosen_by_the_target_on_held_out_rows():
    # Log odds that are not linear: the cheapest line for a threshold is another one than the most likely line.
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(3000, 1))
    y = (rng.random(3000) < 1 / (1 + np.exp(-3 * np.sin(x[:, 0]) - x[:, 0] ** 2))).astype(int)
    target = proper_loss("cost", threshold=0.8)
    model = CompositeLossClassifierCV(target_loss=target, alphas=[1e-4, 1e-2]).fit(x, y)
    assert model.scores_.shape == (9, 2, 5)
    means = model.scores_.mean(axis=2)
    names = [loss.name for loss in model.losses_]
    assert means.min() == means[names.index(model.loss_.name)].min()
    plain = CompositeLossClassifier(model.loss_, "logit", alpha=model.alpha_).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), plain.predict_proba(x), atol=1e-4)
    again = CompositeLossClassifierCV(["log"], alphas=[0.01], cv=3, target_loss="square").fit(X, Y)
    assert again.alpha_ == 0.01
    np.testing.assert_allclose(
        again.predict_proba(X), CompositeLossClassifier(alpha=0.01).fit(X, Y).predict_proba(X), atol=1e-5
    )


def test_losses_that_are_not_convex_are_not_chosen_from():
    model = CompositeLossClassifierCV(["square", "log"], alphas=[0.01], cv=3).fit(X, Y)
    assert [loss.name for loss in model.losses_] == ["log"]
    with pytest.raises(ValueError, match="None of the losses is convex"):
        CompositeLossClassifierCV(["square"]).fit(X, Y)
    with pytest.raises(ValueError, match="not strictly proper"):
        CompositeLossClassifierCV(["zero-one"]).fit(X, Y)
    with pytest.raises(ValueError, match="losses is empty"):
        CompositeLossClassifierCV([]).fit(X, Y)
    with pytest.raises(ValueError, match="penalties from 0 on"):
        CompositeLossClassifierCV(alphas=[-1.0]).fit(X, Y)


def test_calibration_of_losses_that_are_not_proper():
    for threshold in (0.2, 0.5, 0.7):
        assert is_calibrated_at(lambda e: e / (e * (1 - e)), lambda e: -1 / e, threshold)  # log
        assert is_calibrated_at(lambda e: 1.0, lambda e: -1.0, threshold) == (threshold == 0.5)
    assert not is_calibrated_at(lambda e: 0.0, lambda e: 0.0, 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        is_calibrated_at(lambda e: 1, lambda e: -1, 1.0)


@pytest.mark.parametrize(("threshold", "noise"), [(0.3, 0.2), (0.7, 0.1), (0.5, 0.4)])
def test_decisions_are_robust_to_noise_outside_of_an_interval(threshold, noise):
    eta = np.linspace(0, 1, 1001)
    edge = (threshold - noise) / (1 - 2 * noise)
    low, high = sorted([edge, threshold])
    inside = (eta >= low + 1e-9) & (eta < high - 1e-9)
    at_edge = np.minimum(np.abs(eta - low), np.abs(eta - high)) < 1e-9
    np.testing.assert_array_equal(is_noise_robust(eta, threshold, noise)[~at_edge], ~inside[~at_edge])
    with pytest.raises(ValueError, match="below 1/2"):
        is_noise_robust(eta, threshold, 0.5)


def test_probabilities_and_labels_that_do_not_fit_are_refused():
    loss = proper_loss("log")
    for y, p, message in (
        ([1, 0], [np.nan, 0.5], "are nan in row 0"),
        ([1, 0], [0.5, 1.5], "are 1.5 in row 1"),
        ([1, 0, 1], [0.2, 0.5], "y has the shape"),
        (["yes", "no"], [0.2, 0.5], "pos_label=1 is not among the labels"),
    ):
        with pytest.raises(ValueError, match=message):
            loss.loss(y, p)
    assert loss.loss(["yes", "no"], [0.2, 0.5], pos_label="yes") > 0
    with pytest.raises(ValueError, match="weight must be a function"):
        ProperLoss(3)


@pytest.mark.filterwarnings("ignore:.*is not convex")
def test_weights_may_be_numbers_and_must_be_possible():
    flat = ProperLoss(lambda c: 1.0)
    np.testing.assert_allclose(flat.partial_losses([0.2, 0.5]), proper_loss("square").partial_losses([0.2, 0.5]))
    assert CompositeLossClassifier(flat, "logit", alpha=0.1).fit(X[:, :2], Y).score(X[:, :2], Y) > 0.8
    with pytest.raises(ValueError, match=r"must not be negative, and is -0.499 at 0.001"):
        ProperLoss(lambda c: c - 0.5)
    for steep in (lambda c: c**-2.0, lambda c: c**-3.0):
        with pytest.raises(ValueError, match="grows too fast towards 0"):
            ProperLoss(steep).partial_losses(0.5)
    with pytest.raises(ValueError, match="grows too fast towards 1"):
        ProperLoss(lambda c: (1 - c) ** -3.0).partial_losses(0.5)
    assert np.isfinite(ProperLoss(lambda c: c**-1.9 * (1 - c) ** -1.9).partial_losses(0.5)).all()


def test_noise_and_regret_stay_in_their_range():
    with pytest.raises(ValueError, match=r"noise=0.7"):
        proper_loss("log").corrupted_partial_losses(0.2, 0.7)
    for regret in (-0.1, 0.2):
        with pytest.raises(ValueError, match="regret must lie from 0"):
            zero_one_regret_bound(regret)
