"""The gain that an irrelevant column reaches by chance."""

import numpy as np
import pytest

from fewer.select import chance_gain_bounds, exact_chance_gain, midpoint_chance_gain
from fewer.select.relevance._chance_gain import expected_best_gain


def simulated(n_rows, n_minority, n_orders, seed=0):
    """Mean best gain over random orders, and its standard error."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n_orders, n_rows))
    labels[:, :n_minority] = 1
    seen = rng.permuted(labels, axis=1).cumsum(axis=1)[:, :-1]
    cut = np.arange(1, n_rows)

    def entropy(count, size):
        share = count / size
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.nan_to_num(share * np.log2(share)) - np.nan_to_num((1 - share) * np.log2(1 - share))

    gains = entropy(n_minority, n_rows) - cut / n_rows * entropy(seen, cut)
    gains -= (1 - cut / n_rows) * entropy(n_minority - seen, n_rows - cut)
    best = gains.max(axis=1)
    return best.mean(), best.std() / np.sqrt(n_orders)


@pytest.mark.parametrize(("n_rows", "n_minority"), [(15, 4), (30, 15), (75, 31), (120, 60), (333, 9), (700, 350)])
def test_exact_level_agrees_with_simulation(n_rows, n_minority):
    mean, error = simulated(n_rows, n_minority, 2500)
    assert exact_chance_gain(n_rows, n_minority) == pytest.approx(mean, abs=4 * error + 0.004 * mean)


def test_exact_level_continues_beyond_its_grid():
    mean, error = simulated(8000, 4000, 200)
    assert exact_chance_gain(8000, 4000) == pytest.approx(mean, abs=4 * error)


def test_exact_level_is_interpolated_smoothly():
    sizes = np.arange(30, 300)
    scaled = sizes * exact_chance_gain(sizes, sizes // 2)
    assert (np.abs(np.diff(scaled)) < 0.05).all()
    for n_rows in (64, 101):
        direct = [expected_best_gain(n_rows, m) for m in (2, 11, n_rows // 2)]
        np.testing.assert_allclose(exact_chance_gain(n_rows, [2, 11, n_rows // 2]), direct, rtol=0.005)


def test_either_class_may_be_called_the_minority():
    assert exact_chance_gain(50, 10) == exact_chance_gain(50, 40)
    assert exact_chance_gain([[9, 100]], [[3], [4]]).shape == (2, 2)


def test_lower_bound_is_near_for_odd_nodes_and_the_midpoint_is_between():
    odd = np.arange(5, 40, 2)
    lower, upper = chance_gain_bounds(odd)
    assert (np.abs(lower - exact_chance_gain(odd, 1)) < 0.25 / odd**2).all()
    assert ((lower < midpoint_chance_gain(odd)) & (midpoint_chance_gain(odd) < upper)).all()


def test_the_midpoint_is_too_low_for_balanced_nodes_and_too_high_for_others():
    sizes = np.array([20, 50, 100, 200, 500])
    assert (midpoint_chance_gain(sizes) < exact_chance_gain(sizes, sizes // 2)).all()
    assert (midpoint_chance_gain(sizes) > exact_chance_gain(sizes, 1)).all()
    assert midpoint_chance_gain(5000) > exact_chance_gain(5000, 2500)


@pytest.mark.parametrize("level", [chance_gain_bounds, midpoint_chance_gain])
def test_a_node_of_one_row_is_refused(level):
    with pytest.raises(ValueError, match="at least 2 rows"):
        level([5, 1])


@pytest.mark.parametrize("minority", [0, 6])
def test_a_pure_node_is_refused(minority):
    with pytest.raises(ValueError, match="one class only"):
        exact_chance_gain(6, minority)
