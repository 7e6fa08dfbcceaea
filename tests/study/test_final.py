"""The winner on all rows: what its columns are like."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study.answers._scores import CandidateScores
from fewer.study.model._final import _order, _redundancy, _spreads, _Target


def winner(scores, *, makes_columns=False):
    sizes = np.array([1, 2, 8])
    return CandidateScores(1, ("it", ""), sizes, scores[None], (), 0.25, 0.95, makes_columns=makes_columns)


def test_quartiles_are_those_of_each_class_or_third():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b"], 30)
    found = _spreads(X, ["p", "q", "r"], [2, 0], y, classify=True)
    assert found["columns"] == ["r", "p"]
    assert found["groups"] == ["a", "b"]
    np.testing.assert_allclose(found["quartiles"][1][0], np.quantile(X[30:, 2], [0.25, 0.5, 0.75]))
    thirds = _spreads(X, ["p", "q", "r"], [1], np.arange(60.0), classify=False)
    assert thirds["groups"] == ["low target", "middle target", "high target"]
    np.testing.assert_allclose(thirds["quartiles"][2][0], np.quantile(X[40:, 1], [0.25, 0.5, 0.75]))


def test_a_column_goes_with_a_number_as_far_as_it_correlates_with_it():
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=50) * 3 + 7, rng.normal(size=50) - 4
    found = _Target.of(y, classify=False).direction(values)
    assert found == {"correlation": pytest.approx(np.corrcoef(values, y)[0, 1])}
    assert _Target.of(y, classify=False).direction(np.ones(50)) == {"correlation": 0.0}


def test_a_column_is_highest_and_lowest_in_some_class():
    values = np.array([1.0, 1.0, 5.0, 5.0, 3.0, 3.0])
    found = _Target.of(np.array(list("aabbcc")), classify=True).direction(values)
    assert (found["highest_in"], found["lowest_in"]) == ("b", "a")
    assert found["difference"] == pytest.approx(4 / values.std())


def test_alike_columns_are_a_group_and_constant_ones_are_in_none():
    rng = np.random.default_rng(0)
    first = rng.normal(size=40)
    X = np.column_stack([first, -2 * first + 1, np.ones(40), np.ones(40), rng.normal(size=40)])
    with np.errstate(all="raise"):
        assert _redundancy(X, list("abcde"), [4, 2, 1, 0, 3]) == [["b", "a"]]


def test_columns_that_only_larger_subsets_hold_come_later_and_those_in_none_last():
    """Without an order, a column has its place by the smallest subset that holds it."""
    search = SimpleNamespace(subset_path_={1: np.array([4]), 2: np.array([1, 3])})
    assert _order(search, 6, winner(np.zeros((3, 3)))) == [4, 1, 3, 0, 2, 5]
