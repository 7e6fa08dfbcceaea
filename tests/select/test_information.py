"""Entropies, mutual information and symmetric uncertainty by counting."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

from fewer.select.information._levels import Information, conditional_information, discretise, entropy, joint_levels
from tolerances import rounding


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 12)) @ rng.normal(size=(12, 12))
    X[:, 4] = 1.0
    return X, rng.integers(3, size=101)


def test_mutual_information_and_symmetric_uncertainty_are_those_of_scikit_learn(table):
    X, y = table
    levels = discretise(X, n_bins=6)
    information = Information(levels)
    tolerance = rounding(len(y), scale=np.log(6))  # entropies of at most six levels
    for target in (y, levels.column(3)):
        shared = [mutual_info_score(levels.codes[column], target) for column in range(12)]
        relative = [normalized_mutual_info_score(levels.codes[column], target) for column in range(12)]
        assert information.with_target(target) == pytest.approx(shared, abs=tolerance)
        assert information.symmetric_uncertainty_with_target(target) == pytest.approx(relative, abs=tolerance)
    some = np.array([7, 2])
    assert np.array_equal(information.with_column(3, some), information.with_column(3)[some])
    assert information.with_column(3)[3] == pytest.approx(information.entropies[3])
    assert information.symmetric_uncertainty_with_column(3)[3] == pytest.approx(1)


def test_a_constant_column_shares_nothing(table):
    X, y = table
    information = Information(discretise(X))
    assert information.entropies[4] == 0
    assert information.with_target(y)[4] == 0
    assert not information.symmetric_uncertainty_with_column(4).any()


def test_sparse_tables_share_the_same(table):
    X, y = table
    X = X * (np.random.default_rng(1).random(X.shape) < 0.3)
    full, compressed = Information(discretise(X)), Information(discretise(sparse.csc_array(X)))
    tolerance = rounding(len(y), full.entropies.max())
    assert compressed.entropies == pytest.approx(full.entropies, abs=tolerance)
    assert compressed.with_target(y) == pytest.approx(full.with_target(y), abs=tolerance)
    assert compressed.with_column(2) == pytest.approx(full.with_column(2), abs=tolerance)


def test_conditional_information_is_the_mean_over_the_groups():
    rng = np.random.default_rng(2)
    a, b, c, d = (rng.integers(levels, size=200) for levels in (3, 2, 4, 2))
    b = np.where(rng.random(200) < 0.5, a % 2, b)
    expected = sum(
        (rows.sum() / 200) * mutual_info_score(a[rows], b[rows])
        for rows in (((c == i) & (d == j)) for i in range(4) for j in range(2))
    )
    assert conditional_information(a, b, [c, d]) == pytest.approx(expected)
    assert conditional_information(a, b, []) == pytest.approx(mutual_info_score(a, b))


def test_joint_levels_tell_every_combination_apart():
    rng = np.random.default_rng(3)
    columns = [rng.integers(4, size=100) for _ in range(3)]
    joint = joint_levels(columns)
    assert joint.max() + 1 == len(np.unique(np.column_stack(columns), axis=0))
    combinations = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1]
    assert entropy(joint) == pytest.approx(entropy(combinations.ravel()))  # NumPy 2.0 gives them as a column
