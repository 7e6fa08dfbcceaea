import sys
from pathlib import Path

import pytest

# The benchmarks are run from a checkout, not installed: pytest's own command does not put the checkout on the path.
sys.path.insert(0, str(Path(__file__).parents[2]))


class Clock:
    """A clock that only moves when somebody works, and a log of who did."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def __call__(self):
        return self.now

    def work(self, seconds, result=1.0, name=""):
        def call():
            self.log.append(name)
            self.now += seconds
            return result

        return call


@pytest.fixture
def new_clock():
    return Clock


@pytest.fixture
def clock(new_clock):
    return new_clock()


@pytest.fixture(autouse=True)
def no_garbage_collection(monkeypatch):
    """Collecting garbage between runs is slow in a large test process, and no part of what is tested."""
    monkeypatch.setattr("gc.collect", lambda: 0)
