"""All relevant columns of a madelon-like table, beside Boruta with scikit-learn's forest: 20 useful of 500 columns."""

import os
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest, UnavailableError

N_USEFUL = 20


def madelon_like(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """5 informative columns, 15 combinations of them, and noise."""
    from sklearn.datasets import make_classification

    return make_classification(
        n_rows, n_columns, n_informative=5, n_redundant=N_USEFUL - 5, shuffle=False, random_state=0
    )


def recovery(kept: np.ndarray) -> float:
    """F score of the columns kept: 1 when they are the useful ones and no others."""
    found = kept[:N_USEFUL].sum()
    return 2 * found / (kept.sum() + N_USEFUL)


def relevant_columns(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """The columns that each method keeps, as a mask; all must recover the useful ones."""
    X, y = madelon_like(n_rows, n_columns)

    def shadows() -> np.ndarray:
        from fewer.select import ShadowRelevanceSelector

        return ShadowRelevanceSelector(100, random_state=0).fit(X, y).get_support()

    def forest() -> np.ndarray:
        from fewer.select import ForestRelevanceSelector

        # Some splits for every column are enough; with many more, chance associations of the table become significant.
        selector = ForestRelevanceSelector(
            2 * n_columns, chance="exact", weight="n_samples", correction="bonferroni", refit=False, random_state=0
        )
        return selector.fit(X, y).get_support()

    def boruta() -> np.ndarray:
        from boruta import BorutaPy
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(max_depth=5, n_jobs=1)
        return BorutaPy(forest, n_estimators=100, random_state=0).fit(X, y).support_

    return Contest(
        ours={"fewer, shadows": shadows, "fewer, one forest": forest},
        peers={"boruta": boruta},
        objective=recovery,
        tolerance=0.05,
    )


def long_relevant_columns(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """The same, where Boruta takes so long that it is only done when asked for."""
    if not os.environ.get("FEWER_LONG_BENCH"):
        raise UnavailableError("takes Boruta some minutes: set FEWER_LONG_BENCH=1 to run it")
    return relevant_columns(n_rows, n_columns, folder)


CASES = [
    Case("20 useful of 60 columns, 500 rows", partial(relevant_columns, 500, 60), repeats=1),
    Case("20 useful of 500 columns, 2000 rows", partial(long_relevant_columns, 2000, 500), repeats=1),
]
