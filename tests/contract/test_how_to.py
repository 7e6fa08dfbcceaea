"""The worked example of docs/how_to/add-a-method.md keeps every promise, as the page says."""

import importlib.util
import sys

import pytest
from sklearn.utils.estimator_checks import check_estimator

from contract.promises import DOCS, PROMISES


@pytest.fixture(scope="module")
def range_selector():
    spec = importlib.util.spec_from_file_location("how_to_range_selector", DOCS / "how_to" / "_range_selector.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module.RangeSelector
    del sys.modules[spec.name]


@pytest.mark.parametrize("title", PROMISES)
def test_worked_example_keeps_every_promise(range_selector, title):
    PROMISES[title](range_selector.__fewer_method__, range_selector())


def test_worked_example_passes_scikit_learn(range_selector):
    assert all(result["status"] != "failed" for result in check_estimator(range_selector()))
