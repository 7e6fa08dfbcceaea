"""Densities along directions, forward and backward: special cases, other ways to the same numbers, bad input."""

import numpy as np
import pytest
from scipy import sparse, stats

from fewer.extract import BackwardProjectionPursuitDensity, ForwardProjectionPursuitDensity
from fewer.extract.projection_pursuit._density_models import RidgeModel, normal_map, normal_points
from fewer.extract.projection_pursuit._kernels import density_on_grid, fit_under, left_out_fit
from tolerances import rounding

DENSITIES = [
    ForwardProjectionPursuitDensity(3, n_draws=3000, n_init=2, random_state=0),
    BackwardProjectionPursuitDensity(6, n_init=2, random_state=0),
]


def skewed(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.exponential(size=n_rows), rng.normal(size=n_rows), rng.uniform(size=n_rows)]
    ) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]])


def test_densities_on_a_grid_are_sums_of_kernels():
    rng = np.random.default_rng(0)
    points, weights, grid = rng.normal(size=300), rng.uniform(size=300), np.linspace(-4, 4, 50)
    kernels = stats.norm.pdf(grid[:, None], points, 0.4)
    expected = kernels @ weights / weights.sum()
    np.testing.assert_allclose(density_on_grid(points, weights, 0.4, grid), expected, atol=1e-5)


def test_log_likelihoods_and_their_derivatives_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    values, points, weights = rng.normal(size=40), rng.normal(size=60), rng.uniform(size=60)

    def left_out(z):
        kernels = stats.norm.pdf(z[:, None], z, 0.5)
        np.fill_diagonal(kernels, 0)
        return np.log(kernels.sum(axis=1) / 39 + 1e-4).sum()

    def under(z, p):
        return np.log(stats.norm.pdf(z[:, None], p, 0.5) @ weights / weights.sum() + 1e-4).sum()

    steps = 1e-5 * np.eye(40)
    slopes, value_slopes, point_slopes = np.empty(40), np.empty(40), np.empty(60)
    assert left_out_fit(values, 0.5, 1e-4, slopes) == pytest.approx(left_out(values), abs=1e-3)
    expected = [(left_out(values + s) - left_out(values - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(slopes, expected, rtol=5e-3, atol=5e-3)
    assert fit_under(values, points, weights, 0.5, 1e-4, value_slopes, point_slopes) == pytest.approx(
        under(values, points), abs=1e-3
    )
    expected = [(under(values + s, points) - under(values - s, points)) / 2e-5 for s in steps]
    np.testing.assert_allclose(value_slopes, expected, rtol=5e-3, atol=5e-3)
    expected = [(under(values, points + s) - under(values, points - s)) / 2e-5 for s in 1e-5 * np.eye(60)]
    np.testing.assert_allclose(point_slopes, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_a_skewed_density_is_nearer_the_truth_than_a_normal_one(model):
    X, new = skewed(800), skewed(2000, seed=1)
    normal = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(new).mean()
    assert model.fit(X).score(new) > normal + 0.15


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_new_rows_are_distributed_as_those_given(model):
    X = skewed(800)
    drawn = model.fit(X).sample(2000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.25)
    for own, other in zip(X.T, drawn.T, strict=True):
        assert stats.ks_2samp(own, other).statistic < 0.07


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_normal_rows_have_a_normal_density(model):
    X = np.random.default_rng(0).normal(size=(1000, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    new = np.random.default_rng(1).normal(size=(500, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    expected = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(new)
    assert np.abs(model.fit(X).score_samples(new) - expected).mean() < 0.1


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_units_and_places_of_columns_change_the_density_by_the_volume_only(model):
    X = skewed(300)
    units, shift = np.array([10.0, 0.1, 1000.0]), np.array([5.0, -3.0, 100.0])
    plain = model.fit(X).score_samples(X)
    moved = model.fit(X * units + shift).score_samples(X * units + shift)
    np.testing.assert_allclose(moved + np.log(units).sum(), plain, atol=0.05)


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_a_row_far_out_is_unlikely_but_possible(model):
    X = skewed(300)
    X[0] = 30
    far = model.fit(X).score_samples(np.array([[200.0, 200.0, 200.0]]))
    assert np.isfinite(far).all()
    assert far[0] < model.score_samples(X).min()


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_columns_that_follow_from_others_are_told(model):
    X = skewed(200)
    with pytest.warns(UserWarning, match="span 3 of 5 dimensions"):
        model.fit(np.column_stack([X, X[:, 0] + X[:, 1], np.ones(200)]))
    assert np.isfinite(model.score_samples(np.column_stack([X, X[:, 0] + X[:, 1], np.ones(200)]))).all()


@pytest.mark.parametrize("model", DENSITIES, ids=["forward", "backward"])
def test_sparse_tables_and_single_columns_are_taken(model):
    X = skewed(200)
    dense, stored = (model.fit(table).score_samples(table) for table in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense, stored, atol=1e-5)
    assert model.fit(X[:, [0]]).score_samples(X[:, [0]]).shape == (200,)


def test_the_first_ridges_of_a_larger_fit_are_those_of_a_smaller_one():
    X = skewed(200)
    small, large = (ForwardProjectionPursuitDensity(n, n_draws=1000, random_state=0).fit(X) for n in (1, 2))
    np.testing.assert_allclose(large.directions_[:1], small.directions_, atol=1e-10)
    np.testing.assert_allclose(large.ridge_logf_[:1], small.ridge_logf_, atol=1e-8)


def test_a_forward_density_along_one_column_is_its_kernel_density():
    x = np.random.default_rng(0).exponential(size=500)[:, None]
    model = ForwardProjectionPursuitDensity(1, oversmooth=0.5, random_state=0).fit(x)
    kernel = stats.gaussian_kde(x[:, 0], bw_method=0.5 * 500**-0.2)
    inside = np.linspace(0.2, 3, 20)
    np.testing.assert_allclose(model.score_samples(inside[:, None]), np.log(kernel(inside)), atol=0.15)


def test_points_of_the_normal_density_have_unit_moments():
    points = normal_points(1001, 3, np.random.RandomState(0))
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=rounding(1001))
    np.testing.assert_allclose(points.T @ points / len(points), np.eye(3), rtol=0, atol=rounding(1001))


def test_points_are_drawn_anew_when_few_carry_the_weight():
    model = RidgeModel.normal(normal_points(2000, 2, np.random.RandomState(0)))
    grid = np.linspace(-4, 4, 100)
    narrow = stats.norm.logpdf(grid, 1, 0.03) - stats.norm.logpdf(grid)
    model.grow(np.array([1.0, 0.0]), grid, np.clip(narrow, -10, 10), np.random.RandomState(0))
    np.testing.assert_array_equal(model.weights, 1)
    assert abs(model.points[:, 0].mean() - 1) < 0.05


def test_the_normal_map_is_undone_near_and_far_out():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(-2, 0.3, 200), rng.normal(2, 0.5, 100)])
    there = normal_map(values, 0.2)
    asked = np.concatenate([values, [-50, -8, 0, 8, 50]])
    normal, log_slope = there.forth(asked)
    np.testing.assert_allclose(there.back(normal), asked, rtol=1e-8, atol=1e-8)
    step = 1e-6
    differences = (there.forth(asked + step)[0] - there.forth(asked - step)[0]) / (2 * step)
    np.testing.assert_allclose(np.exp(log_slope), differences, rtol=1e-4)
    assert stats.kstest(normal[:300], "norm").statistic < 0.06


def test_steps_end_at_once_on_normal_rows_and_are_asked_for_by_tol():
    X = np.random.default_rng(3).normal(size=(500, 3))
    assert len(BackwardProjectionPursuitDensity(random_state=0).fit(X).gain_) <= 1
    assert len(BackwardProjectionPursuitDensity(4, tol=10.0, random_state=0).fit(X).gain_) == 0
    assert len(BackwardProjectionPursuitDensity(2, tol=0.0, random_state=0).fit(skewed(300)).gain_) == 2


def test_rows_to_map_back_must_have_the_right_number_of_columns():
    model = BackwardProjectionPursuitDensity(1, random_state=0).fit(skewed(100))
    with pytest.raises(ValueError, match="X has 2 columns"):
        model.inverse_transform(np.zeros((4, 2)))


def test_a_few_new_columns_of_a_backward_density_are_its_least_normal_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 1] = np.where(rng.random(400) < 0.5, -3, 3) + 0.3 * X[:, 1]
    options = {"n_init": 1, "max_iter": 20, "random_state": 0}
    whole = BackwardProjectionPursuitDensity(**options).fit(X)
    one, all_turned = (BackwardProjectionPursuitDensity(n_components=k, **options).fit(X) for k in (1, 3))
    first = one.transform(X)
    assert first.shape == (400, 1)
    assert abs(stats.spearmanr(first[:, 0], X[:, 1]).statistic) > 0.95, "the column with two modes comes first"
    np.testing.assert_allclose(all_turned.transform(X)[:, :1], first)
    np.testing.assert_allclose(all_turned.inverse_transform(all_turned.transform(X)), X, atol=1e-6)
    np.testing.assert_allclose(one.score_samples(X), whole.score_samples(X))
    np.testing.assert_allclose(one.sample(3, random_state=1), whole.sample(3, random_state=1))
    with pytest.raises(ValueError, match="n_components=None"):
        one.inverse_transform(first)
