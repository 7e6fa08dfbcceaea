"""Advice: sentences that name the columns and the option that cures."""

import shlex

import numpy as np
import polars as pl

from fewer.io import read_table
from fewer.overview import describe
from fewer.overview._advice import drop_option


def advice(table, target=None):
    return describe(read_table(table, target=target)).advice


def noise(n_rows=100, n_columns=3):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


def test_a_sound_table_is_sent_on_to_a_study():
    labels = np.random.default_rng(1).permutation(np.arange(100) % 2)
    assert advice(noise(), labels) == ("See whether fewer columns are enough: fewer study TABLE --target target",)


def test_without_a_target_the_methods_come_next():
    assert advice(noise())[-1].endswith("fewer methods --task unsupervised")


def test_numbers_with_a_comma_are_to_be_read_again_and_not_to_be_dropped():
    frame = {"dose": [f"{i},{i % 7}5" for i in range(40)], "id": [f"P{i:03d}" for i in range(40)], "a": np.arange(40.0)}
    description = describe(read_table(frame | {"half": [f"{i % 3},5" for i in range(40)]}))
    assert description.comma_numbers == ("dose", "half")
    assert description.identifiers == ("id",)
    assert "2 columns hold numbers with a comma (dose, half)" in description.advice[0]
    assert "--decimal ," in description.advice[0]
    assert not any("dose" in text for text in description.advice[1:])


def test_what_adds_nothing_is_to_be_dropped_by_one_option():
    values = noise()[:, 0]
    frame = pl.DataFrame(
        {
            "id": [f"P{i:03d}" for i in range(100)],
            "a": values,
            "again": values,
            "near": 2 * values + 1e-4,
            "one": [1] * 100,
        }
    )
    (sentence,) = [text for text in advice(frame) if text.startswith("Leave out")]
    assert sentence.endswith("--drop one,again,near,id")


def test_dropping_what_was_advised_leaves_nothing_to_drop():
    values = noise()[:, 0]
    frame = pl.DataFrame({"a, b": values, "again": values, "near": 2 * values, "one": [1] * 100, "free": noise()[:, 1]})
    description = describe(read_table(frame))
    dropped = ["one", "again", "near"]
    assert drop_option(dropped) in " ".join(description.advice)
    assert not any(text.startswith("Leave out") for text in describe(read_table(frame, drop=dropped)).advice)


def test_names_with_commas_and_spaces_are_quoted_for_the_shell():
    assert shlex.split(drop_option(["age, years", "plain", 'a "b"'])) == ["--drop", '"age, years",plain,"a ""b"""']


def test_long_lists_of_names_are_cut_short():
    text = drop_option([f"x{j}" for j in range(40)])
    assert text.startswith("--drop x0,x1")
    assert "and 28 more" in text


def test_fewer_rows_than_columns_are_pointed_out():
    sentences = advice(noise(40, 60), np.arange(40) % 2)
    assert any("fewer rows (40) than columns (60)" in text for text in sentences)


def test_rare_and_unbalanced_classes_are_pointed_out():
    labels = np.array(["a"] * 95 + ["b"] * 5)
    sentences = " ".join(advice(noise(), labels))
    assert "1 class has fewer than 10 rows" in sentences
    assert "always predicting a is right in 95.0%" in sentences


def test_mostly_missing_columns_are_named():
    X = noise()
    X[:60, 1] = np.nan
    sentences = advice(X)
    assert any(text.endswith(": --drop x1") for text in sentences)
    assert any("--handles missing" in text for text in sentences)


def test_a_skewed_target_is_pointed_out():
    assert any("its logarithm" in text for text in advice(noise(), np.exp(4 * noise(100, 5)[:, 4])))
