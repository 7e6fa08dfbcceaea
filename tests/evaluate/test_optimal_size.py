"""The best number of columns, and the properties of the setting that its docstring states."""

import json

import numpy as np
import pytest
from scipy.special import ndtr

from fewer.evaluate import expected_error, optimal_n_features


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
