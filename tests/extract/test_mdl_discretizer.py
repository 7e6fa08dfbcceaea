"""Cuts by description length."""

import numpy as np
import pandas as pd
import pytest

from fewer.extract import MDLDiscretizer
from fewer.select.information._levels import discretise


def test_cuts_lie_midway_and_apply_to_new_rows():
    X = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]])
    model = MDLDiscretizer().fit(X, [0, 0, 0, 1, 1, 1])
    assert model.cuts_[0].tolist() == [5.0]
    assert model.transform([[4.9], [5.0], [5.1], [99.0]]).ravel().tolist() == [0, 0, 1, 1]


def test_levels_of_the_training_rows_are_those_of_the_selectors():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = np.round(rng.normal(size=(150, 6)) + y[:, None] * [0, 0.5, 1, 2, 3, 4], 1)
    levels = MDLDiscretizer(keep_uncut=True).fit_transform(X, y)
    np.testing.assert_array_equal(levels.T, discretise(X, y, method="mdl").codes)


def test_columns_without_a_cut_are_dropped_by_name():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    frame = pd.DataFrame({"noise": rng.normal(size=80), "signal": rng.normal(size=80) + 3 * (y == "b"), "same": 1.0})
    model = MDLDiscretizer().fit(frame, y)
    assert model.get_feature_names_out().tolist() == ["signal"]
    assert model.transform(frame).shape == (80, 1)
    kept = MDLDiscretizer(keep_uncut=True).fit(frame, y)
    assert kept.transform(frame)[:, [0, 2]].max() == 0
    with pytest.warns(UserWarning, match="no column is left"):
        empty = MDLDiscretizer().fit(frame[["noise"]], y)
    assert empty.transform(frame[["noise"]]).shape == (80, 0)


def test_no_middle_between_neighbouring_numbers():
    low = 1.0
    high = np.nextafter(low, 2)
    X = np.repeat([[low], [high]], 20, axis=0)
    model = MDLDiscretizer().fit(X, np.repeat([0, 1], 20))
    np.testing.assert_array_equal(model.transform(X).ravel(), np.repeat([0, 1], 20))
