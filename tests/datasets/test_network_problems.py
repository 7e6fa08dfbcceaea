"""Problems whose columns are the nodes of a known network."""

import numpy as np
import pytest

from fewer.datasets import make_changing_network, make_class_trees, make_conditional_link, make_corral


def test_a_column_follows_its_parents_while_they_are_its_parents():
    X, _, truth = make_changing_network([2000, 2000], [(0, 1)], [(0, 1)], n_features=2, random_state=0)
    before, after = X[:-1, 0], X[1:, 1]
    first, second = (abs(np.corrcoef(before[part], after[part])[0, 1]) for part in (slice(1998), slice(1999, None)))
    assert first == pytest.approx(np.tanh(1.1), abs=0.05)  # 2 logistic(2.2) - 1
    assert second < 0.1
    assert truth["networks"].sum(axis=(1, 2)).tolist() == [1, 0]


def test_the_recipe_of_the_paper():
    X, y, truth = make_changing_network(random_state=0)
    assert y is None
    assert truth["networks"].sum(axis=(1, 2)).tolist() == [8, 9, 8, 9, 8, 9, 8]
    assert (np.diff(truth["networks"].astype(int), axis=0) != 0).sum(axis=(1, 2)).tolist() == [1] * 6
    assert not truth["networks"][:, 8:].any()
    np.testing.assert_array_equal(X, make_changing_network(random_state=0).X)


def test_wrong_networks_are_refused():
    with pytest.raises(ValueError, match="each epoch but the first needs one change"):
        make_changing_network([10, 10], changes=())
    with pytest.raises(ValueError, match="is less than the columns"):
        make_changing_network(n_features=3)
    with pytest.raises(ValueError, match="n_samples=3"):
        make_class_trees(3)


def test_half_the_rows_of_a_class_follow_the_first_tree():
    X, y, truth = make_class_trees(40_000, n_features=5, n_classes=3, n_levels=3, random_state=0)
    assert np.bincount(y).tolist() == [20_000, 10_000, 10_000]
    (parent, child), *_ = np.argwhere(truth["adjacency"][0] & ~truth["adjacency"][1] & ~truth["adjacency"][1].T)
    # The joint table of an edge of the first tree, in class 0 and in class 1, where half of the rows dilute it.
    tables = [
        np.histogram2d(X[y == label, parent], X[y == label, child], bins=3)[0] / np.sum(y == label) for label in (0, 1)
    ]
    apart = [np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() for table in tables]
    assert apart[1] < 0.8 * apart[0]


def test_two_bits_agree_in_one_class_and_not_in_the_other():
    X, y, truth = make_conditional_link(20_000, random_state=0)
    first, third = X[:, truth["edge"]].T
    agree = [np.mean(first[y == label] == third[y == label]) for label in (0, 1)]
    assert agree == pytest.approx([0.775, 0.475], abs=0.02)  # 1/2 + .3/2 + .5/4, and 1/2 - .3/2 + .5/4
    assert [abs(np.corrcoef(column, y)[0, 1]) for column in X.T] == pytest.approx([0, 0, 0], abs=0.03)


def test_corral():
    X, y, truth = make_corral()
    assert X.shape == (128, 6)
    assert (y == ((X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3]))).all()
    assert np.mean(X[:, 5] == y) == 0.75
    assert truth["support"].tolist() == [True] * 4 + [False] * 2
