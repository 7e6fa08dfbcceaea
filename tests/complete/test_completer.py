"""What all completers do alike, shown on the simplest of them: one that fills in column means.

What counts as observed, in dense and in sparse tables.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from fewer.complete import (
    MMMF,
    HardImpute,
    OptSpace,
    PCAMissing,
    SoftImpute,
    SoftImputeCV,
    SpectralImpute,
    SubspaceSegmentation,
    WeightedFactorization,
    completion_score,
)
from fewer.complete._completer import Completer, usable_rank
from fewer.complete._observed import Observed


class MeanCompleter(Completer):
    """No dimensions at all: every missing value is its column's mean."""

    def fit(self, X, y=None):
        table = self._training_table(X)
        self.mean_ = table.column_means
        self.loadings_ = np.zeros((table.shape[1], 1))
        self.scores_ = np.zeros((table.shape[0], 1))
        return self

    def _scores_of(self, table):
        return np.zeros((table.shape[0], 1))


FRAME = pd.DataFrame({"a": [1.0, np.nan, 4.0], "b": [np.nan] * 3, "c": [1.0, 2.0, np.nan]})


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.filterwarnings("ignore:Skipping features", "ignore:Nothing is observed")
def test_a_completer_stands_in_for_scikit_learns_imputer(keep):
    ours, theirs = (
        imputer(keep_empty_features=keep).set_output(transform="pandas").fit(FRAME)
        for imputer in (MeanCompleter, SimpleImputer)
    )
    new = pd.DataFrame({"a": [np.nan], "b": [3.0], "c": [np.nan]})
    pd.testing.assert_frame_equal(ours.transform(FRAME), theirs.transform(FRAME))
    pd.testing.assert_frame_equal(ours.transform(new), theirs.transform(new))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_empty_columns_are_named():
    with pytest.warns(UserWarning, match=r"Nothing is observed of 1 of 3 columns \('b'\): they are dropped"):
        MeanCompleter().fit(FRAME)


def test_polars_frames_with_nulls_are_taken():
    frame = pl.DataFrame({"a": [1.0, None, 3.0], "b": [4, 5, None]})
    filled = MeanCompleter().set_output(transform="polars").fit_transform(frame)
    assert filled.rows() == [(1.0, 4.0), (2.0, 5.0), (3.0, 4.5)]


def test_infinities_are_refused_by_the_name_of_their_column():
    frame = FRAME.assign(c=[1.0, np.inf, np.nan])
    with pytest.raises(ValueError, match=r"infinity.*column 'c' \(row 1\)"):
        MeanCompleter().fit(frame)


def test_a_table_with_nothing_in_it_is_refused():
    with pytest.raises(ValueError, match="no observed entry"):
        MeanCompleter().fit(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="no observed entry"):
        MeanCompleter().fit(sparse.csr_array((3, 2)))


def test_a_sparse_table_is_filled_unless_it_would_not_fit():
    X = sparse.csr_array(np.array([[2.0, 0.0], [4.0, 3.0]]))
    model = MeanCompleter().fit(X)
    np.testing.assert_array_equal(model.transform(X), [[2, 3], [4, 3]])
    large = sparse.csr_array((np.ones(2), ([0, 1], [0, 1])), shape=(300_000, 2_000))
    with pytest.warns(UserWarning, match="Nothing is observed of 1998"):
        model.fit(large)
    with pytest.raises(ValueError, match=r"5 GB.*predict_entries"):
        model.transform(large)
    np.testing.assert_array_equal(model.predict_entries([5, 6], [0, 7]), [1, 0])


def test_entries_are_asked_for_in_pairs_that_exist():
    model = MeanCompleter().fit(np.eye(3))
    with pytest.raises(ValueError, match="between 0 and 2; 0 to 3"):
        model.predict_entries([0, 3], [0, 0])
    with pytest.raises(ValueError, match="in pairs"):
        model.predict_entries([0, 1], [0])
    with pytest.raises(ValueError, match="whole numbers"):
        model.predict_entries([0.5], [0])


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X = np.where(np.random.default_rng(0).random((50, 4)) < 0.3, np.nan, 1.0)
    whole = MeanCompleter().fit_transform(X)
    monkeypatch.setattr("fewer.complete._completer._ENTRIES_AT_ONCE", 12)
    np.testing.assert_array_equal(MeanCompleter().fit_transform(X), whole)


def test_a_rank_that_no_table_of_the_shape_has_is_lowered_with_a_warning():
    with pytest.warns(UserWarning, match=r"n_components=9 is more than a table of 5 x 7 can hold; 5 will be used"):
        assert usable_rank(9, (5, 7)) == 5
    assert usable_rank(3, (5, 7)) == 3


EVERY_COMPLETER = [
    MeanCompleter(),
    MMMF(rank=1),
    HardImpute(rank=1),
    OptSpace(rank=1),
    PCAMissing(1, random_state=0),
    SoftImpute(alpha=1.0),
    SoftImputeCV(random_state=0),
    SpectralImpute(random_state=0),
    SubspaceSegmentation(1, 1, random_state=0),
    WeightedFactorization(1, random_state=0),
]


@pytest.fixture
def gaps():
    """A table with missing values in columns 0, 2 and 4, the last of which is empty."""
    X = np.random.default_rng(0).normal(size=(12, 5)).round(2)
    X[[1, 4], 0] = X[3, 2] = X[:, 4] = np.nan
    return X


@pytest.mark.filterwarnings(
    "ignore:Nothing is observed", "ignore:Skipping features", "ignore::sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("model", EVERY_COMPLETER, ids=lambda model: type(model).__name__)
def test_every_completer_takes_a_marker_and_adds_indicators_as_scikit_learn_does(model, gaps):
    peer = SimpleImputer(add_indicator=True).fit(gaps)
    plain = clone(model).fit_transform(gaps)
    marked = np.where(np.isnan(gaps), -999, gaps)
    model = clone(model).set_params(missing_values=-999, add_indicator=True).fit(marked)
    filled = model.transform(marked)
    np.testing.assert_array_equal(filled[:, :4], plain)
    np.testing.assert_array_equal(filled[:, 4:], peer.transform(gaps)[:, 4:])
    np.testing.assert_array_equal(model.indicator_.features_, [0, 2, 4])
    assert model.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(model.impute(marked), plain)


@pytest.mark.filterwarnings("ignore:Nothing is observed")
def test_missing_values_may_be_null_of_any_kind_or_a_number(gaps):
    wanted = MeanCompleter().fit_transform(gaps)
    null = np.where(np.isnan(gaps), None, gaps.astype(object))
    pandas_null = np.where(np.isnan(gaps), pd.NA, gaps.astype(object))
    frame = pd.DataFrame(gaps, dtype="Float64")
    for marker in (np.nan, None, pd.NA):
        for table in (gaps, null, pandas_null, pandas_null.tolist(), pd.DataFrame(pandas_null), frame):
            np.testing.assert_array_equal(MeanCompleter(missing_values=marker).fit_transform(table), wanted)
    for marker in (7, -3.5):
        table = np.where(np.isnan(gaps), marker, gaps)
        model = MeanCompleter(missing_values=marker).fit(table)
        np.testing.assert_array_equal(model.transform(table), wanted)
        np.testing.assert_array_equal(table, np.where(np.isnan(gaps), marker, gaps))
        assert not model.__sklearn_tags__().input_tags.allow_nan
        with pytest.raises(ValueError, match="contains NaN"):
            model.transform(gaps)


def test_an_indicator_marks_what_a_sparse_table_does_not_store():
    X = sparse.csr_array(np.array([[1.0, 0, -1], [2, 3, 4], [5, 6, 0]]))
    filled = MeanCompleter(missing_values=-1, add_indicator=True).fit_transform(X)
    np.testing.assert_array_equal(filled[:, 3:], [[1, 1], [0, 0], [0, 1]])
    np.testing.assert_array_equal(filled[:, :3], [[1, 4.5, 4], [2, 3, 4], [5, 6, 4]])


def test_indicators_are_of_columns_with_missing_values_in_fit():
    model = MeanCompleter(add_indicator=True).fit([[1.0, 2], [3, 4]])
    np.testing.assert_array_equal(model.transform([[np.nan, 2]]), [[2, 2]])
    model.fit([[1.0, np.nan], [3, 4]])
    np.testing.assert_array_equal(model.transform([[np.nan, 2]]), [[2, 2, 0]])
    names = model.set_output(transform="pandas").transform([[1.0, np.nan]]).columns.tolist()
    assert names == ["x0", "x1", "missingindicator_x1"]


def test_a_completion_score_reads_the_marker_of_the_imputer(gaps):
    X = gaps[:, :4]
    marked = np.where(np.isnan(X), -9, X)
    for model in (PCAMissing(1, random_state=0), SimpleImputer()):
        found = completion_score(clone(model).set_params(missing_values=-9), marked, random_state=0)
        np.testing.assert_array_equal(found.rmse, completion_score(model, X, random_state=0).rmse)


@pytest.mark.parametrize("completer", [SoftImputeCV, SpectralImpute, SoftImpute, HardImpute, MMMF, OptSpace])
def test_tables_are_filled_alike_in_huge_and_tiny_units(completer):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 8))
    table[rng.random(table.shape) < 0.1] = np.nan
    expected = completer(random_state=0).fit_transform(table)
    for unit in (2.0**-498, 2.0**160, 2.0**498):  # the last is about 1e150
        assert completer(random_state=0).fit_transform(unit * table) / unit == pytest.approx(expected, abs=1e-9)


def test_numbers_whose_squares_overflow_are_refused_with_their_column():
    table = pd.DataFrame({"mass": [1.0, np.nan, 3.0, 2.0], "distance": [1e160, 2e160, np.nan, 1e159]})
    with pytest.raises(ValueError, match=r"Column 'distance' holds numbers up to 2e\+160.*other units"):
        SoftImputeCV().fit(table)


INCOMPLETE = np.array([[1.0, np.nan, 0.0], [np.nan, np.nan, np.nan], [4.0, 5.0, np.nan], [7.0, np.nan, 9.0]])


def stored(X):
    """A sparse table that stores the entries of a dense one that are not NaN, zeros too."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.coo_array((X[rows, columns], (rows, columns)), shape=X.shape).tocsr()


@pytest.fixture(params=["dense", "csr", "csc", "stored NaN"])
def table(request):
    if request.param == "dense":
        return Observed(INCOMPLETE)
    if request.param == "stored NaN":
        full = sparse.csr_array((INCOMPLETE.ravel(), np.tile(range(3), 4), range(0, 13, 3)), shape=(4, 3))
        return Observed(full)
    return Observed(stored(INCOMPLETE).asformat(request.param))


def test_a_stored_zero_is_an_observation_and_nan_a_missing_value(table):
    assert table.n_observed == 6
    np.testing.assert_array_equal(table.row_counts, [2, 0, 2, 2])
    np.testing.assert_array_equal(table.column_counts, [3, 1, 2])
    np.testing.assert_array_equal(table.with_nan(), INCOMPLETE)
    np.testing.assert_array_equal(table.by_rows.data, [1, 0, 4, 5, 7, 9])
    np.testing.assert_array_equal(table.by_columns.data, [1, 4, 7, 5, 0, 9])
    np.testing.assert_array_equal(table.column_means, [4, 5, 4.5])
    assert not table.is_complete


def test_rows_with_missing_values_in_the_same_places_share_a_pattern(table):
    labels, examples = table.row_patterns
    assert len(examples) == 3
    assert labels[0] == labels[3] != labels[2]
    np.testing.assert_array_equal(labels[examples], [0, 1, 2])
    assert len(table.column_patterns.examples) == 3


def test_rows_and_hidden_entries_are_tables_again(table):
    np.testing.assert_array_equal(table.rows(np.array([2, 0])).with_nan(), INCOMPLETE[[2, 0]])
    hidden = INCOMPLETE.copy()
    hidden[2, 1] = np.nan
    np.testing.assert_array_equal(table.hidden(np.array([3])).with_nan(), hidden)
    emptied = INCOMPLETE.copy()
    emptied[:, 0] = np.nan
    np.testing.assert_array_equal(table.without(np.array([True, False, False])).with_nan(), emptied)
    np.testing.assert_array_equal(table.with_nan(), INCOMPLETE)


def test_columns_are_divided_chosen_and_described(table):
    np.testing.assert_allclose(table.divided(np.array([2.0, 1.0, 3.0])).with_nan(), INCOMPLETE / [2, 1, 3])
    np.testing.assert_array_equal(table.columns(np.array([2, 0])).with_nan(), INCOMPLETE[:, [2, 0]])
    np.testing.assert_allclose(table.column_deviations, [np.sqrt(6), 0, 4.5])


def test_many_rows_are_grouped_as_by_comparing_them_whole():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 6)) < 0.4, np.nan, 1.0)
    expected = np.unique(~np.isnan(X), axis=0, return_inverse=True)[1].ravel()  # a column in NumPy 2.0
    labels = Observed(X).row_patterns.labels
    assert len(set(zip(expected, labels, strict=True))) == len(set(expected)) == len(set(labels))


def test_a_sparse_table_never_gives_a_dense_mask():
    with pytest.raises(TypeError, match="sparse"):
        _ = Observed(stored(INCOMPLETE)).mask


def test_the_given_table_is_left_as_it_was():
    unsorted = sparse.csr_array((np.array([2.0, 1.0, np.nan]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(Observed(unsorted).by_rows.data, [1, 2])
    np.testing.assert_array_equal(unsorted.data, [2, 1, np.nan])
