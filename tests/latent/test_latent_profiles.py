"""Latent profiles: missing entries, weights, units, standard errors, what is printed."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from fewer.latent import HiddenMarkov, LatentProfile, PosteriorRegularizedMixture
from fewer.latent.classes._profile_steps import Profiles, mean_errors, profile_posteriors


def measurements(n_rows=300, n_columns=3, seed=0, missing=0.15):
    rng = np.random.default_rng(seed)
    classes = rng.choice(2, n_rows, p=[0.65, 0.35])
    X = rng.normal(size=(n_rows, n_columns)) * np.where(classes == 1, 0.7, 1.0)[:, None] + 3 * classes[:, None]
    X[rng.random(X.shape) < missing] = np.nan
    return X, classes


@pytest.mark.parametrize("covariance_type", ["diag", "tied_diag"])
def test_missing_entries_drop_out_of_the_likelihood(covariance_type):
    X, truth = measurements()
    model = LatentProfile(2, covariance_type=covariance_type, random_state=0).fit(X)
    assert np.mean(model.predict(X) == truth) > 0.9
    expected = [
        np.log(
            sum(
                weight * np.prod(norm.pdf(row, mean, np.sqrt(variance))[~np.isnan(row)])
                for weight, mean, variance in zip(model.weights_, model.means_, model.variances_, strict=True)
            )
        )
        for row in X
    ]
    np.testing.assert_allclose(model.score_samples(X), expected, atol=1e-10)
    assert model.log_likelihood_ == pytest.approx(np.sum(expected))
    assert (np.diff(model.objective_path_) >= -1e-9 * abs(model.objective_path_[0])).all()
    # One variance for all profiles is copied, not computed for each.
    assert (np.ptp(model.variances_, axis=0) == 0).all() == (covariance_type == "tied_diag")


def test_without_missing_entries_it_is_a_gaussian_mixture():
    X, _ = measurements(missing=0)
    ours = LatentProfile(2, tol=1e-12, random_state=0).fit(X)
    theirs = GaussianMixture(2, covariance_type="diag", tol=1e-12, max_iter=1000, reg_covar=0, random_state=0).fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-8)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), rel=1e-8)
    assert ours.n_parameters_ == theirs._n_parameters()


def test_a_weight_is_a_repetition():
    X, _ = measurements(100)
    weights = np.random.default_rng(1).integers(0, 4, size=100)
    weighted = LatentProfile(2, random_state=0).fit(X, sample_weight=weights)
    repeated = LatentProfile(2, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-6)
    np.testing.assert_allclose(weighted.mean_errors_, repeated.mean_errors_, rtol=1e-5)


@pytest.mark.parametrize("tied", [False, True])
def test_standard_errors_are_those_of_the_numerical_hessian(tied):
    X, _ = measurements(150, n_columns=2)
    covariance_type = "tied_diag" if tied else "diag"
    model = LatentProfile(2, covariance_type=covariance_type, tol=1e-14, random_state=0).fit(X)

    def log_likelihood(vector):
        logs = vector[5:].reshape(-1, 2)
        share = 1 / (1 + np.exp(-vector[0]))
        found = Profiles(np.array([1 - share, share]), vector[1:5].reshape(2, 2), np.exp(logs) * np.ones((2, 1)))
        return profile_posteriors(X, found)[1].sum()

    logs = np.log(model.variances_[: 1 if tied else 2])
    at = np.r_[np.log(model.weights_[1] / model.weights_[0]), model.means_.ravel(), logs.ravel()]
    step, size = 1e-4, len(at)
    eye = step * np.eye(size)
    hessian = np.array(
        [
            [
                sum(log_likelihood(at + a * eye[i] + b * eye[j]) * a * b for a in (-1, 1) for b in (-1, 1))
                for j in range(size)
            ]
            for i in range(size)
        ]
    ) / (4 * step**2)
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    np.testing.assert_allclose(model.mean_errors_.ravel(), expected[1:5], rtol=1e-3)
    np.testing.assert_allclose(model.weight_errors_, model.weights_.prod() * expected[0], rtol=1e-3)


def test_standard_errors_cover_the_truth():
    # 60 tables: the mean of class 0 is 0 in 3 columns. Of 180 intervals of 95%, 171 +- 3 hold it.
    held = 0
    for seed in range(60):
        model = LatentProfile(2, n_init=1, random_state=0).fit(measurements(300, seed=seed)[0])
        held += np.sum(np.abs(model.means_[0]) < 1.96 * model.mean_errors_[0])
    assert 158 <= held <= 180


def test_one_profile_has_the_standard_errors_of_means():
    X, _ = measurements(400, missing=0)
    model = LatentProfile(1).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0))
    np.testing.assert_allclose(model.variances_[0], X.var(axis=0))
    np.testing.assert_allclose(model.mean_errors_[0], X.std(axis=0) / 20)


def test_odd_columns_and_rows():
    X, _ = measurements(80)
    X[:, 1] = 5.0
    X[3] = np.nan
    model = LatentProfile(2, n_init=2, random_state=0).fit(X)
    np.testing.assert_allclose(model.predict_proba(X)[3], model.weights_)
    np.testing.assert_allclose(model.means_[:, 1], 5)
    assert np.isfinite(model.log_likelihood_)
    with pytest.raises(ValueError, match="n_components=5 is more than the number of rows, n_samples = 3"):
        LatentProfile(5).fit(X[:3])
    with pytest.raises(ValueError, match="Column 'b' holds text"):
        LatentProfile(2).fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))


def test_a_variance_never_falls_below_its_floor():
    X = np.r_[np.zeros((10, 2)), np.random.default_rng(0).normal(4, 1, (30, 2))]
    model = LatentProfile(2, variance_floor=1e-4, random_state=0).fit(X)
    np.testing.assert_allclose(model.variances_.min(axis=0), 1e-4 * X.var(axis=0))
    errors = mean_errors(X, np.ones(40), Profiles(np.ones(1), np.zeros((1, 2)), np.full((1, 2), 1e-12)), tied=False)
    assert errors.means.shape == (1, 2)


def test_the_table_prints_and_draws():
    X, _ = measurements(200)
    frame = pd.DataFrame(X, columns=["height", "weight", "age"])
    frame["noise"] = np.random.default_rng(1).normal(size=200)
    profile = LatentProfile(2, random_state=0).fit(frame).profile()
    assert profile.separating_columns[-1] == "noise"
    assert repr(profile).splitlines()[0] == "2 latent profiles of 200 rows: means (standard errors)"
    assert "reached the best optimum" in profile.reading
    assert len(profile.plot().data) == 2
    drawn, classes = LatentProfile(2, random_state=0).fit(X).sample(500, random_state=0)
    assert drawn.shape == (500, 3)
    assert abs(drawn[classes == 0].mean()) < 4 / np.sqrt(900)


def test_a_column_without_any_value_is_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc")).assign(b=np.nan)
    for model in (LatentProfile(2), HiddenMarkov(2), PosteriorRegularizedMixture(2)):
        with pytest.raises(ValueError, match="Column b has no observed value: leave it out"):
            model.fit(X)
