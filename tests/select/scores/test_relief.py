"""Relief and its kin, against a plain implementation."""

import numpy as np
import pytest

from fewer.select import relief_score, relieff_score


def plain_relief(X, y, n_neighbors, shares=None):
    """By the book: for each row its hits and misses, by the sum of absolute differences of scaled columns."""
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    weights = np.zeros(X.shape[1])
    for row in range(len(X)):
        distances = np.abs(X - X[row]).sum(axis=1)
        distances[row] = np.inf

        def mean_difference(members, row=row, distances=distances):
            near = members[np.argsort(distances[members], kind="stable")[:n_neighbors]]
            return np.abs(X[near[near != row]] - X[row]).mean(axis=0)

        weights -= mean_difference(np.flatnonzero((y == y[row]) & (np.arange(len(y)) != row)))
        if shares is None:
            weights += mean_difference(np.flatnonzero(y != y[row]))
        else:
            for other in np.unique(y[y != y[row]]):
                weights += shares[other] / (1 - shares[y[row]]) * mean_difference(np.flatnonzero(y == other))
    return weights / len(X)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [12, 20, 31]))
    return rng.normal(size=(63, 5)) + np.array([1, 0.5, 0, 0, 0]) * y[:, None], y


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_relief_is_as_in_the_book(table, n_neighbors):
    X, y = table
    assert relief_score(X, y, n_neighbors=n_neighbors) == pytest.approx(plain_relief(X, y, n_neighbors))


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_relieff_takes_misses_from_each_class_by_its_share(table, n_neighbors):
    X, y = table
    expected = plain_relief(X, y, n_neighbors, np.bincount(y) / len(y))
    assert relieff_score(X, y, n_neighbors=n_neighbors) == pytest.approx(expected)


def test_a_class_smaller_than_the_neighbours_gives_all_that_it_has(table):
    X, y = table
    assert relieff_score(X, y, n_neighbors=500) == pytest.approx(relieff_score(X, y, n_neighbors=63))


def test_with_two_classes_both_are_the_same(table):
    X, y = table
    assert relief_score(X, y == 1, n_neighbors=4) == pytest.approx(relieff_score(X, y == 1, n_neighbors=4))


def test_scores_do_not_depend_on_units(table):
    X, y = table
    assert relieff_score(X * [1, 10, 100, 1e-3, 1] + 5, y) == pytest.approx(relieff_score(X, y))


def test_some_rows_stand_for_all(table):
    X, y = table
    drawn = [relief_score(X, y, n_draws=10, random_state=seed) for seed in range(400)]
    spread = np.std(drawn, axis=0, ddof=1) / np.sqrt(400)
    assert (np.abs(np.mean(drawn, axis=0) - relief_score(X, y)) < 5 * spread).all()
    assert np.array_equal(relief_score(X, y, n_draws=10, random_state=3), drawn[3])
    assert relief_score(X, y, n_draws=1000, random_state=0).shape == (5,)


def test_ties_are_broken_at_random():
    # Row 0 has two nearest hits, equally far, that differ from it in different columns.
    X = np.array([[0.0, 0], [1, 0], [0, 1], [9, 9], [9, 9]])
    y = [0, 0, 0, 1, 1]
    found = np.array([relief_score(X, y, random_state=seed) for seed in range(60)])
    assert len(np.unique(found.round(6), axis=0)) > 1
    assert abs((found[:, 0] - found[:, 1]).mean()) < 0.02


def test_rows_without_a_hit_are_left_out(table):
    X, y = table
    lonely = y.copy()
    lonely[0] = 3
    assert np.isfinite(relieff_score(X, lonely)).all()
    assert relief_score(np.eye(3), [0, 1, 2]).tolist() == [0, 0, 0]


def test_numbers_follow_the_definition_of_the_differences():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    target = X[:, 2] + 0.2 * rng.normal(size=60)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    wanted = (target - target.min()) / np.ptp(target)
    target_differs, differs, both = 0.0, np.zeros(4), np.zeros(4)
    for row in range(60):
        distances = np.abs(scaled - scaled[row]).sum(axis=1)
        distances[row] = np.inf
        for near in np.argsort(distances)[:10]:
            apart, gap = np.abs(scaled[near] - scaled[row]), abs(wanted[near] - wanted[row])
            target_differs += gap / 10
            differs += apart / 10
            both += gap * apart / 10
    found = relieff_score(X, target)
    assert found == pytest.approx(both / target_differs - (differs - both) / (60 - target_differs))
    assert found.argmax() == 2


def test_constant_columns_and_float32(table):
    X, y = table
    X = np.column_stack([X, np.full(63, 0.3)])
    found = relieff_score(X, y)
    assert found[-1] == 0
    assert relieff_score(X.astype(np.float32), y) == pytest.approx(found, abs=1e-5)


def test_bad_numbers_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="n_neighbors must be 1 or more"):
        relief_score(X, y, n_neighbors=0)
    with pytest.raises(ValueError, match="n_draws must be 1 or more"):
        relief_score(X, y, n_draws=0)
