"""Control of the false discovery rate, and the power formulas."""

import numpy as np
import pytest
from scipy import stats

from fewer.evaluate import benjamini_hochberg, power_test1, power_test2


def test_the_largest_p_value_under_its_line_takes_all_smaller_ones_with_it():
    # 0.03 is above its own line 2 * 0.05 / 4, but 0.036 is below 3 * 0.05 / 4.
    found = benjamini_hochberg([0.036, 0.03, 0.9, 0.001])
    np.testing.assert_array_equal(found.rejected, [True, True, False, True])
    assert found.threshold == 0.036
    assert found.n_rejected == 3


def test_adjusted_values_are_scipys():
    p_values = np.random.default_rng(0).uniform(size=(5, 8)) ** 3
    found = benjamini_hochberg(p_values)
    np.testing.assert_allclose(found.adjusted.ravel(), stats.false_discovery_control(p_values, axis=None))
    np.testing.assert_array_equal(found.rejected, found.adjusted <= 0.05)


def test_nothing_is_rejected_when_nothing_is_small():
    found = benjamini_hochberg([0.4, 0.9])
    assert (found.n_rejected, found.threshold) == (0, 0.0)
    assert "0 of 2 rejected" in repr(found)


def test_no_tests_make_no_discoveries():
    assert benjamini_hochberg([]).n_rejected == 0


@pytest.mark.parametrize("p_values", [[0.1, np.nan], [1.2], [-0.1]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg(p_values)


def test_false_discoveries_stay_below_the_rate():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        z = rng.normal(size=50) + np.repeat([3.0, 0.0], [15, 35])
        rejected = benjamini_hochberg(stats.norm.sf(z), alpha=0.2).rejected
        shares.append(rejected[15:].sum() / max(rejected.sum(), 1))
    # The expected share is exactly 0.2 * 35 / 50 for independent tests.
    assert np.mean(shares) == pytest.approx(0.14, abs=4 * np.std(shares) / 20)


def test_power_of_the_first_test_is_that_of_simulated_counts():
    n, t, alpha = 400, 0.45, 0.05
    rng = np.random.default_rng(0)
    threshold = n / 2 + stats.norm.ppf(alpha) * np.sqrt(n) / 2
    simulated = np.mean(rng.binomial(n, t, size=20_000) <= threshold)
    assert power_test1(n, t, alpha) == pytest.approx(simulated, abs=0.03)


def test_power_grows_with_rows_and_correlation():
    powers = [power_test2(n, 0.2) for n in (50, 100, 400)]
    assert powers == sorted(powers)
    assert power_test2(100, 0.5) == power_test2(100, -0.5)
    assert power_test1(100, 0.0) == 1.0


@pytest.mark.parametrize("bad", [{"n": 0, "t": 0.2}, {"n": 9, "t": 1.2}, {"n": 9, "t": 0.2, "alpha": 0}])
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"must|error rate"):
        power_test1(**bad)
