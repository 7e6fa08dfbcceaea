import os
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks import files

CHECKOUT = Path(benchmarks.__file__).parents[1]


@pytest.mark.parametrize("bench", files.bench_names())
def test_every_bench_file_asks_a_question_and_declares_cases(bench):
    assert files.question_of(bench) != bench
    cases = files.cases_of(bench)
    assert cases
    assert len({case.data for case in cases}) == len(cases)


def test_an_unknown_bench_is_refused_with_those_that_there_are():
    command = [sys.executable, "-m", "benchmarks", "raed_table"]
    done = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"}
    )
    assert done.returncode == 2
    assert "Did you mean read_table?" in done.stderr


def test_peers_of_another_environment_are_imported_behind_our_packages(tmp_path):
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "a_peer_of_nobody.py").write_text("known = True\n")
    (packages / "typer.py").write_text("raise RuntimeError('an older version')\n")
    code = "import benchmarks, a_peer_of_nobody, typer; print(a_peer_of_nobody.known)"
    environment = {**os.environ, "FEWER_PEERS": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert child.stdout == "True\n", child.stderr
