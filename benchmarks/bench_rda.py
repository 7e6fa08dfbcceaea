"""One pass over sparse rows read in blocks, by dual averaging, beside descent with an l1 penalty.

Both learn sparse logistic regression online, but by different methods, so their weights differ: they must agree, within
3%, in the share of other rows that is classified rightly. Blocks are read from files and forgotten, so that what grows
(``--memory``) is one block and what the models keep: some numbers for each column.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest

ENTRIES_A_ROW = 50
ROWS_A_BLOCK = 20_000


def rows_with(columns: np.ndarray, n_columns: int) -> Any:
    """Rows of length one, from the columns of their entries."""
    values = np.full(columns.size, ENTRIES_A_ROW**-0.5)
    places = np.arange(0, columns.size + 1, ENTRIES_A_ROW, dtype=np.int32)
    return sparse.csr_array((values, columns.ravel(), places), shape=(len(columns), n_columns))


def drawn(n_columns: int, effects: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the entries of a block, the first ones more often, and the classes."""
    rng = np.random.default_rng(seed)
    columns = (n_columns * rng.random((ROWS_A_BLOCK, ENTRIES_A_ROW)) ** 3).astype(np.int32)
    columns.sort(axis=1)
    signal = rows_with(columns, n_columns) @ effects
    return columns, np.where(signal + 0.1 * rng.normal(size=ROWS_A_BLOCK) > 0, 1, -1)


def one_pass(n_blocks: int, n_columns: int, folder: Path) -> Contest:
    """Learn from all blocks, once each."""
    effects = np.zeros(n_columns)
    effects[: n_columns // 100] = np.random.default_rng(0).normal(size=n_columns // 100)
    for seed in range(n_blocks):
        columns, y = drawn(n_columns, effects, seed)
        np.save(folder / f"columns-{seed}.npy", columns)
        np.save(folder / f"y-{seed}.npy", y)
    columns, y_test = drawn(n_columns, effects, n_blocks)
    X_test = rows_with(columns, n_columns)

    def blocks() -> Iterator[tuple[Any, np.ndarray]]:
        for seed in range(n_blocks):
            columns = np.load(folder / f"columns-{seed}.npy")
            yield rows_with(columns, n_columns), np.load(folder / f"y-{seed}.npy")

    def learnt(model: Any) -> Any:
        for X, y in blocks():
            model.partial_fit(X, y, classes=[-1, 1])
        return model

    def fewer() -> Any:
        from fewer.learn import RDAClassifier

        return learnt(RDAClassifier(alpha=1e-5, gamma=0.002))

    def scikit_learn() -> Any:
        from sklearn.linear_model import SGDClassifier

        return learnt(SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-5, shuffle=False))

    return Contest(
        ours={"fewer": fewer},
        peers={"scikit-learn": scikit_learn},
        objective=lambda model: model.score(X_test, y_test),
        tolerance=0.03,
    )


CASES = [
    Case("100,000 rows x 100,000 columns, 50 a row", partial(one_pass, 5, 100_000)),
    Case("1,000,000 rows x 100,000 columns, 50 a row", partial(one_pass, 50, 100_000), repeats=3),
    Case("1,000,000 rows x 1,000,000 columns, 50 a row", partial(one_pass, 50, 1_000_000), repeats=3),
]
