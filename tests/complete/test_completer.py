"""What all completers do alike, shown on the simplest of them: one that fills in column means."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer

from fewer.complete import MMMF, HardImpute, OptSpace, SoftImpute, SoftImputeCV, SpectralImpute
from fewer.complete._completer import Completer, usable_rank


class MeanCompleter(Completer):
    """No dimensions at all: every hole is its column's mean."""

    def __init__(self, keep_empty_features=False):
        self.keep_empty_features = keep_empty_features

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
