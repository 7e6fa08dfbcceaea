"""Closed forms of the two-class normal setting against integrals, simulations and limits.

The best number of columns, and the properties of the setting that its docstring states.
"""

import json

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from fewer.datasets import make_two_gaussians
from fewer.theory import expected_error, linear_rule_error, optimal_n_features
from fewer.theory.planning import _two_gaussians
from fewer.theory.planning._two_gaussians import simulated_error
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
    simulated = expected_error(mu, 16, method="mc", n_draws=20_000, random_state=0)
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
    np.testing.assert_allclose(expected_error(np.zeros(4), 20, method=method, n_draws=10), 0.5, rtol=rounding(10))


@pytest.mark.parametrize("method", ["approx", "exact", "mc"])
def test_order_and_sign_of_the_means_make_no_difference(method):
    options = {"method": method, "random_state": 0, "n_draws": 100}
    np.testing.assert_array_equal(
        expected_error([0.2, -1.0, 0.5], 9, **options), expected_error([1.0, 0.5, 0.2], 9, **options)
    )


@pytest.mark.parametrize("method", ["approx", "exact", "mc"])
def test_single_sizes_are_read_off_the_whole_curve(method):
    mu, options = 1 / np.arange(1, 21), {"method": method, "random_state": 0, "n_draws": 50}
    whole = expected_error(mu, 9, **options)
    one = expected_error(mu, 9, n=20, **options)
    assert isinstance(one, float)
    tolerance = rounding(_two_gaussians._NODES)  # the longest sum: the nodes of the integral, the draws, or the columns
    assert one == pytest.approx(whole[19], abs=tolerance)
    np.testing.assert_allclose(expected_error(mu, 9, n=[20, 3], **options), whole[[19, 2]], rtol=0, atol=tolerance)


def test_many_simulated_columns_are_drawn_a_part_at_a_time():
    mu = np.r_[1.0, np.zeros(30_000)]
    error = expected_error(mu, 16, n=1, method="mc", n_draws=300, random_state=0)
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


def test_a_feature_without_signal_always_does_harm():
    rng = np.random.default_rng(0)
    for _ in range(50):
        mu, m = rng.exponential(0.3, size=rng.integers(1, 30)), rng.integers(1, 200)
        for method in ("approx", "exact"):
            with_noise = expected_error(np.r_[mu, 0.0], m, method=method)
            assert with_noise[-1] > with_noise[-2]


def test_whether_a_feature_helps_depends_on_those_in_use():
    # 0.2 is worth having beside weak columns and not beside strong ones.
    weak, strong = optimal_n_features([0.2, 0.2], m=20), optimal_n_features([2.0, 0.2], m=20)
    assert (weak.n_features, strong.n_features) == (2, 1)


def test_with_a_finite_sum_the_error_tends_to_one_half():
    mu = 1 / np.arange(1, 1_000_001)
    errors = expected_error(mu, 50, n=[100, 10_000, 1_000_000])
    assert (np.diff(errors) > 0).all()
    assert errors[-1] > 0.49
    assert optimal_n_features(mu, 50).n_features < 20


def test_slowly_growing_sizes_reach_the_best_possible_error():
    mu = 1 / np.arange(1, 200_001)
    gaps = [expected_error(mu, m, n=int(m**0.5)) - ndtr(-np.pi / np.sqrt(6)) for m in (10**2, 10**4, 10**6, 10**8)]
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-4


@pytest.mark.parametrize(
    ("law", "expected"),
    # For 1/sqrt(j) it is (ln n - 2) / ln n, which tends to 1 slowly; s_n is ln n + 0.577.
    [("halving", 1 / np.log(2)), ("harmonic", 1.0), ("root", 1 - 2 / (np.log(4e4) + 0.577))],
)
def test_the_last_feature_used_is_about_as_large_as_its_error(law, expected):
    # m mu_n^2 at the best n: 1 / ln 2 in the limit for mu_j = 2^{-j/2}, so 1/sqrt(m) is sqrt(ln 2) mu_n there, not
    # ln 2 mu_n as printed; 1 for the other two.
    j = np.arange(1.0, 200_001)
    mu = {"halving": 2 ** (-np.minimum(j, 1000) / 2), "harmonic": 1 / j, "root": 1 / np.sqrt(j)}[law]
    rows = np.geomspace(1e4, 1e5, 15) if law == "root" else np.geomspace(1e5, 1e9, 15)
    sizes = np.array([optimal_n_features(mu, m).n_features for m in rows])
    # A whole number of columns scatters evenly around the real optimum on the scale of log mu.
    assert np.exp(np.mean(np.log(rows * mu[sizes - 1] ** 2))) == pytest.approx(expected, rel=0.1)


def test_no_signal_at_all_means_no_columns():
    best = optimal_n_features(np.zeros(3), m=10)
    assert best.n_features == 0
    assert best.error == best.error_all == best.bayes_error == 0.5


def test_the_order_names_the_columns_and_the_errors_follow_it():
    best = optimal_n_features([0.0, -2.0, 0.1], m=10)
    assert best.order.tolist() == [1, 2, 0]
    assert best.n_features == 1
    np.testing.assert_allclose(best.errors, expected_error([2.0, 0.1, 0.0], 10))
    assert best.error == best.errors[0]
    assert best.error_all == best.errors[-1]


def test_sizes_are_told_apart_where_errors_are_too_small_to_be():
    assert optimal_n_features(np.full(50, 30.0), m=10).n_features == 50


def test_the_result_reads_well_saves_and_plots():
    best = optimal_n_features(1 / np.arange(1, 101), m=100, method="exact")
    assert repr(best).startswith("OptimalSize: 10 of 100 columns for 100 rows")
    assert json.loads(json.dumps(best.to_dict()))["n_features"] == 10
    figure = best.plot()
    assert [trace.name for trace in figure.data] == ["expected error", "best possible", "best"]
    assert figure.data[2].x == (10,)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="'approx' or 'exact'"):
        optimal_n_features([1.0], 10, method="mc")
