"""Conditional importance of hidimstat on Gaussian tables, written to hidimstat.json beside this file.

``python -m venv FOLDER``, ``FOLDER/bin/pip install hidimstat packaging``, and ``FOLDER/bin/python
tests/peers/hidimstat_numbers.py``.
"""

import json
from pathlib import Path

import numpy as np

CORRELATIONS = (0.0, 0.5, 0.95)
WEIGHTS = np.array([1.0, 0.5, 0.0, 0.3])
N_ROWS = 500
N_PERMUTATIONS = 300


def gaussian_table(correlation):
    """Training and test rows: the first three columns have this correlation with each other, the fourth none."""
    rng = np.random.default_rng(round(100 * correlation))
    covariance = np.full((4, 4), correlation)
    covariance[3], covariance[:, 3] = 0.0, 0.0
    np.fill_diagonal(covariance, 1.0)
    X = rng.normal(size=(2 * N_ROWS, 4)) @ np.linalg.cholesky(covariance).T
    y = X @ WEIGHTS + 0.5 * rng.normal(size=2 * N_ROWS)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], y[N_ROWS:]


def main():
    import hidimstat
    from sklearn.linear_model import LinearRegression

    numbers = {"version": hidimstat.__version__, "tables": {}}
    for correlation in CORRELATIONS:
        X_train, y_train, X_test, y_test = gaussian_table(correlation)
        importance = hidimstat.CFI(
            LinearRegression().fit(X_train, y_train),
            imputation_model_continuous=LinearRegression(),
            n_permutations=N_PERMUTATIONS,
            feature_types="continuous",
            random_state=0,
        )
        found = importance.fit(X_train, y_train).importance(X_test, y_test)
        errors = [float(np.std(importance.loss_[j]) / np.sqrt(N_PERMUTATIONS)) for j in range(4)]
        numbers["tables"][str(correlation)] = {"importance": [float(each) for each in found], "errors": errors}
    Path(__file__).with_name("hidimstat.json").write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
