"""Discriminant directions for normal classes, SAVE and common principal components: Zhu (2001), chapter 5."""

import warnings

import numpy as np
import pytest
from scipy import linalg, optimize, stats
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from fewer.extract import SAVE, SIR, CPCDiscriminant, GaussianLRDiscriminant, criterion_curve
from fewer.extract.gaussian_directions._moments import (
    likelihood_ratio,
    likelihood_ratio_and_gradient,
    likelihood_ratio_hessian,
)


def rows_with_moments(n_rows, mean, covariance, rng):
    """Rows whose mean and covariance (divisor n) are exactly these."""
    rows = rng.normal(size=(n_rows, len(mean)))
    rows -= rows.mean(axis=0)
    unit = rows @ linalg.inv(linalg.sqrtm(rows.T @ rows / n_rows).real)
    return unit @ linalg.sqrtm(covariance).real + mean


def two_classes(b, rng=None):
    """Example 15: means +-sqrt(b) and variance 1 - b along x1, variances 0.3 and 1.7 along x2; total covariance I."""
    rng = rng or np.random.default_rng(0)
    X = np.vstack(
        [
            rows_with_moments(200, [side * np.sqrt(b), 0], np.diag([1 - b, variance]), rng)
            for side, variance in ((-1, 0.3), (1, 1.7))
        ]
    )
    return X, np.repeat(["first", "second"], 200)


def cosine(first, second):
    return abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.mark.claim("zhu-qda-save-cpc", 1)
def test_example_15_from_exact_moments(figure):
    X, y = two_classes(0.5)
    lr, save = (criterion_curve(X, y, criterion) for criterion in ("lr", "save"))
    quarter = len(lr.angles) // 4
    found = [lr.values[0], lr.values[quarter], save.values[0], save.values[quarter]]
    figure("LR {:.4f} and {:.4f}, SAVE {:.4f} and {:.4f}".format(*found))
    np.testing.assert_allclose(found, [0.6931, 0.3367, 0.25, 0.49], atol=1e-4)
    assert lr.best_angle == pytest.approx(0, abs=1e-6)
    assert save.best_angle == pytest.approx(np.pi / 2, abs=1e-6)
    np.testing.assert_allclose(
        np.abs(GaussianLRDiscriminant(1, random_state=0).fit(X, y).components_), [[1, 0]], atol=1e-6
    )
    np.testing.assert_allclose(np.abs(SAVE(1).fit(X, y).components_), [[0, 1]], atol=1e-6)


@pytest.mark.claim("zhu-qda-save-cpc", 2)
def test_where_each_criterion_turns_from_means_to_spreads(figure):
    def lead_of_x1(b, criterion):
        curve = criterion_curve(*two_classes(b), criterion, n_angles=4)
        return curve.values[0] - curve.values[1]

    switches = {name: optimize.brentq(lead_of_x1, 0.05, 0.95, args=(name,), xtol=1e-5) for name in ("lr", "save")}
    # The two densities of x2 are equal at the threshold.
    threshold = np.sqrt(np.log(1.7 / 0.3) / (1 / 0.3 - 1 / 1.7))
    missed = 2 * stats.norm.sf(threshold / np.sqrt(0.3))
    error = (missed + 1 - 2 * stats.norm.sf(threshold / np.sqrt(1.7))) / 2
    truth = optimize.brentq(lambda b: stats.norm.sf(np.sqrt(b / (1 - b))) - error, 0.01, 0.9)
    figure(f"LR {switches['lr']:.4f}, SAVE {switches['save']:.4f}, Bayes {truth:.4f}")
    assert switches["lr"] == pytest.approx(0.2859, abs=1e-3)
    assert switches["save"] == pytest.approx(0.7, abs=1e-3)
    assert [threshold, error, truth] == pytest.approx([0.7949, 0.3023, 0.2114], abs=1e-3)


@pytest.mark.claim("zhu-qda-save-cpc", 3)
def test_derivatives_are_those_of_finite_differences(figure):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(4, 5, 9))
    total, *covariances = roots @ roots.transpose(0, 2, 1)
    covariances, priors = np.array(covariances), np.array([0.2, 0.3, 0.5])
    direction = rng.normal(size=5)

    def gradient(at):
        return likelihood_ratio_and_gradient(at, total, covariances, priors)[1]

    step = 1e-5
    by_values = [
        np.diff(likelihood_ratio(np.column_stack([direction - move, direction + move]), total, covariances, priors))[0]
        for move in step * np.eye(5)
    ]
    by_gradients = [(gradient(direction + move) - gradient(direction - move)) / (2 * step) for move in step * np.eye(5)]
    hessian = likelihood_ratio_hessian(direction, total, covariances, priors)
    np.testing.assert_allclose(gradient(direction), np.array(by_values) / (2 * step), rtol=1e-5, atol=1e-8)
    gap = np.linalg.norm(hessian - by_gradients) / np.linalg.norm(hessian)

    def printed_part(matrix):
        moved = matrix @ direction
        size = direction @ moved
        return matrix / size - np.outer(moved, moved) / size**2

    printed = 2 * (
        printed_part(total) - sum(p * printed_part(each) for p, each in zip(priors, covariances, strict=True))
    )
    printed_gap = np.linalg.norm(printed - by_gradients) / np.linalg.norm(hessian)
    figure(f"Hessian off by {gap:.1e}, the printed one by {printed_gap:.0%}")
    assert gap < 1e-5
    assert printed_gap > 0.1


def errors_along_two_directions(X, y, n_train, n_splits):
    """Mean error of QDA on two directions, by method."""
    makers = {
        "LR": lambda: GaussianLRDiscriminant(random_state=0),
        "LDA": lambda: LinearDiscriminantAnalysis(n_components=2),
        "SAVE": lambda: SAVE(),
    }
    errors = {name: [] for name in makers}
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=y)
        for name, make in makers.items():
            model = make().fit(X_train, y_train)
            rule = QuadraticDiscriminantAnalysis().fit(model.transform(X_train), y_train)
            errors[name].append(1 - rule.score(model.transform(X_test), y_test))
    return {name: np.mean(values) for name, values in errors.items()}


def digits_0_6_9():
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, [0, 6, 9])
    return PCA(16, random_state=0).fit_transform(X[kept]), y[kept]


def told(errors):
    return ", ".join(f"{name} {error:.1%}" for name, error in errors.items())


@pytest.mark.claim("zhu-qda-save-cpc", 4)
def test_digits_along_two_directions(figure):
    errors = errors_along_two_directions(*digits_0_6_9(), 350, 10)
    figure(told(errors))
    assert errors["LR"] <= 0.02
    assert errors["LDA"] <= 0.02
    assert errors["SAVE"] >= 0.1


@pytest.mark.claim("zhu-qda-save-cpc", 4)
def test_wine_along_two_directions(figure):
    errors = errors_along_two_directions(*load_wine(return_X_y=True), 118, 10)
    figure(f"ten splits: {told(errors)}")
    assert errors["LR"] == pytest.approx(0.023, abs=0.03)
    assert errors["LDA"] == pytest.approx(0.025, abs=0.03)
    # A split of SAVE has a standard deviation of 0.08, so two means of ten differ by 0.035: the bound is three of them.
    assert errors["SAVE"] == pytest.approx(0.31, abs=0.105)
    assert errors["LR"] < errors["SAVE"]


@pytest.mark.slow
@pytest.mark.claim("zhu-qda-save-cpc", 4)
def test_wine_along_two_directions_over_many_splits(figure):
    errors = errors_along_two_directions(*load_wine(return_X_y=True), 118, 100)
    figure(f"100 splits: {told(errors)}")
    assert [errors[name] for name in ("LR", "LDA", "SAVE")] == pytest.approx([0.023, 0.025, 0.31], abs=0.03)


@pytest.mark.claim("zhu-qda-save-cpc", 5)
def test_uniform_classes(figure):
    rng = np.random.default_rng(0)
    first = np.column_stack([rng.uniform(0.5, 1, 20_000), rng.uniform(0, 1, 20_000)])
    second = np.column_stack([rng.uniform(0, 0.6, 20_000), rng.uniform(1 / 3, 2 / 3, 20_000)])
    X, y = np.vstack([first, second]), np.repeat([0, 1], 20_000)
    lr, save = (criterion_curve(X, y, criterion, n_angles=4).values[:2] for criterion in ("lr", "save"))
    figure(f"LR {lr[0]:.2f} and {lr[1]:.2f}, SAVE {save[0]:.2f} and {save[1]:.2f}")
    np.testing.assert_allclose(lr, [1.11, 0.51], atol=0.03)
    np.testing.assert_allclose(save, [0.45, 0.64], atol=0.03)


@pytest.mark.claim("zhu-qda-save-cpc", 6)
def test_with_equal_covariances_all_are_lda(figure):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    means = rng.normal(size=(3, 6)) * 0.8
    X = np.vstack([rows_with_moments(100, mean, root @ root.T + np.eye(6), rng) for mean in means])
    y = np.repeat(list("abc"), 100)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, 0]
    models = [GaussianLRDiscriminant(1, random_state=0), SAVE(1), SIR(1)]
    off = [1 - cosine(model.fit(X, y).components_[0], lda) for model in models]
    figure("1 - |cos| " + ", ".join(f"{each:.0e}" for each in off))
    assert max(off) < 1e-8


def population_with_common_axes(rng, n_dims=6, n_classes=3):
    axes = stats.ortho_group.rvs(n_dims, random_state=rng)
    variances = rng.uniform(0.2, 3, size=(n_classes, n_dims))
    X = np.vstack([rows_with_moments(150, np.zeros(n_dims), axes * each @ axes.T, rng) for each in variances])
    return X, np.repeat(np.arange(n_classes), 150), axes


@pytest.mark.claim("zhu-qda-save-cpc", 7)
def test_common_axes_are_recovered(figure):
    rng = np.random.default_rng(0)
    worst, sweeps, leads = 0.0, [], []
    for _ in range(5):
        X, y, axes = population_with_common_axes(rng)
        model = CPCDiscriminant(n_components=None).fit(X, y)
        # Total covariance and class covariances share their axes, and so do directions in the units of the table.
        matches = np.abs(axes.T @ (model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)).T)
        worst = max(worst, np.abs(np.sort(matches, axis=0)[-1] - 1).max(), np.sort(matches, axis=0)[-2].max())
        sweeps.append(int(np.argmax(model.objectives_ < 1e-8)) + 1)
        assert (np.diff(model.objectives_) <= 1e-9).all()
        assert model.fit_statistic_ == pytest.approx(0, abs=1e-8)
        direct = GaussianLRDiscriminant(1, random_state=0).fit(X, y)
        leads.append(direct.scores_[0] - model.scores_[0])
        assert cosine(direct.components_[0], model.components_[0]) > 1 - 1e-8
    figure(f"axes off by {worst:.0e} after {max(sweeps)} sweeps; direct search better by {max(leads):.0e}")
    assert worst < 1e-6
    assert max(sweeps) <= 5


@pytest.mark.claim("zhu-qda-save-cpc", 7)
def test_example_15_turned_is_found_by_common_axes():
    X, y = two_classes(0.5)
    turn = stats.ortho_group.rvs(2, random_state=0)
    model = CPCDiscriminant().fit(X @ turn, y)
    assert cosine(model.components_[0], turn[0]) > 1 - 1e-10
    np.testing.assert_allclose(model.scores_, [0.6931, 0.3367], atol=1e-4)


@pytest.mark.claim("zhu-qda-save-cpc", 8)
def test_a_class_with_too_few_rows_is_named(figure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.repeat(["many", "few"], [52, 8])
    for model in (GaussianLRDiscriminant(), CPCDiscriminant()):
        with pytest.raises(ValueError, match="Class 'few' has 8 rows for the 8 dimensions") as refusal:
            model.fit(X, y)
    figure(str(refusal.value)[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianLRDiscriminant(shrinkage=0.2, random_state=0).fit(X, y)
