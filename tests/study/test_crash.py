"""A study that ends at any of its writes, or is killed at any moment, is whole, and finds the same when run again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("crashes.py")
RESULTS = ("features.txt", "predictions.parquet", "model.skops", "model.json", "report.html", "findings.json")
FILES = ("journal.sqlite", "plan.json", *RESULTS)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks at open files in /proc"),
    pytest.mark.timeout(1800),  # many runs one after another, on a machine that may be busy
]


def crashes(root, *words):
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")} | {"POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, SCRIPT, root, *map(str, words)], capture_output=True, text=True, env={**os.environ, **threads}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["small", "whole"])
def seen(request, tmp_path_factory):
    where = {"small": "--in-turn", "whole": "--kinds"}[request.param]
    return crashes(tmp_path_factory.mktemp("crashes"), "--study", request.param, where, "--kills", 6)


def test_every_file_is_renamed_into_its_place_when_it_is_complete(seen):
    assert {f"os.rename {name}.new {name}" for name in FILES} <= set(seen["written"])
    opened = {what.split()[1] for what in seen["written"] if what.startswith("open ")}
    assert opened.isdisjoint(FILES)


def test_a_study_that_ends_at_each_of_its_writes_in_turn_comes_to_the_same_findings(seen):
    assert seen["in_turn"]["equal"]
    assert seen["in_turn"]["writes"] == (len(seen["written"]) if seen["study"] == "small" else 10)
    assert {"INSERT INTO work fold/0/0/0", "INSERT INTO work final"} <= set(seen["written"])
    assert seen["calibrated"]
    limited = {"INSERT INTO work budget"}
    more = {"INSERT INTO work repeats/1", "INSERT INTO work fold/3/1/3", "INSERT INTO work cost/1/3"}
    assert (limited if seen["study"] == "small" else more) <= set(seen["written"])


def test_a_study_that_is_killed_at_random_moments_finds_the_same(seen):
    assert seen["killed"]["kills"] >= 6
    assert seen["killed"]["equal"] == seen["killed"]["studies"]


@pytest.mark.slow
@pytest.mark.parametrize("study", ["small", "whole"])
def test_a_study_that_ends_at_any_one_of_its_writes_finds_the_same(tmp_path, study):
    each = crashes(tmp_path, "--study", study, "--writes")["each"]
    assert each["writes"] > 40
    assert each["equal"] == each["writes"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_fifty_times_it_finds_the_same(tmp_path, seed):
    which = ["--study", ("small", "whole")[seed // 2], "--permutations", 19 * (seed % 2)]
    killed = crashes(tmp_path, "--kills", 50, "--seed", seed, *which)["killed"]
    assert killed["kills"] >= 50
    assert killed["equal"] == killed["studies"]


@pytest.mark.slow
def test_killed_without_its_workers_it_finds_the_same(tmp_path):
    killed = crashes(tmp_path, "--kills", 10, "--jobs", 2)["killed"]
    assert killed["equal"] == killed["studies"]
