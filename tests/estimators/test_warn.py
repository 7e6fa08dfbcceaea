"""Warnings point at the line that called, past fewer, scikit-learn and whatever they were wrapped in."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fewer._estimators import each_warning_once, warn_caller
from fewer.select import FCBF, SelectTop, SequentialSearch


@pytest.mark.parametrize(
    "selector",
    [
        SelectTop("relief", n_features_to_select=5),
        SequentialSearch(lambda X, y: 1.0, n_features_to_select=5),
        FCBF(threshold=1.0),
    ],
)
@pytest.mark.parametrize("wrap", [lambda selector: selector, make_pipeline])
def test_a_warning_points_at_the_call_of_fit(selector, wrap):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wrap(selector).fit(X, y)
    assert [Path(one.filename).name for one in told] == ["test_warn.py"]


def test_equal_warnings_come_once_even_before_an_error():
    @each_warning_once()
    def fits():
        for number in (1, 2, 1):
            warn_caller(f"fit {number} is odd")
            warn_caller("all are odd", RuntimeWarning)
        raise KeyError("rows")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyError):
            fits()
    told = [(str(each.message), each.category) for each in caught]
    assert told == [("fit 1 is odd", UserWarning), ("all are odd", RuntimeWarning), ("fit 2 is odd", UserWarning)]
    assert {each.filename for each in caught} == {__file__}
