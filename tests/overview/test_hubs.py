"""Hubs of wide tables."""

import io

import numpy as np
from rich.console import Console

from fewer.io import read_table
from fewer.overview import describe
from fewer.report import print_description


def described(X):
    return describe(read_table({f"c{j}": column for j, column in enumerate(X.T)}))


def test_a_wide_table_of_independent_columns_has_hubs_and_a_caution():
    X = np.random.default_rng(0).normal(size=(400, 150))
    description = described(X)
    found = description.hubness
    assert found.level == "warning"
    assert found.skewness > 2
    assert 0.1 < found.never_listed < 0.5
    assert found.dimension > 20
    (sentence,) = [each for each in description.advice if "unreliable" in each]
    assert f"{found.never_listed:.1%} of the rows are nobody's neighbour" in sentence
    assert f"neighbour of {found.most_listed}" in sentence
    out = io.StringIO()
    print_description(description, Console(file=out, width=100))
    assert "Nearest neighbours (warning)" in out.getvalue()
    assert description.to_dict()["hubness"]["most_listed"] == found.most_listed


def test_rows_near_a_plane_have_no_hubs_however_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 60)) + 1e-3 * rng.normal(size=(400, 60))
    found = described(X).hubness
    assert found.level == "none"
    assert found.skewness < 1
    assert found.dimension < 4
    assert not [each for each in described(X).advice if "reliable" in each]


def test_marked_hubs_are_a_note():
    description = described(np.random.default_rng(1).uniform(size=(300, 20)))
    assert 1.4 <= description.hubness.skewness <= 2
    assert description.hubness.level == "note"
    (sentence,) = [each for each in description.advice if "less reliable" in each]
    assert "corrected for hubs" in sentence
    out = io.StringIO()
    print_description(description, Console(file=out, width=100))
    assert "Nearest neighbours (note)" in out.getvalue()


def test_few_columns_or_rows_are_not_looked_at():
    rng = np.random.default_rng(0)
    assert described(rng.normal(size=(300, 10))).hubness is None
    assert described(rng.normal(size=(40, 50))).hubness is None


def test_repeated_rows_are_no_hubs_and_at_most_2000_rows_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 25))
    X[:800] = X[800:1600]
    found = described(X).hubness
    assert 1500 < found.rows <= 2000
    assert np.isfinite(found.dimension)
