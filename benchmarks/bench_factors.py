"""Factor analysis beside scikit-learn, at the same log-likelihood of a row to 1e-6 of it.

scikit-learn alternates between loadings and noise variances from variances of 1, until the log-likelihood of all rows
changes by less than ``tol``. Its number of iterations depends on how far the columns are from that unit, so each table
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


CASES = [
    Case("1,000 x 30, 3 factors, one unit", lambda folder: factors(1_000, 30, 3, 0.0, folder)),
    Case("1,000 x 30, 3 factors, units differ", lambda folder: factors(1_000, 30, 3, 2.0, folder), repeats=3),
    Case("4,000 x 300, 10 factors, one unit", lambda folder: factors(4_000, 300, 10, 0.0, folder), repeats=3),
    Case("4,000 x 300, 10 factors, units differ", lambda folder: factors(4_000, 300, 10, 2.0, folder), repeats=1),
    Case("200 x 2,000, 5 factors, one unit", lambda folder: factors(200, 2_000, 5, 0.0, folder), repeats=3),
]
