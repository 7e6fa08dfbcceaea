"""Dimensionality reduction (course slides): PCA by reconstruction error, ICA by fourth moments, kernel PCA, mixtures.

Kernel PCA and mixtures of normals are scikit-learn's: nothing is written again, and what the slides say of them is
checked as it is used.
"""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, KernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale

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
        with pytest.warns(UserWarning, match="differ significantly in kurtosis"):
            ica = KurtosisICA().fit(X)
        n_warned += 1
        assert not ica.distinct_.any()
    figure(f"{n_warned} of 20 pairs of uniform sources reported")


def kernel_scores(K, n_components):
    """Scores of kernel PCA as on the slides: eigenvectors of the centred kernel with ``lambda ||alpha||^2 = 1``."""
    ones = np.full_like(K, 1 / len(K))
    centred = K - ones @ K - K @ ones + ones @ K @ ones
    eigenvalues, vectors = np.linalg.eigh(centred)
    alphas = vectors[:, : -n_components - 1 : -1] / np.sqrt(eigenvalues[: -n_components - 1 : -1])
    return centred @ alphas


def gap_up_to_sign(first, second):
    """Largest difference of two tables of scores whose columns may be turned round."""
    return float(np.abs(first * np.sign(np.sum(first * second, axis=0)) - second).max())


@pytest.mark.claim("slides", 5)
def test_kernel_pca_is_pca_with_a_linear_kernel_and_that_of_scikit_learn_with_a_gaussian_one(figure):
    X = scale(load_wine().data)
    pca = PCA(5).fit_transform(X)
    linear = max(
        gap_up_to_sign(scores, pca)
        for scores in (kernel_scores(X @ X.T, 5), KernelPCA(5, eigen_solver="dense").fit_transform(X))
    )
    gaussian = gap_up_to_sign(
        kernel_scores(rbf_kernel(X, gamma=0.05), 5),
        KernelPCA(5, kernel="rbf", gamma=0.05, eigen_solver="dense").fit_transform(X),
    )
    figure(f"linear kernel {linear:.0e}, Gaussian kernel {gaussian:.0e}")
    assert linear < 1e-8
    assert gaussian < 1e-6


@pytest.mark.claim("slides", 7)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_of_a_mixture_never_falls(figure):
    X = scale(load_wine().data)[:, :4]
    rises = []
    for seed in range(10):
        start = GaussianMixture(3, init_params="random", tol=0, max_iter=60, reg_covar=0, random_state=seed)
        rises += np.diff(start.fit(X).lower_bounds_).tolist()
    figure(f"the smallest of {len(rises)} steps from 10 random starts is {min(rises):.0e}")
    assert min(rises) > -1e-10
    assert max(rises) > 0.01
