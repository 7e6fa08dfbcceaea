"""A large table is in memory as often as a step needs it: what each row costs, from tables of two sizes."""

import pickle
import tracemalloc
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from fewer.io import Dataset
from fewer.study import StudyData, make_plan, study_data
from fewer.study.work import _work
from fewer.study.work._work import Bench, rows_of

N_COLUMNS = 40
ROWS = 100_000, 200_000
ROW = 8 * N_COLUMNS


@pytest.fixture(scope="module")
def tables() -> list[StudyData]:
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(n_rows, N_COLUMNS)) for n_rows in ROWS]
    return [study_data(Dataset.from_frame(X, target=np.where(X[:, 0] > 0, "yes", "no"))) for X in tables]


def bytes_of_a_row(works: list[Callable[[], object]]) -> float:
    """What a row more costs at the peak of a piece of work."""
    peaks = []
    for work in works:
        tracemalloc.start()
        try:
            kept = work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        del kept
    return (peaks[1] - peaks[0]) / (ROWS[1] - ROWS[0])


def test_missing_cells_and_signs_are_looked_for_without_a_mask_of_the_table(tables):
    """A mask of all cells takes a byte for each."""
    fresh = [Dataset(data.dataset.X, data.dataset.columns, data.dataset.kinds) for data in tables]
    assert bytes_of_a_row([lambda table=table: table.has_missing for table in fresh]) < N_COLUMNS / 10
    signs = [StudyData(table) for table in fresh]
    assert bytes_of_a_row([lambda data=data: data.holds_counts for data in signs]) < N_COLUMNS / 10


def test_all_rows_made_ready_are_one_copy_of_the_table(tables):
    benches = [Bench(make_plan(data, preset="quick"), data) for data in tables]
    assert bytes_of_a_row([lambda bench=bench: bench.whole() for bench in benches]) < 1.1 * ROW


def test_workers_need_not_look_for_missing_cells(tables):
    there = pickle.loads(pickle.dumps(Bench(make_plan(tables[0], preset="quick"), tables[0])))
    held = vars(there.data.dataset)
    assert not held["missing_by_column"].any()
    assert "missing" not in held


def test_missing_cells_are_counted_the_same_in_blocks(monkeypatch):
    X = np.where(np.random.default_rng(1).random((50, 6)) < 0.3, np.nan, 1.0)
    mask = np.isnan(X)
    monkeypatch.setattr("fewer.io._dataset._BLOCK_CELLS", 40)
    for table in (X, X.astype(np.float32), np.asfortranarray(X), np.zeros((50, 6), dtype=int), X[:0], X[:, :0]):
        expected = mask[: len(table), : table.shape[1]] if table.dtype.kind == "f" else np.zeros_like(mask)
        n_columns = table.shape[1]
        dataset = Dataset(table, tuple(map(str, range(n_columns))), ("numeric",) * n_columns)
        assert dataset.missing_by_column.tolist() == expected.sum(axis=0).tolist()
        assert dataset.missing_by_row.tolist() == expected.sum(axis=1).tolist()


def test_rows_of_a_large_table_are_those_that_take_gives(monkeypatch):
    frame = pl.DataFrame({"a": np.arange(50.0), "b": ["x", "y"] * 25, "c": np.arange(50.0) % 7})
    data = study_data(Dataset.from_frame(frame, target=np.arange(50) % 2)).dataset
    rows = np.array([3, 4, 9, 11, 30, 49])
    plain = data.take([*range(1, 50)]).take(rows - 1)
    monkeypatch.setattr(_work, "_CELLS_KEPT", 0)
    monkeypatch.setattr(_work, "_ROWS_AT_ONCE", 4)
    found = rows_of(data.take([*range(1, 50)]), rows - 1)
    np.testing.assert_array_equal(found.X, plain.X)
    np.testing.assert_array_equal(found.y, plain.y)
    np.testing.assert_array_equal(found.rows, plain.rows)
    assert (found.columns, found.kinds, found.categories) == (plain.columns, plain.kinds, plain.categories)


def test_a_label_is_in_memory_once(tables):
    assert len({id(label) for label in tables[0].dataset.y}) == 2
