"""The pattern of missing values: counts, dependence on other columns, and the picture."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

from fewer.complete import missing_pattern, plot_missing
from fewer.complete._missing_pattern import cell_shares, missingness_dependence, pattern_order


def table_with_cause(n_rows=300, seed=0):
    """Income is missing more often where age is high; the rest by chance."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 5)), columns=["age", "height", "weight", "income", "rooms"])
    frame.loc[rng.random(n_rows) < stats.norm.cdf(2 * frame["age"] - 1), "income"] = np.nan
    frame.loc[rng.random(n_rows) < 0.2, "rooms"] = np.nan
    return frame


def test_missing_values_are_counted():
    frame = table_with_cause()
    pattern = missing_pattern(frame)
    assert pattern.n_missing == frame.isna().to_numpy().sum()
    np.testing.assert_allclose(pattern.column_shares, frame.isna().mean())
    np.testing.assert_allclose(pattern.row_shares, frame.isna().mean(axis=1))
    assert pattern.n_patterns == 4
    assert pattern.n_complete_rows == len(frame.dropna())


def test_the_column_whose_missing_values_have_a_cause_is_found_with_its_cause():
    pattern = missing_pattern(table_with_cause())
    assert pattern.dependent.tolist() == [3]
    assert pattern.columns[pattern.witnesses[3]] == "age"
    assert pattern.larger[3] > 0.8
    assert "income is missing more often where age is larger" in repr(pattern)
    assert "biased" in pattern.reading


def test_where_missing_values_are_random_there_are_few_false_alarms():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.exponential(size=(80, 12))
        X[rng.random(X.shape) < 0.2] = np.nan
        alarms += len(missing_pattern(X).dependent) > 0
    # At 1%, more than 3 of 60 tables with an alarm would be a surprise of 1 in 300.
    assert alarms <= 3


def test_the_test_is_welchs_on_ranks():
    rng = np.random.default_rng(0)
    is_missing = np.zeros((60, 2), dtype=bool)
    is_missing[:, 0] = rng.random(60) < 0.3
    values = rng.normal(size=(60, 1)) + 0.6 * is_missing[:, :1]
    values[:5] = np.nan
    found = missingness_dependence(is_missing, values, np.array([1]))
    ranks = stats.rankdata(values[5:, 0])
    inside = is_missing[5:, 0]
    expected = stats.ttest_ind(ranks[inside], ranks[~inside], equal_var=False)
    assert found.p_values[0] == pytest.approx(expected.pvalue, rel=1e-4)
    u = stats.mannwhitneyu(values[5:, 0][inside], values[5:, 0][~inside]).statistic
    assert found.larger[0] == pytest.approx(u / inside.sum() / (~inside).sum(), rel=1e-5)
    assert found.witnesses.tolist() == [1, -1]


def test_columns_that_are_missing_together_share_their_cause():
    frame = table_with_cause()
    frame["tax"] = np.where(frame["income"].isna(), np.nan, 1.0) * np.arange(len(frame))
    pattern = missing_pattern(frame)
    assert set(pattern.dependent) == {3, 5}
    assert pattern.p_values[3] == pattern.p_values[5]


def test_text_columns_have_missing_values_and_polars_frames_work():
    rng = np.random.default_rng(1)
    age = rng.normal(size=200)
    note = np.where(age > 0.5, None, "seen")
    for library in (pd, pl):
        frame = library.DataFrame({"age": age, "note": note.tolist(), "sure": (age > 0).tolist()})
        pattern = missing_pattern(frame)
        assert pattern.columns == ("age", "note", "sure")
        assert pattern.dependent.tolist() == [1]
        assert pattern.columns[pattern.witnesses[1]] == "age"


def test_in_a_sparse_table_what_is_not_stored_is_missing():
    X = np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 6]])
    pattern = missing_pattern(sparse.csr_array(X))
    np.testing.assert_allclose(pattern.column_shares, [1 / 3, 2 / 3, 0])
    np.testing.assert_array_equal(cell_shares(pattern, *pattern_order(pattern)).shape, (3, 3))
    large = sparse.random_array((100_000, 1_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    pattern = missing_pattern(large)
    assert not pattern.tested
    assert "too large" in pattern.reading
    assert pattern.plot().data[0].z.shape == (200, 240)


def test_rows_with_the_same_missing_values_are_drawn_together_and_the_most_missing_column_first():
    pattern = missing_pattern(table_with_cause())
    rows, columns = pattern_order(pattern)
    assert pattern.columns[columns[0]] == "income"
    labels = pattern.table.row_patterns.labels[rows]
    assert np.count_nonzero(np.diff(labels)) == pattern.n_patterns - 1
    assert np.isnan(pattern.table.with_nan()[rows[0]][columns[:2]]).all()


def test_cells_of_a_large_table_hold_the_share_missing_in_both_forms():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1000, 700)) < np.linspace(0, 0.9, 700), np.nan, 1.0)
    pattern = missing_pattern(X)
    order = pattern_order(pattern)
    shares = cell_shares(pattern, *order)
    assert shares.shape == (200, 240)
    is_missing = np.isnan(X)[order[0]][:, order[1]]
    np.testing.assert_allclose(shares[0, 0], is_missing[:5, :3].mean())
    rows, columns = np.nonzero(~np.isnan(X))
    stored = missing_pattern(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=X.shape))
    np.testing.assert_allclose(cell_shares(stored, *order), shares)


def test_the_picture_warns_where_missing_values_have_a_cause():
    figure = plot_missing(table_with_cause())
    signs = [trace for trace in figure.data if trace.name == "depends on other columns"]
    assert len(signs) == 1
    assert "age" in signs[0].customdata[0]
    assert figure.layout.xaxis.ticktext[0] == "income"
    calm = plot_missing(np.where(np.eye(6), np.nan, 1.0))
    assert not [trace for trace in calm.data if trace.name == "depends on other columns"]


def test_a_complete_table_is_drawn_too():
    pattern = missing_pattern(np.ones((4, 3)))
    assert pattern.reading == "Nothing is missing."
    assert pattern.plot().data[0].z.max() == 0


def test_a_value_that_is_infinite_is_observed_and_only_very_large():
    frame = table_with_cause()
    plain = missing_pattern(frame)
    frame.loc[frame["age"].idxmax(), "age"] = np.inf
    for table in (frame, frame.to_numpy()):
        pattern = missing_pattern(table)
        np.testing.assert_array_equal(pattern.p_values, plain.p_values)
        assert pattern.n_missing == plain.n_missing


def test_it_becomes_json():
    data = json.loads(json.dumps(missing_pattern(table_with_cause()).to_dict()))
    assert data["dependent"] == [3]
    assert data["n_patterns"] == 4
