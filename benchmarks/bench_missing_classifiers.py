"""Classifiers of rows with missing values, in training and in new rows: AUC and log-loss on new rows, and time.

Peers take missing values as they are (trees) or impute them first. They answer the same question in different ways, so
that the objectives may differ: the tolerance only notices a classifier that does not work.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def wdbc(missing: float, n_train: int) -> Split:
    """Breast tumours, 30 columns, a share of the entries missing: training rows and new rows with their classes."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    rows = rng.permutation(np.flatnonzero(~np.isnan(X).all(axis=1)))
    train, new = rows[:n_train], rows[n_train:]
    return X[train], y[train], X[new], y[new]


def borders(missing: float, n_train: int) -> Split:
    """Three groups with a border each, beside eight columns that follow them with noise."""
    from fewer.datasets import make_local_borders

    rng = np.random.default_rng(0)
    X, y, _ = make_local_borders(n_train + 2000, random_state=0)
    X = np.column_stack([X, X @ rng.normal(size=(2, 8)) + rng.normal(size=(len(X), 8))])
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def contest(make: Callable[[], Split], measure: str, folder: Path) -> Contest:
    """Fit, and give the probabilities of the second class for new rows."""
    from sklearn.metrics import log_loss, roc_auc_score

    X, y, new, truth = make()

    def fewer() -> np.ndarray:
        from fewer.latent import IQGMEClassifier

        return IQGMEClassifier(random_state=0).fit(X, y).predict_proba(new)[:, 1]

    def boosting() -> np.ndarray:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0).fit(X, y).predict_proba(new)[:, 1]

    def imputing() -> np.ndarray:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), IterativeImputer(random_state=0), LogisticRegression(max_iter=1000))
        return model.fit(X, y).predict_proba(new)[:, 1]

    return Contest(
        ours={"fewer": fewer},
        peers={"scikit-learn, IterativeImputer + logistic": imputing, "scikit-learn, boosting": boosting},
        objective=partial({"AUC": roc_auc_score, "log-loss": log_loss}[measure], truth),
        tolerance={"AUC": 0.1, "log-loss": 3.0}[measure],
    )


CASES = [
    Case(f"{name}, {measure}", partial(contest, make, measure), repeats=2)
    for name, make in {
        "WDBC, half missing, 284 rows": partial(wdbc, 0.5, 284),
        "WDBC, half missing, 57 rows": partial(wdbc, 0.5, 57),
        "three borders, a quarter missing, 500 rows x 10 columns": partial(borders, 0.25, 500),
    }.items()
    for measure in ("AUC", "log-loss")
]
