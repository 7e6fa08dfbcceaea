"""Pieces of work: columns in order, and labels that move with their groups."""

from types import SimpleNamespace

import numpy as np

from fewer.study.work._reference import _labels_moved_by_group, _one_label_for_each_group
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
