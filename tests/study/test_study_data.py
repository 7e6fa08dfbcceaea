"""What a study learns from, and what it leaves out.

Equal tables have equal fingerprints, and any change is seen.
"""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset, TableError
from fewer.study import StudyError, study_data
from fewer.study.table._study_data import fingerprint

FRAME = {"a": [1.5, 2.5, 3.5, 4.5], "colour": ["red", "blue", None, "red"], "y": [0.1, 0.2, 0.3, 0.4]}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "patient": [f"p{i % 10}" for i in range(40)],
            "visit_id": [f"v{i:03d}" for i in range(40)],
            "day": rng.permutation(40) + 0.25,
            "dose": rng.normal(size=40),
            "colour": rng.choice(["red", "blue", "green"], size=40),
            "same": ["x"] * 40,
            "ill": ["yes", "no"] * 20,
        }
    )


def test_identifiers_and_constants_are_left_out_with_the_reason(frame):
    data = study_data(Dataset.from_frame(frame, target="ill"))
    assert {each.name: each.left_out for each in data.left_out} == {
        "visit_id": "it identifies the rows",
        "same": "it is constant",
    }
    assert set(data.dataset.columns) == {"patient", "day", "dose", "colour"}


def test_what_is_asked_for_is_kept(frame):
    data = study_data(Dataset.from_frame(frame, target="ill"), keep=["visit_id"])
    assert "visit_id" in data.dataset.columns


def test_groups_are_numbered_and_not_learnt_from(frame):
    data = study_data(Dataset.from_frame(frame, target="ill"), groups="patient")
    assert "patient" not in data.dataset.columns
    assert len(np.unique(data.groups)) == 10
    assert (data.groups == np.array([int(name[1:]) for name in frame["patient"]])).all()


def test_time_puts_the_rows_in_order(frame):
    data = study_data(Dataset.from_frame(frame, target="ill"), time="day")
    order = np.argsort(frame["day"].to_numpy())
    assert data.in_order_of_time
    assert np.allclose(data.dataset.keep(["dose"]).X.ravel(), frame["dose"].to_numpy()[order])
    assert (data.dataset.y == frame["ill"].to_numpy()[order]).all()


def test_groups_and_time_count_for_the_fingerprint(frame):
    table = Dataset.from_frame(frame, target="ill")
    kept = table.keep(["dose", "colour", "patient", "day"])
    seen = {
        study_data(kept).fingerprint,
        study_data(kept, groups="patient").fingerprint,
        study_data(kept, time="day").fingerprint,
    }
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ({"a": [1.0, 2.5, 3.0, 4.0]}, {}, "needs a target"),
        ({"a": [1.0, 2.5], "y": ["b", "c"]}, {}, "has 2 rows"),
        ({"a": [1.0, 2.5, 3.5], "y": [1.5, 2.5, 3.5]}, {}, "3 rows"),
        ({"a": [1.0, 2.5, 3.5, 4.5], "y": ["b", "c", "d", "e"]}, {}, "as those of an identifier are"),
        ({"a": [1.0, 1.0, 1.0, 1.0], "y": ["b", "c", "b", "c"]}, {}, "constant or empty"),
        ({"a": [1.0, 2.5, 3.0, 4.0], "g": [1, 1, 1, 1], "y": ["b", "c", "b", "c"]}, {"groups": "g"}, "one group"),
        ({"a": [1.0, 2.5, 3.0, 4.0], "y": ["b", "c", "b", "c"]}, {"groups": "a", "time": "a"}, "not both"),
    ],
    ids=["no target", "two rows", "three rows", "an identifier", "nothing left", "one group", "groups and time"],
)
def test_tables_that_cannot_be_studied_are_refused_with_the_reason(table, options, words):
    dataset = Dataset.from_frame(pl.DataFrame(table), target="y" if "y" in table else None)
    with pytest.raises(StudyError, match=words):
        study_data(dataset, **options)


def test_rows_of_one_class_are_refused(frame):
    table = Dataset.from_frame(frame, target="ill")
    with pytest.raises(StudyError, match="one class only, 'yes'"):
        study_data(table.take(table.y == "yes"))


def test_classes_of_one_or_two_rows_are_left_out_with_their_number(frame):
    few = frame.with_columns(ill=pl.Series(["once", "twice", "twice", *["yes", "no"] * 18, "yes"]))
    data = study_data(Dataset.from_frame(few, target="ill"))
    assert data.classes_left_out == (("once", 1), ("twice", 2))
    assert data.dataset.n_rows == 37
    assert set(data.dataset.y) == {"yes", "no"}


def test_a_group_column_that_is_not_there_or_has_missing_values_is_named(frame):
    table = Dataset.from_frame(frame, target="ill")
    with pytest.raises(TableError, match="no column 'pateint'"):
        study_data(table, groups="pateint")
    missing = Dataset.from_frame(frame.with_columns(patient=pl.Series([None, *["p1", "p2", "p3"] * 13])), target="ill")
    with pytest.raises(TableError, match="1 missing value"):
        study_data(missing, groups="patient")


@pytest.mark.parametrize(("n_columns", "said"), [(4, r"c3: it is constant\)"), (6, r"constant; and 2 more\)")])
def test_of_columns_that_are_not_learnt_from_five_are_named(n_columns, said):
    frame = {"g": [1, 1, 2, 2]} | {f"c{place}": [1.0] * 4 for place in range(n_columns)}
    frame |= {"y": ["b", "c", "b", "c"]}
    with pytest.raises(StudyError, match=said):
        study_data(Dataset.from_frame(pl.DataFrame(frame), target="y"), groups="g")


@pytest.mark.parametrize(
    ("counts", "left_out"),
    [
        ({"a": 5, "b": 5, "rare": 2}, (("rare", 2),)),
        ({"a": 5, "b": 5, "rare": 3}, ()),
        ({"a": 5, "b": 4, "rare": 2}, ()),
    ],
)
def test_classes_of_less_than_three_rows_are_left_out_where_two_others_have_five(counts, left_out):
    y = np.repeat(list(counts), list(counts.values()))
    data = study_data(Dataset.from_frame(np.random.default_rng(0).normal(size=(len(y), 3)), target=y))
    assert data.classes_left_out == left_out
    assert data.dataset.n_rows == len(y) - sum(n for _, n in left_out)


def test_infinite_numbers_are_refused_by_column_and_row(frame):
    spoilt = frame.with_columns(day=pl.when(pl.int_range(pl.len()) == 7).then(-np.inf).otherwise("day"))
    told = "the column 'day' contains -inf, an infinite number, in row 8"
    for table in (spoilt, spoilt.select("day", "dose", "ill")):
        with pytest.raises(StudyError, match=told):
            study_data(Dataset.from_frame(table, target="ill"))
    X = spoilt.select("dose", "day").to_numpy()
    with pytest.raises(StudyError, match=told.replace("day", "x1")):
        study_data(Dataset.from_frame(sp.csr_array(X), target=frame["ill"].to_list()))
    X[7, 1] = 1e200
    with pytest.raises(StudyError, match="'x1' contains 1e\\+200, a number too large to compute with, in row 8"):
        study_data(Dataset.from_frame(X, target=frame["ill"].to_list()))
    with pytest.raises(StudyError, match="the target 'day' contains -inf, an infinite number, in row 8"):
        study_data(Dataset.from_frame(spoilt, target="day"))


def test_infinite_numbers_may_be_read_as_missing_or_left_unused(frame):
    spoilt = frame.with_columns(day=pl.when(pl.int_range(pl.len()) == 7).then(np.inf).otherwise("day"))
    as_missing = Dataset.from_frame(spoilt, target="ill", missing_values=["inf", "-inf"])
    assert study_data(as_missing).dataset.missing_by_column.sum() == 1
    assert "day" not in study_data(Dataset.from_frame(spoilt, target="ill"), time="day").dataset.columns


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
