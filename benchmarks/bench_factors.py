"""Factor analysis beside scikit-learn, at the same log-likelihood of a row to 1e-6 of it; latent traits beside girth.

scikit-learn alternates between loadings and noise variances from variances of 1, until the log-likelihood of all rows
changes by less than ``tol``. Its number of iterations depends on how far the columns are from that unit, so one table
comes in one unit, and in units that differ from column to column, as tables of measurements do.
"""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def factor_table(n_rows: int, n_columns: int, n_factors: int, units: float) -> np.ndarray:
    """Rows with factors of decreasing strength; ``units`` is the standard deviation of the logarithms of the units."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(n_factors, n_columns)) * np.linspace(1.5, 0.3, n_factors)[:, None]
    noise = rng.uniform(0.3, 2.0, n_columns)
    X = rng.normal(size=(n_rows, n_factors)) @ loadings + rng.normal(size=(n_rows, n_columns)) * noise
    return X * np.exp(units * rng.normal(size=n_columns))


def factors(n_rows: int, n_columns: int, n_factors: int, units: float, folder: Path) -> Contest:
    """Complete tables."""
    X = factor_table(n_rows, n_columns, n_factors, units)

    def fewer() -> float:
        from fewer.latent import FactorAnalysis

        return FactorAnalysis(n_factors).fit(X).score(X)

    def scikit_learn() -> float:
        from sklearn.decomposition import FactorAnalysis

        return FactorAnalysis(n_factors, tol=1e-3, max_iter=5000, svd_method="lapack").fit(X).score(X)

    return Contest(
        ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=lambda score: score, tolerance=1e-6
    )


def traits(n_rows: int, n_items: int, folder: Path) -> Contest:
    """Binary items, one trait; girth stops by the largest change of a parameter, so likelihoods agree to 1e-4 only."""
    rng = np.random.default_rng(0)
    difficulties = np.linspace(-1.5, 1.5, n_items)
    logits = rng.uniform(0.8, 2.0, n_items) * (rng.normal(size=(n_rows, 1)) - difficulties)
    X = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)

    def fewer() -> tuple[np.ndarray, np.ndarray]:
        from fewer.latent import LatentTrait

        model = LatentTrait(n_quadrature=41).fit(X)
        slopes = model.components_[0]
        return slopes, -np.concatenate(model.intercepts_) / slopes

    def girth() -> tuple[np.ndarray, np.ndarray]:
        from girth import twopl_mml

        found = twopl_mml(X.T, {"quadrature_n": 41})
        return found["Discrimination"], found["Difficulty"]

    def log_likelihood(found: tuple[np.ndarray, np.ndarray]) -> float:
        points = np.linspace(-7, 7, 701)
        weights = np.exp(-(points**2) / 2)
        curves = found[0][:, None] * (points - found[1][:, None])
        logs = X @ curves - np.logaddexp(0, curves).sum(axis=0)
        largest = logs.max(axis=1, keepdims=True)
        return float(np.mean(largest[:, 0] + np.log(np.exp(logs - largest) @ (weights / weights.sum()))))

    return Contest(ours={"fewer": fewer}, peers={"girth": girth}, objective=log_likelihood, tolerance=1e-4)


CASES = [
    Case("1,000 x 30, 3 factors, one unit", lambda folder: factors(1_000, 30, 3, 0.0, folder)),
    Case("4,000 x 300, 10 factors, one unit", lambda folder: factors(4_000, 300, 10, 0.0, folder), repeats=3),
    Case("4,000 x 300, 10 factors, units differ", lambda folder: factors(4_000, 300, 10, 2.0, folder), repeats=1),
    Case("200 x 2,000, 5 factors, one unit", lambda folder: factors(200, 2_000, 5, 0.0, folder), repeats=3),
    Case("traits, 2,000 x 20 items", lambda folder: traits(2_000, 20, folder), repeats=3),
]
