import sys

import numpy as np
import polars as pl
import pytest

from fewer.io import _frame, _strings, read_table
from fewer.overview import describe


def words_and_numbers(n_columns):
    rng = np.random.default_rng(0)
    words = {f"w{j}": rng.choice(["AA", "AG", "GG"], 30).tolist() for j in range(n_columns)}
    numbers = {f"n{j}": [None, *rng.normal(size=29)] for j in range(n_columns)}
    return pl.DataFrame(words | numbers)


def calls_of(action, argument):
    """Number of Python functions that an action enters."""
    count = 0

    def counted(frame, event, value):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        action(argument)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("look", [read_table, lambda table: describe(read_table(table))], ids=["read", "describe"])
def test_wide_tables_of_words_need_no_query_for_each_column(look):
    look(words_and_numbers(5))  # imports what it needs
    few, many = (calls_of(look, words_and_numbers(width)) for width in (50, 150))
    assert (many - few) / 200 < 150  # a query of polars alone takes about 100


def test_columns_that_are_read_together_and_one_by_one_are_the_same(monkeypatch, assert_same):
    table = pl.DataFrame(
        {
            "padded": [" 1", "+2", "3 "],
            "fraction": ["1.5", "NA", "2e3"],
            "mixed": ["1", "x", "2"],
            "empty": ["?", "", "NA"],
            "day": ["2024-05-31", None, "2024-06-01"],
            "moment": ["2024-05-31T10:00Z", "2024-05-31 12:00:00+01:00", "?"],
            "late": ["?", "", "word"],
        }
    )
    together = read_table(table)
    assert together.kinds == ("numeric", "numeric", "categorical", "constant", "date", "date", "constant")
    assert together.X["padded"].to_list() == [1, 2, 3]
    for module in (_frame, _strings):
        monkeypatch.setattr(module, "BATCH_CELLS", 1)
    assert_same(read_table(table), together)
