"""A study that is killed at any moment goes on with the same command, and finds what an undisturbed one finds."""

import random
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "fewer", "study"]
EFFORT = ["--preset", "quick", "--methods", "anova", "--learners", "knn", "--folds", "3", "--repeats", "1"]


@pytest.fixture(scope="module")
def table(make_table, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "blood.csv"
    make_table(n_rows=60, n_columns=30).to_polars().write_csv(path)
    return path


def command(table, out, *more):
    return [
        *COMMAND,
        str(table),
        "--target",
        "state",
        *EFFORT,
        "--permutations",
        "19",
        "--out",
        str(out),
        "--quiet",
        *more,
    ]


def run(table, out, *more):
    return subprocess.run(command(table, out, *more), capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def undisturbed(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    started = time.monotonic()
    finished = run(table, out, "--jobs", "2")
    assert finished.returncode == 0, finished.stderr
    return (out / "findings.json").read_text(), time.monotonic() - started


def killed_and_resumed(table, out, seconds, seed, n_kills=2):
    """Findings after a kill (of the whole group, workers too) at a random moment of each attempt but the last."""
    chance = random.Random(seed)
    for _ in range(n_kills):
        process = subprocess.Popen(
            command(table, out, "--jobs", "2"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(chance.uniform(0.2, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            import os

            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finished = run(table, out, "--jobs", "2")
    assert finished.returncode == 0, finished.stderr
    return (out / "findings.json").read_text()


def test_a_killed_study_goes_on_to_the_same_findings(table, undisturbed, tmp_path):
    findings, seconds = undisturbed
    assert killed_and_resumed(table, tmp_path / "study", seconds, seed=0, n_kills=1) == findings


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_killed_at_any_moment_it_finds_the_same(table, undisturbed, tmp_path, seed):
    findings, seconds = undisturbed
    assert killed_and_resumed(table, tmp_path / "study", seconds, seed) == findings


def test_a_changed_table_is_refused(table, tmp_path):
    copy = tmp_path / "blood.csv"
    copy.write_text(table.read_text())
    out = tmp_path / "study"
    assert run(copy, out, "--permutations", "0", "--jobs", "1").returncode == 0
    lines = copy.read_text().splitlines()
    copy.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    refused = run(copy, out, "--permutations", "0", "--jobs", "1")
    assert refused.returncode == 2
    assert "the table itself" in refused.stderr


def test_two_processes_cannot_run_one_study(table, tmp_path):
    from fewer.study import StudyFolder

    with StudyFolder(tmp_path / "study").locked():
        refused = run(table, tmp_path / "study")
    assert refused.returncode == 2
    assert "Another process is running" in refused.stderr
