"""A plan from a table: unbiased sums, rows kept apart, and what it takes and refuses."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import ndtr, ndtri

from fewer.datasets import make_two_gaussians
from fewer.theory import plan_n_features
from fewer.theory.planning import _size_plan
from fewer.theory.planning._size_plan import Table, _correlation_within, curve_of_split

MU = 1 / np.arange(1, 51)
QUICK = {"n_splits": 4, "n_boot": 5, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    X, y, _ = make_two_gaussians(100, MU, random_state=0)
    return X, y


def test_the_sum_of_squared_means_behind_the_curve_is_unbiased():
    # With all columns the ranking makes no difference, and s is known.
    mu, m = np.full(10, 0.3), 60
    sums = []
    for seed in range(150):
        X, y, _ = make_two_gaussians(m, mu, random_state=seed)
        error = plan_n_features(X * np.arange(1, 11) + 5, y, n_splits=2, n_boot=2, random_state=0).error_all
        f = -ndtri(error)
        sums.append((f**2 + np.sqrt(f**4 + 4 * f**2 * 10 / m)) / 2)  # the s_n that gives this f
    assert np.mean(sums) == pytest.approx(0.9, abs=4 * np.std(sums) / np.sqrt(len(sums)))


def test_noise_gets_no_promise():
    surely = 0
    for seed in range(12):
        X, y, _ = make_two_gaussians(60, np.zeros(200), random_state=seed)
        plan = plan_n_features(X, y, n_splits=5, n_boot=30, random_state=0)
        surely += not plan.reading.startswith("No number of columns is surely better")
        assert plan.error_all > 0.3
    assert surely <= 3  # a band of 90% leaves 5% on this side, for each number of columns


def test_the_band_covers_the_error_of_the_ranked_rule():
    # The truth for each number of columns: the formula with the true s_n of columns ranked on half of the rows.
    mu, m, covered, sums, bands = MU, 80, [], [], []
    sizes = np.array([1, 3, 10, 50])
    for seed in range(15):
        X, y, _ = make_two_gaussians(m, mu, random_state=seed)
        plan = plan_n_features(X, y, n_splits=5, n_boot=30, random_state=seed)
        bands.append((plan.lower[sizes - 1], plan.upper[sizes - 1]))
        half = np.r_[np.flatnonzero(y > 0)[:20], np.flatnonzero(y < 0)[:20]]
        sums.append(np.cumsum(mu[np.argsort(-np.abs(y[half] @ X[half]))] ** 2)[sizes - 1])
    s = np.mean(sums, axis=0)
    truth = ndtr(-s / np.sqrt(sizes / m + s))
    covered = np.mean([(low <= truth) & (truth <= high) for low, high in bands], axis=0)
    assert (covered >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 15)).all()


def test_where_the_rows_that_rank_also_train_fewer_columns_are_worth_using():
    X, y, _ = make_two_gaussians(225, random_state=1)
    other, same = (plan_n_features(X, y, rank_on=rows, n_boot=5, random_state=0) for rows in ("other", "same"))
    assert same.n_features < other.n_features
    assert same.errors[99] > other.errors[99] + 0.03


def test_no_row_both_ranks_and_judges(table, tmp_path):
    X, y = table
    marked = np.column_stack([X, np.arange(len(y))])
    notes = tmp_path / "rows"

    def by_difference(rows, labels):
        with notes.open("a") as file:  # tasks work on copies of what they are given, so a list would stay empty
            print(*rows[:, -1].astype(int), file=file)
        return np.abs(rows[labels == 1].mean(axis=0) - rows[labels == -1].mean(axis=0))

    plan_n_features(marked, y, order=by_difference, n_splits=2, n_boot=3, random_state=0)
    *splits, every = [set(map(int, line.split())) for line in notes.read_text().splitlines()]
    assert every == set(range(len(y)))
    assert len(splits) == 2 * (2 + 3 * 4)
    for first, second in zip(splits[::2], splits[1::2], strict=True):
        assert not first & second
        assert len(first) > 20


def test_a_function_of_x_and_y_ranks_as_the_built_in_order_does(table):
    X, y = table
    scales = np.sqrt((X[y == 1].var(axis=0) + X[y == -1].var(axis=0)) / 2)
    X = X / scales

    def standardised(rows, labels):
        first, second = rows[labels == 1], rows[labels == -1]
        pooled = ((first - first.mean(0)) ** 2).sum(0) + ((second - second.mean(0)) ** 2).sum(0)
        return np.abs(first.mean(0) - second.mean(0)) / np.sqrt(pooled)

    built_in, own = plan_n_features(X, y, **QUICK), plan_n_features(X, y, order=standardised, **QUICK)
    np.testing.assert_allclose(own.errors, built_in.errors)
    assert own.order.tolist() == built_in.order.tolist()


def test_equal_scores_are_ordered_by_chance_not_by_position():
    X, y, _ = make_two_gaussians(60, np.r_[1.0, np.zeros(99)], random_state=0)
    plan = plan_n_features(X, y, order=lambda rows, labels: np.ones(100), **QUICK)
    assert plan.errors[0] > 0.3
    assert plan.order.tolist() != list(range(100))


@pytest.mark.parametrize("rank_on", ["other", "same"])
def test_frames_sparse_matrices_and_words_give_the_same(table, rank_on):
    X, y = table
    plain = plan_n_features(X, y, rank_on=rank_on, **QUICK)
    words = np.where(y > 0, "well", "ill")
    names = [f"c{number}" for number in range(X.shape[1])]
    for form in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_array(X)):
        np.testing.assert_allclose(plan_n_features(form, words, rank_on=rank_on, **QUICK).errors, plain.errors)


def test_units_offsets_and_the_engine_make_no_difference(table, workers):
    X, y = table
    plain = plan_n_features(X, y, **QUICK)
    np.testing.assert_allclose(plan_n_features(1e6 + X * 3, y, **QUICK).errors, plain.errors, atol=1e-6)
    there = plan_n_features(X, y, engine=workers, **QUICK)
    np.testing.assert_array_equal(there.errors, plain.errors)
    np.testing.assert_array_equal(there.upper, plain.upper)


def test_a_table_with_unequal_classes_is_worth_fewer_rows():
    X, y, _ = make_two_gaussians(200, MU, random_state=0)
    kept = np.r_[np.flatnonzero(y > 0), np.flatnonzero(y < 0)[:25]]
    assert plan_n_features(X[kept], y[kept], **QUICK).m == pytest.approx(80)
    assert plan_n_features(X, y, **QUICK).m == pytest.approx(200)


def test_constant_columns_tell_nothing(table):
    X, y = table
    X = np.column_stack([np.full(len(y), 7.0), X])
    plan = plan_n_features(X, y, **QUICK)
    assert plan.order.tolist().index(0) > 40


def test_the_result_reads_well_saves_and_plots(table):
    plan = plan_n_features(*table, **QUICK)
    low, high = plan.n_features_interval
    assert low <= plan.n_features <= high
    assert (plan.lower <= plan.errors).all()
    assert (plan.errors <= plan.upper).all()
    assert repr(plan).startswith(f"SizePlan: {plan.n_features} of 50 columns ({low} to {high} at 90%)")
    assert plan.reading.startswith(f"About {plan.n_features} columns")
    assert "check it by nested evaluation" in plan.reading
    assert json.loads(json.dumps(plan.to_dict()))["order"] == plan.order.tolist()
    assert [trace.name for trace in plan.plot().data] == ["90% band", "estimated error", "best"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.repeat([0, 1, 2, 3], 25)}, "4 classes; the plan is for two"),
        ({"y": np.r_[np.zeros(95), np.ones(5)]}, "Class 1.0 has 5 rows; at least 10"),
        ({"rank_on": "all"}, "'other' or 'same'"),
        ({"order": "variance"}, "'abs_mean' or a function"),
        ({"n_boot": 1}, "n_boot=1"),
        ({"X": np.full((100, 2), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_named(table, change, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        plan_n_features(**{"X": X, "y": y} | change)


def test_a_column_that_gives_the_class_away_is_named(table):
    X, y = table
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="Column 50 has one value in each class"):
            plan_n_features(form(np.column_stack([X, y])), y)


def test_scores_of_the_wrong_shape_are_refused(table):
    with pytest.raises(ValueError, match="one number for each of the 50 columns"):
        plan_n_features(*table, order=lambda rows, labels: [1.0])


def test_correlated_columns_make_the_plan_warn_of_its_own_hope():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    shared = rng.normal(size=(200, 1))
    independent = rng.normal(size=(200, 30)) + 0.4 * y[:, None]
    correlated = (rng.normal(size=(200, 30)) + 1.5 * shared) / np.sqrt(3.25) + 0.4 * y[:, None]
    apart, together = (plan_n_features(X, y, n_boot=20, random_state=0) for X in (independent, correlated))
    assert apart.correlation < 0.1
    assert together.correlation == pytest.approx(2.25 / 3.25, abs=0.1)
    assert "not independent" not in apart.reading
    assert "the error will be higher" in together.reading
    assert plan_n_features(sparse.csr_matrix(correlated), y, n_boot=20, random_state=0).correlation == pytest.approx(
        together.correlation
    )


def test_the_correlation_is_that_inside_the_classes_less_what_chance_makes_of_it():
    rng = np.random.default_rng(1)
    positive = np.arange(40) % 2 == 0
    inside = rng.normal(size=(40, 2)) @ [[1, 0.8], [0, 0.6]]
    for rows in (positive, ~positive):
        inside[rows] -= inside[rows].mean(axis=0)
    X = 0.01 * np.column_stack([inside + 9.0 * positive[:, None], np.ones(40)])  # the class itself must not count
    table = Table(X, X, X**2, positive, positive, "abs_mean", "other")
    r = np.corrcoef(inside.T)[0, 1]
    assert _correlation_within(table, np.arange(3)) == pytest.approx(np.sqrt(r**2 - 1 / 38))
    assert _correlation_within(table, np.array([0])) == _correlation_within(table, np.array([0, 2])) == 0.0


def test_the_reading_looks_at_the_band_where_the_choice_is(table):
    plan = plan_n_features(*table, **QUICK)
    high = np.full(50, 0.6)
    for chosen, sure in ((1, False), (2, True), (3, False)):
        band = np.where(np.arange(1, 51) == 2, 0.4, high)
        said = replace(plan, n_features=chosen, upper=band).reading
        assert said.startswith("About" if sure else "No number of columns is surely better")


def small_table(rank_on):
    X, y, _ = make_two_gaussians(24, np.array([0.9, 0.5, 0.1]), random_state=3)
    return Table(X, X, X**2, y, y > 0, "abs_mean", rank_on)


def standardised(X, y):
    """Half the difference of the class means, in standard deviations within the classes."""
    up, down = X[y > 0], X[y < 0]
    spread = ((up - up.mean(axis=0)) ** 2).sum(axis=0) + ((down - down.mean(axis=0)) ** 2).sum(axis=0)
    return (up.mean(axis=0) - down.mean(axis=0)) / 2 / np.sqrt(spread / (len(y) - 2))


@pytest.mark.parametrize("rank_on", ["other", "same"])
def test_one_split_follows_the_formulas_of_the_module(rank_on):
    table, parts = small_table(rank_on), np.arange(24) // 2 % 3
    expected = []
    for part in range(3):
        a, b = (standardised(table.X[rows], table.y[rows]) for rows in (parts != part, parts == part))
        order = np.argsort(-np.abs(a))
        a, b, df = a[order], b[order], (parts == part).sum() - 2
        if rank_on == "same":
            expected.append(np.cumsum(a * b * (1 - 3 / (4 * df - 1))) / np.sqrt(np.cumsum(a**2)))
        else:
            variance = sum(1 / np.sum((table.y > 0)[parts == part] == side) for side in (True, False)) / 4
            expected.append(np.cumsum((df - 2) / df * b**2 - variance))
    found = curve_of_split(table, np.ones(24, dtype=int), parts, np.random.RandomState(0))
    np.testing.assert_allclose(found, np.mean(expected, axis=0))


@pytest.mark.parametrize(("resample", "n_splits"), [(False, 1), (True, 4)])
def test_a_bootstrap_sample_is_split_four_times_and_the_table_once(resample, n_splits, monkeypatch):
    seen = []

    def noting(table, counts, parts, random):
        seen.append(counts)
        return np.zeros(3)

    monkeypatch.setattr(_size_plan, "curve_of_split", noting)
    _size_plan.curve_of_task((0, resample), small_table("other"))
    assert len(seen) == n_splits
    assert (seen[0].max() > 1) == resample
    assert all(counts.sum() == 24 for counts in seen)
