"""What tests of evaluation share."""

import signal

import pytest


@pytest.fixture
def ctrl_c_is_heard():
    """Ctrl-C interrupts, even in a run in the background, which starts out deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
