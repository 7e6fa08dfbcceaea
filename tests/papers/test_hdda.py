"""Bouveyron, Girard and Schmid (2006): class-specific subspace discriminant analysis for high-dimensional data."""

import time
import tracemalloc

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal, ortho_group
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from fewer.extract import HDDA
from fewer.extract.hdda._subspace_model import Moments, class_spectrum, deviance, homothetic_path, homothetic_scales
from tolerances import rounding

DIMS, INSIDE, OUTSIDE = (2, 5, 10), (150, 75, 50), (15, 10, 5)


def recipe(n_rows, seed, n_new=1000):
    """The synthetic recipe: three centred classes in 100 columns; training rows and new ones."""
    rng = np.random.default_rng(seed)
    bases = [ortho_group.rvs(100, random_state=rng) for _ in DIMS]

    def rows(n):
        blocks = [
            rng.normal(size=(n, 100)) * np.sqrt(np.r_[np.full(d, a), np.full(100 - d, b)]) @ basis.T
            for d, a, b, basis in zip(DIMS, INSIDE, OUTSIDE, bases, strict=True)
        ]
        return np.vstack(blocks), np.repeat([0, 1, 2], n)

    return *rows(n_rows), *rows(n_new)


@pytest.mark.claim("hdda", 1)
def test_the_cost_is_that_of_the_normal_density(figure):
    X, y = load_wine(return_X_y=True)
    model = HDDA(n_dims=3).fit(X, y)
    worst = 0.0
    for each, Q in enumerate(model.subspaces_):
        covariance = model.a_[each] * Q @ Q.T + model.b_[each] * (np.eye(13) - Q @ Q.T)
        logs = np.log(model.priors_[each]) + multivariate_normal(model.means_[each], covariance).logpdf(X)
        worst = max(worst, np.abs(model.cost(X)[:, each] + 2 * logs + 13 * np.log(2 * np.pi)).max())
    figure(f"at most {worst:.1e}")
    assert worst < 1e-6


@pytest.mark.claim("hdda", 2)
def test_two_columns_make_it_qda_and_equal_variances_the_nearest_mean(figure):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    logs = [
        multivariate_normal(X[y == label].mean(axis=0), np.cov(X[y == label].T, bias=True)).logpdf(X)
        for label in range(3)
    ]
    gap = np.abs(HDDA(n_dims=1).fit(X, y).predict_proba(X) - softmax(np.column_stack(logs), axis=1)).max()
    model = HDDA("isometric", n_dims=1).fit(X, y)
    model.a_ = model.b_
    nearest = np.linalg.norm(X[:, None] - model.means_, axis=2).argmin(axis=1)
    figure(f"posteriors differ by {gap:.1e}")
    assert gap < 1e-8
    np.testing.assert_array_equal(model.predict(X), nearest)


@pytest.mark.claim("hdda", 3)
def test_the_homothetic_iteration_descends_to_a_fixed_point(figure):
    X, y, *_ = recipe(200, seed=0, n_new=1)
    spectra = [class_spectrum(X[y == label], 100) for label in range(3)]
    moments = Moments.of(spectra, np.array(DIMS))
    alphas = homothetic_path(moments, tol=1e-14, max_iter=500).alphas
    log_priors = np.log(np.full(3, 1 / 3))

    def worth(alpha):
        sigma2 = homothetic_scales(moments, alpha)
        return deviance(moments, sigma2 / alpha, sigma2 / (1 - alpha), log_priors)

    values = np.array([worth(alpha) for alpha in alphas])
    assert (np.diff(values) <= 1e-9 * np.abs(values[0])).all()
    alpha, sigma2 = alphas[-1], homothetic_scales(moments, alphas[-1])
    total = moments.sizes.sum() * 100
    slope = (moments.sizes / sigma2) @ (2 * moments.inside - moments.traces) / total
    residual = slope * alpha**2 - (slope + 1) * alpha + moments.sizes @ moments.dims / total
    assert abs(residual) < 1e-8

    rng = np.random.default_rng(1)
    equal = rng.normal(size=(600, 30)) * np.sqrt(np.r_[np.full(4, 20), np.full(26, 2)])
    labels = np.arange(600) % 3
    ours, isometric = (HDDA(model, n_dims=4).fit(equal, labels).alpha_[0] for model in ("homothetic", "isometric"))
    figure(f"residual {abs(residual):.0e}, alpha {ours:.4f} beside {isometric:.4f}")
    assert ours == pytest.approx(isometric, rel=0.02)


def check_recipe(seeds, figure):
    peers = {
        "LDA": LinearDiscriminantAnalysis(),
        "QDA": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
        "SVM": SVC(),
    }
    found, ours, theirs = [], [], {name: [] for name in peers}
    for seed in seeds:
        X, y, X_new, y_new = recipe(200, seed)
        model = HDDA().fit(X, y)
        found.append(tuple(model.dims_) == DIMS)
        ours.append(model.score(X_new, y_new))
        for name, peer in peers.items():
            theirs[name].append(peer.fit(X, y).score(X_new, y_new))
    means = {name: np.mean(scores) for name, scores in theirs.items()}
    told = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    figure(f"dimensions right in {sum(found)} of {len(found)} runs; HDDA {np.mean(ours):.3f}, {told}")
    assert sum(found) >= 0.9 * len(found)
    assert np.mean(ours) >= 0.97
    assert np.mean(ours) >= 0.08 + max(means["QDA"], means["SVM"])
    assert means["LDA"] < 0.4


@pytest.mark.claim("hdda", 4)
def test_subspaces_of_the_recipe_are_found(figure):
    check_recipe([0], figure)


@pytest.mark.slow
@pytest.mark.claim("hdda", 4)
def test_subspaces_of_the_recipe_are_found_ten_times(figure):
    check_recipe(range(10), figure)


@pytest.mark.claim("hdda", 5)
def test_digits_from_few_rows(figure):
    X, y = load_digits(return_X_y=True)
    models = {
        "isometric": HDDA("isometric", n_dims=10),
        "homothetic": HDDA("homothetic", n_dims=10),
        "full": HDDA(n_dims=10),
        "LDA": LinearDiscriminantAnalysis(),
        "SVM": SVC(),
    }
    scores = {name: [] for name in models}
    for train, test in StratifiedShuffleSplit(5, train_size=0.1, random_state=0).split(X, y):
        for name, model in models.items():
            scores[name].append(model.fit(X[train], y[train]).score(X[test], y[test]))
    means = {name: np.mean(values) for name, values in scores.items()}
    figure(", ".join(f"{name} {mean:.3f}" for name, mean in means.items()))
    assert means["isometric"] >= 0.945
    assert means["isometric"] >= means["LDA"] + 0.04
    assert means["isometric"] > means["SVM"]
    assert means["isometric"] > means["homothetic"] >= means["full"]


@pytest.mark.claim("hdda", 6)
def test_many_columns_take_no_matrix_of_columns_by_columns(figure):
    """CPU seconds are told and not judged; memory is."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5000)), np.arange(60) % 3
    start = time.process_time()
    model = HDDA().fit(X, y)
    seconds = time.process_time() - start
    tracemalloc.start()
    probabilities = model.fit(X, y).predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    figure(f"{1000 * seconds:.0f} ms of CPU, {peak / 1e6:.0f} MB")
    assert peak < 5 * X.nbytes  # 12 MB; columns by columns would be 200
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.claim("hdda", 7)
def test_bic_and_scree_agree_on_the_recipe(figure):
    gaps = []
    for seed in range(3):
        X, y, *_ = recipe(200, seed, n_new=1)
        gaps.append(np.abs(HDDA(n_dims="bic").fit(X, y).dims_ - HDDA().fit(X, y).dims_).max())
    figure(f"dimensions differ by at most {max(gaps)}")
    assert max(gaps) <= 2


@pytest.mark.claim("hdda", 8)
def test_checks_of_scikit_learn_pass_and_probabilities_fall_with_the_cost():
    check_estimator(HDDA())
    X, y = load_wine(return_X_y=True)
    model = HDDA(n_dims=2).fit(X, y)
    by_cost, by_probability = model.cost(X).argsort(axis=1), (-model.predict_log_proba(X)).argsort(axis=1)
    np.testing.assert_array_equal(by_cost, by_probability)
    tolerance = rounding(13, np.abs(model.cost(X)).max())  # the exponents are differences of costs
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=0, atol=tolerance)
