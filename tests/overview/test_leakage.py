"""Columns that give the target away: found when planted, whatever their kind, and never in noise."""

import datetime

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import read_table
from fewer.overview import describe
from fewer.overview._leakage import _sorted_with, category_class_score, class_scores, enough_to_tell, rank_scores


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def classes(rng):
    return rng.permutation(np.repeat(["ill", "well"], [80, 120]))


def found_in(table, target):
    return {item.column: item for item in describe(read_table(table, target=target)).leaking_columns}


def test_noise_gives_nothing_away_in_a_wide_table(rng):
    X = rng.normal(size=(60, 4000))
    for target in (rng.permutation(np.arange(60) % 2), rng.permutation(np.arange(60) % 4), rng.normal(size=60)):
        description = describe(read_table(X, target=target))
        assert description.leakage_checked
        assert description.leaking_columns == ()


def test_noise_with_missing_values_gives_nothing_away(rng):
    X = rng.normal(size=(60, 3000))
    X[rng.random(X.shape) < 0.3] = np.nan
    assert found_in(X, rng.permutation(np.arange(60) % 2)) == {}


def test_rows_too_few_to_tell_are_not_judged_and_this_is_said(rng):
    X = rng.normal(size=(10, 5000))
    labels = np.arange(10) % 2
    assert class_scores(X, labels).separates.any()  # luck: some columns do part the classes
    description = describe(read_table(X, target=labels))
    assert description.leaking_columns == ()
    assert not description.leakage_checked
    assert any("leakage was not checked" in sentence for sentence in description.advice)


def test_enough_rows_depend_on_the_rarest_class_and_the_number_of_columns():
    assert enough_to_tell(np.array([30, 30]), 20_000)
    assert not enough_to_tell(np.array([99, 1]), 100)
    assert enough_to_tell(np.array([10, 10]), 10)
    assert not enough_to_tell(np.array([10, 10]), 20_000)


def test_numbers_that_follow_the_class_are_found(rng, classes):
    table = {
        "noise": rng.normal(size=200),
        "weak": (classes == "ill") + rng.normal(size=200),
        "shifted": 10.0 * (classes == "ill") + rng.normal(size=200),
        "code": np.where(classes == "ill", 3, 8),
        "y": classes,
    }
    found = found_in(table, "y")
    assert set(found) == {"shifted", "code"}
    assert found["code"].score == 1.0
    assert found["code"].measure == "balanced accuracy"


def test_a_threshold_without_a_gap_is_found_though_border_rows_are_hard(rng):
    pressure = rng.normal(size=60)
    labels = (pressure > 0.1).astype(int)
    assert set(found_in(np.column_stack([rng.normal(size=60), pressure]), labels)) == {"x1"}


def test_classes_in_several_ranges_of_a_number_are_found(rng):
    values = rng.uniform(0, 6, size=2000)
    assert set(found_in({"v": values, "n": rng.normal(size=2000), "y": np.floor(values) % 3}, "y")) == {"v"}


def test_a_few_wrong_labels_do_not_hide_a_give_away(rng):
    labels = rng.permutation(np.arange(1000) % 2)
    values = labels + 0.1 * rng.normal(size=1000)
    labels[:4] = 1 - labels[:4]
    found = found_in({"v": values, "y": labels}, "y")
    assert 0.99 <= found["v"].score < 1.0


def test_categories_that_follow_the_class_are_found_but_not_identifiers(rng, classes):
    table = {
        "discharge": np.where(classes == "ill", rng.choice(["icu", "ward"], 200), "home"),
        "random": rng.choice(["a", "b", "c"], 200),
        "name": [f"P{i:04d}" for i in range(200)],
        "y": classes,
    }
    assert set(found_in(table, "y")) == {"discharge"}


def test_pairs_of_twins_do_not_look_perfect():
    labels = np.repeat([0, 1], 50)
    assert category_class_score(np.arange(100), labels)[0] == 0.0
    assert category_class_score(np.arange(100) // 2, np.tile([0, 1], 50))[0] == 0.0


def test_missing_cells_alone_can_give_the_class_away(rng, classes):
    days = np.where(classes == "ill", rng.normal(size=200), np.nan)
    only_yes = [None if label == "well" else "seen" for label in classes]
    words = [None if label == "well" else str(rng.choice(["a", "b", "c"])) for label in classes]
    table = pl.DataFrame({"days": days, "seen": only_yes, "words": words, "x": rng.normal(size=200), "y": classes})
    found = found_in(table, "y")
    assert set(found) == {"days", "seen", "words"}
    assert {item.by for item in found.values()} == {"missing cells"}
    assert found["days"].known == pytest.approx(0.4)


def test_a_give_away_with_missing_values_is_found_on_the_rows_where_it_is_known(rng, classes):
    code = np.where(classes == "ill", 1.5, 7.5)
    code[rng.random(200) < 0.3] = np.nan
    word = [None if rng.random() < 0.3 else label.upper() for label in classes]
    found = found_in(pl.DataFrame({"code": code, "word": word, "x": rng.normal(size=200), "y": classes}), "y")
    assert set(found) == {"code", "word"}
    assert {item.by for item in found.values()} == {"values"}
    assert 0.6 < found["code"].known < 0.8


def test_dates_give_the_class_away(rng, classes):
    start = datetime.date(2020, 1, 1)
    days = np.where(classes == "ill", 0, 2000) + rng.integers(0, 300, 200)
    table = {
        "when": [start + datetime.timedelta(days=int(day)) for day in days],
        "then": [start + datetime.timedelta(days=int(day)) for day in rng.integers(0, 2000, 200)],
        "y": classes,
    }
    assert set(found_in(table, "y")) == {"when"}


def test_the_order_of_the_rows_tells_nothing_about_equal_values():
    labels = np.repeat([0, 1], 300)
    X = np.column_stack([np.tile([0.0, 1.0, 2.0], 200), np.tile([0.0, 5.0], 300)])
    assert found_in(X, labels) == {}


def test_equal_values_stay_in_the_order_of_the_rows_on_any_processor(rng):
    values = rng.integers(0, 3, size=(4, 500)).astype(float)
    values[:, ::7] = np.nan
    found, rows = _sorted_with(values, np.arange(500))
    same = (found[:, 1:] == found[:, :-1]) | np.isnan(found[:, 1:]) & np.isnan(found[:, :-1])
    assert same.sum() == 4 * (499 - 3)
    assert (np.diff(rows, axis=1)[same] > 0).all()


def test_a_target_of_numbers_is_given_away_by_any_smooth_function_of_it(rng):
    target = rng.normal(size=300)
    table = {
        "log": np.exp(3 * target),
        "falling": -target + 0.01 * rng.normal(size=300),
        "related": target + rng.normal(size=300),
        "noise": rng.normal(size=300),
        "y": target,
    }
    found = found_in(table, "y")
    assert set(found) == {"log", "falling"}
    assert found["log"].measure == "R2 on ranks"


def test_a_number_that_orders_a_small_table_like_the_target_is_found(rng):
    target = rng.normal(size=15)
    X = np.column_stack([rng.normal(size=15), -np.exp(target), np.floor(target)])
    assert set(found_in(X, target)) == {"x1"}


def test_a_target_of_numbers_is_given_away_by_categories(rng):
    group = rng.integers(0, 30, size=900)
    table = {
        "group": [f"g{code}" for code in group],
        "other": [f"g{code}" for code in rng.permutation(group)],
        "y": group + 0.3 * rng.random(900),
    }
    assert set(found_in(table, "y")) == {"group"}


def test_outliers_do_not_make_a_column_give_a_number_away(rng):
    target, values = rng.normal(size=100), rng.normal(size=100)
    target[0] = values[0] = 1e6
    assert np.corrcoef(target, values)[0, 1] > 0.99
    assert found_in({"v": values, "y": target}, "y") == {}


def test_what_passes_on_some_rows_is_judged_on_all_rows(rng):
    labels = rng.permutation(np.arange(20_000) % 2)
    almost = labels + 0.01 * rng.normal(size=20_000)
    wrong = rng.random(20_000) < 0.03
    almost[wrong] = 1 - almost[wrong]
    assert set(found_in({"almost": almost, "sure": labels * 2.0 - 7, "y": labels}, "y")) == {"sure"}


def test_a_rare_class_is_judged_like_the_others(rng):
    labels = np.zeros(5000, dtype=int)
    labels[rng.choice(5000, 25, replace=False)] = 1
    table = {"flag": labels * 4.0 + rng.normal(size=5000) * 0.1, "constant_guess": rng.normal(size=5000), "y": labels}
    assert set(found_in(table, "y")) == {"flag"}


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_sparse_tables_give_away_what_dense_ones_do(rng, task):
    X = rng.poisson(0.3, size=(600, 80)).astype(float)
    target = rng.permutation(np.arange(600) % 2) if task == "classes" else rng.normal(size=600)
    X[:, 40] = np.where(target > 0, 5.0 + target, 0.0) if task == "classes" else np.exp(target)
    assert set(found_in(sp.csr_matrix(X), target)) == set(found_in(X, target)) == {"x40"}


def test_scores_on_ranks_are_low_for_noise(rng):
    scores = rank_scores(rng.normal(size=(100, 500)), rng.permutation(100))
    assert scores.best().max() < 0.5
