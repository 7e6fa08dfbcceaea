"""Near duplicates: the same groups as comparing every pair, also with missing cells and outliers."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewer.io import read_table
from fewer.overview import describe
from fewer.overview._near_duplicates import NearDuplicates, near_duplicate_columns


def pairs_by_brute_force(X, threshold=0.999):
    correlation = np.corrcoef(X, rowvar=False)
    return {(i, j) for i, j in np.argwhere(np.abs(np.triu(correlation, 1)) > threshold).tolist()}


def pairs_in(groups):
    return {(group.leader, member) for group in groups for member in group.members}


def test_planted_near_duplicates_are_found_in_both_directions_and_nothing_else():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1500))
    X[:, 1200] = 5 - 3 * X[:, 10] + 0.01 * rng.normal(size=60)
    X[:, 1499] = 1e6 + X[:, 700] + 0.01 * rng.normal(size=60)
    X[:, 5] = X[:, 4] + 0.1 * rng.normal(size=60)  # correlation near 0.995: not near enough
    groups = near_duplicate_columns(X)
    assert pairs_in(groups) == {(10, 1200), (700, 1499)} == pairs_by_brute_force(X)
    assert groups[0].correlations[0] == pytest.approx(np.corrcoef(X[:, 10], X[:, 1200])[0, 1], abs=1e-6)
    assert groups[0].correlations[0] < -0.999


@pytest.mark.parametrize("n_rows", [30, 500, 5000])
def test_pairs_on_both_sides_of_the_threshold_are_told_apart(n_rows):
    rng = np.random.default_rng(1)
    base = rng.normal(size=(n_rows, 40))
    noise = np.linspace(0.01, 0.08, 40)  # correlations from 0.99995 down to 0.997
    X = np.hstack([base, base + noise * rng.normal(size=base.shape)])
    expected = pairs_by_brute_force(X)
    assert 10 < len(expected) < 35
    assert pairs_in(near_duplicate_columns(X)) == expected


def test_heavy_tails_do_not_hide_a_near_duplicate():
    rng = np.random.default_rng(2)
    X = rng.standard_cauchy(size=(3000, 50))
    X[:, 49] = X[:, 0] + 1e-3 * rng.normal(size=3000)
    assert (0, 49) in pairs_in(near_duplicate_columns(X))
    assert pairs_in(near_duplicate_columns(X)) == pairs_by_brute_force(X)


@pytest.mark.parametrize(("n_rows", "share"), [(60, 0.05), (60, 0.3), (2000, 0.1), (2000, 0.25)])
def test_columns_with_missing_values_are_compared_where_both_are_known(n_rows, share):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 300))
    X[:, 299] = 2 * X[:, 7]
    X[:, 150] = -X[:, 8] + 0.01 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < share] = np.nan
    assert pairs_in(near_duplicate_columns(X)) == {(7, 299), (8, 150)}


def test_columns_that_hardly_overlap_are_not_compared():
    values = np.random.default_rng(0).normal(size=100)
    X = np.column_stack([values, values])
    X[:55, 0] = np.nan
    X[60:, 1] = np.nan  # five rows in common
    assert near_duplicate_columns(X) == []


def test_a_complete_column_leads_its_group():
    values = np.random.default_rng(0).normal(size=50)
    X = np.column_stack([values, values * 2, values * 3])
    X[0, 0] = np.nan
    assert near_duplicate_columns(X) == [NearDuplicates(1, [0, 2], [pytest.approx(1.0), pytest.approx(1.0)])]


def test_too_few_rows_give_no_near_duplicates_by_luck():
    X = np.random.default_rng(0).normal(size=(5, 3000))
    assert len(pairs_by_brute_force(X)) > 10
    assert near_duplicate_columns(X) == []


def test_thousands_of_columns_that_all_say_the_same_make_one_group():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1)) + 0.001 * rng.normal(size=(100, 2500))
    (group,) = near_duplicate_columns(X)
    assert (group.leader, group.members) == (0, list(range(1, 2500)))


def test_constant_infinite_and_rounding_noise_columns_take_no_part():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    infinite = values.copy()
    infinite[3] = np.inf
    rounding = 1e9 + 1e-7 * np.sign(values)
    X = np.column_stack([values, np.full(50, 0.1), infinite, rounding, rounding + 1.0])
    assert near_duplicate_columns(X) == []


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_near_duplicates_are_those_of_the_dense_table(form):
    rng = np.random.default_rng(0)
    X = sp.random(500, 400, density=0.05, random_state=0, format="csr").toarray()
    X[:, 399] = 3 * X[:, 0] + 0.001 * (X[:, 0] > 0) * rng.normal(size=500)
    assert pairs_in(near_duplicate_columns(form(X))) == pairs_by_brute_force(X) == {(0, 399)}


def test_exact_duplicates_are_not_repeated_among_the_near_ones():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    near = values + 1e-3 * rng.normal(size=50)
    description = describe(read_table(np.column_stack([values, values, near, near])))
    assert description.duplicates == (("x0", "x1"), ("x2", "x3"))
    assert [group.columns for group in description.near_duplicates] == [("x0", "x2")]
