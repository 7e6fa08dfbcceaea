"""Pieces of work: columns in order, and labels that move with their groups."""

from types import SimpleNamespace

import numpy as np

from fewer.evaluate import subset_path
from fewer.select import SelectTop
from fewer.study.work._reference import _by_strength, _labels_moved_by_group, _one_label_for_each_group
from fewer.study.work._work import columns_in_order, weightiest


def test_a_path_without_an_order_puts_first_what_its_smallest_subsets_hold():
    subsets = {1: [4], 2: [0, 2], 3: [0, 2, 4], 5: [0, 1, 2, 3, 4]}
    path = SimpleNamespace(order=None, columns=subsets.__getitem__)
    assert columns_in_order(path, [1, 2, 3]) == [4, 0, 2]
    assert columns_in_order(SimpleNamespace(order=np.array([2, 0, 1])), [1, 3]) == [2, 0, 1]


def test_weights_that_differ_by_rounding_alone_leave_columns_in_place():
    assert weightiest(np.array([0.2, 0.5, 0.5 + 1e-13, 0.9])) == [3, 1, 2, 0]


def test_labels_of_groups_move_as_wholes():
    groups, y = np.repeat([0, 1, 2, 3], 3), np.repeat(["a", "a", "b", "b"], 3)
    assert _one_label_for_each_group(y, groups)
    assert not _one_label_for_each_group(np.r_[["b"], y[1:]], groups)
    moved = {tuple(_labels_moved_by_group(y, groups, np.random.default_rng(seed))[::3]) for seed in range(40)}
    assert moved == {tuple(order) for order in ("aabb", "abab", "abba", "baab", "baba", "bbaa")}


def test_columns_are_ranked_as_by_the_selector_with_its_checks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 7)), np.array(["a", "b", "c"])[np.arange(60) % 3]
    X[:, 4], X[:, 5] = X[:, 1], 0.0  # of equal scores the first column, and a constant one
    selector = SelectTop("anova")
    expected = subset_path(SelectTop("anova").fit(X, y), 7)
    found = _by_strength(selector, X, y, classify=True)
    np.testing.assert_array_equal(found.order, expected.order)
    assert found.ties == expected.ties
    assert not hasattr(selector, "scores_")
    assert len(_by_strength(SelectTop("pearson"), X, X[:, 2], classify=False).order) == 7
