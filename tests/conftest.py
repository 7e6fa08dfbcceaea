"""Options of the whole test suite."""

import os

import pytest

# Before scipy is imported: lets scikit-learn check how estimators meet array API input, instead of skipping it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

pytest_plugins = ["claims"]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow; run with --slow or `make papers`")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
