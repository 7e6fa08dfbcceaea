"""Groups, time order and copies of rows: found where ignoring them changes a score, and nowhere else."""

import datetime

import numpy as np
import polars as pl
import pytest

from fewer.datasets import make_drift, make_leak, make_planted, make_rare_class, make_rows_per_patient
from fewer.io import read_table
from fewer.overview import describe


def as_table(problem, **more):
    dataset = problem.to_dataset()
    return dict(zip(dataset.columns, dataset.X.T, strict=True)) | more | {"y": problem.y}


def rows_of_patients(**options):
    return make_rows_per_patient(random_state=0, **options)


@pytest.mark.parametrize("kind", ["numbers", "words", "other numbers"])
def test_a_patient_with_several_rows_is_a_group_and_no_leak(kind):
    problem = rows_of_patients()
    patient = problem.truth["groups"]
    codes = np.random.default_rng(1).permutation(9000)[:61] + 1000
    names = {"numbers": patient, "words": [f"P{number:03d}" for number in patient], "other numbers": codes[patient]}
    table = as_table(problem)
    table["patient" if kind == "numbers" else "proband" if kind == "words" else "c"] = names[kind]
    if kind != "numbers":
        del table["patient"]
    description = describe(read_table(table, target="y"))
    (found,) = description.groups
    assert (found.level, found.values, found.constant_target) == ("critical", 60, True)
    assert found.plain_score > 0.9 > 0.7 > found.grouped_score
    assert description.leaking_columns == ()
    assert any(text.endswith(f"together: --groups {found.column}") for text in description.advice)
    assert description.advice[-1].endswith(f"fewer study TABLE --target y --groups {found.column}")
    assert not any("--drop" in text and found.column in text for text in description.advice)


def test_what_is_constant_within_a_patient_is_no_leak_but_what_tells_other_patients_is():
    problem = rows_of_patients()
    patient = problem.truth["groups"]
    age = np.random.default_rng(2).uniform(20, 90, size=61)[patient]
    description = describe(read_table(as_table(problem, age=age, code=problem.y * 4.0 + 1), target="y"))
    assert [found.column for found in description.groups] == ["patient"]
    assert [found.column for found in description.leaking_columns] == ["code"]


def test_an_identifier_whose_rows_do_not_resemble_each_other_is_no_group():
    problem = rows_of_patients()
    shuffled = np.random.default_rng(3).permutation(problem.truth["groups"])
    assert describe(read_table(as_table(problem, patient=shuffled), target="y")).groups == ()


def test_a_code_that_tells_the_class_is_a_leak_and_no_group_where_its_rows_differ():
    rng = np.random.default_rng(4)
    problem = make_planted(n_samples=400, n_features=10, random_state=0)
    code = problem.y * 20 + rng.integers(0, 20, size=400)
    description = describe(read_table(as_table(problem, code=[f"C{each:02d}" for each in code]), target="y"))
    assert description.groups == ()
    assert [(found.column, found.level) for found in description.leaking_columns] == [("code", "critical")]


def test_ordinary_columns_are_no_groups():
    rng = np.random.default_rng(5)
    n = 600
    age = rng.integers(20, 70, size=n)
    region = rng.integers(0, 12, size=n)
    table = {
        "age": age,
        "pressure": 100 + 0.8 * age + rng.normal(size=n),
        "fat": 10 + 0.2 * age + 0.3 * rng.normal(size=n),
        "sex": np.array(["f", "m"])[rng.integers(0, 2, size=n)],
        "region": np.array([f"region {letter}" for letter in "abcdefghijkl"])[region],
        "rain": region + 0.1 * rng.normal(size=n),
        "year": rng.integers(1990, 2020, size=n),
        "y": 0.1 * age + rng.normal(size=n),
    }
    description = describe(read_table(table, target="y"))
    assert (description.groups, description.time, description.leaking_columns) == ((), (), ())


@pytest.mark.parametrize("make", [make_planted, make_rare_class, make_leak])
def test_tables_without_groups_and_time_have_none(make):
    for seed in range(3):
        description = describe(make(random_state=seed).to_dataset())
        assert (description.groups, description.time) == ((), ())


def test_the_numbered_rows_of_a_table_sorted_by_class_are_no_time():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 4)) + y[:, None]
    table = pl.DataFrame({f"x{j}": X[:, j] for j in range(4)} | {"index": np.arange(150), "y": y})
    assert describe(read_table(table, target="y")).time == ()


@pytest.mark.parametrize("kind", ["day", "date", "shuffled dates", "numbered rows"])
def test_time_is_found_by_dates_sorted_numbers_and_numbered_rows(kind):
    problem = make_drift(n_samples=300, random_state=0)
    table = as_table(problem)
    days = table.pop("day").astype(int)
    name = {"day": "day", "numbered rows": "nr"}.get(kind, "taken")
    start = datetime.date(2020, 1, 1)
    dates = [str(start + datetime.timedelta(days=int(day))) for day in days]
    frame = pl.DataFrame(table | {name: dates if "date" in kind else days})
    if kind == "shuffled dates":
        frame = frame.sample(fraction=1, shuffle=True, seed=0)
    description = describe(read_table(frame, target="y"))
    (found,) = description.time
    assert (found.column, found.level, found.is_sorted) == (name, "critical", kind != "shuffled dates")
    assert found.plain_score - found.ordered_score > 0.1
    assert any(f"--time {name}" in text for text in description.advice)


def test_a_date_without_drift_is_a_warning_and_a_date_of_birth_is_none():
    problem = make_planted(n_samples=200, n_features=5, random_state=0)
    dates = [str(datetime.date(2020, 1, 1) + datetime.timedelta(days=day)) for day in range(200)]
    (found,) = describe(read_table(as_table(problem, taken=dates), target="y")).time
    assert found.level == "warning"
    assert describe(read_table(as_table(problem, date_of_birth=dates), target="y")).time == ()


def test_copies_are_critical_where_they_are_many_and_change_the_score():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(300, 10)), rng.permutation(np.arange(300) % 2)
    for n_copies, level in ((2, "note"), (10, "warning"), (150, "critical")):
        rows = np.r_[np.arange(300), np.arange(n_copies)]
        assert describe(read_table(X[rows], target=y[rows])).duplicate_rows.level == level


def test_equal_rows_of_columns_with_few_values_are_no_copies():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, size=(300, 4))
    rows = describe(read_table(X, target=rng.permutation(np.arange(300) % 2))).duplicate_rows
    assert (rows.repeats > 200, rows.level) == (True, "note")


def test_a_leak_is_a_warning_where_the_other_columns_do_as_well():
    rng = np.random.default_rng(9)
    y = rng.permutation(np.arange(200) % 2)
    X = rng.normal(size=(200, 6)) + np.array([0, 2, 2, 2, 2, 12]) * y[:, None]
    for columns, level in (([0, 5], "critical"), ([0, 1, 2, 3, 4, 5], "warning")):
        (found,) = describe(read_table(X[:, columns], target=y)).leaking_columns
        assert found.level == level


def test_missing_values_words_and_constant_columns_do_not_hide_a_group():
    rng = np.random.default_rng(10)
    problem = rows_of_patients(n_patients=40)
    table = as_table(problem, site=np.array(["a", "b"])[rng.integers(0, 2, size=240)], same=np.ones(240))
    table["x3"] = np.where(rng.random(240) < 0.3, np.nan, table["x3"])
    (found,) = describe(read_table(table, target="y")).groups
    assert (found.column, found.level) == ("patient", "critical")


def test_without_a_target_a_group_is_a_warning_without_scores():
    table = as_table(rows_of_patients(n_patients=40))
    del table["y"]
    (found,) = describe(read_table(table)).groups
    assert (found.column, found.level, found.plain_score) == ("patient", "warning", None)


def test_of_many_rows_whole_groups_are_compared():
    problem = rows_of_patients(n_patients=700, n_features=8)
    (found,) = describe(problem.to_dataset()).groups
    assert (found.column, found.level, found.values) == ("patient", "critical", 700)
