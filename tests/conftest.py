"""Options of the whole test suite."""

import gc
import os
import sys
import textwrap
import zlib

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


@pytest.fixture
def install_guest(tmp_path, monkeypatch):
    """Install a small package of somebody else's, as pip would lay it out, for the length of a test."""

    def install(source, entry_points):
        (tmp_path / "guest_methods.py").write_text(textwrap.dedent(source))
        info = tmp_path / "guest_methods-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest-methods\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[fewer.methods]\n" + entry_points)
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("guest_methods", None)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption(
        "--slice",
        type=slice_of_tests,
        default=(1, 1),
        metavar="K/N",
        help="run part K of N; a test's id decides its part",
    )


def slice_of_tests(given):
    """(K, N) from ``K/N``."""
    part, _, parts = given.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ValueError(given)  # argparse reports it, as pytest does with any option
    return int(part), int(parts)


def pytest_collection_modifyitems(config, items):
    """Deselect slow tests and other slices, so that a test that is skipped always means that something is missing."""
    part, parts = config.getoption("--slice")
    slow_too = config.getoption("--slow")
    chosen, others = [], []
    for item in items:
        runs = (slow_too or "slow" not in item.keywords) and zlib.crc32(item.nodeid.encode()) % parts == part - 1
        (chosen if runs else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = chosen


def pytest_collection_finish(session):
    """What thousands of collected tests are made of stays until the end: nobody needs to look for garbage in it."""
    gc.freeze()
