"""Equal tables have equal fingerprints, and any change is seen."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.study._study_data import fingerprint

FRAME = {"a": [1.5, 2.5, 3.5, 4.5], "colour": ["red", "blue", None, "red"], "y": [0.1, 0.2, 0.3, 0.4]}


def table(**changes):
    return Dataset.from_frame(pl.DataFrame(FRAME | changes), target="y")


def test_the_same_table_has_the_same_fingerprint():
    assert fingerprint(table()) == fingerprint(table())


@pytest.mark.parametrize(
    "change",
    [
        {"a": [1.5, 2.5, 3.5, 4.6]},
        {"colour": ["red", "blue", "red", "red"]},
        {"colour": ["red", "blue", None, "Red"]},
        {"y": [0.1, 0.2, 0.3, 0.5]},
        {"b": [1.0, 2.0, 3.0, 5.0]},
    ],
    ids=["a cell", "a missing value imputed", "a letter", "the target", "a column"],
)
def test_any_change_is_seen(change):
    assert fingerprint(table(**change)) != fingerprint(table())


def test_the_order_of_rows_and_columns_and_names_count():
    whole = Dataset.from_frame(np.arange(12.0).reshape(4, 3) % 5, target=np.array([1.5, 2.5, 3.5, 5.0]))
    seen = {
        fingerprint(whole),
        fingerprint(whole.take([1, 0, 2, 3])),
        fingerprint(whole.keep([whole.columns[1], whole.columns[0], whole.columns[2]])),
        fingerprint(Dataset(whole.X, ("a", "b", "c"), whole.kinds, whole.y, whole.target, whole.task)),
    }
    assert len(seen) == 4


def test_a_cell_of_an_array_counts():
    X, y = np.arange(12.0).reshape(4, 3) % 5, np.array([1.5, 2.5, 3.5, 5.0])
    changed = X.copy()
    changed[3, 2] += 1e-12
    assert fingerprint(Dataset.from_frame(X, target=y)) != fingerprint(Dataset.from_frame(changed, target=y))


def test_an_array_that_is_not_contiguous_is_the_same_table():
    X = np.arange(12.0).reshape(4, 3) % 5
    y = np.array([1.5, 2.5, 3.5, 5.0])
    assert fingerprint(Dataset.from_frame(np.asfortranarray(X), target=y)) == fingerprint(
        Dataset.from_frame(X, target=y)
    )


def test_sparse_tables_count_every_entry():
    X = sp.random(20, 10, 0.3, format="csr", random_state=0)
    y = np.arange(20) + 0.5
    changed = X.copy()
    changed.data[3] += 1e-12
    assert fingerprint(Dataset.from_frame(X, target=y)) != fingerprint(Dataset.from_frame(changed, target=y))


def test_arrays_that_go_with_the_rows_count():
    assert fingerprint(table(), np.array([0, 0, 1, 1])) != fingerprint(table(), np.array([0, 1, 1, 1]))
