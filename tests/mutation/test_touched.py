"""A line is found again in a source that has changed since the tests were watched."""

import pytest

from mutation.touched import Archive, Record, functions_of

THEN = """\
LIMIT = 3

def small(x):
    if x < LIMIT:
        return True
    return False

def double(x):
    return 2 * x
"""
LINES = {
    "test_small": {"m.py": [4, 5]},
    "test_large": {"m.py": [4, 6]},
    "test_double": {"m.py": [9]},
    "test_import": {"m.py": [1, 3, 8]},
}
ALL = {"test_small", "test_large", "test_double"}


@pytest.mark.parametrize(
    ("now", "line", "expected"),
    [
        (THEN, 5, {"test_small"}),
        (THEN, 4, {"test_small", "test_large"}),
        ("import os\n\n" + THEN, 7, {"test_small"}),
        (THEN.replace("return True", "return x > 0"), 6, {"test_small", "test_large"}),
        (THEN, 1, ALL),
        (THEN + "\ndef half(x):\n    return x / 2\n", 12, ALL),
    ],
    ids=[
        "the line",
        "a shared line",
        "moved down",
        "function changed",
        "outside of functions",
        "new function",
    ],
)
def test_the_tests_of_a_line_are_those_that_ran_it(now, line, expected):
    record = Record(dict.fromkeys(LINES, 0.1), LINES, {"m.py": functions_of(THEN)})
    assert record.tests_of("m.py", line, now) == expected


def test_a_statement_of_several_lines_counts_as_one():
    source = "def double(x):\n    return (\n        2\n        * x\n    )\n"
    record = Record({"test": 0.1}, {"test": {"m.py": [2, 4]}}, {"m.py": functions_of(source)})
    assert record.tests_of("m.py", 3, source) == {"test"}


def test_a_file_with_a_failing_test_is_recorded_again_next_time(tmp_path):
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text("")
    tests = {"test_a.py::one": 0.1, "test_b.py::two": 0.2}
    record = Record(tests, {test: {} for test in tests}, failed=["test_b.py::three"])
    archive = Archive(tmp_path / "records", tmp_path)
    archive.keep(record, ["test_a.py", "test_b.py"])
    assert archive.stale(["test_a.py", "test_b.py"]) == ["test_b.py"]
    assert archive.record_of("test_b.py").seconds == {"test_b.py::two": 0.2}
