"""Options of the whole test suite."""

import gc
import os
import sys

import pytest

# Keep compiled modules and rewritten assertions: else each worker, and each process that a test starts, compiles anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Before scipy is imported: lets scikit-learn check how estimators meet array API input, instead of skipping it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Before numpy is imported: workers side by side use one core each, else their threads wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

pytest_plugins = ["claims"]


@pytest.fixture(scope="session")
def workers():
    """Two worker processes, started once for all tests that compare their results with those of this process."""
    from fewer.engine import Engine

    with Engine.local(2) as engine:
        yield engine


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config, items):
    """Leave the slow tests out of the run, so that a test that is skipped always tells of something missing."""
    if config.getoption("--slow"):
        return
    slow = [item for item in items if "slow" in item.keywords]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]


def pytest_collection_finish(session):
    """What thousands of collected tests are made of stays until the end: nobody needs to look for garbage in it."""
    gc.freeze()
