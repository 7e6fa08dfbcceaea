"""A table of numbers and words is one matrix in a study, and gives what a frame of the same columns gives."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from fewer.io import Dataset
from fewer.study import make_plan, study_data
from fewer.study.table._coded import coded, decoded, words_of
from fewer.study.table._study_data import fingerprint
from fewer.study.work._preparation import preparation, prepared_names, prepared_rows
from fewer.study.work._work import Bench


def mixed(n_rows=90, n_numbers=3):
    rng = np.random.default_rng(5)
    columns = {f"x{j}": rng.normal(size=n_rows) for j in range(n_numbers)}
    columns["x0"][::7] = np.nan
    columns["sex"] = rng.choice(["m", "f"], n_rows)
    columns["site"] = [None if row % 11 == 0 else f"site {row % 25}" for row in range(n_rows)]
    columns["many"] = [f"k{row % 30}" for row in range(n_rows)]
    columns["smokes"] = rng.random(n_rows) < 0.4
    columns["count"] = rng.integers(0, 50, n_rows)
    columns["ill"] = rng.choice(["yes", "no"], n_rows)
    return Dataset.from_frame(columns, target="ill", kinds={"count": "numeric"})


def test_a_coded_table_is_one_matrix_and_comes_back_as_it_was():
    table = mixed()
    matrix = coded(table)
    assert isinstance(matrix.X, np.ndarray)
    assert matrix.X.dtype == np.float64
    assert words_of(matrix) == ["sex", "site", "many"]
    back = decoded(matrix).X
    assert back.select(words_of(table)).equals(table.X.select(words_of(table)))
    numbers = [name for name in table.columns if name not in words_of(table)]
    assert back.select(numbers).equals(table.X.select(numbers).cast(pl.Float64))
    assert (matrix.missing == table.missing).all()


def test_a_column_of_identifiers_leaves_a_matrix_of_single_precision_as_it_is():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(40, 6)).astype(np.float32), schema=[f"g{j}" for j in range(6)])
    frame = frame.with_columns(pl.Series("sample", [f"s{row}" for row in range(40)]), pl.Series("y", ["a", "b"] * 20))
    data = study_data(Dataset.from_frame(frame, target="y"))
    assert data.dataset.X.dtype == np.float32
    assert data.dataset.X.shape == (40, 6)


@pytest.mark.parametrize("impute", ["median", "knn"])
def test_codes_are_prepared_as_the_words_that_they_stand_for(impute):
    table = mixed()
    train, test = np.arange(0, 60), np.arange(60, 90)  # site 10 and others occur in the held-out rows alone
    found = []
    for form in (coded(table), decoded(coded(table))):
        prepare = preparation(form, impute)
        held_in = prepare.fit_transform(form.take(train).X)
        found.append((held_in, prepared_rows(prepare, form.take(test).X), prepared_names(prepare, form)))
    (train_codes, test_codes, names_codes), (train_words, test_words, names_words) = found
    assert names_codes == names_words
    assert "site = (missing)" in names_codes
    assert "many = (rare)" in names_codes
    assert np.array_equal(train_codes, train_words)
    assert np.array_equal(test_codes, test_words)


def test_any_changed_word_changes_the_fingerprint():
    table = mixed()
    renamed = table.X.with_columns(pl.col("sex").replace("m", "male"))
    assert fingerprint(table) == fingerprint(coded(table))
    assert fingerprint(table) != fingerprint(Dataset(renamed, table.columns, table.kinds, table.y, "ill", "binary"))


def calls_of_frames(monkeypatch, work):
    """How often methods of polars frames that cost time for every column are called."""
    counts = Counter()
    for name in ("__getitem__", "select", "with_columns", "to_numpy", "get_column"):
        original = getattr(pl.DataFrame, name)

        def counted(self, *args, _name=name, _original=original, **kwargs):
            counts[_name] += 1
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(pl.DataFrame, name, counted)
    schema = pl.DataFrame.schema.fget
    monkeypatch.setattr(pl.DataFrame, "schema", property(lambda self: (counts.update(["schema"]), schema(self))[1]))
    work()
    monkeypatch.undo()
    return sum(counts.values())


def test_frames_are_worked_on_many_columns_at_a_time(monkeypatch):
    tables = [mixed(n_numbers=n) for n in (5, 200)]

    def work(table):
        data = study_data(table)
        plan = make_plan(data, preset="quick")
        data.holds_counts, data.fingerprint  # noqa: B018  # cached properties
        return Bench(plan, data)

    few, many = (calls_of_frames(monkeypatch, lambda table=table: work(table)) for table in tables)
    assert many - few <= 195 / 64 + 1  # numbers are copied to the matrix 64 columns at a time


def test_folds_are_cut_from_a_matrix(monkeypatch):
    data = study_data(mixed())
    bench = Bench(make_plan(data, preset="quick"), data)
    assert calls_of_frames(monkeypatch, lambda: bench.prepared(0, 0)) == 0
