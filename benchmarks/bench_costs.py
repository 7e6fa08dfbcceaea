"""Logistic regression weighed by cost, beside scikit-learn with sample weights."""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def weighted(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Coefficients of standardised columns, errors on positives three times as dear; the same penalty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, :5].sum(axis=1) + rng.logistic(size=n_rows) > 0).astype(int)
    alpha = 1e-3

    def fewer() -> np.ndarray:
        from fewer.learn import WeightedLogisticRegression

        return WeightedLogisticRegression((1, 3), alpha=alpha).fit(X, y).coef_[0]

    def peer() -> np.ndarray:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(X)
        model = LogisticRegression(C=1 / (n_rows * alpha), solver="newton-cholesky", tol=1e-8)
        model.fit(scaler.transform(X), y, sample_weight=np.where(y == 1, 3.0, 1.0))
        return model.coef_[0] / scaler.scale_

    peers = {"scikit-learn, newton-cholesky": peer}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=lambda coef: coef, tolerance=1e-6)


CASES = [
    Case("100,000 rows x 50 columns", lambda folder: weighted(100_000, 50, folder), repeats=5),
    Case("5,000 rows x 200 columns", lambda folder: weighted(5_000, 200, folder), repeats=5),
]
