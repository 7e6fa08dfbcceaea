"""Agakov and Barber (2006): auxiliary variational information maximization for dimensionality reduction."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from fewer.extract import VariationalInfoMax, information_bound
from fewer.extract.information._bound import (
    Channel,
    GramForm,
    MomentForm,
    bound,
    decoders_of,
    polar,
    second_moments,
    softmax,
)
from fewer.extract.information._im_algorithm import (
    Auxiliary,
    Recipe,
    clustered_states,
    ground_of,
    im_fit,
    random_states,
)
from tolerances import rounding

PRINTED = {"noise_variance": 1.0, "reg_covar": 0.05}


@cache
def digits(n_rows):
    """The first images of 1, 2 and 8, centred, with an overall standard deviation of 1."""
    data = load_digits()
    X = np.vstack([data.data[data.target == digit][:n_rows] for digit in (1, 2, 8)])
    X = X - X.mean(axis=0)
    return X / X.std()


def random_directions(n_components, n_columns, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n_columns, n_components)))[0].T


@pytest.mark.claim("avim", 1)
def test_of_all_projections_pca_is_best_for_one_gaussian_decoder(figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8))
    X -= X.mean(axis=0)
    C = X.T @ X / len(X)
    one = VariationalInfoMax(3, objective="gaussian", reg_covar=0)
    entropy = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * C)[1]
    best = PCA(3).fit(X).components_
    at_pca = information_bound(X, best, one)
    closest, worst = np.inf, 0.0
    for seed in range(1000):
        W = random_directions(3, 8, seed)
        Sxy, Syy = C @ W.T, W @ C @ W.T + np.eye(3)
        residual = C - Sxy @ np.linalg.solve(Syy, Sxy.T)
        closed_form = 0.5 * (np.linalg.slogdet(C)[1] - np.linalg.slogdet(residual)[1])
        closest = min(closest, at_pca + entropy - closed_form)
        if seed < 50:
            worst = max(worst, abs(information_bound(X, W, one) + entropy - closed_form))
    model = one.fit(X)
    figure(f"closest of 1,000: {closest:.2f} nats below; closed form differs by {worst:.0e}")
    assert closest > 0
    assert worst < 1e-8
    assert model.bound_[-1] == pytest.approx(at_pca, abs=1e-10)
    np.testing.assert_allclose(model.subspace_overlap_, 1)


@pytest.mark.claim("avim", 2)
@pytest.mark.parametrize("n_rows", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_the_bound_never_falls(n_rows, figure):
    X = digits(n_rows)
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    Z = (left * sizes)[:, sizes > 1e-10 * sizes[0]]
    smallest, n_steps = np.inf, 0
    for sent in (False, True):
        for free in (False, True):
            recipe = Recipe(Channel(1.0, 0.05, 64), sent, free, 15, 0.0)
            for clustered in (False, True):
                rng = np.random.RandomState(0)
                V, b = clustered_states(Z, 3, rng) if clustered else random_states(Z, np.eye(Z.shape[1]), 3, rng)
                auxiliary = Auxiliary(None, None) if free else Auxiliary(V, b)
                ground = ground_of(Z, recipe.channel)
                fit = im_fit(ground, np.eye(6, Z.shape[1]), softmax(Z, V, b), auxiliary, recipe, lambda: False)
                smallest, n_steps = min(smallest, np.diff(fit.trace).min()), n_steps + len(fit.trace) - 1
    figure(f"{n_rows} of each digit: smallest change in {n_steps} steps {smallest:.0e}")
    assert smallest > -1e-6


@cache
def fitted(n_rows, n_aux, n_init=5, objective="auxiliary"):
    return VariationalInfoMax(6, n_aux=n_aux, objective=objective, n_init=n_init, random_state=0, **PRINTED).fit(
        digits(n_rows)
    )


@pytest.mark.claim("avim", 3)
@pytest.mark.filterwarnings("ignore:The bound still gained")
@pytest.mark.parametrize(
    ("numbers", "n_init"), [((2, 5), 2), pytest.param((2, 3, 4, 5), 5, marks=pytest.mark.slow)], ids=["two", "four"]
)
def test_more_decoders_keep_more(numbers, n_init, figure):
    models = {n_aux: fitted(150, n_aux, n_init) for n_aux in numbers}
    means = [model.restart_bounds_.mean() for model in models.values()]
    single = models[numbers[0]].gaussian_bound_
    figure(f"one decoder {single:.1f}; {', '.join(f'{n}: {mean:.1f}' for n, mean in zip(numbers, means, strict=True))}")
    assert single == pytest.approx(-31.6, abs=0.05)
    assert (np.diff(means) > 0).all()
    assert min(model.restart_bounds_.min() for model in models.values()) > single + 3
    assert means[-1] > single + 10


@pytest.mark.claim("avim", 4)
@pytest.mark.filterwarnings("ignore:The bound still gained")
@pytest.mark.parametrize("n_rows", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_directions_are_not_those_of_pca(n_rows, figure):
    smallest = []
    for n_aux in (3, 4, 5):
        model = fitted(n_rows, n_aux)
        smallest.append(model.subspace_overlap_[-1])
        cosines = np.linalg.svd(model.components_ @ PCA(6).fit(digits(n_rows)).components_.T, compute_uv=False)
        np.testing.assert_allclose(model.subspace_overlap_, cosines, atol=1e-8)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-10)
    figure(f"{n_rows} of each digit, 3 to 5 decoders: {', '.join(f'{each:.2f}' for each in smallest)}")
    assert max(smallest) < 0.9


@pytest.mark.claim("avim", 5)
def test_in_gaussian_rows_nothing_is_found_that_is_not_there(figure):
    rng = np.random.default_rng(0)
    scales = np.array([4.0, 3.0, 2.5] + [1.0] * 7)
    X, new = (rng.normal(size=(2000, 10)) * scales for _ in range(2))
    model = VariationalInfoMax(3, n_init=3, random_state=0).fit(X)
    single = VariationalInfoMax(3, objective="gaussian").fit(X)
    gain = model.score(new) - single.score(new)
    figure(f"gain on new rows {gain:.3f} nats, smallest cosine with PCA {model.subspace_overlap_[-1]:.3f}")
    assert gain < 0.2
    assert model.subspace_overlap_[-1] > 0.95


def auc_along(model, X, clusters):
    area = roc_auc_score(clusters, model.fit(X).transform(X)[:, 0])
    return max(area, 1 - area)


@pytest.mark.claim("avim", 6)
def test_two_clusters_are_kept_apart_where_few_rows_have_most_of_the_variance(figure):
    rng = np.random.default_rng(0)
    clusters = rng.integers(2, size=600)
    X = 0.3 * rng.normal(size=(600, 5))
    X[:, 0] += np.where(clusters == 1, 2, -2)
    outliers = X.copy()
    outliers[:30, 1] += rng.normal(scale=15, size=30)
    wide = X.copy()
    wide[:, 1] += rng.normal(scale=4, size=600)
    model = VariationalInfoMax(1, n_init=4, random_state=0)
    found = {name: auc_along(model, table, clusters) for name, table in [("few", outliers), ("all", wide)]}
    by_pca = {name: auc_along(PCA(1), table, clusters) for name, table in [("few", outliers), ("all", wide)]}
    figure(
        f"variance of few rows: {found['few']:.2f} (PCA {by_pca['few']:.2f}); of all rows: {found['all']:.2f} "
        f"(PCA {by_pca['all']:.2f})"
    )
    assert found["few"] > 0.95
    assert by_pca["few"] < 0.7
    assert found["all"] < 0.7


@pytest.mark.claim("avim", 7)
@pytest.mark.filterwarnings("ignore:The bound still gained")
def test_rows_are_reconstructed_better_than_from_principal_components(figure):
    clean = digits(150)
    rng = np.random.default_rng(0)
    models = {
        "PCA": VariationalInfoMax(6, objective="gaussian", **PRINTED).fit(clean),
        "hybrid": fitted(150, 3, 4, "hybrid"),
    }
    errors = dict.fromkeys(models, 0.0)
    for _ in range(50):
        source = clean + np.sqrt(0.5) * rng.normal(size=clean.shape)
        noise = rng.normal(size=(len(clean), 6))
        for name, model in models.items():
            decoded = model.inverse_transform(model.transform(source) + noise, model.predict_aux(source))
            errors[name] += np.mean((decoded - clean) ** 2) / 50
    gain = 1 - errors["hybrid"] / errors["PCA"]
    figure(f"mean squared error {errors['PCA']:.3f} by PCA, {errors['hybrid']:.3f} by the hybrid code: {gain:.0%} less")
    assert gain > 0.08


@pytest.mark.claim("avim", 8)
def test_gradients_are_those_of_finite_differences(figure):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 7)) * np.linspace(2, 0.3, 7)
    Z[:20] *= 3
    channel = Channel(0.5, 0.1, 9)
    weights = rng.normal(size=(3, 8))
    B = random_directions(2, 7, 1) + 0.3 * rng.normal(size=(2, 7))
    gaps = []
    for sent in (False, True):

        def whole(weights, B, sent=sent):
            """The bound with decoders refitted, for orthonormal directions with the span of B."""
            pi = softmax(Z, weights[:, :-1], weights[:, -1])
            return bound(pi, decoders_of(second_moments(Z, pi), polar(B), channel), channel, sent=sent)

        for form in (MomentForm(Z, channel), GramForm(Z, channel)):
            value, in_weights, in_B = form.softmax_bound(weights, B, sent)
            # The noise, of variance 0.1 at least, stands beside the squares in what is inverted.
            condition = np.linalg.norm(Z, 2) ** 2 / 60 / 0.1
            assert value == pytest.approx(whole(weights, B), rel=rounding(60, condition=condition))
            gaps.append(relative(in_weights, numeric(lambda flat: whole(flat.reshape(3, 8), B), weights)))
            gaps.append(relative(in_B, numeric(lambda flat: whole(weights, flat.reshape(2, 7)), B)))
    figure(f"largest relative error {max(gaps):.0e}")
    assert max(gaps) < 1e-5


def numeric(function, at):
    step = 1e-5
    flat = at.ravel()
    moves = step * np.eye(flat.size)
    slopes = [(function(flat + move) - function(flat - move)) / (2 * step) for move in moves]
    return np.reshape(slopes, at.shape)


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()
