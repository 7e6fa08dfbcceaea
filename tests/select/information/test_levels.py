"""Levels of columns, their entropies, and the information that they share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

from fewer.select.information._levels import Information, conditional_information, discretise, entropy, joint_levels
from tolerances import rounding


def bits(classes):
    shares = np.unique(classes, return_counts=True)[1] / len(classes)
    return float(-(shares * np.log2(shares)).sum())


def cuts_by_description_length(values, classes):
    """Fayyad and Irani's rule, written out for one column: the largest value below each cut."""
    order = np.argsort(values, kind="stable")
    values, classes = values[order], classes[order]
    n = len(values)
    places = [place for place in range(1, n) if values[place] != values[place - 1]]
    if not places:
        return []
    left_over = [place * bits(classes[:place]) + (n - place) * bits(classes[place:]) for place in places]
    best = places[int(np.argmin(np.round(left_over, 9)))]
    left, right = classes[:best], classes[best:]
    gain = bits(classes) - min(left_over) / n
    k, k_left, k_right = (len(np.unique(part)) for part in (classes, left, right))
    price = np.log2(n - 1) + np.log2(3**k - 2) - k * bits(classes) + k_left * bits(left) + k_right * bits(right)
    if gain <= price / n:
        return []
    return [
        *cuts_by_description_length(values[:best], left),
        values[best - 1],
        *cuts_by_description_length(values[best:], right),
    ]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_cuts_by_description_length_are_those_of_the_rule_written_out(n_classes):
    rng = np.random.default_rng(n_classes)
    classes = rng.integers(n_classes, size=150)
    X = rng.normal(size=(150, 8)) + np.outer(classes, np.linspace(0, 3, 8))
    X[:, 3:] = np.round(X[:, 3:], 1)
    X[:, 7] = np.round(X[:, 7])
    found = discretise(X, classes, method="mdl")
    for column in range(8):
        cuts = cuts_by_description_length(X[:, column], classes)
        assert np.array_equal(found.codes[column], np.searchsorted(cuts, X[:, column]))
        assert found.n_levels[column] == len(cuts) + 1
    assert found.n_levels.max() > 2


def test_columns_that_tell_nothing_stay_in_one_piece():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200))
    n_levels = discretise(X, rng.integers(2, size=300), method="mdl").n_levels
    assert (n_levels == 1).mean() > 0.95


def test_many_classes_do_not_overflow():
    classes = np.repeat(np.arange(1000), 3)
    table = discretise(classes[:, None] / 7.0, classes, method="mdl")
    assert table.n_levels.tolist() == [1000]  # each cut gains more than it costs
    two = discretise(np.repeat([0.0, 1.0], 1500)[:, None], np.repeat([0, 999], 1500), method="mdl")
    assert two.n_levels.tolist() == [2]


def test_equal_frequency_gives_equal_frequencies():
    X = np.random.default_rng(1).normal(size=(1000, 3))
    table = discretise(X, n_bins=10)
    for column in range(3):
        assert np.bincount(table.codes[column]).tolist() == [100] * 10
        assert (np.diff(table.codes[column][np.argsort(X[:, column])].astype(int)) >= 0).all()


@pytest.mark.parametrize("n_bins", [2, 3, 6, 7])
def test_a_column_and_its_negative_have_the_same_intervals(n_bins):
    rng = np.random.default_rng(9)
    X = np.column_stack([rng.normal(size=200), rng.poisson(4, 200), np.round(rng.normal(size=200), 1)])
    table, mirrored = discretise(X, n_bins=n_bins), discretise(-X, n_bins=n_bins)
    assert np.array_equal(mirrored.codes, table.n_levels[:, None] - 1 - table.codes)


def test_equal_values_are_never_parted():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.poisson(3, 400), np.where(rng.random(400) < 0.8, 0, rng.random(400))]).astype(float)
    table = discretise(X, n_bins=4)
    for column in range(2):
        levels = table.codes[column]
        for value in np.unique(X[:, column]):
            assert len(np.unique(levels[X[:, column] == value])) == 1
        assert (np.diff(levels[np.argsort(X[:, column])].astype(int)) >= 0).all()
        assert table.n_levels[column] == len(np.unique(levels))


def test_few_values_are_kept_as_they_are():
    X = np.array([[1.0, 5.0], [1.0, -2.0], [3.0, 5.0], [7.0, 5.0]])
    assert discretise(X, n_bins=3).codes.tolist() == [[0, 0, 1, 2], [1, 0, 1, 1]]


def test_equal_width_cuts_the_range():
    X = np.linspace(0, 10, 101)[:, None]
    for table in (X, sparse.csc_array(X)):
        levels = discretise(table, method="equal_width", n_bins=5)
        assert levels.n_levels.tolist() == [5]
        assert np.array_equal(levels.column(0), np.clip(np.ceil(X[:, 0] / 2 - 1e-9) - 1, 0, 4))


@pytest.mark.parametrize("method", ["mdl", "equal_frequency", "equal_width"])
def test_a_constant_column_has_one_level(method):
    X = np.full((20, 1), 0.1)
    table = discretise(X, np.arange(20) % 2, method=method, n_bins=4)
    assert table.n_levels.tolist() == [1]
    assert not table.codes.any()


@pytest.mark.parametrize("method", ["mdl", "equal_frequency", "equal_width"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_tables_have_the_same_levels(method, dtype):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 30)).astype(dtype) * (rng.random((80, 30)) < 0.3)
    X[:, 0] = rng.normal(size=80)  # without a zero
    X[:, 1] = 0
    classes = (X[:, 2] + X[:, 3] > 0.1).astype(int)
    full, compressed = discretise(X, classes, method=method), discretise(sparse.csc_array(X), classes, method=method)
    assert np.array_equal(full.n_levels, compressed.n_levels)
    for column in range(30):
        assert np.array_equal(full.column(column), compressed.column(column))
    assert np.array_equal(compressed.dense().codes, full.codes)


def test_more_than_256_levels():
    X = np.random.default_rng(4).normal(size=(2000, 2))
    table = discretise(X, n_bins=500)
    assert table.n_levels.tolist() == [500, 500]
    assert np.bincount(table.codes[0]).tolist() == [4] * 500


def test_columns_in_several_blocks(monkeypatch):
    X = np.random.default_rng(5).normal(size=(50, 23))
    whole = discretise(X).codes
    monkeypatch.setattr("fewer.select.information._levels._BLOCK_CELLS", 200)
    assert np.array_equal(discretise(X).codes, whole)


def test_the_number_of_levels_does_not_follow_from_the_number_of_rows():
    X = np.random.default_rng(6).normal(size=(2000, 3))
    for n_rows in (20, 40, 66, 150, 2000):
        assert discretise(X[:n_rows]).n_levels.tolist() == [5, 5, 5]


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
