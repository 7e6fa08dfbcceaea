"""The description in the terminal: readable at 80 columns, silent where there is nothing to say."""

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from fewer.io import read_table
from fewer.overview import describe
from fewer.report import print_description


def printed(table, target=None, **options):
    console = Console(file=io.StringIO(), **({"width": 80, "highlight": False} | options))
    print_description(describe(read_table(table, target=target)), console)
    return console.file.getvalue()


@pytest.fixture
def noise():
    return np.random.default_rng(0).normal(size=(40, 60))


def test_the_first_line_says_what_the_table_is(noise):
    assert printed(noise).splitlines()[0].rstrip() == "numpy array: 40 rows, 60 columns (19.2 kB)"


def test_a_sound_table_has_no_sections_about_trouble(noise):
    text = printed(noise[:, :5], np.arange(40) % 2)
    for word in ("Missing", "Constant", "say the same", "give the target away", "Identifiers", "Infinite"):
        assert word not in text
    assert text.index("Target target: binary, 2 classes") < text.index("What to do next")


def test_no_line_is_longer_than_the_terminal_and_nothing_is_cut_off():
    values = np.random.default_rng(0).normal(size=50)
    names = [f"a_rather_long_name_of_a_measurement_{j}" for j in range(6)]
    frame = pl.DataFrame({name: values * (j + 1) for j, name in enumerate(names)})
    frame = frame.with_columns(pl.Series("constant", [3] * 50), pl.Series("half", [None, 1.5, 2.5, None, 4.5] * 10))
    text = printed(frame)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    for name in names:
        assert name in text


def test_long_lists_say_how_many_more_there_are(noise):
    noise[:3] = np.nan
    text = printed(noise)
    assert "and 52 more columns" in text


def test_names_and_values_from_the_data_are_not_markup():
    frame = pl.DataFrame(
        {
            "[red]x": [1, 1, 1, 1],
            "[/bold]": [1.5, 2.5, 3.5, 5.5],
            "[link=http://a]b": ["[green]v"] * 4,
            "y": ["[b]", "c"] * 2,
        }
    )
    text = printed(frame, "y", color_system="truecolor", force_terminal=True)
    assert "[red]x: 1" in text
    assert "[link=http://a]b: [green]v" in text
    assert "[b]" in text
    assert "--drop '[red]x,[link=http://a]b'" in " ".join(text.split())
    assert "\x1b]8" not in text  # no link


def test_control_characters_in_the_data_do_not_reach_the_terminal():
    text = printed({"bell\x07\x1b[31mred": [1, 1, 1], "two\nlines": [2, 2, 2]})
    assert "\x07" not in text
    assert "\x1b" not in text
    assert "two\\nlines: 2 in every row" in text


def test_no_colours_without_a_terminal(noise):
    assert "\x1b" not in printed(noise)
    assert "\x1b" in printed(noise, force_terminal=True, color_system="standard")


def test_many_classes_are_cut_short_with_the_size_of_the_rest():
    labels = np.repeat([f"c{j:02d}" for j in range(20)], np.arange(40, 20, -1))
    text = printed(np.random.default_rng(0).normal(size=(len(labels), 2)), labels)
    assert "20 classes" in text
    assert "and 12 more classes, from 21 rows to 32" in text
    even = np.repeat([f"c{j:02d}" for j in range(20)], 5)
    assert "and 12 more classes, 5 rows each" in printed(np.random.default_rng(0).normal(size=(100, 2)), even)


def test_leaking_columns_are_shown_with_their_score(noise):
    labels = np.random.default_rng(1).permutation(np.arange(40) % 2)
    text = printed(np.column_stack([noise[:, :3], labels * 5.0 - 1]), labels)
    assert "Possible target leakage" in text
    assert "x3" in text
    assert "1.000" in text


def test_missing_cells_constants_and_repeated_rows_have_their_sections():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[5] = X[9] = X[2]
    X[:, 1] = 7.0
    X[20:, 2] = np.nan
    text = printed(X)
    assert "8.3% of cells, in 1 of 4 columns; 20 of 30 rows complete" in text
    assert "x1: 7.0 in every row" in text
    assert "2 rows repeat an earlier one" in text
    assert "3 = 6 = 10" in text


def test_bars_are_plain_where_the_terminal_knows_only_ascii(noise):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_description(describe(read_table(noise, target=np.arange(40) % 2)), Console(file=stream, width=80))
    stream.flush()
    assert b"####" in stream.buffer.getvalue()
