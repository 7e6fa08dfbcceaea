"""Columns without repetitions, beside mrmr-selection; groups of columns that say the same, beside numpy and scipy."""

import os
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest, UnavailableError


def noisy_copies(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A fifth of the columns are noisy copies, ten each, of numbers that decide a class; with these numbers' sum."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n_rows, max(1, n_columns // 50)))
    total = hidden[:, :10].sum(axis=1) + rng.normal(size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    copies = np.repeat(hidden, 10, axis=1)
    X[:, : copies.shape[1]] = copies + 0.2 * X[:, : copies.shape[1]]
    return X, (total > 0).astype(int), total


def first_columns(n_rows: int, n_columns: int, size: int, task: str, folder: Path) -> Contest:
    """The columns that F over mean correlation takes, in order."""
    X, classes, numbers = noisy_copies(n_rows, n_columns)
    y = classes if task == "classification" else numbers

    def fewer() -> np.ndarray:
        from fewer.select import MRMR

        select = MRMR(size, relevance="f", redundancy="correlation", criterion="quotient", task=task).fit(X, y)
        return np.argsort(select.ranking_)[:size]

    def mrmr_selection() -> np.ndarray:
        import pandas as pd
        from mrmr import mrmr_classif, mrmr_regression

        select = mrmr_classif if task == "classification" else mrmr_regression
        return np.array(select(pd.DataFrame(X), pd.Series(y), K=size, n_jobs=1, show_progress=False))

    return Contest(ours={"fewer": fewer}, peers={"mrmr_selection": mrmr_selection}, objective=np.asarray, tolerance=0)


def long_first_columns(n_rows: int, n_columns: int, size: int, task: str, folder: Path) -> Contest:
    """The same, where the peer takes so long that it is only done when asked for."""
    if not os.environ.get("FEWER_LONG_BENCH"):
        raise UnavailableError("takes the peer minutes: set FEWER_LONG_BENCH=1 to run it")
    return first_columns(n_rows, n_columns, size, task, folder)


def groups(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """For each column, the first column of its group."""
    X, _, _ = noisy_copies(n_rows, n_columns)

    def first_of_group(labels: np.ndarray) -> np.ndarray:
        firsts = np.arange(n_columns)
        for label in np.unique(labels[labels >= 0]):
            members = np.flatnonzero(labels == label)
            firsts[members] = members[0]
        return firsts

    def fewer() -> np.ndarray:
        from fewer.select import redundancy_groups

        return first_of_group(redundancy_groups(X, threshold=0.9, linkage="single").labels)

    def numpy() -> np.ndarray:
        from scipy.sparse.csgraph import connected_components

        return first_of_group(connected_components(np.abs(np.corrcoef(X.T)) >= 0.9)[1])

    return Contest(ours={"fewer": fewer}, peers={"numpy": numpy}, objective=np.asarray, tolerance=0)


CASES = [
    Case("MRMR, 10 of 500 columns, 1,000 rows", partial(first_columns, 1000, 500, 10, "classification"), repeats=3),
    Case(
        "MRMR, 10 of 500 columns, 1,000 rows, numbers", partial(first_columns, 1000, 500, 10, "regression"), repeats=3
    ),
    Case("MRMR, 10 of 2,000 columns, 60 rows", partial(first_columns, 60, 2000, 10, "classification"), repeats=1),
    Case(
        "MRMR, 10 of 100 columns, 200,000 rows", partial(first_columns, 200_000, 100, 10, "classification"), repeats=1
    ),
    Case(
        "MRMR, 10 of 20,000 columns, 60 rows", partial(long_first_columns, 60, 20_000, 10, "classification"), repeats=1
    ),
    Case("groups of 10,000 columns, 60 rows", partial(groups, 60, 10_000), repeats=3),
    Case("groups of 100 columns, 200,000 rows", partial(groups, 200_000, 100), repeats=3),
]
