import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer.io import TableError, read_table

RNG = np.random.default_rng(0)


def read(y, **options):
    return read_table(np.arange(2.0 * len(y)).reshape(-1, 2), target=y, **options)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 5, "binary"),
        (["a", "b", "c"] * 5, "multiclass"),
        ([True, False] * 5, "binary"),
        ([1, 2] * 5, "binary"),
        ([1.0, 2.0, 3.0] * 5, "multiclass"),
        ([0.5, 1.5] * 5, "regression"),
        (list(range(20)) * 2, "multiclass"),
        (list(range(20)), "regression"),
        ([j * j for j in range(21)] * 9, "regression"),
        (list(range(1, 27)) * 5, "multiclass"),
        ([*range(1, 27)] * 5 + [3] * 40, "regression"),
        (list(range(101)) * 5, "regression"),
        ([0.0, 1.0, np.inf] * 5, "regression"),
        (pd.Categorical([1, 2, 3] * 30), "multiclass"),
        (pl.Series(["u", "v"] * 5, dtype=pl.Categorical), "binary"),
    ],
)
def test_task_follows_from_the_target(y, task):
    assert read(pd.Series(y) if isinstance(y, pd.Categorical) else y).task == task


def test_without_target_there_is_no_task():
    dataset = read_table(np.eye(3))
    assert (dataset.task, dataset.y, dataset.target, dataset.classes) == ("none", None, None, None)


def test_strings_are_objects_and_numbers_stay_numbers():
    assert read(["a", "b"] * 5).y.dtype == object
    assert read(np.array([1, 2] * 5, dtype=np.int16)).y.dtype == np.int16
    assert read(np.array([0.5, 2] * 5, dtype=np.float32)).y.dtype == np.float32
    assert read([1.0, 2.0] * 5).classes.tolist() == [1, 2]
    assert read([1.0, 2.0] * 5).y.dtype == np.int64


def test_the_target_leaves_the_columns():
    dataset = read_table({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [4.5, 5.5, 6.5]}, target="b")
    assert dataset.columns == ("a", "c")
    assert dataset.target == "b"
    assert dataset.y.tolist() == ["x", "y", "x"]


@pytest.mark.parametrize("kind", ["array", "sparse"])
def test_a_column_of_an_array_can_be_the_target(kind):
    import scipy.sparse as sp

    X = np.array([[1.0, 0, 7], [2, 1, 8], [3, 0, 9], [4, 1, 7]])
    dataset = read_table(X if kind == "array" else sp.csr_array(X), target="x1")
    assert dataset.columns == ("x0", "x2")
    assert dataset.y.tolist() == [0, 1, 0, 1]


def test_a_named_series_names_the_target():
    assert read(pd.Series(["a", "b"] * 5, name="outcome")).target == "outcome"
    assert read(["a", "b"] * 5).target == "target"
    assert read(pl.Series("x0", ["a", "b"] * 5)).target == "target"


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", "b", "a"], index=[5, 6, 7]),
        pd.Index(["a", "b", "a"]),
        pd.Series(["a", "b", "a"], dtype=object),
        pd.Categorical(["a", "b", "a"]),
        pd.DataFrame({"y": ["a", "b", "a"]}),
        pl.DataFrame({"y": ["a", "b", "a"]}),
        pl.Series(["a", "b", "a"]),
        np.array(["a", "b", "a"]),
        np.array([["a"], ["b"], ["a"]]),
        np.array([b"a", b"b", b"a"]),
        ("a", "b", "a"),
    ],
    ids=lambda y: type(y).__module__.split(".")[0] + " " + type(y).__name__,
)
def test_a_target_may_come_in_any_container(y):
    assert read(y).y.tolist() == ["a", "b", "a"]


def test_rows_without_target_are_left_out_with_a_warning_that_names_them():
    with pytest.warns(UserWarning, match=r"'y' is missing in 2 of 5 rows \(rows 2, 4, counted from 1\)"):
        dataset = read_table({"a": [1, 2, 3, 4, 5], "y": ["u", None, "v", "?", "u"]}, target="y")
    assert dataset.X.ravel().tolist() == [1, 3, 5]
    assert dataset.y.tolist() == ["u", "v", "u"]


def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="left out") as caught:
        read_table({"a": [1, 2, 3], "y": [1.5, None, 2]}, target="y")
    assert caught[0].filename == __file__


def test_whole_numbers_stay_whole_when_some_are_missing():
    with pytest.warns(UserWarning, match="missing in 1 of 5"):
        dataset = read_table({"a": [1, 2, 3, 4, 5], "y": [1, 2, None, 1, 2]}, target="y")
    assert dataset.y.tolist() == [1, 2, 1, 2]
    assert dataset.y.dtype == np.int64


def test_missing_targets_can_be_refused():
    with pytest.raises(TableError, match=r"missing in 1 of 3 rows \(rows 2.*missing_target='drop'"):
        read_table({"a": [1, 2, 3], "y": ["u", None, "v"]}, target="y", missing_target="error")


def test_a_target_that_is_missing_everywhere_is_an_error():
    with pytest.raises(TableError, match="'y' is missing in every row"):
        read_table({"a": [1, 2], "y": [None, None]}, target="y")


@pytest.mark.parametrize("values", [["ill"] * 4, [3] * 4, [2.5] * 4])
def test_a_single_class_is_an_error_that_names_it(values):
    with pytest.raises(TableError, match=f"only one value.*{values[0]}.* every row"):
        read(values)


def test_a_wrong_name_offers_the_nearest():
    with pytest.raises(TableError, match=r"there is no column 'Outcom'.*target=.*Did you mean 'outcome'\?"):
        read_table({"outcome": [1, 2], "age": [1, 2]}, target="Outcom")


def test_a_target_of_another_length_is_an_error():
    with pytest.raises(TableError, match="target has 3 values, but the table has 2 rows"):
        read_table(np.eye(2), target=[1, 2, 3])


def test_a_target_of_several_columns_is_an_error():
    with pytest.raises(TableError, match=r"one column.*\(2, 2\)"):
        read_table(np.eye(2), target=np.eye(2))


def test_the_target_cannot_be_dropped():
    with pytest.raises(TableError, match="'a' is both the target and in drop="):
        read_table({"a": [1, 2], "b": [1, 2]}, target="a", drop=["a"])


def test_a_table_of_nothing_but_its_target_is_an_error():
    with pytest.raises(TableError, match="no column is left"):
        read_table({"a": [1, 2]}, target="a")
    with pytest.raises(TableError, match="no column is left"):
        read_table({"a": [1, 2], "b": [1, 2]}, target="a", drop=["b"])


def test_dates_are_no_target():
    with pytest.raises(TableError, match="'d' holds dates"):
        read_table({"d": ["2024-01-01", "2024-01-02"], "a": [1, 2]}, target="d")


def test_the_task_can_be_asked_for():
    assert read([1, 2, 3] * 5, task="regression").task == "regression"
    assert read(list(range(30)), task="classification").task == "multiclass"
    assert read([1, 2, 3] * 5, task="none").y is None
    assert read([1.0, np.inf] * 5, task="classification").y.tolist() == [1.0, np.inf] * 5


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (["a", "b"], "regression", "numeric target"),
        ([1, 2, 3], "binary", "two classes, but 'target' has 3"),
        ([1, 2], "multiclass", "two classes only"),
        ([1, 2], "guess", "task='guess' is not known"),
    ],
)
def test_a_task_that_does_not_fit_is_an_error(y, task, message):
    with pytest.raises(TableError, match=message):
        read(y, task=task)


def test_masked_targets_are_missing():
    y = np.ma.masked_array([1.5, 2.5, 3.5], mask=[False, True, False])
    with pytest.warns(UserWarning, match="rows 2, counted"):
        assert read(y).y.tolist() == [1.5, 3.5]


def test_a_file_with_a_target_of_its_own_says_so_when_another_is_asked_for(tmp_path):
    np.savez(tmp_path / "own.npz", X=np.arange(12.0).reshape(6, 2), y=np.array([0, 1, 0, 1, 0, 1]))
    with pytest.raises(TableError, match="no column 'Y', but the file has a target of its own"):
        read_table(tmp_path / "own.npz", target="Y")


def test_true_and_false_stay_what_they_are():
    y = read_table({"x": [1.5, 2.5, 0.5, 3.5], "ill": [True, False, False, True]}, target="ill").y
    assert (y.dtype, y.tolist()) == (bool, [True, False, False, True])


@pytest.mark.parametrize(
    ("y", "task", "reason"),
    [
        (np.arange(150) // 50, "multiclass", "about equally frequent"),
        (np.repeat([1, 2, 3, 5, 6, 7], [70, 76, 17, 13, 9, 29]), "multiclass", "are few"),
        (np.repeat([0, 1, 2, 3, 4], [164, 55, 36, 35, 13]), "multiclass", "are few"),
        (np.repeat([2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14], 50), "multiclass", "about equally frequent"),
        (np.repeat(np.arange(10), [89, 130, 110, 80, 45, 25, 12, 6, 2, 1]), "regression", "taken as counts"),
        (np.repeat([0, 1, 2, 3], [606, 303, 76, 13]), "regression", "taken as counts"),
        (np.repeat(np.arange(10), [65, 91, 68, 48, 28, 20, 7, 11, 4, 8]), "regression", "taken as counts"),
        (np.repeat(np.arange(10), [20, 91, 28, 65, 8, 68, 11, 48, 7, 4]), "multiclass", "are few"),
        (np.repeat([3, 4, 5, 6, 7, 8], [10, 53, 681, 638, 199, 18]), "regression", "taken as a scale"),
        (np.repeat([0, 10, 50, 100], 40), "regression", "have gaps"),
        (
            np.repeat(np.arange(20, 33), [9, 30, 12, 40, 11, 25, 10, 9, 30, 12, 40, 11, 25]),
            "regression",
            "more than 10",
        ),
    ],
)
def test_whole_numbers_are_classes_counts_or_numbers_for_a_reason_that_is_said(y, task, reason):
    dataset = read(y)
    assert dataset.task == task
    assert reason in dataset.task_reason
    other = "regression" if task == "multiclass" else "classification"
    assert f"--task {other}" in dataset.task_reason
    assert dataset.other_task == other
    assert f"task={other}" in dataset.summary()
    assert dataset.take(np.arange(4)).task_reason == dataset.task_reason


def test_small_samples_of_counts_are_no_classes():
    tasks = [read(np.random.default_rng(seed).poisson(2.0, size=100)).task for seed in range(20)]
    assert tasks.count("regression") >= 18


def test_a_target_that_counts_is_marked():
    rng = np.random.default_rng(0)
    assert read(rng.poisson(3.0, size=200)).is_counts
    assert read(1 + rng.poisson(40.0, size=300) * rng.integers(0, 2, size=300)).task == "regression"
    assert not read(rng.normal(size=200)).is_counts
    assert not read(np.round(rng.uniform(2e4, 9e4, size=200))).is_counts
    assert not read(["a", "b"] * 5).is_counts
    assert not read([1, 2, 3] * 50).is_counts


def test_what_was_asked_for_and_what_is_plain_has_no_option_to_change_it():
    assert read([1, 2, 3] * 5, task="regression").task_reason == "as asked"
    for y in (["a", "b"] * 5, [1, 2] * 5, RNG.normal(size=20)):
        assert "--task" not in read(y).task_reason
