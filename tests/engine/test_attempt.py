import mmap
from pathlib import Path

import numpy as np
import pytest

from fewer.engine import Engine, Failure, Outcome, drop_pages
from fewer.engine._attempt import mapped_package, packed, unpacked, write_package


def test_unwrap_gives_the_value():
    assert Outcome(0, "task", value=3).unwrap() == 3


def test_unwrap_of_a_failure_names_the_task_and_shows_the_remote_traceback():
    outcome = Outcome(4, "task", failure=Failure("ValueError", "bad", "Traceback: line 7"), label="fold 4", worker="w")
    with pytest.raises(RuntimeError, match=r"fold 4 failed on w: ValueError: bad(.|\n)*line 7"):
        outcome.unwrap()


def test_a_failure_reads_like_the_last_line_of_a_traceback():
    assert str(Failure("ValueError", "bad")) == "ValueError: bad"
    assert str(Failure("AssertionError", "")) == "AssertionError"


def test_engines_print_how_to_make_them():
    engine = Engine.local(2)
    assert repr(engine) == "Engine.local(2)"
    engine.close()
    assert repr(engine) == "Engine.local(2) (closed)"


def root_of(array):
    """What the memory of an array belongs to."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base.obj if isinstance(base, memoryview) else base


@pytest.fixture
def things():
    rng = np.random.default_rng(0)
    return {
        "floats": rng.normal(size=(7, 5)),
        "fortran": np.asfortranarray(rng.normal(size=(7, 5))),
        "bytes": np.arange(3, dtype=np.uint8),
        "empty": np.zeros((0, 4)),
        "names": ["a", "b"],
        "function": lambda x: x + 1,
    }


def test_everything_survives_the_file(things, tmp_path):
    with (tmp_path / "package").open("wb") as file:
        write_package(packed(things), file)
    back = unpacked(mapped_package(tmp_path / "package"))
    for name in ("floats", "fortran", "bytes", "empty"):
        np.testing.assert_array_equal(back[name], things[name])
        assert back[name].dtype == things[name].dtype
    assert back["names"] == ["a", "b"]
    assert back["function"](1) == 2


def test_arrays_are_mapped_aligned_and_read_only(things, tmp_path):
    with (tmp_path / "package").open("wb") as file:
        write_package(packed(things), file)
    back = unpacked(mapped_package(tmp_path / "package"))
    for name in ("floats", "fortran", "bytes"):
        assert isinstance(root_of(back[name]), mmap.mmap)
        assert back[name].ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            back[name][0] = 0


def resident_kilobytes(path):
    """Resident memory of the mappings of a file in this process."""
    here, found = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            here = line.endswith(str(path))
        elif here and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="shows resident memory as Linux does")
def test_pages_that_are_dropped_are_read_again(tmp_path):
    path = tmp_path / "package"
    table = np.random.default_rng(0).normal(size=(10_000, 50))
    with path.open("wb") as file:
        write_package(packed(table), file)
    back = unpacked(mapped_package(path))
    assert back.sum() == table.sum()
    assert resident_kilobytes(path) >= table.nbytes / 1024
    drop_pages()
    assert resident_kilobytes(path) == 0
    np.testing.assert_array_equal(back[[0, -1]], table[[0, -1]])
    assert 0 < resident_kilobytes(path) < table.nbytes / 1024 / 5


def test_unpacking_in_the_same_process_copies_no_array(things):
    assert np.shares_memory(unpacked(packed(things))["floats"], things["floats"])


def test_what_cannot_be_packed_is_refused_with_a_cure(tmp_path):
    with (tmp_path / "file").open("w") as file, pytest.raises(TypeError, match="Open files, connections"):
        packed({"log": file})
