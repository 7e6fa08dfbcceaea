"""Errors over the number of columns per class: against plain cross-validation, nested choice, odd input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewer.datasets import make_gene_blocks
from fewer.engine import Engine
from fewer.evaluate import nested_sustainable_error, overlap_rate, sustainable_error_curve
from fewer.learn import OVRLinearSVMCommittee
from fewer.select import PUGOVRSVM, BWRatioSelector, OVEFoldChangeSelector, OVRSNRSelector

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)
GRID = [1, 2, 4, 7, 11]


@pytest.fixture(scope="module")
def blocks():
    X, y, _ = make_gene_blocks(n_per_class=12, n_blocks=30, random_state=5)
    return X, y


@pytest.mark.parametrize(
    ("selector", "learner"),
    [
        (OVEFoldChangeSelector, OVRLinearSVMCommittee()),
        (OVRSNRSelector, KNeighborsClassifier(1)),
        (BWRatioSelector, GaussianNB()),
        (OVEFoldChangeSelector, SVC(kernel="linear")),
    ],
)
def test_the_curve_is_that_of_one_cross_validation_for_each_number(selector, learner, blocks):
    X, y = blocks
    curve = sustainable_error_curve(make_pipeline(selector(), learner), X, y, grid=GRID, window=3, cv=FOLDS)
    for place, number in enumerate(GRID):
        predicted = cross_val_predict(make_pipeline(selector(number), learner), X, y, cv=FOLDS)
        np.testing.assert_array_equal(curve.wrong[place], (predicted != y)[curve.held_out])
    np.testing.assert_allclose(curve.errors, curve.wrong.mean(axis=1))
    np.testing.assert_allclose(curve.sustained[1:-1], np.convolve(curve.errors, np.ones(3) / 3, mode="valid"))
    assert np.isnan(curve.sustained[[0, -1]]).all()
    assert curve.sustainable_error == np.nanmin(curve.sustained)
    assert curve.grid[np.nanargmin(curve.sustained)] == curve.n_per_class
    assert curve.lowest_error == curve.errors.min()


def test_a_selector_without_lists_gives_as_many_columns_as_there_are_classes_times_the_number(blocks):
    X, y = blocks
    ours = sustainable_error_curve(make_pipeline(BWRatioSelector(), GaussianNB()), X, y, grid=GRID, cv=FOLDS)
    peer = sustainable_error_curve(make_pipeline(SelectKBest(f_classif), GaussianNB()), X, y, grid=GRID, cv=FOLDS)
    np.testing.assert_array_equal(ours.wrong, peer.wrong)
    np.testing.assert_array_equal(peer.n_columns, 3 * np.array(GRID))


def test_steps_before_the_selector_are_fitted_inside(blocks):
    X, y = blocks
    model = make_pipeline(StandardScaler(), OVEFoldChangeSelector(), OVRLinearSVMCommittee())
    curve = sustainable_error_curve(model, X, y, grid=[3], cv=FOLDS)
    model.set_params(ovefoldchangeselector__n_per_class=3)
    assert curve.errors[0] == np.mean(cross_val_predict(model, X, y, cv=FOLDS) != y)


def test_leave_one_out_is_the_default(blocks):
    X, y = blocks
    curve = sustainable_error_curve(PUGOVRSVM(), X, y, grid=[2])
    assert curve.held_out.tolist() == list(range(36))
    assert curve.errors[0] == np.mean(cross_val_predict(PUGOVRSVM(2), X, y, cv=LeaveOneOut()) != y)


def test_tables_of_any_kind_give_the_same_curve(blocks):
    X, y = blocks
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    plain = sustainable_error_curve(PUGOVRSVM(), X, y, grid=GRID, cv=FOLDS)
    for table in (pd.DataFrame(X), sparse.csr_array(X), X.tolist()):
        other = sustainable_error_curve(PUGOVRSVM(), table, y.tolist(), grid=GRID, cv=FOLDS)
        np.testing.assert_array_equal(other.wrong, plain.wrong)


def test_raw_values_go_through_their_logarithms(blocks):
    X, y = blocks
    plain = sustainable_error_curve(PUGOVRSVM(), X, y, grid=GRID, cv=FOLDS)
    raw = sustainable_error_curve(PUGOVRSVM(log_transform=True), pd.DataFrame(np.exp(X)), y, grid=GRID, cv=FOLDS)
    np.testing.assert_array_equal(raw.wrong, plain.wrong)


def test_the_nested_error_chooses_without_the_rows_held_out(blocks):
    X, y = blocks
    rng = np.random.default_rng(0)
    y = rng.permutation(y)  # so that the numbers chosen differ from fold to fold
    folds = list(FOLDS.split(X, y))
    nested = nested_sustainable_error(PUGOVRSVM(), X, y, grid=GRID, window=1, cv=folds, inner_cv="loo")
    wrong = []
    for number, (train, test) in zip(nested.n_per_class, folds, strict=True):
        inside = sustainable_error_curve(PUGOVRSVM(), X[train], y[train], grid=GRID, window=1)
        assert number == inside.n_per_class
        wrong.append(PUGOVRSVM(int(number)).fit(X[train], y[train]).predict(X[test]) != y[test])
    np.testing.assert_array_equal(nested.wrong, np.concatenate(wrong))
    assert nested.error == np.mean(np.concatenate(wrong))
    plain = sustainable_error_curve(PUGOVRSVM(), X, y, grid=GRID, window=1, cv=folds)
    np.testing.assert_array_equal(nested.curve.wrong, plain.wrong)
    assert nested.optimism == nested.error - plain.sustainable_error


def test_an_engine_gives_the_same(blocks):
    X, y = blocks
    plain = nested_sustainable_error(PUGOVRSVM(), X, y, grid=[1, 3], cv=3, inner_cv=2, random_state=0)
    with Engine.local(1) as engine:
        again = nested_sustainable_error(
            PUGOVRSVM(), X, y, grid=[1, 3], cv=3, inner_cv=2, random_state=0, engine=engine
        )
    np.testing.assert_array_equal(plain.wrong, again.wrong)


def test_results_print_plot_and_become_plain_data(blocks):
    X, y = blocks
    nested = nested_sustainable_error(PUGOVRSVM(), X, y, grid=range(1, 9), cv=3, inner_cv=3, random_state=0)
    assert "optimistic" in repr(nested.curve)
    assert f"{nested.error:.4f}" in repr(nested)
    assert [trace.name for trace in nested.plot().data][-1] == "nested error"
    data = nested.to_dict()
    assert data["curve"]["sustained"][0] is None
    assert len(data["n_per_class"]) == 3


def test_numbers_above_the_columns_are_left_out(blocks):
    X, y = blocks
    curve = sustainable_error_curve(PUGOVRSVM(), X[:, :6], y, cv=3, random_state=0)
    assert curve.grid.tolist() == [2, 3, 4, 5, 6]
    single = sustainable_error_curve(PUGOVRSVM(), X[:, :1], y, cv=3, random_state=0)
    assert single.grid.tolist() == [1]
    assert not np.isnan(single.sustainable_error)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0}, "window=0"),
        ({"grid": [0]}, "grid holds 0"),
        ({"cv": "ten"}, "neither 'loo'"),
        ({"y": np.zeros(36)}, "one class only"),
        ({"y": np.linspace(0, 1, 36)}, "so it is a quantity"),
        ({"y": np.repeat([0, 1], [35, 1])}, "no row of class"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_refused(change, message, blocks):
    arguments = {"X": blocks[0], "y": blocks[1]} | change
    with pytest.raises(ValueError, match=message):
        sustainable_error_curve(PUGOVRSVM(), **arguments)


def test_estimators_without_a_selector_are_refused(blocks):
    for estimator in (SVC(), make_pipeline(SVC())):
        with pytest.raises(TypeError, match="ends with a selector and a classifier"):
            sustainable_error_curve(estimator, *blocks)


@pytest.mark.parametrize(
    ("first", "second", "rate"), [([1, 2], [2, 3, 4], 1 / 3), ([1, 1, 2], [2, 1], 1.0), ([], [], 1.0), ([], [1], 0.0)]
)
def test_overlap_is_of_the_longer_list(first, second, rate):
    assert overlap_rate(first, second) == pytest.approx(rate)
