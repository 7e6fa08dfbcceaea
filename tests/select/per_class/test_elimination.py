"""Recursive elimination: the same columns as scikit-learn's, round by round, and stopping half-way."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

from fewer.datasets import make_gene_blocks
from fewer.select import OVRSVMRFESelector
from fewer.select.embedded._elimination import n_dropped
from fewer.select.per_class._ovr_svm_rfe import ProductWeights, centred_products


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
