"""What tests of evaluation share."""

import signal

import pytest

from fewer.engine import Engine


@pytest.fixture
def ctrl_c_is_heard():
    """Ctrl-C interrupts, even in a run in the background, which starts out deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def workers():
    """Two worker processes, started once for all tests that compare their results with those of this process."""
    with Engine.local(2) as engine:
        yield engine
