"""describe: every fact of a table, as plain data."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset, read_table
from fewer.overview import Description, describe


@pytest.fixture
def messy():
    rng = np.random.default_rng(0)
    n = 120
    sick = rng.permutation(np.repeat(["no", "yes"], [100, 20]))
    infinite = rng.normal(size=n)
    infinite[[3, 4]] = np.inf, -np.inf
    lab = rng.normal(size=n)
    lab[:70] = np.nan
    return pl.DataFrame(
        {
            "patient": [f"P{i:03d}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "ward": rng.choice(["north", "south"], n),
            "lab": lab,
            "ratio": infinite,
            "country": ["NL"] * n,
            "empty": pl.Series([None] * n, dtype=pl.String),
            "code": np.where(sick == "yes", "icu", "home"),
            "sick": sick,
        }
    )


@pytest.fixture
def description(messy):
    return describe(read_table(messy, target="sick"))


def test_size_kinds_and_source_are_told(description):
    assert (description.rows, description.columns, description.source) == (120, 8, "polars DataFrame")
    assert sum(description.kinds.values()) == 8
    assert description.columns_by_kind["constant"] == ("country", "empty")
    assert description.identifiers == ("patient",)
    assert description.memory_bytes > 0
    assert description.stored_share is None


def test_missing_cells_are_counted_by_column_and_by_row(description):
    missing = description.missing
    assert missing.cells == 190
    assert missing.share == pytest.approx(190 / (120 * 8))
    assert [(item.column, item.count) for item in missing.columns] == [("empty", 120), ("lab", 70)]
    assert missing.complete_rows == 0
    assert (missing.worst_rows[0].row, missing.worst_rows[0].count) == (1, 2)


def test_rows_without_missing_cells_are_counted():
    X = np.arange(40.0).reshape(10, 4)
    X[2, [0, 3]] = X[7, 1] = np.nan
    missing = describe(read_table(X)).missing
    assert missing.complete_rows == 8
    assert [(item.row, item.count, item.share) for item in missing.worst_rows] == [(3, 2, 0.5), (8, 1, 0.25)]


def test_constants_have_their_value_and_empty_columns_none(description):
    assert [(item.column, item.value, item.missing) for item in description.constants] == [
        ("country", "NL", 0),
        ("empty", None, 120),
    ]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_constants_and_infinite_values_are_found_in_arrays_and_sparse_tables(form):
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 1], X[:, 2], X[[4, 9], 3] = 5.0, 0.0, np.inf
    description = describe(read_table(form(X)))
    assert [(item.column, item.value) for item in description.constants] == [("x1", 5.0), ("x2", 0.0)]
    assert [(item.column, item.count) for item in description.infinite] == [("x3", 2)]


def test_infinite_values_are_counted_in_frames(description):
    assert [(item.column, item.count) for item in description.infinite] == [("ratio", 2)]


def test_class_balance_lists_the_most_frequent_class_first(description):
    target = description.target
    assert (target.name, target.task) == ("sick", "binary")
    assert [(item.label, item.count) for item in target.classes] == [("no", 100), ("yes", 20)]
    assert (target.rarest.label, target.rarest.share) == ("yes", pytest.approx(1 / 6))


def test_a_target_of_numbers_is_summarised():
    y = np.random.default_rng(0).lognormal(sigma=2, size=200)
    target = describe(read_table(np.random.default_rng(1).normal(size=(200, 3)), target=y)).target
    spread = target.distribution
    assert target.task == "regression"
    assert (spread.minimum, spread.median, spread.maximum) == pytest.approx((y.min(), np.median(y), y.max()))
    assert spread.standard_deviation == pytest.approx(y.std(ddof=1))
    assert spread.skewness > 2
    assert spread.distinct == 200


def test_a_table_without_target_is_described_too(messy):
    description = describe(read_table(messy))
    assert description.target is None
    assert description.leaking_columns == ()
    assert description.duplicates == (("code", "sick"),)
    assert any("--target" in sentence for sentence in description.advice)


def test_json_is_valid_and_holds_every_fact(description):
    facts = json.loads(description.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert set(facts) == {field.name for field in dataclasses.fields(Description)} | {"kinds", "columns_to_drop"}
    assert facts == description.to_dict()
    assert facts["target"]["rarest"] == {"label": "yes", "count": 20, "share": pytest.approx(1 / 6)}
    assert facts["leaking_columns"][0]["column"] == "code"
    assert facts["advice"] == list(description.advice)
    assert facts["columns_to_drop"] == ["country", "empty", "patient"]


def test_json_keys_do_not_depend_on_what_is_found(description):
    bare = describe(read_table(np.random.default_rng(0).normal(size=(20, 2))))
    assert list(bare.to_dict()) == list(description.to_dict())


def test_json_holds_no_infinity_even_when_the_data_do():
    y = np.random.default_rng(0).normal(size=40)
    y[3] = np.inf
    X = np.column_stack([np.full(40, np.inf), np.random.default_rng(1).normal(size=40)])
    facts = json.loads(describe(read_table(X, target=y)).to_json(), parse_constant=lambda word: pytest.fail(word))
    assert facts["constants"][0]["value"] == "inf"
    assert facts["target"]["distribution"]["infinite"] == 1


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_sparse_table_is_never_made_dense(form, monkeypatch):
    X = sp.random(3000, 2000, density=0.01, format=form, random_state=0)
    dense_cells = []
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix, sp.coo_array):
        original = kind.toarray

        def toarray(self, *args, original=original, **kwargs):
            dense_cells.append(self.shape[0] * self.shape[1])
            return original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", toarray)
    y = np.random.default_rng(0).permutation(np.arange(3000) % 2)
    description = describe(read_table(X, target=y))
    assert description.stored_share == pytest.approx(0.01, rel=0.05)
    assert max(dense_cells, default=0) < 0.1 * 3000 * 2000


def test_a_description_does_not_change_the_table():
    X = sp.random(50, 30, density=0.2, format="csr", random_state=0)
    X.data[:3] = 0.0  # stored zeros stay stored
    dataset = read_table(X, target=np.arange(50) % 2)
    before = dataset.X.copy()
    describe(dataset)
    assert dataset.X.nnz == before.nnz
    assert np.array_equal(dataset.X.data, before.data)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_tables_of_hardly_any_rows_are_described(n_rows):
    dataset = Dataset(np.ones((n_rows, 3)), ("a", "b", "c"), ("numeric",) * 3)
    assert describe(dataset).rows == n_rows


def test_a_table_of_words_only_is_described():
    description = describe(read_table({"a": ["x", "y"] * 10, "b": ["u", "v", "w", "z"] * 5}))
    assert description.kinds == {"categorical": 2}


def test_float32_and_booleans_are_described_as_they_are():
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    X[:, 3] = X[:, 0]
    assert describe(read_table(X)).duplicates == (("x0", "x3"),)
    flags = np.random.default_rng(0).random((50, 4)) < 0.5
    flags[:, 2] = flags[:, 1]
    assert describe(read_table(flags)).duplicates == (("x1", "x2"),)
