import signal

import pytest

from fewer.engine import Engine


@pytest.fixture(scope="module")
def pool():
    """Two worker processes, kept for the tests of a module."""
    with Engine.local(2) as engine:
        yield engine


@pytest.fixture(params=[1, 2], ids=["in this process", "in two workers"])
def engine(request, pool):
    """The same claim must hold with and without worker processes."""
    if request.param == 2:
        yield pool
    else:
        with Engine.local(1) as inline:
            yield inline


@pytest.fixture
def ctrl_c():
    """Presses Ctrl-C, with Python's own handler in place as in any script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
