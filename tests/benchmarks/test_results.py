import io
import json

import numpy as np
from rich.console import Console

from benchmarks.contest import CaseResult, Standing
from benchmarks.results import write_results
from benchmarks.table import print_case, readable_seconds
from benchmarks.timing import Timing

AGREED = CaseResult(
    "[wide] table",
    (
        Standing("fewer", True, "ok", Timing((0.5, 0.5, 0.6)), ratio=0.25, objective=1.5),
        Standing("numpy", False, "ok", Timing((2.0, 2.0, 2.0)), ratio=1.0, objective=1.5),
        Standing("absent", False, "missing", trouble="not installed: No module named 'absent'"),
    ),
    baseline="numpy",
)
DISAGREED = CaseResult(
    "other",
    (
        Standing("fewer", True, "disagrees", Timing((1.0,)), objective=np.nan, trouble="disagrees with numpy: nan"),
        Standing("numpy", False, "ok", Timing((2.0,)), ratio=1.0, objective=1.5),
    ),
    baseline="numpy",
)


def printed(result, width=100):
    console = Console(file=io.StringIO(), width=width)
    print_case(result, console)
    return console.file.getvalue()


def test_the_table_shows_times_and_the_ratio_to_the_named_peer():
    text = printed(AGREED)
    assert "[wide] table" in text
    assert "time / numpy" in text
    row = next(line for line in text.splitlines() if line.startswith("fewer"))
    assert row.split() == ["fewer", "500", "ms", "500", "ms", "to", "550", "ms", "0.25", "1.5"]
    assert "absent: not installed: No module named 'absent'" in text


def test_the_table_shows_why_there_is_no_ratio():
    text = printed(DISAGREED)
    row = next(line for line in text.splitlines() if line.startswith("fewer"))
    assert "0.5" not in row
    assert "fewer: disagrees with numpy" in text


def test_a_case_that_was_not_run_is_said_so():
    assert "ALLAML: not run, needs ALLAML.mat" in printed(CaseResult("ALLAML", unavailable="needs ALLAML.mat"))


def test_seconds_are_shown_in_a_unit_that_suits():
    assert [readable_seconds(s) for s in (12.3456, 0.5, 2e-5, 3e-8)] == ["12.3 s", "500 ms", "20 µs", "30 ns"]


def test_the_file_holds_every_time_with_the_machine_and_the_versions(tmp_path):
    path = tmp_path / "results" / "toy.json"
    write_results(path, "toy", [AGREED, DISAGREED, CaseResult("ALLAML", unavailable="needs ALLAML.mat")], repeats=3)
    document = json.loads(path.read_text(), parse_constant=lambda constant: 1 / 0)
    assert document["bench"] == "toy"
    assert document["machine"]["cores"] >= 1
    assert document["versions"]["numpy"] == np.__version__
    assert "absent" not in document["versions"]
    agreed, disagreed, unavailable = document["cases"]
    assert agreed["contenders"][0]["timing"]["seconds"] == [0.5, 0.5, 0.6]
    assert agreed["contenders"][0]["ratio"] == 0.25
    assert agreed["contenders"][2]["status"] == "missing"
    assert disagreed["contenders"][0]["ratio"] is None
    assert unavailable["unavailable"] == "needs ALLAML.mat"
    assert list(path.parent.iterdir()) == [path]


def test_some_cases_run_again_take_the_place_of_their_old_results(tmp_path):
    path = tmp_path / "it.json"
    write_results(path, "it", [AGREED, DISAGREED], 7, keep_others=True)
    first = json.loads(path.read_text())
    again = CaseResult("other", (Standing("fewer", True, "ok", Timing((3.0,)), objective=1.5),))
    write_results(path, "it", [again], 7, keep_others=True)
    second = json.loads(path.read_text())
    assert [case["data"] for case in second["cases"]] == ["[wide] table", "other"]
    assert second["cases"][0] == first["cases"][0]
    assert second["cases"][1]["contenders"][0]["timing"]["median"] == 3.0
    assert second["when"] == first["when"]
