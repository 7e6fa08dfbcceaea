"""Blum (2006): random projection, margins, kernels, and feature-selection."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fewer.extract import RandomProjection, distortion_dim, landmark_dim, margin_dim
from fewer.extract.random_projection._dimensions import distortion_failure
from fewer.extract.random_projection._directions import drawn_directions

N_DRAWS = 2000


def drawn_ratios(kind, n_columns, n_components, seed=0):
    """Squared length after to before, for directions that are all drawn at once."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, n_columns))
    directions = drawn_directions(kind, n_columns, N_DRAWS * n_components, 1, np.dtype(float), rng)
    along = directions.project(x).reshape(N_DRAWS, n_components)
    return N_DRAWS * np.sum(along**2, axis=1) / np.sum(x**2)


def fitted_ratios(kind, n_columns, n_components):
    """The same, for an estimator that is fitted for each draw."""
    x = np.random.default_rng(0).normal(size=(1, n_columns))
    model = RandomProjection(n_components, kind=kind)
    fits = (model.set_params(random_state=seed).fit_transform(x) for seed in range(N_DRAWS))
    return np.array([np.sum(along**2) for along in fits]) / np.sum(x**2)


@pytest.mark.claim("random-projection", 1)
@pytest.mark.parametrize("kind", ["gaussian", "sign"])
def test_distances_are_lost_less_often_than_the_bound_says(kind, figure):
    for n_components, eps in [(200, 0.3), (400, 0.2)]:
        ratios = drawn_ratios(kind, 20, n_components)
        failures = np.mean(np.abs(ratios - 1) > eps)
        figure(f"{kind}, {n_components} directions: {failures:.4f}, bound {distortion_failure(n_components, eps):.3f}")
        assert 0 < failures < distortion_failure(n_components, eps)
        assert ratios.mean() == pytest.approx(1, abs=0.01)


@pytest.mark.slow
@pytest.mark.claim("random-projection", 1)
@pytest.mark.parametrize("kind", ["gaussian", "sign"])
def test_distances_between_rows_of_1000_columns_are_lost_less_often_than_the_bound_says(kind, figure):
    for n_components, eps in [(200, 0.3), (400, 0.2)]:
        failures = np.mean(np.abs(fitted_ratios(kind, 1000, n_components) - 1) > eps)
        figure(f"{kind}, {n_components} directions: {failures:.4f}, bound {distortion_failure(n_components, eps):.3f}")
        assert failures < distortion_failure(n_components, eps)


@pytest.mark.claim("random-projection", 1)
@pytest.mark.parametrize("kind", ["gaussian", "sign", "orthogonal", "sparse"])
def test_squared_lengths_are_kept_on_average(kind, figure):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 60))
    draws = (drawn_directions(kind, 60, 40, 2, x.dtype, rng).project(x) for _ in range(N_DRAWS))
    ratios = np.array([np.sum(along**2) for along in draws]) / np.sum(x**2)
    figure(f"{kind}: mean ratio {ratios.mean():.4f}")
    assert ratios.mean() == pytest.approx(1, abs=0.01)


@pytest.mark.claim("random-projection", 7)
def test_dimensions_are_the_closed_forms_and_fall_with_what_is_allowed(figure):
    for n, g, delta in [(50, 0.1, 0.05), (1000, 0.2, 0.01), (10**6, 0.5, 0.1)]:
        assert distortion_dim(n, g, delta) == math.ceil(4 * math.log(n * (n - 1) / delta) / (g**2 - g**3))
        assert margin_dim(g, 0.1, delta) == math.ceil(8 / g**2 * math.log(1 / (0.1 * delta)))
        assert landmark_dim(g, 0.1, delta) == math.ceil(8 / 0.1 * (1 / g**2 + math.log(1 / delta)))
    X = np.zeros((50, 10_000))
    assert RandomProjection(eps=0.3, delta=0.01).fit(X).n_components_ == distortion_dim(50, 0.3, 0.01) == 788

    shares, margins = np.linspace(0.01, 0.99, 50), np.linspace(0.05, 1, 50)
    for share in (0.05, 0.5):
        assert falling([distortion_dim(1000, eps, share) for eps in shares])
        assert falling([distortion_dim(1000, share, delta) for delta in shares])
        for number in (margin_dim, landmark_dim):
            assert falling([number(0.3, eps, share) for eps in shares])
            assert falling([number(0.3, share, delta) for delta in shares])
            assert falling([number(gamma, share, share) for gamma in margins])
    beyond = math.ceil(4 * math.log(1000 * 999 / 0.05) / (0.9**2 - 0.9**3))
    figure(f"at eps .9 the printed form gives {beyond}, at 2/3 it gives {distortion_dim(1000, 2 / 3)}")
    assert distortion_dim(1000, 0.9) == distortion_dim(1000, 2 / 3) < beyond


def falling(numbers):
    return all(later <= earlier for earlier, later in pairwise(numbers))
