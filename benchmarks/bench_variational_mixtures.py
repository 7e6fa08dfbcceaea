"""Normal mixtures by variational Bayes beside scikit-learn's BayesianGaussianMixture, to the same bound.

Five groups in the plane, four around one; the nearer they are, the slower EM. Both start from the same clusters and
stop where iterations change the bound by less than 1e-8 for each row. The objective is our free energy of the
components that each found.
"""

import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def groups(distance: float, n_rows: int, n_columns: int, seed: int) -> np.ndarray:
    """Five groups with covariance .03 I, at 0 and at corners of a square; further columns are noise."""
    rng = np.random.default_rng(seed)
    centres = distance * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    X = np.sqrt(0.03) * rng.normal(size=(n_rows, n_columns))
    X[:, :2] += centres[np.arange(n_rows) % 5]
    return X


def mixtures(distance: float, n_rows: int, n_columns: int, seed: int, folder: Path) -> Contest:
    """Eight components with full covariances."""
    from fewer.latent._normal_wishart import expectations, single_normal_wishart
    from fewer.latent.variational._free_energy import MixtureRows, fit_by_gradients, softmax

    X = groups(distance, n_rows, n_columns, seed)
    prior = single_normal_wishart(np.zeros(n_columns), 1.0, np.eye(n_columns) * n_columns / 4, float(n_columns))

    def fewer() -> np.ndarray:
        from sklearn.cluster import KMeans

        labels = KMeans(8, n_init=1, random_state=np.random.RandomState(0)).fit(X).labels_  # as scikit-learn starts
        shares = (labels[:, None] == np.arange(8)).astype(float)
        rows = MixtureRows(X, np.ones(n_rows), 1.0, prior)
        found = fit_by_gradients(
            rows,
            rows.posterior(shares.T),
            method="cg",
            geometry="riemannian",
            tol=1e-8 * n_rows,
            max_iter=20_000,
            on_step=lambda: False,
        )
        return softmax(rows.expected_log_densities(found.posterior))[0]

    def scikit_learn() -> np.ndarray:
        from sklearn.mixture import BayesianGaussianMixture

        model = BayesianGaussianMixture(
            n_components=8,
            weight_concentration_prior_type="dirichlet_distribution",
            weight_concentration_prior=1.0,
            mean_precision_prior=1.0,
            mean_prior=np.zeros(n_columns),
            degrees_of_freedom_prior=n_columns,
            covariance_prior=np.eye(n_columns) * n_columns / 4,
            reg_covar=0.0,
            tol=1e-8 * n_rows,
            max_iter=20_000,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X).predict_proba(X).T

    def free_energy(found: np.ndarray) -> float:
        rows = MixtureRows(X, np.ones(n_rows), 1.0, prior)
        posterior = rows.posterior(found)
        known = expectations(posterior.components)
        log_densities = rows.expected_log_densities(posterior, known)
        log_shares = softmax(log_densities)[1]
        return float(np.sum(log_shares[0] - log_densities[0])) + rows.divergence(posterior, known)

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=free_energy, tolerance=0.005)


CASES = [
    Case(f"R={distance}, {n_rows:,} x {n_columns}", partial(mixtures, distance, n_rows, n_columns, seed))
    for distance, n_rows, n_columns, seed in (
        (0.2, 1000, 2, 3),
        (0.3, 1000, 2, 3),
        (0.2, 10_000, 2, 3),
        (0.2, 5000, 10, 1),
    )
]
