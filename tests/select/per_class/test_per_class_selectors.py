"""Columns for each class, by statistics of the classes and by recursive elimination."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import ttest_ind
from sklearn.base import clone
from sklearn.feature_selection import RFE, f_classif
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fewer.datasets import load, make_gene_blocks
from fewer.evaluate import selection_curve
from fewer.select import (
    BWRatioSelector,
    OVEFoldChangeSelector,
    OVRSNRSelector,
    OVRSVMRFESelector,
    OVRTStatSelector,
    SelectTop,
    bw_ratio_score,
    fold_change_score,
)
from fewer.select.embedded._elimination import n_dropped
from fewer.select.per_class._ovr_svm_rfe import ProductWeights, centred_products
from tolerances import rounding

WITH_LISTS = [OVEFoldChangeSelector, OVRSNRSelector, OVRTStatSelector, OVRSVMRFESelector]
ALL = [*WITH_LISTS, BWRatioSelector]


@pytest.fixture(scope="module")
def wine():
    table = load("wine")
    return np.log(table.X), table.y


def test_contrasts_by_their_definitions(wine):
    X, y = wine
    labels, tolerance = np.unique(y), rounding(len(y), np.abs(X).max())
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    for k, label in enumerate(labels):
        others = np.delete(means, k, axis=0)
        up = {
            "ove": means[k] - others.max(axis=0),
            "ovr-classes": means[k] - others.mean(axis=0),
            "ovr-samples": means[k] - X[y != label].mean(axis=0),
        }
        down = {name: -value for name, value in up.items()} | {"ove": others.min(axis=0) - means[k]}
        for contrast in up:
            found = {
                direction: fold_change_score(X, y, direction=direction, contrast=contrast)[k]
                for direction in ("up", "down", "both")
            }
            np.testing.assert_allclose(found["up"], up[contrast], rtol=0, atol=tolerance)
            np.testing.assert_allclose(found["down"], down[contrast], rtol=0, atol=tolerance)
            np.testing.assert_allclose(found["both"], np.maximum(up[contrast], down[contrast]), rtol=0, atol=tolerance)


def test_with_two_classes_every_contrast_is_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 7)), np.repeat([0, 1], [10, 20])
    scores = [fold_change_score(X, y, contrast=contrast) for contrast in ("ove", "ovr-classes", "ovr-samples")]
    tolerance = rounding(30, np.abs(X).max())
    np.testing.assert_allclose(scores[1], scores[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(scores[2], scores[0], rtol=0, atol=tolerance)


def test_lists_of_higher_columns_are_disjoint_and_as_long_as_asked_for():
    X, y, _ = make_gene_blocks(random_state=0)
    select = OVEFoldChangeSelector(n_per_class=20).fit(X, y)
    assert [len(columns) for columns in select.selected_per_class_] == [20, 20, 20]
    assert select.get_support().sum() == 60
    for k, columns in enumerate(select.selected_per_class_):
        assert (np.diff(select.class_scores_[k, columns]) <= 0).all()
        np.testing.assert_array_equal(columns, select.ranking_per_class_[k, :20])


def test_signal_to_noise_and_welch_against_the_rest(wine):
    X, y = wine
    snr, welch = OVRSNRSelector(3).fit(X, y), OVRTStatSelector(3).fit(X, y)
    for k, label in enumerate(snr.classes_):
        own, rest = X[y == label], X[y != label]
        apart = np.abs(own.mean(axis=0) - rest.mean(axis=0))
        spread = own.std(axis=0, ddof=1) + rest.std(axis=0, ddof=1)
        np.testing.assert_allclose(snr.class_scores_[k], apart / spread)
        np.testing.assert_allclose(welch.class_scores_[k], np.abs(ttest_ind(own, rest, equal_var=False).statistic))


def test_one_list_is_that_of_the_f_statistic_and_as_long_as_the_others_together(wine):
    X, y = wine
    select = BWRatioSelector(n_per_class=2).fit(X, y)
    np.testing.assert_array_equal(np.argsort(select.ranking_), np.argsort(-f_classif(X, y)[0], kind="stable"))
    np.testing.assert_allclose(select.scores_, bw_ratio_score(X, y))
    assert select.get_support().sum() == 6


@pytest.mark.parametrize("selector", ALL)
def test_every_number_is_read_off_one_fit(selector, wine):
    X, y = wine
    once = selector(n_per_class=1).fit(X, y)
    for number in (1, 2, 3, 5, 13):
        again = selector(n_per_class=number).fit(X, y)
        np.testing.assert_array_equal(once.subset(number), again.get_support(indices=True))
        head = np.argsort(again.ranking_)[: again.get_support().sum()]
        np.testing.assert_array_equal(np.sort(head), again.get_support(indices=True))


def test_select_top_with_the_score_keeps_the_same_columns(wine):
    X, y = wine
    top = SelectTop("fold_change", n_features_to_select=2, per_class=True).fit(X, y)
    ours = OVEFoldChangeSelector(n_per_class=2).fit(X, y)
    np.testing.assert_array_equal(top.ranking_, ours.ranking_)
    np.testing.assert_array_equal(top.get_support(), ours.get_support())


@pytest.mark.parametrize("selector", ALL)
def test_of_equal_columns_the_first_comes_first(selector):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    column = rng.normal(size=30) + y
    X = np.column_stack([np.zeros(30), column, column, column, np.ones(30)])
    ranking = selector(n_per_class=1).fit(X, y).ranking_
    assert ranking[1] < ranking[2] < ranking[3]


def test_min_score_leaves_places_empty():
    y = np.repeat(["a", "b", "c"], 4)
    X = np.zeros((12, 4))
    X[y == "a", 0], X[y == "a", 1], X[y == "b", 2] = 2.0, 0.5, 1.5
    select = OVEFoldChangeSelector(n_per_class=3, min_score=1.0).fit(X, y)
    assert [columns.tolist() for columns in select.selected_per_class_] == [[0], [2], []]
    assert select.get_support(indices=True).tolist() == [0, 2]
    assert set(select.ranking_[[0, 2]]) == {1, 2}
    assert select.subset(100).tolist() == [0, 2]
    with pytest.warns(UserWarning, match="No column reaches min_score=5"):
        best = OVEFoldChangeSelector(min_score=5, n_per_class=2).fit(X, y)
    assert best.get_support(indices=True).tolist() == [0]


def test_more_columns_than_there_are_is_a_warning_and_keeps_all(wine):
    X, y = wine
    with pytest.warns(UserWarning, match="n_per_class=14 .* has 13"):
        select = OVEFoldChangeSelector(n_per_class=14).fit(X, y)
    assert select.get_support().all()
    assert select.n_per_class_ == 13


def test_raw_intensities_are_scored_on_the_log_scale():
    rng = np.random.default_rng(0)
    X, y = rng.lognormal(size=(30, 6)), np.repeat([0, 1, 2], 10)
    for selector in ALL:
        raw, logs = selector(2, log_transform=True).fit(X, y), selector(2).fit(np.log(X), y)
        np.testing.assert_array_equal(raw.ranking_, logs.ranking_)
        np.testing.assert_array_equal(raw.transform(X), X[:, raw.get_support()])


def test_values_that_are_not_positive_need_a_floor():
    X = pd.DataFrame({"cd99": [1.0, 2.0, 0.0, 4.0], "myc": [3.0, 2.0, 1.0, 5.0]})
    y = [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"1 values are not positive, the first in row 2 of column 'cd99'"):
        OVEFoldChangeSelector(1, log_transform=True).fit(X, y)
    floored = OVEFoldChangeSelector(1, log_transform=True, floor=0.5).fit(X, y)
    by_hand = OVEFoldChangeSelector(1).fit(np.log(X.replace(0.0, 0.5)), y)
    np.testing.assert_allclose(floored.class_scores_, by_hand.class_scores_)
    with pytest.raises(ValueError, match="sparse table is full of zeros"):
        OVEFoldChangeSelector(1, log_transform=True).fit(sparse.csr_array(X.to_numpy()), y)
    thin = OVEFoldChangeSelector(1, log_transform=True, floor=0.5).fit(sparse.csr_array(X.to_numpy()), y)
    np.testing.assert_allclose(thin.class_scores_, by_hand.class_scores_, rtol=0, atol=rounding(4, scale=np.log(5)))


def test_the_report_names_columns_and_fold_changes(wine):
    table = load("wine")
    frame = pd.DataFrame(np.log(table.X), columns=table.columns)
    select = OVEFoldChangeSelector(n_per_class=2).fit(frame, table.y)
    report = select.report_table()
    assert isinstance(report, pl.DataFrame)
    assert report.columns == ["class", "place", "column", "score", "fold_change"]
    assert report.height == 6
    first = report.row(0, named=True)
    assert first["column"] == table.columns[select.ranking_per_class_[0, 0]]
    assert first["fold_change"] == pytest.approx(np.exp(select.class_scores_[0].max()))
    one_list = BWRatioSelector(n_per_class=1).fit(frame, table.y).report_table()
    assert one_list["place"].to_list() == [1, 2, 3]
    assert one_list["score"].is_sorted(descending=True)


@pytest.mark.parametrize("selector", ALL)
@pytest.mark.parametrize("kind", ["float32", "integers", "one column", "constant", "words", "one row of a class"])
def test_odd_tables_are_taken(selector, kind):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(5, size=(24, 5)).astype(float), np.repeat([0, 1, 2], 8)
    X[:, 2] += 3 * y
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "integers":
        X = X.astype(int)
    elif kind == "one column":
        X = X[:, :1]
    elif kind == "constant":
        X[:] = 1.0
    elif kind == "words":
        y = np.array(["ewing", "burkitt", "neural"])[y]
    else:
        y[:] = 1
        y[0], y[12:] = 0, 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        select = selector(n_per_class=1).fit(X, y)
    assert sorted(select.ranking_) == list(range(1, X.shape[1] + 1))
    assert 1 <= select.get_support().sum() <= 3
    assert np.isfinite(select.scores_).all()


@pytest.mark.parametrize("selector", ALL)
def test_one_class_is_refused(selector):
    with pytest.raises(ValueError, match="one class only"):
        selector().fit(np.eye(4), [1, 1, 1, 1])


@pytest.mark.parametrize("selector", [OVEFoldChangeSelector(3), OVRSVMRFESelector(3)])
def test_a_curve_over_all_numbers_of_columns_reads_the_ranking(selector, wine):
    X, y = wine
    curve = selection_curve(clone(selector), KNeighborsClassifier(), X, y, cv=3, sizes=[1, 4], random_state=0)
    assert curve.sizes.tolist() == [1, 4, 13]
    assert curve.mean[1] > 0.8


@pytest.fixture(scope="module")
def blocks():
    X, y, _ = make_gene_blocks(n_per_class=12, n_blocks=20, block_size=4, random_state=0)
    return X, y


@pytest.mark.parametrize("step", [1, 7])
def test_the_columns_left_are_those_of_scikit_learn(blocks, step):
    X, y = blocks
    select = OVRSVMRFESelector(n_per_class=6, step=step).fit(X, y)
    for k, label in enumerate("ABC"):
        machine = SVC(kernel="linear", tol=1e-9)
        peer = RFE(machine, n_features_to_select=6, step=step).fit(X, y == label)
        assert set(select.selected_per_class_[k]) == set(np.flatnonzero(peer.support_))
    if step == 1:
        np.testing.assert_array_equal(select.ranking_per_class_[2][6:], np.argsort(peer.ranking_, kind="stable")[6:])


def test_weights_of_fewer_and_fewer_columns_are_those_of_new_machines(blocks):
    X, y = blocks
    X = X * np.logspace(-2, 2, X.shape[1])  # so that columns taken away were the largest ones
    signs = np.where(y == "A", 1.0, -1.0)
    weights = ProductWeights(X, centred_products(X), signs, C=0.01, tol=1e-9)
    for n_left in (80, 70, 61, 41, 39, 20, 19, 3):
        left = np.arange(n_left)
        anew = SVC(kernel="linear", C=0.01, tol=1e-10).fit(X[:, left], signs).coef_[0]
        np.testing.assert_allclose(weights(left), anew, atol=2e-5 * np.abs(anew).max())


def test_sparse_tables_give_the_same_ranking(blocks):
    X, y = blocks
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense, thin = OVRSVMRFESelector(4).fit(X, y), OVRSVMRFESelector(4).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.ranking_per_class_, thin.ranking_per_class_)


@pytest.mark.parametrize(
    ("left", "step", "dropped"), [(100, 0.1, 10), (5, 0.1, 1), (2, 0.9, 1), (10, 20, 9), (10, 3, 3)]
)
def test_columns_dropped_in_a_round(left, step, dropped):
    assert n_dropped(left, step) == dropped


def test_many_rows_are_eliminated_by_machines_trained_anew(monkeypatch, blocks):
    X, y = blocks
    few = OVRSVMRFESelector(4).fit(X, y)
    monkeypatch.setattr("fewer.select.per_class._ovr_svm_rfe._MOST_ROWS_IN_PAIRS", 10)
    many = OVRSVMRFESelector(4).fit(X, y)
    np.testing.assert_array_equal(few.ranking_per_class_, many.ranking_per_class_)


class StopAfter:
    """A callback that stops after some rounds."""

    def __init__(self, n_rounds):
        self.n_rounds = n_rounds
        self.seen = 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.parent is None:
            return False
        self.seen += 1
        return self.seen >= self.n_rounds


def test_a_stopped_elimination_ranks_what_is_left_by_weight(blocks):
    X, y = blocks
    full = OVRSVMRFESelector(4, step=20).fit(X, y)
    stop = StopAfter(2)
    stopped = OVRSVMRFESelector(4, step=20).set_callbacks(stop).fit(X, y)
    assert stop.seen == 2  # the classes that follow have one round, unasked
    assert full.n_iter_ > stopped.n_iter_ == 2
    np.testing.assert_array_equal(stopped.ranking_per_class_[:, 60:], full.ranking_per_class_[:, 60:])
    by_weight = np.argsort(-stopped.class_scores_[1], kind="stable")
    np.testing.assert_array_equal(stopped.ranking_per_class_[1], by_weight)
