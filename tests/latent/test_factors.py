"""Factor analysis: likelihood, rotations, missing values, weights, and what users are warned of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FactorAnalysis as ScikitLearnFactorAnalysis

from fewer.latent import FactorAnalysis, select_n_components
from fewer.latent.factors import _factor_model
from fewer.latent.factors._factor_model import leading_profile, product_of, profile, profile_hessian, rows_of
from fewer.latent.factors._loadings import OBLIQUE, ORTHOGONAL, ROTATIONS, rotated
from tolerances import rounding

WINE = load_wine().data


def two_factors(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    W = np.array([[0.9, 0.8, 0.7, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.8, 0.7, 0.6]])
    return rng.normal(size=(n_rows, 2)) @ W + rng.normal(size=(n_rows, 6)) * np.sqrt(1 - (W**2).sum(axis=0))


def with_missing(X, share, seed=0):
    X = np.array(X, dtype=float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def test_derivatives_of_the_profile_are_those_of_its_value():
    S = np.corrcoef(WINE.T)
    point = np.log(np.random.default_rng(0).uniform(0.2, 0.9, 13))
    value = check_grad(lambda v: profile(S, v, 3).value, lambda v: profile(S, v, 3).gradient, point)
    assert value < 1e-5
    numeric = np.empty((13, 13))
    for i in range(13):
        move = 1e-5 * np.eye(13)[i]
        numeric[i] = (profile(S, point + move, 3).gradient - profile(S, point - move, 3).gradient) / 2e-5
    np.testing.assert_allclose(profile_hessian(profile(S, point, 3)), numeric, atol=1e-6)


def test_the_maximum_is_never_below_that_of_em():
    for q in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            em = ScikitLearnFactorAnalysis(q, tol=1e-9, max_iter=800, svd_method="lapack").fit(WINE)
        model = FactorAnalysis(q).fit(WINE)
        assert model.score(WINE) >= em.score(WINE) - 1e-8
        assert model.n_iter_ <= 12
        assert (np.diff(model.objective_path_) >= 0).all()
        assert model.objective_path_[-1] == pytest.approx(model.score_samples(WINE).sum(), rel=1e-9)


def test_wide_tables_reach_the_same_maximum_by_products_with_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 90)) + rng.normal(size=(60, 90))
    expected = FactorAnalysis(3, tol=1e-13).fit(X)
    monkeypatch.setattr(_factor_model, "_NEWTON_COLUMNS", 10)
    for gram_rows in (300, 10):  # all eigenvalues of the products of rows, or a few by iteration
        monkeypatch.setattr(_factor_model, "_GRAM_ROWS", gram_rows)
        found = FactorAnalysis(3, tol=1e-13).fit(X)
        assert found.score(X) == pytest.approx(expected.score(X), rel=1e-9)
    tall = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 40)) + rng.normal(size=(300, 40))
    found = FactorAnalysis(3, tol=1e-13).fit(tall)
    incomplete = FactorAnalysis(3, tol=1e-10).fit(with_missing(tall, 0.1))
    monkeypatch.setattr(_factor_model, "_NEWTON_COLUMNS", 100)
    assert found.score(tall) == pytest.approx(FactorAnalysis(3).fit(tall).score(tall), rel=1e-9)
    by_newton = FactorAnalysis(3, tol=1e-10).fit(with_missing(tall, 0.1))
    assert incomplete.objective_path_[-1] == pytest.approx(by_newton.objective_path_[-1], rel=1e-8)


def test_both_forms_of_a_wide_profile_agree(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(30, 50)), np.ones(30))
    monkeypatch.setattr(_factor_model, "_NEWTON_COLUMNS", 10)
    product = product_of(rows)
    log_noise = np.log(rng.uniform(0.3, 1, 50))
    few = leading_profile(product, log_noise, 4, np.ones(50))
    all_of_them = profile(np.cov(rows.X.T, bias=True), log_noise, 4)
    assert few.value == pytest.approx(all_of_them.value, abs=rounding(1500, 100))
    np.testing.assert_allclose(few.gradient, all_of_them.gradient, atol=rounding(1500, 100))


def test_the_likelihood_is_that_of_the_observed_entries():
    X = with_missing(two_factors(200), 0.3)
    X[5] = np.nan
    model = FactorAnalysis(2, rotation="oblimin").fit(X)
    covariance = model.get_covariance()
    scores, factors = model.score_samples(X), model.transform(X)
    for row in range(30):
        seen = ~np.isnan(X[row])
        if not seen.any():
            assert scores[row] == 0
            assert not factors[row].any()
            continue
        inside = covariance[np.ix_(seen, seen)]
        expected = multivariate_normal.logpdf(X[row, seen], model.mean_[seen], inside)
        assert scores[row] == pytest.approx(expected, abs=1e-9)
        W = model.components_[:, seen].T
        weights = np.linalg.solve(inside, W @ model.factor_correlations_)
        np.testing.assert_allclose(factors[row], (X[row, seen] - model.mean_[seen]) @ weights, atol=1e-9)


def test_no_direction_raises_the_likelihood_of_observed_entries_at_the_maximum():
    X = with_missing(two_factors(), 0.2)
    model = FactorAnalysis(2, tol=1e-13).fit(X)
    best = model.score_samples(X).sum()
    rng = np.random.default_rng(0)
    for name in ("components_", "noise_variance_", "mean_"):
        value = getattr(model, name)
        for _ in range(5):
            move = 1e-3 * rng.normal(size=value.shape)
            setattr(model, name, value + move * (np.abs(value) if name == "noise_variance_" else 1))
            assert model.score_samples(X).sum() < best
        setattr(model, name, value)


def test_missing_values_cost_precision_but_no_bias():
    X = two_factors(4000)
    complete = FactorAnalysis(2, rotation="varimax").fit(X)
    incomplete = FactorAnalysis(2, rotation="varimax").fit(with_missing(X, 0.3))
    # a loading has a standard error of about 1 / sqrt(n); five of them, with the rows that are left
    assert np.abs(complete.loadings_ - incomplete.loadings_).max() < 5 / np.sqrt(0.7 * 4000)


@pytest.mark.parametrize("rotation", [None, "varimax", "oblimin"])
def test_loadings_with_missing_values_have_errors_at_the_default_tolerance(rotation):
    """Where the fit ends, rotations are not exactly flat directions of the likelihood; errors leave them out."""
    X = with_missing(two_factors(300), 0.1)
    found = FactorAnalysis(2, rotation=rotation).fit(X).loading_errors_
    converged = FactorAnalysis(2, rotation=rotation, tol=1e-13, max_iter=5000).fit(X).loading_errors_
    np.testing.assert_allclose(found, converged, rtol=0.01)


def test_weights_are_repetitions():
    X = with_missing(two_factors(100), 0.1)
    weights = np.arange(100) % 3
    weighted = FactorAnalysis(2, tol=1e-12).fit(X, sample_weight=weights)
    repeated = FactorAnalysis(2, tol=1e-12).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.get_covariance(), repeated.get_covariance(), atol=1e-7)
    assert weighted.objective_path_[-1] == pytest.approx(repeated.objective_path_[-1], rel=1e-10)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_rotations_leave_the_fit_and_find_the_simple_structure(rotation):
    X = two_factors(2000)
    plain, turned = FactorAnalysis(2).fit(X), FactorAnalysis(2, rotation=rotation).fit(X)
    np.testing.assert_allclose(turned.get_covariance(), plain.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(turned.score_samples(X), plain.score_samples(X), atol=1e-10)
    expected = np.array([[0.9, 0.8, 0.7, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.8, 0.7, 0.6]]).T
    assert np.abs(turned.loadings_ - expected).max() < 5 / np.sqrt(2000)
    assert np.allclose(np.diag(turned.factor_correlations_), 1)
    if rotation in ORTHOGONAL:
        np.testing.assert_allclose(turned.factor_correlations_, np.eye(2), atol=1e-12)
    scores = turned.transform(X)
    np.testing.assert_allclose(turned.inverse_transform(scores), plain.inverse_transform(plain.transform(X)), atol=1e-9)


@pytest.mark.parametrize("criterion", [*ORTHOGONAL.values(), *OBLIQUE.values()])
def test_gradients_of_rotation_criteria(criterion):
    L = np.random.default_rng(0).normal(size=(5, 3))
    gap = check_grad(
        lambda v: criterion(v.reshape(5, 3))[0], lambda v: criterion(v.reshape(5, 3))[1].ravel(), L.ravel()
    )
    assert gap < 1e-5


def test_correlated_factors_come_back():
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky([[1, 0.5], [0.5, 1]])
    W = np.kron(np.eye(2), np.full((1, 4), 0.8))
    X = rng.normal(size=(4000, 2)) @ root.T @ W + 0.6 * rng.normal(size=(4000, 8))
    for rotation in ("oblimin", "geomin", "promax"):
        model = FactorAnalysis(2, rotation=rotation).fit(X)
        assert model.factor_correlations_[0, 1] == pytest.approx(0.5, abs=0.1)
        np.testing.assert_allclose(np.cov(model.sample(20_000, random_state=0).T), model.get_covariance(), atol=0.06)


def test_a_rotation_of_zeros_is_left_alone():
    assert not rotated(np.zeros((4, 2)), "varimax").loadings.any()


def test_heywood_cases_constant_columns_and_too_many_factors_are_named():
    frame = load_iris(as_frame=True).data
    with pytest.warns(UserWarning, match=r"Heywood case: the noise variance of petal length \(cm\) fell to"):
        model = FactorAnalysis(1).fit(frame)
    assert model.uniquenesses_.min() == pytest.approx(1e-5, rel=0.02)
    with pytest.warns(UserWarning, match="more parameters .* with 2 factors and 4 columns"):
        FactorAnalysis(2).fit(frame)
    frame = pd.DataFrame(two_factors(), columns=list("abcdef")).assign(g=3.0)
    with pytest.warns(UserWarning, match=r"1 column without variance \(g\)"):
        model = FactorAnalysis(2).fit(frame)
    np.testing.assert_allclose(model.loadings_[:6], FactorAnalysis(2).fit(frame.drop(columns="g")).loadings_)
    assert not model.loadings_[6].any()
    assert np.isfinite(model.score(frame))
    with pytest.raises(ValueError, match="of which 6 vary"):
        FactorAnalysis(7).fit(frame)
    with pytest.raises(ValueError, match="Column h has no observed value"):
        FactorAnalysis(1).fit(frame.assign(h=np.nan))


def test_bic_finds_the_number_of_factors():
    assert select_n_components(FactorAnalysis(), two_factors(1000), [1, 2, 3]).n_components == 2
    model = FactorAnalysis(2).fit(two_factors())
    assert model.n_parameters_ == 6 + 6 + 12 - 1
    assert model.dof_ == 21 - (6 + 12 - 1)  # entries of the covariance less noise variances and loadings
    assert model.p_value_ > 0.001


def test_further_starts_are_random():
    model = FactorAnalysis(2, n_init=4, random_state=0).fit(WINE)
    assert len(model.objectives_) == 4
    np.testing.assert_allclose(model.objectives_, model.objectives_.max(), rtol=1e-7)


def test_the_table_of_loadings_prints_and_draws():
    frame = pd.DataFrame(two_factors(), columns=["read", "write", "spell", "add", "count", "draw"])
    table = FactorAnalysis(2, rotation="promax").fit(frame).loadings_table()
    shown = repr(table)
    assert "Loadings of 6 columns on 2 factors, rotation promax" in shown
    assert "correlations of the factors" in shown
    assert "Factor 1: read, write, spell." in table.reading
    assert "are enough" in table.reading
    assert [table.names[i] for i in table.order[:3]] == ["read", "write", "spell"]
    assert table.to_dict()["rotation"] == "promax"
    assert table.plot().data[0].z.shape == (6, 2)
    assert table.sums_of_squares.sum() == pytest.approx(table.communalities.sum())
