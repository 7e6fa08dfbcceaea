"""Hidden Ising models: restorations, the partition function, missing pixels, and what is refused."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from fewer.latent import HiddenIsing
from fewer.latent.lattices import _ising
from fewer.latent.lattices._ising import (
    Noise,
    gibbs_means,
    half_log_odds,
    icm,
    log_partition,
    mean_field,
    neighbour_sums,
)
from tolerances import rounding


def all_states(height, width):
    return np.array(list(product([-1.0, 1.0], repeat=height * width))).reshape(-1, height, width)


def stripes(noise=0.8, seed=0, size=24):
    truth = np.where(np.arange(size) // 6 % 2, 1, -1) * np.ones((size, 1), dtype=int)
    return truth, truth + noise * np.random.default_rng(seed).normal(size=truth.shape)


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 4), (1, 6)])
def test_the_partition_function_is_the_sum_over_all_states(shape):
    states = all_states(*shape)
    expected = logsumexp(0.5 * 0.6 * np.sum(states * neighbour_sums(states), axis=(1, 2)))
    value, exact = log_partition(*shape, 0.6)
    assert exact
    # Logarithms of sums over all states; exponents are at most the energy of all edges alike.
    largest = 0.5 * 0.6 * np.abs(np.sum(states * neighbour_sums(states), axis=(1, 2))).max()
    assert value == pytest.approx(expected, abs=rounding(len(states), condition=max(largest, expected)))


def test_the_bound_on_the_partition_function_is_above_it_and_close(monkeypatch):
    exact, _ = log_partition(12, 12, 0.4)
    monkeypatch.setattr(_ising, "_WIDEST", 6)
    bound, is_exact = log_partition(12, 12, 0.4)
    assert not is_exact
    assert exact <= bound <= exact * 1.05


def test_gibbs_means_are_those_of_the_posterior():
    y = np.random.default_rng(0).normal(size=(1, 3, 3))
    fields, states = half_log_odds(y, Noise(-1.0, 1.0, 1.0)), all_states(3, 3)
    energy = np.sum(0.5 * 0.3 * states * neighbour_sums(states) + fields * states, axis=(1, 2))
    exact = np.tensordot(np.exp(energy - logsumexp(energy)), states, axes=1)
    found = gibbs_means(fields, 0.3, np.random.RandomState(0), n_draws=4000, n_burn_in=50)
    # draws are correlated, so that about half of them count: five standard errors of a mean of values -1 and 1
    assert np.abs(found[0] - exact).max() < 5 / np.sqrt(2000)


def test_conditional_modes_and_mean_field_are_fixed_points():
    _, y = stripes()
    fields = half_log_odds(y[None], Noise(-1.0, 1.0, 0.64))
    z = icm(fields, 0.5)
    assert np.array_equal(z, np.sign(0.5 * neighbour_sums(z) + fields))
    m = mean_field(fields, 0.5, tol=1e-10)
    np.testing.assert_allclose(m, np.tanh(0.5 * neighbour_sums(m) + fields), atol=1e-9)


@pytest.mark.parametrize("solver", ["mean_field", "icm", "gibbs"])
def test_every_solver_restores_stripes_with_missing_pixels(solver):
    truth, y = stripes()
    y[np.random.default_rng(1).random(y.shape) < 0.2] = np.nan
    model = HiddenIsing(truth.shape, solver=solver, random_state=0).fit(y.reshape(1, -1))
    restored = model.restore(y)
    threshold = np.mean(np.where(y > 0, 1, -1) != truth)
    assert np.mean(restored != truth) < 0.4 * threshold
    assert np.array_equal(restored.ravel(), model.predict(y.reshape(1, -1))[0])
    assert np.isfinite(model.score(y.reshape(1, -1)))
    assert model.means_ == pytest.approx([-1, 1], abs=0.15)


def test_a_signal_is_a_lattice_of_one_line():
    truth = np.repeat([-1, 1, -1, 1], 50)
    y = truth + np.random.default_rng(0).normal(size=(6, 200))
    model = HiddenIsing(random_state=0).fit(y)
    assert np.mean(model.predict(y) != truth) < 0.4 * np.mean(np.sign(y) != truth)
    assert model.log_partition_exact_


def test_parameters_come_back_from_images_that_the_model_draws():
    model = HiddenIsing((20, 20), random_state=0).fit(stripes(size=20)[1].reshape(1, -1))
    model.eta_, model.means_, model.noise_variance_ = 0.3, np.array([2.0, 5.0]), 1.0
    again = HiddenIsing((20, 20), random_state=0).fit(model.sample(40, random_state=0))
    assert again.eta_ == pytest.approx(0.3, abs=0.04)
    assert again.means_ == pytest.approx([2, 5], abs=0.1)
    assert again.noise_variance_ == pytest.approx(1, abs=0.1)
    assert again.n_parameters_ == 4
    assert HiddenIsing((20, 20), eta=0.3).fit(model.sample(2, random_state=0)).n_parameters_ == 3


def test_weights_count_images():
    y = np.array([stripes(seed=seed)[1].ravel() for seed in range(3)])
    weighted = HiddenIsing((24, 24), random_state=0).fit(y, sample_weight=[2, 0, 1])
    repeated = HiddenIsing((24, 24), random_state=0).fit(y[[0, 0, 2]])
    assert weighted.eta_ == pytest.approx(repeated.eta_, abs=1e-7)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-9)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"image_shape=\(3, 4\) does not fit rows of 10 pixels"):
        HiddenIsing((3, 4)).fit(np.ones((2, 10)))
    with pytest.raises(ValueError, match="No pixel of the images is observed"):
        HiddenIsing((2, 5)).fit(np.full((2, 10), np.nan))
    _, y = stripes()
    model = HiddenIsing(y.shape, random_state=0, n_draws=5, n_burn_in=2).fit(y.reshape(1, -1))
    with pytest.raises(ValueError, match="the model was fitted to images of"):
        model.restore(y[:5])
