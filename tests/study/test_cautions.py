"""Cautions: what in a table calls for one, and what does not."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from fewer._wording import rounded_percent
from fewer.datasets import make_drift, make_leak, make_rows_per_patient
from fewer.io import Dataset
from fewer.overview import describe
from fewer.overview._description import DuplicateRows
from fewer.study import study_data
from fewer.study.answers._caution_sentences import said
from fewer.study.questions.careful import (
    _classes,
    _classes_left_out,
    _giveaways,
    _groups_ignored,
    _hubs,
    _left_out,
    _missing_values,
    _repeated_columns,
    _repeated_rows,
    _rows,
    _time_ignored,
    missing_with_target,
)
from fewer.study.table._columns import TableColumn


def in_words(caution, **plan):
    """The sentence of a caution, and its first line."""
    plan = SimpleNamespace(**({"scoring": "accuracy", "impute": "median", "target": "y"} | plan))
    return SimpleNamespace(**said(caution, plan))


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_missing_values_that_go_with_the_target_are_named_and_others_are_not(target):
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    X = rng.normal(size=(200, 4))
    X[y > 0.8, 1] = np.nan
    X[rng.random(200) < 0.3, 2] = np.nan
    wanted = y if target == "numbers" else np.where(y > 0, "high", "low")
    assert missing_with_target(Dataset.from_frame(X, target=wanted)) == ["x1"]
    assert missing_with_target(Dataset.from_frame(X[:, [0, 3]], target=wanted)) == []


def test_a_column_without_any_entry_tells_nothing():
    X = np.column_stack([np.arange(40.0), np.full(40, np.nan)])
    assert missing_with_target(Dataset.from_frame(X, target=np.arange(40) % 2)) == []


def test_hubs_come_with_many_columns_and_are_named_with_their_consequence():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[np.arange(300) % 2]
    few, many = (describe(Dataset.from_frame(rng.normal(size=(300, p)), target=y)) for p in (2, 200))
    assert _hubs(few) == []
    (found,) = _hubs(many)
    assert found.evidence["never_listed"] == many.hubness.never_listed > 0.1
    sentence = in_words(found).sentence
    assert sentence.startswith("Nearest neighbours are")
    assert (
        f"{rounded_percent(many.hubness.never_listed)} of the rows are never among the 10 nearest of another row"
        in sentence
    )
    assert "kNN, clustering and imputation by neighbours" in sentence


def test_classes_that_were_left_out_are_named_with_their_rows():
    labels = np.array(["a", "b"] * 20 + ["rare"])
    bench = SimpleNamespace(data=study_data(Dataset.from_frame(np.arange(41.0)[:, None] ** [1, 2], target=labels)))
    (found,) = _classes_left_out(bench)
    assert in_words(found).sentence.startswith("rare (1): too few rows to train and test on, so this row")
    assert found.evidence == {"classes": [["rare", 1]]}
    bench.data = study_data(Dataset.from_frame(np.arange(40.0)[:, None] ** [1, 2], target=labels[:40]))
    assert _classes_left_out(bench) == []


def test_of_many_columns_left_out_five_are_named():
    left_out = tuple(TableColumn(f"c{number}", "numeric", "a reason") for number in range(7))
    (found,) = _left_out(SimpleNamespace(data=SimpleNamespace(left_out=left_out)))
    assert "c4 (a reason), and 2 more" in in_words(found).sentence
    assert "c5" not in in_words(found).sentence
    (found,) = _left_out(SimpleNamespace(data=SimpleNamespace(left_out=left_out[:6])))
    assert "c4 (a reason), and 1 more" in in_words(found).sentence
    (found,) = _left_out(SimpleNamespace(data=SimpleNamespace(left_out=left_out[:5])))
    assert "more" not in in_words(found).sentence


@pytest.mark.parametrize(
    ("n", "p", "topic"), [(29, 5, "few rows"), (30, 5, None), (30, 300, None), (30, 301, "wide"), (29, 400, "few rows")]
)
def test_few_rows_and_wide_tables_are_told(n, p, topic):
    found = _rows(SimpleNamespace(shape=(n, p)))
    assert [each.topic for each in found] == ([topic] if topic else [])


@pytest.mark.parametrize(
    ("counts", "rarest"), [((10, 10), None), ((9, 20), "b"), ((10, 90), None), ((10, 91), "b"), ((50, 9), "a")]
)
def test_a_class_is_rare_below_ten_rows_or_a_tenth(counts, rarest):
    y = np.repeat(["b", "a"], counts)
    found = _classes(SimpleNamespace(classes=("a", "b"), y=y))
    assert [each.evidence["label"] for each in found] == ([rarest] if rarest else [])
    assert all(each.evidence["rows"] == min(counts) for each in found)


@pytest.mark.parametrize(
    ("n", "words"), [(1, "1.000): check"), (2, "so does 1 other column"), (3, "so do 2 other columns")]
)
def test_a_critical_leak_counts_the_columns_that_predict_the_target(n, words):
    leaks = [SimpleNamespace(column=f"x{j}", level="critical", measure="accuracy", score=1.0) for j in range(n)]
    (found,) = _giveaways(SimpleNamespace(leaking_columns=leaks))
    assert in_words(found).headline.startswith("x0 alone predicts the target almost perfectly (accuracy 1.000)")
    assert words in in_words(found).headline


def test_groups_of_equal_columns_are_counted():
    one = SimpleNamespace(duplicates=[("a", "b")], near_duplicates=[])
    two = SimpleNamespace(duplicates=[("a", "b")], near_duplicates=[SimpleNamespace(columns=("c", "d"))])
    assert in_words(_repeated_columns(one)[0]).sentence.startswith(
        "1 group of (nearly) duplicate columns, such as a, b."
    )
    assert in_words(_repeated_columns(two)[0]).sentence.startswith("2 groups of (nearly)")
    assert _repeated_columns(two)[0].evidence["groups"] == [["a", "b"], ["c", "d"]]
    assert _repeated_columns(SimpleNamespace(duplicates=[], near_duplicates=[])) == []


def test_rows_that_repeat_are_no_matter_where_groups_keep_them_together():
    description = SimpleNamespace(rows=60, duplicate_rows=DuplicateRows(3, 0, (), level="warning"))
    (found,) = _repeated_rows(description, grouped=False)
    assert in_words(found).sentence.startswith("3 of 60 rows repeat earlier ones.")
    assert _repeated_rows(description, grouped=True) == []


def test_missing_values_are_told_where_there_are_some():
    X = np.arange(40.0)[:, None] ** [1, 2]
    assert _missing_values(Dataset.from_frame(X, target=np.arange(40) % 2)) == []
    X[3, 1] = np.nan
    (found,) = _missing_values(Dataset.from_frame(X, target=np.arange(40) % 2))
    assert in_words(found).sentence.startswith("1.2% of the cells are missing, in 1 column;")
    assert found.evidence["share"] == 1 / 80
    words = {"a": ["x", None, "y", "x"] * 10, "b": np.arange(40.0)}
    both = words | {"b": [None, *np.arange(39.0)]}
    for columns, ending in (
        ({"a": X[:, 0], "b": X[:, 1]}, "numbers were imputed by the median of the column."),
        (words, "inside the folds, missing categories became a category of their own."),
        (both, "by the median of the column, missing categories became a category of their own."),
    ):
        (found,) = _missing_values(Dataset.from_frame(columns | {"state": np.arange(40) // 20}, target="state"))
        assert in_words(found).sentence.endswith(ending)


def test_an_identifier_of_groups_is_critical_and_is_to_be_given_as_groups():
    data = study_data(make_rows_per_patient(random_state=0).to_dataset())
    description = describe(data.dataset, times=data.times)
    (found,) = _groups_ignored(description)
    assert (found.level, found.evidence["option"]) == ("critical", "--groups patient")
    assert in_words(found).headline.startswith(
        "Rows of one patient are in different folds, so scores are too optimistic (a quick"
    )
    assert in_words(found).headline.endswith(": run the study again with --groups patient.")
    plain, grouped = found.evidence["plain_score"], found.evidence["grouped_score"]
    assert plain > 0.9 > 0.7 > grouped
    assert f"{plain:.3f} with random folds, {grouped:.3f} with" in in_words(found).sentence
    assert _giveaways(description) == []


@pytest.mark.parametrize("kind", ["date", "numbered rows"])
def test_time_is_found_in_columns_that_the_study_has_left_out(kind):
    problem = make_drift(n_samples=300, random_state=0)
    table = dict(zip(problem.columns, problem.X.T, strict=True))
    days = table.pop("day").astype(int)
    values = np.datetime64("2020-01-01") + days if kind == "date" else days
    data = study_data(Dataset.from_frame(pl.DataFrame(table | {"when": values}), target=problem.y))
    assert "when" not in data.dataset.columns
    (found,) = _time_ignored(describe(data.dataset, times=data.times))
    assert (found.level, found.evidence["option"]) == ("critical", "--time when")
    assert in_words(found).headline.endswith(": run the study again with --time when.")
    assert found.evidence["plain_score"] > found.evidence["ordered_score"] + 0.1


def test_a_leak_has_a_headline_with_its_score():
    problem = make_leak(random_state=0)
    (found,) = _giveaways(describe(problem.to_dataset()))
    assert found.level == "critical"
    assert in_words(found).headline == (
        f"x{problem.truth['leak'] + 1} alone predicts the target almost perfectly (balanced accuracy 1.000): "
        "check whether it is known before the outcome."
    )


def test_two_copies_of_many_rows_are_a_note():
    rng = np.random.default_rng(0)
    rows = np.r_[np.arange(1425), 0, 1]
    table = Dataset.from_frame(rng.normal(size=(1425, 5))[rows], target=rng.permutation(np.arange(1425) % 2)[rows])
    (found,) = _repeated_rows(describe(table), grouped=False)
    assert (found.level, in_words(found).headline) == ("note", "")
    assert in_words(found).sentence.startswith("2 of 1,427 rows repeat earlier ones.")


@pytest.mark.parametrize(
    ("make", "column", "option"),
    [(make_rows_per_patient, "patient", "--groups patient"), (make_drift, "day", "--time day")],
)
def test_groups_and_time_are_found_among_dropped_columns(studied, make, column, option):
    """Dropping the column that names the patient does not make rows of other patients of its rows."""
    dataset = make(random_state=0).to_dataset()
    assert column in dataset.columns
    findings = studied(dataset.drop([column]), n_permutations=0, n_repeats=1)
    assert option in findings.headline
    assert column not in {each.name for each in findings.columns}
