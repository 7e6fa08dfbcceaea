"""Closed forms of the step that are not weights of the estimators, and projections."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fewer.learn.online._dual_averaging import (
    l1_weights,
    near_prior_weights,
    nearest_in_l1_ball,
    p_norm_weights,
    simplex_weights,
    strongly_convex_weights,
)
from tolerances import rounding


def test_the_projection_on_the_ball_is_nearest():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, radius = rng.normal(size=6), rng.uniform(0.1, 5)
        found = nearest_in_l1_ball(values, radius)
        assert np.abs(found).sum() <= radius * (1 + rounding(6))
        others = rng.normal(size=(500, 6))
        others *= (radius * rng.uniform(0, 1, size=(500, 1))) / np.abs(others).sum(axis=1, keepdims=True)
        distance = np.linalg.norm(found - values)
        assert (np.linalg.norm(others - values, axis=1) >= distance - rounding(6, np.linalg.norm(values))).all()


def test_values_within_the_ball_stay():
    values = np.array([0.2, -0.3])
    assert np.array_equal(nearest_in_l1_ball(values, 0.5), values)


def test_shares_minimise_cost_and_entropy():
    rng = np.random.default_rng(0)
    mean, prior, sigma = rng.normal(size=5), rng.dirichlet(np.ones(5)), 0.7
    for found, cost in [
        (simplex_weights(mean, 9, 2.0), lambda w: w @ mean + 2 / 3 * (w @ np.log(w))),
        (near_prior_weights(mean, sigma, prior), lambda w: w @ mean + sigma * (w @ np.log(w / prior))),
    ]:
        assert found.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(5), size=1000)
        near = np.abs(found + 0.01 * rng.normal(size=(1000, 5)))
        for w in np.concatenate([others, near / near.sum(axis=1, keepdims=True)]):
            assert cost(w) >= cost(found) - rounding(5, np.abs(mean).max() + np.log(5))


def test_what_the_prior_rules_out_stays_out():
    assert near_prior_weights(np.array([-5.0, 0.0, 0.0]), 1.0, np.array([0.0, 0.5, 0.5])) == pytest.approx(
        [0, 0.5, 0.5]
    )


def test_shares_of_extreme_gradients_are_finite():
    assert simplex_weights(np.array([1e6, -1e6]), 100, 0.1) == pytest.approx([0, 1])


def test_the_2_norm_is_the_plain_form_and_a_norm_near_1_does_not_overflow():
    mean = np.random.default_rng(0).normal(size=20)
    assert p_norm_weights(mean, 5, 0.3, 2.0, 2.0, 0.1) == pytest.approx(l1_weights(mean, 5, 0.3, 2.0, 0.1))
    extreme = p_norm_weights(1e5 * mean, 5, 0.3, 1e-5, 1.001)
    assert np.isfinite(extreme).all()
    assert extreme.any()
    assert not p_norm_weights(mean, 5, 100.0, 2.0, 1.5).any()


def test_the_strongly_convex_form_is_the_minimum():
    mean = np.random.default_rng(0).normal(size=4)
    found = strongly_convex_weights(mean, 0.5, 0.2)

    def objective(w):
        return mean @ w + 0.2 * np.abs(w).sum() + 0.25 * w @ w

    assert objective(found) <= minimize(objective, np.zeros(4), method="Nelder-Mead").fun + 1e-9
