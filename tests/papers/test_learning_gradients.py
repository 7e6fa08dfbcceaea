"""Wu, Guinney, Maggioni and Mukherjee (2010): learning gradients."""

import time
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

from fewer.extract import GradientDiffusionMap, GradientGraph, GradientLearner, GradientOuterProduct
from fewer.extract.gradients._pair_problem import PairProblem, conjugate_gradients, direct_solutions

LINEAR = np.array([1, 0, 0.5, 0, 0.5])


def linear_toy(seed):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(100, 5))
    first, second, third, fourth, fifth = hidden.T
    X = np.column_stack([first, first + second, third + fourth, fourth, fifth - fourth])
    return X, X @ LINEAR + 0.5 * rng.normal(size=100)


@cache
def swiss_roll(seed, n_rows):
    """Table, target, and the coordinates along the roll and across it."""
    rng = np.random.default_rng(seed)
    along, across = rng.random((2, n_rows))
    angle = 1.5 * np.pi * (1 + 2 * along)
    X = np.column_stack([angle * np.cos(angle), 70 * across, angle * np.sin(angle)])
    return X, np.sin(5 * np.pi * along), along, across


def local_learner(width, reg, **options):
    return GradientLearner(
        joint=False, alpha_f=reg, alpha_grad=reg, weight_bandwidth=width, kernel_bandwidth=width, **options
    )


def objective(X, y, K, W, a, c, reg):
    """The squared loss as it is printed, pair by pair."""
    n = len(X)
    values, gradients = K @ a, K @ c
    steps = np.einsum("ip,ijp->ij", gradients, X[None, :, :] - X[:, None, :])
    loss = np.sum(W * (y[:, None] - values[None, :] + steps) ** 2) / n**2
    return loss + reg * (a @ K @ a + np.einsum("ip,ij,jp->", c, K, c))


@pytest.mark.claim("learning-gradients", 1)
def test_the_solution_is_the_minimum_in_any_coordinates_and_by_any_solver(figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 40))  # more columns than rows: the span of the rows has 24 coordinates
    y = X[:, 0] + rng.normal(size=25)
    y -= y.mean()
    reg = 1e-3
    exact = GradientLearner(alpha_f=reg, alpha_grad=reg, solver="direct", tol=1e-14).fit(X, y)
    steps = GradientLearner(alpha_f=reg, alpha_grad=reg, solver="cg", tol=1e-9, max_iter=500).fit(X, y)

    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    W = np.exp(-squared / (2 * exact.weight_bandwidth_**2))
    K = np.exp(-squared / (2 * exact.kernel_bandwidth_**2))
    a, c = exact.dual_coef_, exact.gradient_coef_
    lowest = objective(X, y, K, W, a, c, reg)
    for size in (1e-4, 1e-2):
        for _ in range(20):
            near = objective(X, y, K, W, a + size * rng.normal(size=a.shape), c + size * rng.normal(size=c.shape), reg)
            assert near >= lowest

    full = PairProblem(X, K, W, 25**2 * np.full(41, reg), joint=True)
    target = full.gathered(W * y[:, None])
    found = np.column_stack([a, c])
    left = full.penalties * found + full.normal(K @ found) - target
    stationary = np.linalg.norm(K @ left) / np.linalg.norm(K @ target)
    in_full = list(direct_solutions(full, target))[-1].coefficients
    reduced = np.abs(in_full - found).max() / np.abs(found).max()
    solvers = np.abs(steps.gradients_ - exact.gradients_).max() / np.abs(exact.gradients_).max()
    figure(f"gradient {stationary:.0e}; coordinates {reduced:.0e}; solvers {solvers:.0e}")
    assert stationary < 1e-8
    assert reduced < 1e-8
    assert solvers < 1e-5


@pytest.mark.claim("learning-gradients", 2)
@pytest.mark.parametrize("joint", [True, False])
def test_the_linear_toy_shows_its_direction_and_its_columns(joint, figure):
    cosines, shares, diagonals = [], [], []
    for seed in range(10):
        X, y = linear_toy(seed)
        found = GradientOuterProduct(1, estimator=GradientLearner(joint=joint)).fit(X, y)
        cosines.append(abs(found.components_[0] @ LINEAR) / np.linalg.norm(LINEAR))
        shares.append(found.eigenvalues_[0] / found.eigenvalues_.sum())
        diagonals.append(found.feature_scores_)
        assert set(np.argsort(-found.feature_scores_)[:3]) == {0, 2, 4}
    mean = np.mean(diagonals, axis=0)
    figure(
        f"{'joint' if joint else 'not joint'}: cosine {min(cosines):.3f}, share {min(shares):.3f}, "
        f"mean diagonal {mean.round(2).tolist()}"
    )
    assert min(cosines) > 0.95
    assert min(shares) > 0.94
    assert np.abs(mean - LINEAR**2).max() < 0.15
    assert np.abs(np.array(diagonals) - LINEAR**2)[:, 1:].max() < 0.15
    X, y = linear_toy(0)
    graph = GradientGraph(GradientLearner(joint=joint)).fit(X, y)
    assert graph.edges_.tolist() == [[0, 2], [0, 4], [2, 4]]
    assert (graph.edge_values_ < 0).all()


@pytest.mark.claim("learning-gradients", 3)
def test_the_plane_of_the_swiss_roll_is_found(figure):
    X, y, _, _ = swiss_roll(0, 500)
    said = []
    for width in (2, 3, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few neighbours at the smallest width
            found = GradientOuterProduct(2, estimator=local_learner(width, 1e-5)).fit(X, y)
        across = np.abs(found.components_[:, 1]).max()
        share = found.eigenvalues_[:2].sum() / found.eigenvalues_.sum()
        said.append(f"{across:.4f} ({share:.1%})")
        assert across < 0.05
        assert share > 0.97
    figure("across with widths 2, 3, 4: " + ", ".join(said))


def explained_by(values, coordinate, n_bins=25):
    """Share of the variance between bins of a coordinate."""
    bins = np.minimum((coordinate * n_bins).astype(int), n_bins - 1)
    within = sum(values[bins == each].var() * (bins == each).sum() for each in range(n_bins))
    return 1 - within / (values.var() * len(values))


@cache
def roll_maps():
    X, y, _, _ = swiss_roll(0, 1000)
    learner = local_learner(3, 1e-6)
    plain = GradientDiffusionMap(2, sigma1=300, sigma2=np.inf).fit(X)
    return plain, GradientDiffusionMap(2, sigma1=300, sigma2=0.1, estimator=learner).fit(X, y)


@pytest.mark.claim("learning-gradients", 4)
def test_the_map_follows_the_target_along_the_roll_first(figure):
    _, _, along, across = swiss_roll(0, 1000)
    plain, ours = roll_maps()
    assert explained_by(plain.embedding_[:, 0], across) > 0.95
    assert explained_by(plain.embedding_[:, 0], along) < 0.1
    first, second = explained_by(ours.embedding_[:, 0], along), explained_by(ours.embedding_[:, 1], across)
    figure(f"along the roll {first:.3f}, across {second:.3f}")
    assert first > 0.9
    assert second > 0.9


@pytest.mark.claim("learning-gradients", 5)
def test_the_gradient_is_the_derivative_along_the_roll(figure):
    _, _, along, _ = swiss_roll(0, 1000)
    gradients = roll_maps()[1].estimator_.gradients_
    angle = 1.5 * np.pi * (1 + 2 * along)
    forward = (
        3
        * np.pi
        * np.column_stack(
            [np.cos(angle) - angle * np.sin(angle), np.zeros(1000), np.sin(angle) + angle * np.cos(angle)]
        )
    )
    slope = np.einsum("ij,ij->i", gradients, forward)
    correlation = np.corrcoef(slope, 5 * np.pi * np.cos(5 * np.pi * along))[0, 1]
    figure(f"correlation {correlation:.3f}")
    assert correlation > 0.9


def sliced_inverse_direction(X, y, n_slices=10):
    centred = X - X.mean(axis=0)
    means = [centred[rows].mean(axis=0) for rows in np.array_split(np.argsort(y), n_slices)]
    direction = eigh(np.transpose(means) @ means, centred.T @ centred)[1][:, -1]
    return direction / np.linalg.norm(direction)


@pytest.mark.claim("learning-gradients", 6)
def test_a_symmetric_link_is_seen_by_gradients_and_not_by_slices(figure):
    ours, theirs = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=10)
        truth /= np.linalg.norm(truth)
        X = rng.normal(size=(300, 10))
        y = (X @ truth) ** 2 + 0.3 * rng.normal(size=300)
        learner = GradientLearner(joint=False, alpha_f=1e-5, alpha_grad=1e-5)
        ours.append(abs(GradientOuterProduct(1, estimator=learner).fit(X, y).components_[0] @ truth))
        theirs.append(abs(sliced_inverse_direction(X, y) @ truth))
    figure(f"mean cosine {np.mean(ours):.2f}, sliced inverse regression {np.mean(theirs):.2f}")
    assert np.mean(ours) > 0.85
    assert np.mean(theirs) < 0.6


def hits_of_logistic_loss(regs):
    y = np.repeat([-1, 1], 75)
    hits = {}
    for reg in regs:
        hits[reg] = 0
        for seed in range(10):
            X = np.random.default_rng(seed).normal(size=(150, 20))
            X[:, :2] += 0.8 * y[:, None]
            learner = GradientLearner("logistic", alpha_f=reg, alpha_grad=reg)
            scores = GradientOuterProduct(1, estimator=learner).fit(X, y).feature_scores_
            hits[reg] += set(np.argsort(-scores)[:2]) == {0, 1}
    return hits


@pytest.mark.claim("learning-gradients", 7)
def test_the_logistic_loss_finds_both_columns(figure):
    hits = hits_of_logistic_loss([1e-4])
    figure(f"{hits} of 10")
    assert min(hits.values()) >= 9


@pytest.mark.slow
@pytest.mark.claim("learning-gradients", 7)
def test_the_logistic_loss_finds_both_columns_with_any_penalty(figure):
    hits = hits_of_logistic_loss([1e-3, 1e-4, 1e-5])
    figure(f"{hits} of 10")
    assert min(hits.values()) >= 9


@pytest.mark.claim("learning-gradients", 8)
def test_five_thousand_columns_take_no_matrix_of_columns(figure):
    X = np.random.default_rng(0).normal(size=(60, 5000))
    y = X[:, :5].sum(axis=1)
    start = time.process_time()
    tracemalloc.start()
    found = GradientOuterProduct(2).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    figure(f"{time.process_time() - start:.1f} s of CPU, {peak:.0f} MB")
    assert found.components_.shape == (2, 5000)
    assert peak < 100  # columns x columns would be 200 MB
    with pytest.raises(AttributeError, match="5,000 x 5,000"):
        _ = found.gop_


def test_conjugate_gradients_need_few_steps():
    X, y, _, _ = swiss_roll(0, 500)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-squared / 32)
    problem = PairProblem(X - X.mean(axis=0), K, K, 500**2 * np.full(3, 1e-5), joint=False)
    target = problem.gathered(K * (y[:, None] - y))
    steps = 0
    for iterate in conjugate_gradients(problem, target, problem.spectrum()):
        steps += 1
        if iterate.error < 1e-6:
            break
    assert steps < 40
