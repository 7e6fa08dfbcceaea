"""KurtosisICA finds sources, says when it cannot, and undoes itself."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_wine

from fewer.datasets import make_independent_sources
from fewer.extract import KurtosisICA


def matched_correlations(found, sources):
    n_found = found.shape[1]
    return np.abs(np.corrcoef(found.T, sources.T)[:n_found, n_found:]).max(axis=1)


def test_kurtosis_is_that_of_the_distributions():
    X, _, _ = make_independent_sources(200_000, sources=("laplace", "normal", "uniform"), random_state=0)
    ica = KurtosisICA().fit(X)
    # Sampling error of a Laplace kurtosis at this size is about sqrt(E[x^8] / n) = sqrt(2520 / 200000) = 0.11.
    np.testing.assert_allclose(ica.kurtosis_, [3, 0, -1.2], atol=0.35)
    np.testing.assert_allclose(ica.kurtosis_, stats.kurtosis(ica.transform(X)), atol=0.1)
    assert ica.distinct_.all()


def test_kurtosis_is_that_of_the_components_where_the_columns_are_no_mixture_of_sources():
    X = load_wine().data
    with pytest.warns(UserWarning, match="differ significantly in kurtosis"):
        ica = KurtosisICA().fit(X)
    np.testing.assert_allclose(ica.kurtosis_, stats.kurtosis(ica.transform(X)), rtol=1e-6, atol=1e-6)
    assert ica.kurtosis_.min() >= -2  # no distribution has less


def test_components_are_uncorrelated_with_unit_variance():
    X, _, _ = make_independent_sources(3000, random_state=1)
    found = KurtosisICA().fit_transform(X)
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(3), atol=1e-8)


def test_rows_are_rebuilt_from_their_sources():
    X, _, _ = make_independent_sources(2000, random_state=2)
    ica = KurtosisICA().fit(X)
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(X)), X, atol=1e-8)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(3), atol=1e-8)


def test_more_sensors_than_sources():
    X, _, truth = make_independent_sources(5000, sources=("uniform", "laplace"), n_sensors=6, random_state=3)
    ica = KurtosisICA().fit(X)
    assert ica.n_components_ == 2, "directions without variance are left out"
    assert matched_correlations(ica.transform(X), truth["sources"]).min() > 0.98
    noisy = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    assert matched_correlations(KurtosisICA(n_components=2).fit_transform(noisy), truth["sources"]).min() > 0.98


def test_units_and_offsets_of_the_columns_make_no_difference():
    X, _, _ = make_independent_sources(4000, random_state=4)
    plain = KurtosisICA().fit_transform(X)
    scaled = KurtosisICA().fit_transform(X * [1e-3, 1.0, 1e3] + [5, -7, 1e4])
    np.testing.assert_allclose(np.abs(np.corrcoef(plain.T, scaled.T)[:3, 3:]), np.eye(3), atol=0.06)
    np.testing.assert_allclose(np.abs(plain), np.abs(scaled), atol=1e-4)


def test_different_kurtoses_raise_no_warning():
    X, _, _ = make_independent_sources(20_000, sources=("uniform", "laplace"), random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KurtosisICA().fit(X)


@pytest.mark.parametrize("draw", [np.random.Generator.uniform, np.random.Generator.normal])
@pytest.mark.parametrize("n_sources", [2, 4])
def test_equal_kurtosis_is_missed_at_most_at_the_stated_rate(draw, n_sources):
    rng = np.random.default_rng(0)
    n_missed = 0
    for _ in range(200):
        X = draw(rng, size=(1000, n_sources)) @ rng.normal(size=(n_sources, n_sources))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            n_missed += KurtosisICA(significance_level=0.1).fit(X).distinct_.any()
    # 200 trials at 10% or less: mean 20, standard deviation 4.2; the bound is four of them away.
    assert n_missed <= 37


def test_the_warning_is_not_given_to_everybody():
    """A bound so loose that it always warned would pass the test above."""
    rng = np.random.default_rng(0)
    n_missed = 0
    for _ in range(150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            n_missed += KurtosisICA(significance_level=0.5).fit(rng.normal(size=(2000, 2))).distinct_.any()
    # Normal sources meet the bound with equality: mean 75, standard deviation 6.1.
    assert 47 <= n_missed <= 103


def test_sparse_route_equals_dense_route():
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(3000, 4)) * (rng.random((3000, 4)) < [0.1, 0.3, 0.6, 0.9])
    on_sparse = KurtosisICA().fit(sparse.csr_array(X))
    on_dense = KurtosisICA().fit(X)
    np.testing.assert_allclose(on_sparse.transform(sparse.csr_array(X)), on_dense.transform(X), atol=1e-8)


def test_constant_table_is_refused():
    with pytest.raises(ValueError, match="All columns are constant"):
        KurtosisICA().fit(np.ones((20, 3)))


def test_more_sources_than_columns_are_refused():
    with pytest.raises(ValueError, match="n_components=5 sources were asked of 3 columns"):
        KurtosisICA(n_components=5).fit(np.random.default_rng(0).normal(size=(20, 3)))
