"""Partial least squares on one target and on several, beside scikit-learn; and 1 to 30 components by folds."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest

TIGHT = {"tol": 1e-20, "max_iter": 10_000}
"""scikit-learn's loop ends at 1e-3 of the weights' length by default; to agree to 1e-8 it has to go on."""


def dense_tables(n_rows: int, n_columns: int, n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and targets that follow 20 hidden causes."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(n_rows, 20)) * np.linspace(3, 0.5, 20)
    X = causes @ rng.normal(size=(20, n_columns)) + rng.normal(size=(n_rows, n_columns))
    Y = causes @ rng.normal(size=(20, n_targets)) + rng.normal(size=(n_rows, n_targets))
    return X, Y[:, 0] if n_targets == 1 else Y


def sparse_tables(n_rows: int, n_columns: int, n_targets: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Targets that follow three sums of columns, each less than the one before: the peer's loop ends where they do."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_rows, n_columns), density=0.005, rng=rng, format="csr")
    X = (X @ sparse.diags_array(1 / np.sqrt(np.arange(1, n_columns + 1)))).tocsr()
    causes = X[:, :200] @ rng.normal(size=(200, 3)) * [3.0, 1.0, 0.3]
    Y = causes @ rng.normal(size=(3, n_targets)) + 0.01 * rng.normal(size=(n_rows, n_targets))
    return X, Y[:, 0] if n_targets == 1 else Y


def regression(make: Callable, shape: tuple[int, int], n_targets: int, n_components: int, folder: Path) -> Contest:
    """Fit, and predictions of the training rows."""
    X, y = make(*shape, n_targets)

    def fewer(algorithm: str) -> np.ndarray:
        from fewer.extract import PLSRegressor

        model = PLSRegressor(n_components, solver=algorithm).fit(X, y)
        return model.predict(X)

    def scikit_learn() -> np.ndarray:
        from sklearn.cross_decomposition import PLSRegression

        # It takes no sparse tables.
        table = X.toarray() if isinstance(X, sparse.csr_array) else X
        model = PLSRegression(n_components, scale=False, **TIGHT).fit(table, y)
        return model.predict(table)

    ours = {"fewer": partial(fewer, "nipals")}
    if not isinstance(X, sparse.csr_array):
        ours["fewer, kernel"] = partial(fewer, "kernel")
    return Contest(ours=ours, peers={"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=1e-8)


def number_of_components(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Scores of 1 to 30 components on 5 folds, beside no more than a fit of 30 on each fold."""
    from sklearn.model_selection import KFold

    X, y = dense_tables(n_rows, n_columns, 1)
    folds = list(KFold(5).split(X))

    def fewer() -> float:
        from fewer.evaluate import component_curve
        from fewer.extract import PLSRegressor

        curve = component_curve(PLSRegressor(), X, y, n_components=30, cv=folds)
        return round(float(curve.mean[-1]), 6)

    def one_fit_for_each_fold() -> float:
        from fewer.extract import PLSRegressor

        models = [PLSRegressor(30).fit(X[train], y[train]) for train, _ in folds]
        scores = [model.score(X[test], y[test]) for model, (_, test) in zip(models, folds, strict=True)]
        return round(float(np.mean(scores)), 6)

    peers = {"one fit for each fold": one_fit_for_each_fold}
    return Contest(ours={"fewer, 1 to 30": fewer}, peers=peers, objective=np.asarray, tolerance=1e-6)


SHAPES = [
    ("200 x 20,000", dense_tables, (200, 20_000), 10),
    ("100,000 x 200", dense_tables, (100_000, 200), 10),
    ("sparse 5,000 x 50,000", sparse_tables, (5_000, 50_000), 3),  # the peer needs minutes for more
]

CASES = [
    Case("200 x 20,000, 30 components, 1 target", partial(regression, dense_tables, (200, 20_000), 1, 30), repeats=3),
    *(
        Case(
            f"{name}, {k} components, {n} target{'s' if n > 1 else ''}",
            partial(regression, make, shape, n, k),
            repeats=3 if n == 1 and k == 10 else 1,
        )
        for name, make, shape, k in SHAPES
        for n in (1, 2, 10)
    ),
    Case("1 to 30 components by 5 folds, 200 x 20,000", partial(number_of_components, 200, 20_000), repeats=3),
    Case("1 to 30 components by 5 folds, 20,000 x 200", partial(number_of_components, 20_000, 200), repeats=3),
]
