"""Dimensionality reduction (course slides): PCA by reconstruction error, ICA by fourth moments."""

import numpy as np
import pytest

from fewer.datasets import make_gaussian, make_independent_sources
from fewer.extract import KurtosisICA, ReconstructionPCA


@pytest.mark.claim("slides", 2)
def test_reconstruction_error_is_the_discarded_eigenvalue(figure):
    X, _, truth = make_gaussian(n_samples=100_000, random_state=0)
    np.testing.assert_allclose(truth["eigenvalues"], [28.004, 9.261, 1.735], atol=5e-4)

    full = ReconstructionPCA(n_components=3).fit(X)
    np.testing.assert_allclose(full.explained_variance_, truth["eigenvalues"], rtol=0.02)

    pca = ReconstructionPCA(n_components=2).fit(X)
    rebuilt = pca.inverse_transform(pca.transform(X))
    error = np.mean(np.sum((X - rebuilt) ** 2, axis=1))
    discarded = np.linalg.eigvalsh(np.cov(X.T, bias=True))[0]
    assert error == pytest.approx(1.735, rel=0.03)
    assert error == pytest.approx(discarded, abs=1e-8)
    assert pca.reconstruction_error_ == pytest.approx(discarded, abs=1e-8)
    figure(f"eigenvalues {full.explained_variance_.round(3).tolist()}, error {error:.4f}")


@pytest.mark.claim("slides", 3)
@pytest.mark.parametrize(("epsilon", "n_kept"), [(0.05, 2), (0.3, 1)])
def test_the_smallest_sufficient_number_of_directions_is_kept(epsilon, n_kept, figure):
    eigenvalues = np.array([28.0, 9.26, 1.74])
    # Rows at plus and minus sqrt(3 lambda_i) along each axis have exactly this covariance (divisor n).
    corners = np.diag(np.sqrt(3 * eigenvalues))
    pca = ReconstructionPCA(epsilon=epsilon).fit(np.vstack([corners, -corners]))
    assert pca.n_components_ == n_kept
    assert pca.discarded_ratio_ == pytest.approx(eigenvalues[n_kept:].sum() / eigenvalues.sum())
    assert pca.reconstruction_error_ == pytest.approx(eigenvalues[n_kept:].sum())
    figure(f"epsilon {epsilon}: {pca.n_components_} kept, {pca.discarded_ratio_:.1%} lost")


@pytest.mark.claim("slides", 4)
def test_fourth_moments_recover_independent_sources(figure):
    worst = []
    for seed in range(20):
        X, _, truth = make_independent_sources(5000, sources=("uniform", "laplace", "normal"), random_state=seed)
        found = KurtosisICA().fit_transform(X)
        correlations = np.abs(np.corrcoef(found.T, truth["sources"].T)[:3, 3:])
        assert sorted(correlations.argmax(axis=1)) == [0, 1, 2]
        worst.append(correlations.max(axis=1).min())
    assert min(worst) > 0.98
    figure(f"smallest matched correlation: median {np.median(worst):.3f}, worst of 20 {min(worst):.3f}")


@pytest.mark.claim("slides", 4)
def test_two_sources_of_equal_kurtosis_are_reported(figure):
    n_warned = 0
    for seed in range(20):
        X, _, _ = make_independent_sources(5000, sources=("uniform", "uniform"), random_state=seed)
        with pytest.warns(UserWarning, match="equal kurtosis"):
            ica = KurtosisICA().fit(X)
        n_warned += 1
        assert not ica.distinct_.any()
    figure(f"{n_warned} of 20 pairs of uniform sources reported")
