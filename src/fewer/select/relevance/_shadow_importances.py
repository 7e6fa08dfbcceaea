"""Importances of columns and of their shadows: by a forest on binned columns, or by any estimator that tells them."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone

from fewer._kernels._binned_columns import binned_columns
from fewer._kernels._binned_trees import tree_importances

N_BINS = 64
"""Bins of a column: a cut between two of 64 is as good as any, in trees of some levels."""
MIN_SHADOWS = 5
"""Shadows that a column has to beat at least, when few columns are left."""


def shadow_sources(n_active: int) -> np.ndarray:
    """Which active column each shadow is a copy of: every one once, or more often when they are few."""
    return np.resize(np.arange(n_active), max(n_active, MIN_SHADOWS))


class ForestImportances:
    """Mean decrease of impurity in a forest on binned columns; one call for each round."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        n_estimators: int,
        max_features: float | str,
        max_depth: int | None,
        min_samples_leaf: int,
        n_jobs: int | None,
        random_state: np.random.RandomState,
    ):
        """``y`` holds integers from 0 when there are classes, and numbers when ``n_classes`` is 0."""
        self.bins = binned_columns(X, N_BINS)
        centred = np.asarray(y, dtype=float) - np.mean(y)
        self.target = centred / np.abs(centred).max()
        self.codes = y if n_classes > 2 else np.zeros(len(y), dtype=np.int64)
        self.n_classes = n_classes
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = np.iinfo(np.int64).max if max_depth is None else max_depth
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __call__(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.random_state.randint(np.iinfo(np.int32).max))
        shadows = rng.permuted(self.bins[active[shadow_sources(len(active))]], axis=1)
        seeds = rng.integers(np.iinfo(np.int64).max, size=self.n_estimators).astype(np.uint64)
        n_columns = len(active) + len(shadows)
        n_draws = int(np.sqrt(n_columns)) if self.max_features == "sqrt" else int(self.max_features * n_columns)

        def total(some_seeds: np.ndarray) -> np.ndarray:
            importances = np.zeros(n_columns)
            for seed in some_seeds:
                importances += tree_importances(
                    self.bins,
                    shadows,
                    active,
                    self.target,
                    self.codes,
                    self.n_classes,
                    max(n_draws, 1),
                    self.max_depth,
                    self.min_samples_leaf,
                    seed,
                )
            return importances

        # Always the same shares, whatever the number of threads: sums in another order would differ in the last digit.
        shares = np.array_split(seeds, min(8, len(seeds)))
        if effective_n_jobs(self.n_jobs) == 1:
            totals = [total(share) for share in shares]
        else:
            totals = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(total)(share) for share in shares)
        importances = np.sum(totals, axis=0) / self.n_estimators
        return importances[: len(active)], importances[len(active) :]


class EstimatorImportances:
    """``feature_importances_`` (or sizes of ``coef_``) of any estimator, fitted anew on columns and shadows."""

    def __init__(self, X: np.ndarray, y: np.ndarray, estimator: Any, random_state: np.random.RandomState):
        self.X = X
        self.y = y
        self.estimator = estimator
        self.random_state = random_state

    def __call__(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = self.X[:, active]
        rng = np.random.default_rng(self.random_state.randint(np.iinfo(np.int32).max))
        shadows = rng.permuted(own[:, shadow_sources(len(active))], axis=0)
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.random_state.randint(np.iinfo(np.int32).max))
        estimator.fit(np.hstack([own, shadows]), self.y)
        importances = told_importances(estimator)
        return importances[: len(active)], importances[len(active) :]


def told_importances(estimator: Any) -> np.ndarray:
    """One importance for each column, from what a fitted estimator offers."""
    if hasattr(estimator, "feature_importances_"):
        return np.asarray(estimator.feature_importances_, dtype=float)
    if hasattr(estimator, "coef_"):
        return np.linalg.norm(np.atleast_2d(estimator.coef_), axis=0)
    raise ValueError(
        f"{type(estimator).__name__} tells no importances: it has neither feature_importances_ nor coef_. Use a "
        "forest, boosted trees or a linear model, or leave estimator=None."
    )
