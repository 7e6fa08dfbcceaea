"""Zhu (2001), chapters 1.3 and 7: mixture discriminant models, and the aspect model with covariates."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy
from sklearn.decomposition import NMF
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_waveform
from fewer.latent import AspectModel, AspectModelWithCovariates, MixtureDiscriminantAnalysis, SharedMixtureDiscriminant


def exclusive_or(n_rows, rng):
    X = rng.normal(size=(n_rows, 2))
    y = np.arange(n_rows) % 2
    sign = rng.choice([-1, 1], size=n_rows)
    X[:, 0] += 1.5 * sign
    X[:, 1] += 1.5 * np.where(y == 0, sign, -sign)
    return X, y


def waves(n_samples, seed):
    X, y, _ = make_waveform(n_samples, n_noise=0, random_state=seed)
    return X, y


def visits(rng, n_rows=80, n_items=6):
    """Counts of items whose distribution changes along the first covariate."""
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] += 2 * (np.arange(n_rows) % 2)
    shares = np.where((np.arange(n_rows) % 2)[:, None], np.arange(1, n_items + 1), np.arange(n_items, 0, -1)).astype(
        float
    )
    shares /= shares.sum(axis=1, keepdims=True)
    return X, np.array([rng.multinomial(8, share) for share in shares])


@pytest.mark.claim("zhu-mixture-aspect", 1)
@pytest.mark.parametrize(
    "model",
    [
        MixtureDiscriminantAnalysis(3, n_init=1, random_state=0, tol=1e-10),
        MixtureDiscriminantAnalysis(3, n_components=2, shrinkage=2.0, n_init=1, random_state=0, tol=1e-10),
        SharedMixtureDiscriminant(9, n_init=1, random_state=0, tol=1e-10),
        SharedMixtureDiscriminant(6, covariance_type="full", n_init=1, random_state=0, tol=1e-10),
        SharedMixtureDiscriminant(6, covariance_type="diag", n_init=1, random_state=0, tol=1e-10),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_em_never_falls_on_waves(model):
    path = model.fit(*waves(300, 0)).objective_path_
    assert len(path) > 5
    assert np.min(np.diff(path) / np.abs(path[:-1])) > -1e-8


@pytest.mark.claim("zhu-mixture-aspect", 1)
@pytest.mark.parametrize("tempering", [1.0, 0.8])
def test_em_never_falls_on_counts(tempering):
    X, Y = visits(np.random.default_rng(0))
    with_covariates = AspectModelWithCovariates(3, n_init=1, random_state=0, tol=1e-10, max_iter=2000).fit(X, Y)
    alone = AspectModel(3, tempering=tempering, smoothing=0.1, random_state=0, max_iter=2000, tol=1e-9).fit(Y)
    for path in (with_covariates.objective_path_, alone.objective_path_):
        assert len(path) > 5
        assert np.min(np.diff(path) / np.abs(path[:-1])) > -1e-8


@pytest.mark.claim("zhu-mixture-aspect", 2)
@pytest.mark.parametrize("n_seeds", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_sub_classes_beat_one_mean_for_each_class_on_waves(n_seeds, figure):
    errors = []
    for seed in range(n_seeds):
        X, y = waves(300, seed)
        new, truth = waves(3000, 1000 + seed)
        models = [
            MixtureDiscriminantAnalysis(3, random_state=seed),
            SharedMixtureDiscriminant(9, random_state=seed),
            LinearDiscriminantAnalysis(),
            QuadraticDiscriminantAnalysis(),
        ]
        errors.append([1 - model.fit(X, y).score(new, truth) for model in models])
    separate, shared, linear, quadratic = np.mean(errors, axis=0)
    figure(f"sub-classes {separate:.1%}, shared {shared:.1%}, LDA {linear:.1%}, QDA {quadratic:.1%}")
    assert separate < min(linear, quadratic)
    assert 0.17 < shared < 0.23


@pytest.mark.claim("zhu-mixture-aspect", 3)
def test_most_components_of_waves_belong_to_a_class(figure):
    model = SharedMixtureDiscriminant(9, random_state=0).fit(*waves(300, 0))
    largest = model.class_given_component_.max(axis=1)
    figure(f"{np.sum(largest > 0.9)} of 9 above .9, {np.sum(largest < 0.7)} below .7")
    assert np.sum(largest > 0.9) >= 5
    assert np.sum(largest < 0.7) >= 1


@pytest.mark.claim("zhu-mixture-aspect", 4)
def test_shared_components_see_exclusive_or(figure):
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = exclusive_or(500, rng)
        new, truth = exclusive_or(20_000, rng)
        errors.append(1 - SharedMixtureDiscriminant(4, random_state=seed).fit(X, y).score(new, truth))
    figure(", ".join(f"{error:.1%}" for error in errors))
    assert np.sum(np.array(errors) < 0.135) >= 4


@pytest.mark.claim("zhu-mixture-aspect", 5)
def test_one_sub_class_or_infinite_shrinkage_is_lda():
    X, y = waves(300, 0)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    expected = peer.predict_proba(X)
    one = MixtureDiscriminantAnalysis(1, reg_covar=0, random_state=0).fit(X, y)
    assert np.abs(one.predict_proba(X) - expected).max() < 1e-8
    assert np.array_equal(one.predict(X), peer.predict(X))
    assert one.covariance_ == pytest.approx(peer.covariance_, abs=1e-10)
    gaps = []
    for shrinkage in (0, 1e3, 1e6, 1e9):
        model = MixtureDiscriminantAnalysis(3, shrinkage=shrinkage, reg_covar=0, n_init=1, random_state=0).fit(X, y)
        gaps.append(np.abs(model.predict_proba(X) - expected).max())
    assert gaps[-1] < 1e-5
    assert np.all((np.diff(gaps) < 0) | (np.array(gaps[1:]) < 1e-10))  # at the end only rounding is left


@pytest.mark.claim("zhu-mixture-aspect", 6)
def test_aspects_with_covariates_are_the_shared_mixture():
    rng = np.random.default_rng(0)
    X, y = exclusive_or(200, rng)
    shared = SharedMixtureDiscriminant(4, n_init=2, random_state=0).fit(X, y)
    aspects = AspectModelWithCovariates(4, n_init=2, random_state=0).fit(X, np.eye(2)[y])
    for name in ("means_", "weights_", "covariance_", "class_given_component_"):
        assert getattr(aspects, name) == pytest.approx(getattr(shared, name), abs=1e-8)

    X, Y = visits(rng)
    counted = AspectModelWithCovariates(3, n_init=2, random_state=0).fit(X, sparse.csr_array(Y))
    rows, items = np.nonzero(Y)
    times = Y[rows, items]
    expanded = SharedMixtureDiscriminant(3, n_init=2, random_state=0)
    expanded.fit(X[np.repeat(rows, times)], np.repeat(items, times))
    for name in ("means_", "weights_", "covariance_", "class_given_component_"):
        assert getattr(counted, name) == pytest.approx(getattr(expanded, name), abs=1e-6)
    assert counted.predict_proba(X).sum(axis=1) == pytest.approx(1)


@pytest.mark.claim("zhu-mixture-aspect", 7)
def test_the_aspect_model_has_the_objective_of_matrix_factorisation(figure):
    rng = np.random.default_rng(0)
    Y = rng.poisson(rng.dirichlet(np.full(4, 0.3), size=40) @ rng.dirichlet(np.full(30, 0.3), size=4) * 60).astype(
        float
    )

    def divergence(fitted):
        return float(np.sum(xlogy(Y, Y) - xlogy(Y, fitted) - Y + fitted))

    model = AspectModel(4, n_init=10, random_state=0, max_iter=2000).fit(Y)
    ours = divergence(Y.sum(axis=1, keepdims=True) * (model.doc_topic_ @ model.components_))
    assert model.weights_ @ model.row_distributions_ == pytest.approx(Y.sum(axis=1) / Y.sum())
    theirs = np.inf
    for seed in range(10):
        peer = NMF(
            4, init="random", solver="mu", beta_loss="kullback-leibler", max_iter=1000, tol=1e-6, random_state=seed
        )
        theirs = min(theirs, divergence(peer.fit_transform(Y) @ peer.components_))
    figure(f"{ours:.2f} beside {theirs:.2f}")
    assert ours == pytest.approx(theirs, rel=0.01)


@pytest.mark.claim("zhu-mixture-aspect", 8)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_without_labels_help(figure):
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = exclusive_or(500, rng)
        new, truth = exclusive_or(10_000, rng)
        labels = np.where(np.arange(500) < 20, y, -1)
        model = SharedMixtureDiscriminant(4, semi_supervised=True, n_init=8, random_state=seed)
        errors.append(1 - model.fit(X, labels).score(new, truth))
    figure(f"median {np.median(errors):.1%}, worst {max(errors):.1%}")
    assert np.median(errors) < 0.15


def test_convergence_is_reported():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SharedMixtureDiscriminant(9, max_iter=2, n_init=1, random_state=0).fit(*waves(300, 0))
