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
