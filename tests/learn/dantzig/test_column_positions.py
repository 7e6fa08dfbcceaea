"""Columns of a support by position, by name and by a mask."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer.learn import (
    cone_invertibility,
    design_report,
    irrepresentability,
    lq_error_bound,
    restricted_eigenvalue,
    restricted_nullspace,
    selection_certificate,
)

NAMES = ["age", "bmi", "pulse", "sugar", "salt", "sleep"]
MASK = [False, True, False, False, True, False]


@pytest.fixture(scope="module")
def design():
    return np.random.default_rng(0).normal(size=(20, 6))


@pytest.mark.parametrize(
    "number",
    [
        lambda X, J: cone_invertibility(X, J).value,
        lambda X, J: restricted_eigenvalue(X, J, random_state=0).upper,
        lambda X, J: restricted_nullspace(X[:4], J).value,
        lambda X, J: lq_error_bound(X, J, 0.1).bound,
        lambda X, J: selection_certificate(X, J, 0.1, 1.0).threshold[0],
        lambda X, J: np.nansum(irrepresentability(X, J, [1, -1])),
    ],
    ids=["cone", "eigenvalue", "nullspace", "bound", "selection", "irrepresentability"],
)
def test_columns_are_told_by_position_by_name_or_by_a_mask(design, number):
    by_position = number(design, [1, 4])
    assert number(design, MASK) == by_position
    for frame in (pd.DataFrame(design, columns=NAMES), pl.DataFrame(design, schema=NAMES)):
        assert number(frame, ["bmi", "salt"]) == pytest.approx(by_position)


def test_signs_go_with_the_names_in_the_order_in_which_they_are_told(design):
    frame = pd.DataFrame(design, columns=NAMES)
    swapped = irrepresentability(frame, ["salt", "bmi"], [-1, 1])
    assert swapped == pytest.approx(irrepresentability(design, [1, 4], [1, -1]), nan_ok=True)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["bmi", "slat"], "column 'slat', which the table does not have. Did you mean 'salt'"),
        ([1, 1], "needs different columns, by their positions from 0 to 5, by their names or by a mask of length 6"),
        ([-1], "needs different columns"),
        ([0.5], "needs different columns"),
        ([], "needs different columns"),
        ([True, False], "needs different columns"),
    ],
)
def test_columns_that_are_not_there_are_refused_with_a_hint(design, columns, told):
    with pytest.raises(ValueError, match=told):
        cone_invertibility(pd.DataFrame(design, columns=NAMES), columns)


def test_a_table_without_names_says_so(design):
    with pytest.raises(ValueError, match="column 'bmi', and the table has no names; pass a data frame"):
        restricted_nullspace(design, ["bmi"])


def test_a_report_on_one_number_of_columns(design):
    assert design_report(design, k_grid=2, a=1, random_state=0).ks == (2,)
