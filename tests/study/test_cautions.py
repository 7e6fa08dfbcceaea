"""Cautions: what in a table calls for one, and what does not."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.study import study_data
from fewer.study._cautions import _classes_left_out, _left_out, hubness, telling_holes


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_holes_that_go_with_the_target_are_named_and_others_are_not(target):
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    X = rng.normal(size=(200, 4))
    X[y > 0.8, 1] = np.nan
    X[rng.random(200) < 0.3, 2] = np.nan
    wanted = y if target == "numbers" else np.where(y > 0, "high", "low")
    assert telling_holes(Dataset.from_frame(X, target=wanted)) == ["x1"]
    assert telling_holes(Dataset.from_frame(X[:, [0, 3]], target=wanted)) == []


def test_a_column_without_any_entry_tells_nothing():
    X = np.column_stack([np.arange(40.0), np.full(40, np.nan)])
    assert telling_holes(Dataset.from_frame(X, target=np.arange(40) % 2)) == []


def test_hubs_come_with_many_columns_and_are_not_looked_for_in_small_or_sparse_tables():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[np.arange(2100) % 2]
    few, many = (hubness(Dataset.from_frame(rng.normal(size=(300, p)), target=y[:300]), 0) for p in (2, 200))
    assert few < 0.7 < 1.4 < many
    assert hubness(Dataset.from_frame(rng.normal(size=(49, 20)), target=y[:49]), 0) is None
    assert hubness(Dataset.from_frame(sp.eye_array(300, format="csr"), target=y[:300]), 0) is None
    large = Dataset.from_frame(rng.normal(size=(2100, 2)), target=y)
    assert hubness(large, 0) == hubness(large, 0) != hubness(large, 1)  # of some rows, drawn by the seed


def test_classes_that_were_left_out_are_named_with_their_rows():
    labels = np.array(["a", "b"] * 20 + ["rare"])
    bench = SimpleNamespace(data=study_data(Dataset.from_frame(np.arange(41.0)[:, None] ** [1, 2], target=labels)))
    (found,) = _classes_left_out(bench)
    assert found["sentence"].startswith("rare (1): too few rows to learn the class and to test it, so these 1 rows")
    assert found["evidence"] == {"classes": [["rare", 1]]}
    bench.data = study_data(Dataset.from_frame(np.arange(40.0)[:, None] ** [1, 2], target=labels[:40]))
    assert _classes_left_out(bench) == []


def test_of_many_columns_left_out_five_are_named():
    left_out = tuple((f"c{number}", "a reason") for number in range(7))
    (found,) = _left_out(SimpleNamespace(data=SimpleNamespace(left_out=left_out)))
    assert "c4 (a reason), and 2 more" in found["sentence"]
    assert "c5" not in found["sentence"]
