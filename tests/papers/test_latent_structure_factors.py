"""Titterington (2006): latent structure analysis; factors, traits and lattices."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FactorAnalysis as ScikitLearnFactorAnalysis

from fewer.latent import FactorAnalysis


@pytest.mark.claim("latent-structure", 4)
@pytest.mark.parametrize("table", [load_iris, load_wine])
@pytest.mark.parametrize("n_factors", [1, 2])
def test_factor_analysis_reaches_the_likelihood_of_scikit_learn(figure, table, n_factors):
    X = table().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iris is a Heywood case, where EM never quite converges
        options = {"tol": 1e-10, "max_iter": 12_000, "svd_method": "lapack", "noise_variance_init": X.var(axis=0)}
        peer = ScikitLearnFactorAnalysis(n_factors, **options).fit(X)
        model = FactorAnalysis(n_factors, tol=1e-12).fit(X)
    gap = model.score(X) - peer.score(X)
    covariance = peer.get_covariance()
    apart = np.abs(model.get_covariance() - covariance).max() / np.abs(covariance).max()
    figure(f"{table.__name__[5:]}, {n_factors} factors: log-likelihood of a row {gap:+.1e}, covariance {apart:.1e}")
    assert abs(gap) < 1e-4
    assert apart < 1e-3
