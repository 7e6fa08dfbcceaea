"""Closed forms of the two-class normal setting against integrals, simulations and limits."""

import numpy as np
import pytest
from scipy import integrate, stats

from fewer.datasets import make_two_gaussians
from fewer.evaluate import _two_gaussians, expected_error, linear_rule_error
from fewer.evaluate._two_gaussians import simulated_error
from tolerances import rounding


def test_the_exact_error_with_one_column_is_a_mixture_of_right_and_wrong_signs():
    mu, m = 0.5, 5
    right = stats.norm.cdf(mu * np.sqrt(m))
    expected = right * stats.norm.cdf(-mu) + (1 - right) * stats.norm.cdf(mu)
    assert expected_error([mu], m, n=1, method="exact") == pytest.approx(expected, abs=rounding(_two_gaussians._NODES))


@pytest.mark.parametrize(("n", "m", "s"), [(2, 1, 0.3), (5, 16, 1.0), (40, 100, 4.0), (7, 1000, 9.0)])
def test_the_exact_error_agrees_with_the_noncentral_t(n, m, s):
    # The cosine of the angle between mu_hat and mu is t / sqrt(n - 1 + t^2), t noncentral t (n - 1).
    def integrand(t):
        return stats.nct.pdf(t, n - 1, np.sqrt(m * s)) * stats.norm.cdf(-np.sqrt(s) * t / np.sqrt(n - 1 + t**2))

    middle = np.sqrt(m * s)
    pieces = [(-np.inf, 0), (0, middle), (middle, 3 * middle + 10), (3 * middle + 10, np.inf)]
    expected = sum(integrate.quad(integrand, *piece)[0] for piece in pieces)
    mu = np.full(n, np.sqrt(s / n))
    assert expected_error(mu, m, n=n, method="exact") == pytest.approx(expected, abs=1e-7)


def test_simulation_agrees_with_the_exact_error():
    mu = 1 / np.arange(1, 61)
    simulated = expected_error(mu, 16, method="mc", n_mc=20_000, random_state=0)
    np.testing.assert_allclose(simulated, expected_error(mu, 16, method="exact"), atol=0.002)


def test_trained_rules_err_as_often_as_the_exact_error_says():
    mu, m = np.array([0.8, 0.4, 0.2]), 10
    errors = []
    for seed in range(3000):
        X, y, _ = make_two_gaussians(m, mu, random_state=seed)
        errors.append(linear_rule_error(y @ X, 0.0, mu))
    standard_error = np.std(errors) / np.sqrt(len(errors))
    assert np.mean(errors) == pytest.approx(expected_error(mu, m, n=3, method="exact"), abs=4 * standard_error)


@pytest.mark.parametrize("method", ["approx", "exact"])
def test_with_endless_rows_the_error_is_the_best_possible(method):
    mu = np.array([1.0, 0.5, 0.25])
    np.testing.assert_allclose(
        expected_error(mu, 1e8, method=method), stats.norm.cdf(-np.sqrt(np.cumsum(mu**2))), atol=1e-6
    )


@pytest.mark.parametrize("method", ["approx", "exact", "mc"])
def test_columns_without_signal_leave_pure_guessing(method):
    np.testing.assert_allclose(expected_error(np.zeros(4), 20, method=method, n_mc=10), 0.5, rtol=rounding(10))


@pytest.mark.parametrize("method", ["approx", "exact", "mc"])
def test_order_and_sign_of_the_means_make_no_difference(method):
    options = {"method": method, "random_state": 0, "n_mc": 100}
    np.testing.assert_array_equal(
        expected_error([0.2, -1.0, 0.5], 9, **options), expected_error([1.0, 0.5, 0.2], 9, **options)
    )


@pytest.mark.parametrize("method", ["approx", "exact", "mc"])
def test_single_sizes_are_read_off_the_whole_curve(method):
    mu, options = 1 / np.arange(1, 21), {"method": method, "random_state": 0, "n_mc": 50}
    whole = expected_error(mu, 9, **options)
    one = expected_error(mu, 9, n=20, **options)
    assert isinstance(one, float)
    tolerance = rounding(_two_gaussians._NODES)  # the longest sum: the nodes of the integral, the draws, or the columns
    assert one == pytest.approx(whole[19], abs=tolerance)
    np.testing.assert_allclose(expected_error(mu, 9, n=[20, 3], **options), whole[[19, 2]], rtol=0, atol=tolerance)


def test_many_simulated_columns_are_drawn_a_part_at_a_time():
    mu = np.r_[1.0, np.zeros(30_000)]
    error = expected_error(mu, 16, n=1, method="mc", n_mc=300, random_state=0)
    assert error == pytest.approx(stats.norm.cdf(-1), abs=0.01)


def test_the_intercept_of_a_linear_rule_counts_for_both_classes():
    expected = (stats.norm.cdf(-1 - 0.5) + stats.norm.cdf(-1 + 0.5)) / 2
    assert linear_rule_error([[3.0]], [1.5], mu=[1.0]) == pytest.approx(expected)
    assert linear_rule_error([0.0, 0.0], 7.0, mu=[1.0, 1.0]) == 0.5
    assert linear_rule_error([-1.0], 0.0, mu=[1.0]) == pytest.approx(stats.norm.cdf(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], 5), "shape"),
        (([1.0, np.nan], 5), r"mu\[1\] is not finite"),
        (([1.0], 0), "above 0"),
        (([1.0], 5, 2), "between 1 and the 1 columns"),
        (([1.0], 5, 0.5), "number of columns"),
        (([1.0], 5, 1, "guess"), "'approx', 'exact' or 'mc'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        expected_error(*arguments)


def test_a_rule_for_other_columns_is_refused():
    with pytest.raises(ValueError, match="2 weights and mu 3 means"):
        linear_rule_error([1, 2], 0, [1, 2, 3])


def test_drawing_in_parts_makes_no_difference(monkeypatch):
    strengths = np.array([0.8, 0.4, 0.1])
    whole = simulated_error(strengths, 10, 11, np.random.RandomState(0))
    monkeypatch.setattr(_two_gaussians, "_DRAWS_AT_ONCE", 12)
    np.testing.assert_allclose(simulated_error(strengths, 10, 11, np.random.RandomState(0)), whole)
