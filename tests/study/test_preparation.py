"""Rows made ready in little memory are those of the plain pipeline."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from fewer.evaluate import Fold
from fewer.io import Dataset, read_table
from fewer.study import make_plan, study_data
from fewer.study.work import _preparation
from fewer.study.work._preparation import _filled, fit_prepared, preparation, prepared_names
from fewer.study.work._reference import Encoding
from fewer.study.work._reference import _standardised as quickly_prepared
from fewer.study.work._work import prepared_fold
from tolerances import rounding

RNG = np.random.default_rng(0)
NUMBERS = np.column_stack([RNG.normal(3, 2, 60), np.full(60, 7.0), RNG.exponential(size=60), RNG.normal(size=60)])
WITH_MISSING = np.where(RNG.random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)
TABLES = {
    "numbers": read_table(NUMBERS),
    "numbers that all vary": read_table(NUMBERS[:, [0, 2, 3]]),
    "numbers with missing values": read_table(WITH_MISSING),
    "words too": Dataset.from_frame(pl.DataFrame({"a": NUMBERS[:, 0], "b": ["x", "y", "z"] * 20})),
}
# Values of 60 rows, a few standard deviations from a mean that is not much larger.
STANDARDISED = rounding(60, scale=5, condition=2)


@pytest.mark.parametrize("dataset", TABLES.values(), ids=TABLES)
def test_in_little_memory_as_in_the_plain_pipeline(dataset):
    plain, sparing = preparation(dataset), preparation(dataset)
    expected = clone(plain).fit_transform(dataset.X)
    found = fit_prepared(sparing, dataset.take(np.arange(dataset.n_rows)).X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=STANDARDISED)
    np.testing.assert_allclose(sparing.transform(dataset.X), expected, rtol=0, atol=STANDARDISED)


def test_a_table_in_blocks_has_the_same_scale(monkeypatch):
    monkeypatch.setattr(_preparation, "_CELLS", 40)
    dataset = TABLES["numbers"]
    found = fit_prepared(preparation(dataset), dataset.X.copy())
    np.testing.assert_allclose(found, preparation(dataset).fit_transform(dataset.X), rtol=0, atol=STANDARDISED)
    np.testing.assert_allclose(found.std(axis=0), 1)


def test_columns_in_blocks_have_the_same_medians(monkeypatch):
    monkeypatch.setattr(_preparation, "_CELLS", 130)
    dataset = TABLES["numbers with missing values"]
    sparing, plain = preparation(dataset), preparation(dataset).fit(dataset.X)
    fit_prepared(sparing, dataset.X, keep=True)
    np.testing.assert_array_equal(sparing["fill"].statistics_, plain["fill"].statistics_)


def test_a_table_that_is_to_be_kept_is_not_written_over():
    dataset = TABLES["numbers that all vary"]
    found = fit_prepared(preparation(dataset), dataset.X, keep=True)
    np.testing.assert_array_equal(dataset.X, NUMBERS[:, [0, 2, 3]])
    np.testing.assert_allclose(found.std(axis=0), 1)


def test_counts_reach_a_learner_of_counts_as_they_are():
    counts = read_table(RNG.poisson(3, (20, 3)))
    np.testing.assert_array_equal(fit_prepared(preparation(counts, counts="raw"), counts.X, keep=True), counts.X)
    assert fit_prepared(preparation(counts, counts="scaled"), counts.X, keep=True).max() == 1


def test_units_do_not_matter_to_what_looks_at_other_columns_and_stay_where_it_does_not():
    known = ~np.isnan(WITH_MISSING)
    by_column = _filled("median", 0).fit_transform(WITH_MISSING)
    np.testing.assert_array_equal(by_column[known], WITH_MISSING[known])
    by_rows = [_filled("knn", 0).fit_transform(WITH_MISSING * units) for units in (np.ones(4), [1, 1, 1024, 1 / 128])]
    np.testing.assert_array_equal(*by_rows)


def test_of_many_categories_the_rarest_share_a_column():
    for n_words, n_columns in ((15, 15), (25, 20)):
        words = [f"w{place:02d}" for place in range(n_words) for _ in range(place + 1)]
        dataset = Dataset.from_frame(pl.DataFrame({"a": np.arange(float(len(words))), "b": words}))
        fitted = preparation(dataset).fit(dataset.X)
        names = [name for name in prepared_names(fitted, dataset) if name != "a"]
        assert len(names) == n_columns
        assert ("b = (rare)" in names) == (n_words > 20)


def test_numbers_of_a_test_are_prepared_as_those_of_a_study():
    """The quick preparation of the permutation tests gives what the pipeline gives, up to rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * 10.0 ** np.arange(-3, 3) + [0, 1e3, 0, -5, 0, 1e6]
    X[:, 2] = 7.0
    X[:30, 4] = 1.0  # constant in the rows held in
    dataset = study_data(Dataset.from_frame(X, target=np.arange(40) % 2)).dataset
    plan = make_plan(study_data(dataset), preset="quick")
    fold = Fold(np.arange(30), np.arange(30, 40))
    usual = prepared_fold(dataset, fold, plan)
    for found, expected in zip(quickly_prepared(dataset.X, fold)[:2], (usual.X_train, usual.X_test), strict=True):
        # Centring a column with mean m and standard deviation s loses m / s x eps.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e6 * 40 * np.finfo(float).eps)


def test_categories_of_a_test_are_encoded_as_those_of_a_study():
    """Where the rows held in have all categories and no missing number, once is as good as in each fold."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.normal(size=60), "b": ["x", "y", "z"] * 20, "c": ["u", None] * 30})
    data = study_data(Dataset.from_frame(frame, target=np.arange(60) % 2))
    plan, fold = make_plan(data, preset="quick"), Fold(np.arange(40), np.arange(40, 60))
    usual, found = prepared_fold(data.dataset, fold, plan), Encoding(data, plan).fold(data, fold, plan)
    assert found.names == usual.names
    assert found.unit_of == usual.unit_of
    np.testing.assert_allclose(found.X_train, usual.X_train, rtol=0, atol=STANDARDISED)
    np.testing.assert_allclose(found.X_test, usual.X_test, rtol=0, atol=STANDARDISED)
