"""Control of the false discovery rate, and the power formulas.

Randomised versions of a data set keep what their null hypothesis says they keep.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

from fewer.evaluate import benjamini_hochberg, randomize


def test_the_largest_p_value_under_its_line_takes_all_smaller_ones_with_it():
    # 0.03 is above its own line 2 * 0.05 / 4, but 0.036 is below 3 * 0.05 / 4.
    found = benjamini_hochberg([0.036, 0.03, 0.9, 0.001])
    np.testing.assert_array_equal(found.rejected, [True, True, False, True])
    assert found.threshold == 0.036
    assert found.n_rejected == 3


def test_adjusted_values_are_scipys():
    p_values = np.random.default_rng(0).uniform(size=(5, 8)) ** 3
    found = benjamini_hochberg(p_values)
    np.testing.assert_allclose(found.adjusted.ravel(), stats.false_discovery_control(p_values, axis=None))
    np.testing.assert_array_equal(found.rejected, found.adjusted <= 0.05)


def test_nothing_is_rejected_when_nothing_is_small():
    found = benjamini_hochberg([0.4, 0.9])
    assert (found.n_rejected, found.threshold) == (0, 0.0)
    assert "0 of 2 rejected" in repr(found)


def test_no_tests_make_no_discoveries():
    assert benjamini_hochberg([]).n_rejected == 0


@pytest.mark.parametrize("p_values", [[0.1, np.nan], [1.2], [-0.1]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg(p_values)


def test_false_discoveries_stay_below_the_rate():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        z = rng.normal(size=50) + np.repeat([3.0, 0.0], [15, 35])
        rejected = benjamini_hochberg(stats.norm.sf(z), false_discovery_rate=0.2).rejected
        shares.append(rejected[15:].sum() / max(rejected.sum(), 1))
    # The expected share is exactly 0.2 * 35 / 50 for independent tests.
    assert np.mean(shares) == pytest.approx(0.14, abs=4 * np.std(shares) / 20)


LABELS = np.repeat(["a", "b", "c"], [6, 9, 5])


def sorted_in_classes(X, y=LABELS):
    return [np.sort(np.asarray(X)[np.asarray(y) == label], axis=0) for label in np.unique(y)]


@pytest.fixture
def table():
    X = np.random.default_rng(0).normal(size=(20, 4))
    X[[0, 3, 10], 1] = np.nan
    return X


@pytest.fixture
def frame(table):
    colours = pd.Categorical(np.random.default_rng(1).choice(["red", "green", None], size=20))
    return pd.DataFrame(table, columns=list("pqrs"), index=np.arange(100, 120)).assign(colour=colours, word=LABELS)


def test_labels_move_and_the_table_stays(table):
    X, y = randomize(table, LABELS, "labels", random_state=0)
    assert X is table
    assert sorted(y) == sorted(LABELS)
    assert (y != LABELS).any()


def test_columns_move_inside_their_class_each_by_itself(table):
    X, y = randomize(table, LABELS, "features_within_class", random_state=0)
    assert y is LABELS
    for before, after in zip(sorted_in_classes(table), sorted_in_classes(X), strict=True):
        np.testing.assert_array_equal(before, after)
    sources = [np.argsort(np.argsort(X[:6, j])) for j in (0, 2)]
    assert not np.array_equal(sources[0], sources[1])


def test_columns_over_all_rows_keep_only_the_columns(table):
    X, _ = randomize(table, LABELS, "columns", random_state=0)
    np.testing.assert_array_equal(np.sort(X, axis=0), np.sort(table, axis=0))
    assert any(
        not np.array_equal(before, after, equal_nan=True)
        for before, after in zip(sorted_in_classes(table), sorted_in_classes(X), strict=True)
    )


def test_a_pandas_frame_keeps_types_names_index_and_missing_values(frame):
    X, _ = randomize(frame, LABELS, "features_within_class", random_state=0)
    assert X.dtypes.equals(frame.dtypes)
    assert X.columns.equals(frame.columns)
    assert X.index.equals(frame.index)
    assert not X["colour"].equals(frame["colour"])
    for label in "abc":
        own = label == LABELS
        for name in frame.columns:
            pd.testing.assert_series_equal(
                X.loc[own, name].value_counts(dropna=False).sort_index(),
                frame.loc[own, name].value_counts(dropna=False).sort_index(),
            )


def test_a_polars_frame_stays_one(frame):
    polars = pl.from_pandas(frame)
    X, _ = randomize(polars, LABELS, "features_within_class", random_state=0)
    assert X.schema == polars.schema
    assert not X["p"].equals(polars["p"])
    for label in "abc":
        own = pl.Series(label == LABELS)
        assert X.filter(own)["colour"].sort().equals(polars.filter(own)["colour"].sort())


@pytest.mark.parametrize("form", ["csc_array", "csr_array", "csr_matrix", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("null", ["features_within_class", "columns"])
def test_a_sparse_table_stays_sparse_and_sorted(form, null):
    dense = np.random.default_rng(0).poisson(0.5, size=(20, 30)).astype(float)
    original = getattr(sparse, form)(dense)
    X, _ = randomize(original, LABELS, null, random_state=0)
    assert X.nnz == np.count_nonzero(dense)
    assert X.has_sorted_indices
    assert isinstance(X, sparse.sparray) == isinstance(original, sparse.sparray)
    strata = LABELS if null == "features_within_class" else np.zeros(20)
    for before, after in zip(sorted_in_classes(dense, strata), sorted_in_classes(X.toarray(), strata), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(original.toarray(), dense)


def test_sparse_permutations_are_uniform():
    X = sparse.csc_array(np.array([[1.0], [0.0], [0.0], [0.0]]))
    rng = np.random.default_rng(0)
    rows = [randomize(X, [0, 0, 0, 0], "columns", rng)[0].indices[0] for _ in range(2000)]
    counts = np.bincount(rows, minlength=4)
    assert np.all(np.abs(counts - 500) < 5 * np.sqrt(2000 * 3 / 16))


def test_groups_are_never_mixed(table):
    groups = np.tile([0, 1], 10)
    _, y = randomize(table, LABELS, "labels", random_state=0, groups=groups)
    for group in (0, 1):
        assert sorted(y[groups == group]) == sorted(LABELS[groups == group])
    X, _ = randomize(table, LABELS, "features_within_class", random_state=0, groups=groups)
    both = np.char.add(LABELS, groups.astype(str))
    for before, after in zip(sorted_in_classes(table, both), sorted_in_classes(X, both), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_chosen_columns_move_together_and_the_others_stay(kind):
    rows = np.arange(1.0, 21)
    dense = np.column_stack([rows, rows + 100, rows + 200])
    X = {"array": dense, "frame": pd.DataFrame(dense, columns=list("abc")), "sparse": sparse.csr_array(dense)}[kind]
    moved, _ = randomize(
        X, LABELS, "features_within_class", 0, columns=["a", "c"] if kind == "frame" else [0, 2], jointly=True
    )
    moved = moved.toarray() if kind == "sparse" else np.asarray(moved)
    np.testing.assert_array_equal(moved[:, 1], dense[:, 1])
    np.testing.assert_array_equal(moved[:, 2] - moved[:, 0], np.full(20, 200))
    assert (moved[:, 0] != dense[:, 0]).any()


def test_mistakes_are_named(frame):
    with pytest.raises(ValueError, match="no column 'nose'"):
        randomize(frame, LABELS, "features_within_class", columns=["p", "nose"])
    with pytest.raises(ValueError, match="named twice"):
        randomize(frame, LABELS, "features_within_class", columns=["p", "p"])
    with pytest.raises(ValueError, match="null must be one of"):
        randomize(frame, LABELS, "rows")
    with pytest.raises(ValueError, match="labels have none"):
        randomize(frame, LABELS, "labels", columns=["p"])
