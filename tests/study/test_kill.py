"""A study that is killed at any moment goes on with the same command, and finds what an undisturbed one finds."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fewer.cli import app
from fewer.study import StudyFolder

EFFORT = ["--preset", "quick", "--methods", "anova", "--learners", "knn", "--folds", "3", "--repeats", "1"]
N_PERMUTATIONS = 19


@pytest.fixture(scope="module")
def table(make_table, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "blood.csv"
    make_table(n_rows=60, n_columns=30).to_polars().write_csv(path)
    return path


def words(table, out, *, jobs, permutations=N_PERMUTATIONS):
    options = ["--permutations", str(permutations), "--jobs", str(jobs), "--out", str(out), "--quiet"]
    return ["study", str(table), "--target", "state", *EFFORT, *options]


def run(table, out, **options):
    return CliRunner().invoke(app, words(table, out, **({"jobs": 1} | options)))


def findings_of_run(table, out, **options):
    finished = run(table, out, **options)
    assert finished.exit_code == 0, finished.output
    return (out / "findings.json").read_text(), (out / "predictions.parquet").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(table, tmp_path_factory):
    return findings_of_run(table, tmp_path_factory.mktemp("undisturbed"))


def killed(table, out, moment, jobs):
    """Kill a study, with all of its workers, when its journal has as many pieces of work as ``moment`` says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fewer", *words(table, out, jobs=jobs)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None and pieces_done(out) < moment:
        time.sleep(0.05)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return pieces_done(out)


def pieces_done(out):
    try:
        with sqlite3.connect(f"file:{out / 'journal.sqlite'}?mode=ro", uri=True) as journal:
            return journal.execute("SELECT count(*) FROM work").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0


def test_a_killed_study_goes_on_to_the_same_findings(table, undisturbed, tmp_path):
    done = killed(table, tmp_path / "study", moment=4, jobs=1)
    assert done >= 4
    assert not StudyFolder(tmp_path / "study").finished
    assert findings_of_run(table, tmp_path / "study") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_killed_at_any_moment_it_finds_the_same(table, undisturbed, tmp_path, seed):
    chance = random.Random(seed)
    for _ in range(2):
        killed(table, tmp_path / "study", moment=chance.randrange(2 * N_PERMUTATIONS + 8), jobs=2)
    assert findings_of_run(table, tmp_path / "study", jobs=2) == undisturbed


def test_a_changed_table_is_refused(table, tmp_path):
    copy = tmp_path / "blood.csv"
    copy.write_text(table.read_text())
    out = tmp_path / "study"
    assert run(copy, out, permutations=0).exit_code == 0
    lines = copy.read_text().splitlines()
    copy.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    refused = run(copy, out, permutations=0)
    assert refused.exit_code == 2
    assert "the table itself" in refused.output


def test_two_runs_of_one_study_at_once_are_refused(table, tmp_path):
    with StudyFolder(tmp_path / "study").locked():
        refused = run(table, tmp_path / "study")
    assert refused.exit_code == 2
    assert f"is run by process {os.getpid()} on " in refused.output


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A command with all options: weights, columns always in, groups of columns, metrics, costs, a time limit."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("everything")
    X = rng.normal(size=(80, 8))
    columns = {f"x{place}": column for place, column in enumerate(X.T)} | {"w": rng.integers(1, 4, 80)}
    state = np.where(X[:, 0] + X[:, 2] + rng.normal(size=80) > 0, "ill", "well")
    pl.DataFrame(columns | {"state": state}).write_csv(folder / "table.csv")
    (folder / "groups.json").write_text('{"first": ["x2", "x3"], "second": ["x4", "x5"]}')
    effort = "--preset quick --methods anova,RidgeRFE --learners ridge --folds 3 --repeats 1 --permutations 19 --jobs 1"
    options = "--quiet --weights w --always x1 --scoring accuracy,roc_auc --cost FN=5,FP=1 --budget 2h"
    groups = ["--column-groups", str(folder / "groups.json")]
    return ["study", str(folder / "table.csv"), "--target", "state", *effort.split(), *options.split(), *groups]


@pytest.mark.parametrize("moment", [20, *(pytest.param(each, marks=pytest.mark.slow) for each in (5, 45))])
def test_a_study_with_all_options_is_killed_and_goes_on_bit_for_bit(everything, tmp_path, moment):
    def finished(out):
        found = CliRunner().invoke(app, [*everything, "--out", str(out)])
        assert found.exit_code == 0, found.output
        model = json.loads((out / "model.json").read_text())
        files = (out / "findings.json").read_text(), (out / "predictions.parquet").read_bytes()
        return *files, model["calibration"]

    undisturbed = finished(tmp_path / "undisturbed")
    assert undisturbed[2]["threshold"] is not None
    out = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "fewer", *everything, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None and pieces_done(out) < moment:
        time.sleep(0.02)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert finished(out) == undisturbed
