"""Markers and machines in one: the pieces, the number of columns chosen inside, logarithms, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from fewer.datasets import make_gene_blocks
from fewer.learn import OVRLinearSVMCommittee
from fewer.select import PUGOVRSVM, OVEFoldChangeSelector
from fewer.select.per_class import argmin_smoothed_error, smoothed_errors


@pytest.fixture(scope="module")
def blocks():
    return make_gene_blocks(n_per_class=15, n_blocks=60, random_state=3)


def test_it_is_a_selector_followed_by_a_committee(blocks):
    X, y, _ = blocks
    whole = PUGOVRSVM(n_per_class=4).fit(X, y)
    columns = OVEFoldChangeSelector(4).fit(X, y).get_support()
    committee = OVRLinearSVMCommittee().fit(X[:, columns], y)
    np.testing.assert_allclose(whole.decision_function(X), committee.decision_function(X[:, columns]))
    piped = whole.as_pipeline().fit(X, y)
    np.testing.assert_allclose(piped.decision_function(X), whole.decision_function(X))


def test_the_number_is_that_with_the_smallest_sustained_error(blocks):
    X, y, _ = blocks
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = PUGOVRSVM(grid=[1, 2, 4, 8, 16], window=3, cv=folds).fit(X, y)
    errors = [np.mean(cross_val_predict(PUGOVRSVM(number), X, y, cv=folds) != y) for number in model.grid_]
    np.testing.assert_allclose(model.grid_errors_, errors)
    means = np.convolve(errors, np.ones(3) / 3, mode="valid")
    assert model.n_per_class_ == model.grid_[1 + means.argmin()]


def test_raw_values_are_used_on_the_log_scale(blocks):
    X, y, _ = blocks
    raw = np.exp(X)
    logs, model = PUGOVRSVM(5).fit(X, y), PUGOVRSVM(5, log_transform=True).fit(raw, y)
    np.testing.assert_allclose(model.decision_function(raw), logs.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(
        model.as_pipeline().fit(raw, y).decision_function(raw), logs.decision_function(X), atol=1e-6
    )
    raw[0, 0] = -1.0
    with pytest.raises(ValueError, match="Give floor="):
        PUGOVRSVM(5, log_transform=True).fit(raw, y)
    assert PUGOVRSVM(5, log_transform=True, floor=1e-3).fit(raw, y).score(raw, y) > 0.9


def test_sparse_raw_values_with_a_floor_predict_as_dense_ones(blocks):
    X, y, _ = blocks
    raw = np.where(X < 1, 0.0, np.exp(X))
    dense = PUGOVRSVM(5, log_transform=True, floor=0.5).fit(raw, y)
    thin = PUGOVRSVM(5, log_transform=True, floor=0.5).fit(sparse.csr_array(raw), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(raw)), dense.decision_function(raw), atol=1e-5)


def test_names_reach_the_report(blocks):
    X, y, _ = blocks
    frame = pd.DataFrame(X, columns=[f"gene {column}" for column in range(X.shape[1])])
    report = PUGOVRSVM(2).fit(frame, y).selector_.report_table()
    assert report["column"].str.starts_with("gene ").all()


def test_few_rows_have_fewer_folds_and_single_ones_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8)) + np.repeat([[0], [3]], 3, axis=0)
    assert PUGOVRSVM().fit(X, [0, 0, 0, 1, 1, 1]).grid_.tolist() == list(range(2, 9))
    with pytest.raises(ValueError, match="no class has two rows"):
        PUGOVRSVM().fit(X[:3], [0, 1, 2])
    assert PUGOVRSVM(2).fit(X[:3], [0, 1, 2]).n_per_class_ == 2


@pytest.mark.parametrize(
    ("grid", "message"), [([], "grid is empty"), ([0, 1], "grid holds 0"), ([1.5], "grid holds 1.5")]
)
def test_bad_grids_are_refused(blocks, grid, message):
    with pytest.raises(ValueError, match=message):
        PUGOVRSVM(grid=grid).fit(blocks.X, blocks.y)


def test_sustained_errors_by_hand():
    errors = np.array([0.5, 0.1, 0.5, 0.3, 0.3, 0.3, 0.4])
    np.testing.assert_allclose(smoothed_errors(errors, 3)[1:-1], [1.1 / 3, 0.9 / 3, 1.1 / 3, 0.3, 1 / 3])
    assert argmin_smoothed_error(errors, 3) == 2
    assert argmin_smoothed_error(errors, 1) == 1
    assert argmin_smoothed_error(errors[:2], 5) == 0
    np.testing.assert_allclose(smoothed_errors(np.arange(5.0), 4)[1:3], [1.5, 2.5])
