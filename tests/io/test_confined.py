"""A file that would end the process, fill the memory or never end gives an error that says so."""

import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.io import savemat

from fewer.io import TableError, _confined, read_table
from fewer.io._confined import UnreadableError, confined_outcomes, read_confined

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and limits of POSIX")
SCRIPT = """
import os, runpy, signal, sys, time
module = runpy.run_path({real!r})
def read(path, options):
    word = open(path).read()
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "abort":
        os.abort()
    if word == "run":
        while True: pass
    if word == "sleep":
        open(path + ".pid", "w").write(str(os.getpid()))
        time.sleep(600)
    if word == "grow":
        return {{"size": len(bytearray(64 << 30))}}, iter(())
    if word == "print":
        os.write(1, b"printed by a library")
    if word == "lie":
        return {{}}, iter([b"x" * 12])
    if word == "raise":
        raise KeyError("first line\\nsecond line")
    if word == "panic":
        raise type("PanicException", (BaseException,), {{}})("index out of bounds")
    import scipy.io
    modules = sorted(set(name.partition(".")[0] for name in sys.modules))
    return {{"word": word, "modules": modules, "limits": module["os"].environ["OPENBLAS_NUM_THREADS"]}}, iter(())
module["_READERS"]["mat"] = read
module["main"]()
"""


@pytest.fixture
def confined(monkeypatch, tmp_path):
    """What comes of files of one word each, which a child process acts upon."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(real=str(_confined._SCRIPT)))
    monkeypatch.setattr(_confined, "_SCRIPT", script)

    def outcomes(*words, receive=lambda reply: reply.about):
        paths = [tmp_path / f"{place}.mat" for place in range(len(words))]
        for path, word in zip(paths, words, strict=True):
            path.write_text(word)
        return list(confined_outcomes("mat", paths, receive))

    return outcomes


def test_each_way_to_fail_has_its_reason_and_the_next_file_is_read(confined):
    words = ["crash", "fine", "abort", "grow", "raise", "panic", "print", "fine"]
    outcomes = confined(*words)
    failed = {word: one for word, one in zip(words, outcomes, strict=True) if isinstance(one, UnreadableError)}
    assert {word: error.cause for word, error in failed.items()} == {
        "crash": "crash",
        "abort": "memory",
        "grow": "memory",
        "raise": "KeyError",
        "panic": "PanicException",
    }
    assert str(failed["crash"]) == "the process that read it ended by SIGSEGV"
    assert str(failed["grow"]) == "reading it takes more than 2.0 GiB of memory"
    assert str(failed["raise"]) == r"'first line\nsecond line'"
    assert [one["word"] for one in outcomes if isinstance(one, dict)] == ["fine", "print", "fine"]


@pytest.mark.parametrize("word", ["run", "sleep"])
def test_a_reader_without_end_is_stopped(confined, monkeypatch, word):
    monkeypatch.setattr(_confined, "_LEAST_SECONDS", 1)
    [outcome] = confined(word)
    assert (outcome.cause, str(outcome)) == ("time", "reading it takes more than 1 seconds")


def test_what_the_child_sends_is_not_trusted(confined):
    def array(shape, dtype):
        return lambda reply: reply.array(shape, dtype)

    for receive in (array((2,), "<f8"), array((1 << 60,), "<f8"), array((1,), "O"), array((-3, -4), "|b1")):
        [outcome] = confined("lie", receive=receive)
        assert outcome.cause == "crash"
        assert "invalid" in str(outcome)


def test_the_child_imports_only_what_the_format_needs(confined):
    [outcome] = confined("fine")
    assert "scipy" in outcome["modules"]
    assert not {"fewer", "polars", "pandas", "sklearn"} & set(outcome["modules"])
    assert outcome["limits"] == "1"


def test_limits_grow_with_the_file(monkeypatch):
    monkeypatch.setattr(_confined, "physical_memory", lambda: 100 << 30)
    small, medium, large = (_confined._limits(size) for size in (1000, 1 << 22, 10 << 30))
    assert small.memory < (2 << 30) + (1 << 23)
    assert medium.memory == 18 << 30
    assert large.memory == 102 << 30
    assert large.seconds > 10_000


def test_the_child_ends_with_a_parent_that_was_killed(tmp_path):
    (tmp_path / "t.mat").write_text("sleep")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(real=str(_confined._SCRIPT)))
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from fewer.io import _confined as c;"
            "c._SCRIPT = sys.argv[1]; c.read_confined('mat', Path(sys.argv[2]), print)",
            str(script),
            str(tmp_path / "t.mat"),
        ]
    )
    note = tmp_path / "t.mat.pid"
    try:
        _wait_until(lambda: note.exists() and note.read_text())
    finally:
        parent.kill()
        parent.wait()
    _wait_until(lambda: not _runs(int(note.read_text())))


def _wait_until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
    except OSError:
        return False


def test_an_interrupt_ends_the_child(tmp_path, monkeypatch):
    started = []
    real = subprocess.Popen

    def remembered(*args, **kwargs):
        started.append(real(*args, **kwargs))
        return started[-1]

    def interrupt(reply):
        raise KeyboardInterrupt

    savemat(tmp_path / "t.mat", {"X": np.eye(3)})
    monkeypatch.setattr(subprocess, "Popen", remembered)
    with pytest.raises(KeyboardInterrupt):
        read_confined("mat", tmp_path / "t.mat", interrupt)
    assert started[0].returncode == -signal.SIGKILL


def test_a_stray_cell_of_a_sheet_does_not_end_the_process(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, [1, 2])
        sheet.write(1_048_575, 16_383, 5)
    with pytest.raises(TableError, match=r"t\.xlsx.*GiB of memory.*cell far to the right"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_types_are_kept(tmp_path, suffix):
    frame = pl.DataFrame(
        {
            "day": [datetime.date(2024, 1, 1), None],
            "word": ["x", "y"],
            "flag": [True, None],
            "choice": pl.Series(["p", "q"], dtype=pl.Enum(["p", "q"])),
        }
    )
    path = tmp_path / f"t.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    assert read_table(path).X.equals(frame)


def test_the_first_version_of_feather_is_named(file):
    with pytest.raises(TableError, match="Feather version 1"):
        read_table(file(b"FEA1" + bytes(100), "t.feather"))
