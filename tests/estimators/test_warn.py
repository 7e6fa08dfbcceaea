"""Warnings point at the line that called, past fewer, scikit-learn and whatever they were wrapped in."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fewer.select import FCBF, Relief, SequentialSearch


@pytest.mark.parametrize(
    "selector",
    [Relief(n_features_to_select=5), SequentialSearch(lambda X, y: 1.0, n_features_to_select=5), FCBF(threshold=1.0)],
)
@pytest.mark.parametrize("wrap", [lambda selector: selector, make_pipeline])
def test_a_warning_points_at_the_call_of_fit(selector, wrap):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wrap(selector).fit(X, y)
    assert [Path(one.filename).name for one in told] == ["test_warn.py"]
