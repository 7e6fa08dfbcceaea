"""Zhu (2001), chapter 6: densities and a classifier from functions along a few directions."""

import numpy as np
import pytest
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from fewer.extract import (
    BackwardProjectionPursuitDensity,
    ForwardProjectionPursuitDensity,
    ProjectionPursuitDiscriminant,
)
from fewer.extract.projection_pursuit._densities import grown
from fewer.extract.projection_pursuit._density_models import normal_points
from fewer.extract.projection_pursuit._search import Effort

CENTRES = np.array([[0.0, 0.0], [3.0, 3.0], [-3.0, 2.0]])


def exclusive_or(n_rows, rng, n_columns=2):
    """Both classes have the same distribution along each column; the first two together tell them apart."""
    X = rng.normal(size=(n_rows, n_columns))
    y = np.arange(n_rows) % 2
    sign = rng.choice([-1, 1], size=n_rows)
    X[:, 0] += 1.5 * sign
    X[:, 1] += 1.5 * np.where(y == 0, sign, -sign)
    return X, y


def staged_errors(model, X, y):
    return np.array([np.mean(told != y) for told in model.staged_predict(X)])


def mixture(n_rows, rng):
    return CENTRES[rng.integers(3, size=n_rows)] + 0.8 * rng.normal(size=(n_rows, 2))


def true_log_density(X):
    return np.log(np.mean([stats.multivariate_normal(centre, 0.64).pdf(X) for centre in CENTRES], axis=0))


def errors_on_exclusive_or(seeds, n_draws, direction="forward"):
    errors = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = exclusive_or(500, rng)
        new, truth = exclusive_or(15_000, rng)
        model = ProjectionPursuitDiscriminant(2, direction, n_draws=n_draws, random_state=0).fit(X, y)
        lda, bayes = (
            np.mean(each.fit(X, y).predict(new) != truth) for each in (LinearDiscriminantAnalysis(), GaussianNB())
        )
        errors.append([*staged_errors(model, new, truth), lda, bayes])
    return np.array(errors).T


@pytest.mark.claim("zhu-reduced-rank-npda", 1)
@pytest.mark.parametrize(
    ("n_seeds", "n_draws", "direction"),
    [(2, 5000, "forward"), (3, 100, "backward"), pytest.param(6, 20_000, "forward", marks=pytest.mark.slow)],
)
def test_two_directions_solve_exclusive_or(n_seeds, n_draws, direction, figure):
    one, two, lda, bayes = errors_on_exclusive_or(range(n_seeds), n_draws, direction)
    figure(f"{direction}: {one.mean():.1%} with one direction, {two.mean():.1%} with two; LDA {lda.mean():.0%}")
    assert 0.122 < two.mean() < 0.14
    assert one.mean() > 0.17
    assert np.all(two < one)
    assert abs(lda.mean() - 0.5) < 0.06
    assert bayes.min() > 0.4


@pytest.mark.claim("zhu-reduced-rank-npda", 2)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_exclusive_or_is_found_among_ten_turned_columns(seed, figure):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    X, y = exclusive_or(1000, rng, 10)
    new, truth = exclusive_or(5000, rng, 10)
    model = ProjectionPursuitDiscriminant(2, random_state=0).fit(X @ turn, y)
    one, two = staged_errors(model, new @ turn, truth)
    cosines = np.linalg.svd(np.linalg.qr(turn @ model.directions_.T)[0][:2], compute_uv=False)
    figure(f"{one:.1%} with one direction, {two:.1%} with two; cosines {cosines[0]:.3f} and {cosines[1]:.3f}")
    assert two < 0.15 < one
    assert cosines.min() > 0.95


@pytest.mark.claim("zhu-reduced-rank-npda", 3)
def test_normal_classes_of_one_covariance_are_told_apart_as_by_lda(figure):
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(4, 4))
    y = np.arange(5000) % 2
    X = (rng.normal(size=(5000, 4)) + np.outer(y, [1.2, 0.8, 0, 0])) @ spread
    train, test = slice(0, 1000), slice(1000, None)
    model = ProjectionPursuitDiscriminant(1, random_state=0).fit(X[train], y[train])
    lda = LinearDiscriminantAnalysis().fit(X[train], y[train])
    cosine = abs(model.directions_[0] @ lda.coef_[0]) / np.linalg.norm(model.directions_) / np.linalg.norm(lda.coef_)
    errors = [np.mean(each.predict(X[test]) != y[test]) for each in (model, lda)]
    figure(f"cosine {cosine:.3f}; error {errors[0]:.1%}, LDA {errors[1]:.1%}")
    assert cosine > 0.97
    assert errors[0] < errors[1] + 0.02


def importance_integral(model, rng):
    """The density's integral by rows of a wider normal one."""
    wide = stats.multivariate_normal(model.mean_, 2 * np.cov(mixture(2000, rng).T))
    rows = wide.rvs(50_000, random_state=0)
    return np.exp(model.score_samples(rows) - wide.logpdf(rows)).mean()


@pytest.mark.claim("zhu-reduced-rank-npda", 4)
def test_ridges_bring_a_normal_density_near_a_mixture(figure):
    rng = np.random.default_rng(0)
    X, new = mixture(2000, rng), mixture(4000, rng)
    fits = [
        ForwardProjectionPursuitDensity(size, oversmooth=0.6, n_draws=5000, random_state=0).fit(X) for size in (1, 2, 4)
    ]
    scores = [fit.score(new) for fit in fits]
    base = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(new).mean()
    kernel = np.log(stats.gaussian_kde(X.T)(new.T)).mean()
    integral = importance_integral(fits[-1], rng)
    figure(
        f"{base:.2f}, then {scores[0]:.2f}, {scores[1]:.2f}, and {scores[2]:.2f} after 4; kernels {kernel:.2f}, truth "
        f"{true_log_density(new).mean():.2f}; integral {integral:.3f}"
    )
    assert scores[0] > base + 0.3
    assert scores[1] > scores[0] + 0.25
    assert scores[2] > kernel + 0.03
    assert abs(integral - 1) < 0.05


@pytest.mark.claim("zhu-reduced-rank-npda", 5)
def test_the_same_direction_again_adds_next_to_nothing(figure):
    X = mixture(2000, np.random.default_rng(0))
    Z = np.linalg.solve(np.linalg.cholesky(np.cov(X.T, bias=True)), (X - X.mean(axis=0)).T).T
    width, rng = 0.6 * 2000**-0.2, np.random.RandomState(0)
    model, (first,) = grown(Z, 1, normal_points(20_000, 2, rng), width, 2, Effort(60, 1e-6), rng)
    direction, grid = model.directions[0], model.grids[0]
    values = Z @ direction
    again = model.gain(values, model.points @ direction, width)[0] / len(Z)
    central = (grid > np.quantile(values, 0.025)) & (grid < np.quantile(values, 0.975))
    largest = np.abs(model.ridge(direction, values, width, grid)[central]).max()
    figure(f"|log f| at most {largest:.2f}, gain {again / first.value:.1%} of the first")
    assert largest < 0.5
    assert again < 0.05 * first.value


@pytest.mark.claim("zhu-reduced-rank-npda", 6)
def test_rows_are_made_normal_and_their_density_follows(figure):
    rng = np.random.default_rng(0)
    X, new = mixture(1000, rng), mixture(4000, rng)
    model = BackwardProjectionPursuitDensity(random_state=0).fit(X)
    nodes = np.linspace(-9, 9, 121)
    plane = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    integral = np.exp(model.score_samples(plane)).sum() * (nodes[1] - nodes[0]) ** 2
    Z = model.transform(X)
    angles = np.linspace(0, np.pi, 200)
    largest = max(stats.kstest(Z @ [np.cos(a), np.sin(a)], "norm").statistic for a in angles)
    back = np.abs(model.inverse_transform(Z) - X).max()
    held_out = model.score(new)
    figure(f"integral {integral:.3f}, distance to normal {largest:.3f}, held out {held_out:.2f}, back to {back:.0e}")
    assert abs(integral - 1) < 0.02
    assert largest < 0.06
    assert held_out > -3.6
    assert back < 1e-3


@pytest.mark.claim("zhu-reduced-rank-npda", 7)
def test_forward_and_backward_are_different_densities(figure):
    rng = np.random.default_rng(0)
    X, new = mixture(1000, rng), mixture(2000, rng)
    forward = ForwardProjectionPursuitDensity(4, oversmooth=0.6, n_draws=5000, random_state=0).fit(X)
    backward = BackwardProjectionPursuitDensity(random_state=0).fit(X)
    base = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(new).mean()
    apart = np.abs(forward.score_samples(new) - backward.score_samples(new)).mean()
    gains = [model.score(new) - base for model in (forward, backward)]
    figure(f"|log ratio| {apart:.2f}; {gains[0]:.2f} and {gains[1]:.2f} above normal")
    assert apart > 0.02
    assert min(gains) > 0.5


@pytest.mark.claim("zhu-reduced-rank-npda", 8)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_probabilities_sum_to_one_and_the_last_stage_is_the_prediction(direction, figure):
    X, y = exclusive_or(300, np.random.default_rng(0))
    model = ProjectionPursuitDiscriminant(3, direction, n_draws=2000, random_state=0).fit(X, y)
    sums = model.predict_proba(X).sum(axis=1)
    figure(f"{direction}: sums off by at most {np.abs(sums - 1).max():.0e}")
    np.testing.assert_allclose(sums, 1)
    stages = list(model.staged_predict(X))
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[-1], model.predict(X))
