import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from fewer.datasets import Problem


def test_it_unpacks_into_data_target_and_truth():
    X, y, truth = Problem(np.eye(3), np.array([0, 1, 0]), {"support": [0]})
    assert X.shape == (3, 3)
    assert y.tolist() == [0, 1, 0]
    assert truth == {"support": [0]}


def test_it_cannot_be_changed():
    problem = Problem(np.eye(2), None, {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.X = np.zeros((2, 2))


def test_it_is_shown_by_shapes_not_by_numbers():
    shown = repr(Problem(np.zeros((1200, 2)), np.arange(1200) % 3, {"mixing": np.zeros((4, 2)), "n_groups": 3}))
    assert shown.splitlines() == [
        "Problem: 1,200 rows x 2 columns, target of 3 classes",
        "  truth['mixing']: array 4 x 2",
        "  truth['n_groups']: 3",
    ]
    assert "numeric target" in repr(Problem(np.zeros((2, 2)), np.array([0.5, 1.5]), {}))
    long = repr(Problem(np.zeros((2, 2)), None, {"names": ["a long name"] * 100}))
    assert max(map(len, long.splitlines())) < 120


def test_it_becomes_a_dataset_with_numbered_columns():
    dataset = Problem(np.arange(12.0).reshape(4, 3) ** 2, np.array([0.5, 1.5, 2.5, 3.5]), {}).to_dataset()
    assert dataset.columns == ("x1", "x2", "x3")
    assert dataset.target == "y"
    assert dataset.task == "regression"
    assert dataset.source == "synthetic problem"


def test_a_dataset_without_target_has_no_task():
    dataset = Problem(np.eye(3), None, {}).to_dataset()
    assert dataset.target is None
    assert dataset.task == "none"


def test_sparse_data_stay_sparse():
    dataset = Problem(sp.csr_array(np.eye(5) * 2.5), None, {}).to_dataset()
    assert dataset.is_sparse
    assert dataset.shape == (5, 5)
