"""Zhu (2001), chapter 4: directions along which the densities of classes differ."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.extract import LikelihoodRatioDiscriminant
from fewer.extract.projection_pursuit._class_pursuit import ClassCriterion


def cosine(first, second):
    return abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)


def principal_cosines(directions, columns):
    """Between the span of some directions (rows) and that of some columns, smallest last."""
    return np.linalg.svd(np.linalg.qr(directions.T)[0][columns], compute_uv=False)


def lda_directions(X, y):
    return LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_.T


def bimodal(seed, n_rows=200):
    X = np.random.default_rng(seed).uniform(size=(n_rows, 2))
    return X, (abs(X[:, 0] - 0.5) < 1 / 6).astype(int)


def multimodal(seed, n_each=200):
    """Class 1 is normal; classes 2 and 3 have two modes each, along the first and the second column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * n_each, 20))
    y = np.repeat([1, 2, 3], n_each)
    X[y == 2, 0] += 3 * rng.choice([-1, 1], n_each)
    X[y == 3, 1] += 3 * rng.choice([-1, 1], n_each)
    return X, y


@pytest.mark.claim("zhu-flexible-discriminant-directions", 1)
@pytest.mark.parametrize("density", ["kde", "gaussian", "pooled_gaussian"])
def test_gradients_are_those_of_the_ratio(density, figure):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(150, 4)) * np.where(np.arange(150) < 60, 1.0, 2.0)[:, None]
    Z[:60, 0] += 1
    criterion = ClassCriterion(np.array([0, 60, 150]), density, "normal_reference", 1.3).along(Z)
    worst = 0.0
    for _ in range(5):
        direction = rng.normal(size=4)
        direction /= np.linalg.norm(direction)
        differences = [
            (criterion(direction + step)[0] - criterion(direction - step)[0]) / 2e-6 for step in 1e-6 * np.eye(4)
        ]
        gradient = criterion(direction)[1]
        worst = max(worst, np.linalg.norm(gradient - differences) / np.linalg.norm(gradient))
    figure(f"relative difference {worst:.1e} with density {density}")
    assert worst < 1e-4


def found_bimodal(seeds):
    pairs = []
    for seed in seeds:
        X, y = bimodal(seed)
        found = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y).components_[0]
        pairs.append((cosine(found, np.eye(2)[0]), cosine(lda_directions(X, y)[0], np.eye(2)[0])))
    return np.array(pairs).T


@pytest.mark.claim("zhu-flexible-discriminant-directions", 2)
@pytest.mark.slow
def test_the_bimodal_column_is_found_in_all_draws(figure):
    found, lda = found_bimodal(range(50))
    figure(f"{np.mean(found > 0.95):.0%}, median cosine {np.median(found):.4f}; LDA {np.mean(lda > 0.95):.0%}")
    assert np.mean(found > 0.95) >= 0.95
    assert np.mean(lda > 0.95) < 0.35


@pytest.mark.claim("zhu-flexible-discriminant-directions", 2)
def test_the_bimodal_column_is_found_where_lda_misses_it(figure):
    found, lda = found_bimodal(range(15))
    figure(f"{np.mean(found > 0.95):.0%}, median cosine {np.median(found):.4f}; LDA {np.mean(lda > 0.95):.0%}")
    assert np.all(found > 0.95)
    assert np.mean(lda > 0.95) < 0.35


@pytest.mark.claim("zhu-flexible-discriminant-directions", 3)
@pytest.mark.parametrize("strategy", ["orthogonal", "removal"])
def test_both_directions_of_many_modes_are_found(strategy, figure):
    smallest, largest_of_lda = [], []
    for seed in range(4):
        X, y = multimodal(seed)
        model = LikelihoodRatioDiscriminant(2, method=strategy, random_state=0).fit(X, y)
        smallest.append(principal_cosines(model.components_, [0, 1])[-1])
        largest_of_lda.append(principal_cosines(lda_directions(X, y)[:2], [0, 1])[0])
    figure(f"{strategy}: smallest cosine {min(smallest):.3f}; LDA's largest {np.median(largest_of_lda):.2f} (median)")
    assert min(smallest) > 0.95
    assert np.median(largest_of_lda) < 0.4


@pytest.mark.claim("zhu-flexible-discriminant-directions", 4)
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_with_pooled_normal_densities_the_first_direction_is_that_of_lda(load, figure):
    X, y = load(return_X_y=True)
    model = LikelihoodRatioDiscriminant(1, density="pooled_gaussian", random_state=0).fit(X, y)
    gap = 1 - cosine(model.components_[0], lda_directions(X, y)[0])
    figure(f"1 - cosine {gap:.1e} on {load.__name__.removeprefix('load_')}")
    assert gap < 1e-6


@pytest.mark.claim("zhu-flexible-discriminant-directions", 4)
def test_with_pooled_normal_densities_removal_gives_the_directions_of_lda(figure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), np.repeat([0, 1, 2], 1000)
    X[y == 1, 0] += 3
    X[y == 2, 1] += 2
    model = LikelihoodRatioDiscriminant(2, "removal", density="pooled_gaussian", random_state=0).fit(X, y)
    lda = lda_directions(X, y)
    cosines = [cosine(*pair) for pair in zip(model.components_, lda[:2], strict=True)]
    figure(f"cosines {cosines[0]:.4f} and {cosines[1]:.4f}")
    assert min(cosines) > 0.99


def waveform(n_rows, rng):
    place = np.arange(1, 22)
    first = np.maximum(6 - abs(place - 11), 0)
    second, third = np.maximum(6 - abs(place - 15), 0), np.maximum(6 - abs(place - 7), 0)
    waves = np.array([first, second, third])
    y = rng.integers(3, size=n_rows)
    share = rng.uniform(size=(n_rows, 1))
    a, b = waves[np.array([0, 0, 1])[y]], waves[np.array([1, 2, 2])[y]]
    return share * a + (1 - share) * b + rng.normal(size=(n_rows, 21)), y, np.array([second - first, third - first])


@pytest.mark.claim("zhu-flexible-discriminant-directions", 5)
@pytest.mark.parametrize("strategy", ["orthogonal", "removal"])
def test_the_plane_of_waveforms_is_found(strategy, figure):
    rng = np.random.default_rng(0)
    X, y, truth = waveform(600, rng)
    new, *_ = waveform(4000, rng)
    model = LikelihoodRatioDiscriminant(2, method=strategy, random_state=0).fit(X, y)
    bases = [np.linalg.qr(values - values.mean(axis=0))[0] for values in (model.transform(new), new @ truth.T)]
    correlations = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    figure(f"{strategy}: canonical correlations {correlations[0]:.3f} and {correlations[1]:.3f}")
    assert correlations.min() > 0.95


@pytest.mark.claim("zhu-flexible-discriminant-directions", 6)
def test_columns_that_score_alike_make_a_diagonal(figure):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1000)
    X = rng.normal(size=(2000, 2)) + np.where(y == 1, 1, -1)[:, None]
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y)
    scores = model.feature_scores(X, y)
    angle = np.degrees(np.arccos(min(1, cosine(model.components_[0], np.ones(2)))))
    figure(f"columns score {scores[0]:.3f} and {scores[1]:.3f}; the direction is {angle:.1f} degrees off")
    assert scores.max() < 1.15 * scores.min()
    assert angle < 10
    assert model.scores_[0] > 1.3 * scores.max()


@pytest.mark.claim("zhu-flexible-discriminant-directions", 7)
def test_removal_leaves_nothing_along_a_direction(figure):
    X, y = multimodal(0)
    model = LikelihoodRatioDiscriminant(1, "removal", random_state=0).fit(X, y)
    before, after = ([part[row] for part in model.removal_maps_[0]] for row in (0, 1))
    begins = np.append(0, np.cumsum([len(part) for part in before]))
    ratio = ClassCriterion(begins, "kde", "normal_reference", 1.3).index()
    left = ratio(np.concatenate(after))[0] / ratio(np.concatenate(before))[0]
    figure(f"{left:.1%} of the ratio is left")
    assert left < 0.05


@pytest.mark.claim("zhu-flexible-discriminant-directions", 8)
def test_the_ratio_exceeds_all_of_shuffled_classes(figure):
    X, y = bimodal(0)
    model = LikelihoodRatioDiscriminant(1, n_permutations=20, random_state=0).fit(X, y)
    figure(f"{model.scores_[0]:.3f}; shuffled at most {model.null_scores_.max():.3f}")
    assert model.null_scores_.shape == (1, 20)
    assert model.scores_[0] > 2 * model.null_scores_.max()
