"""The commands around a study: what a user types, and what comes back."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from fewer.catalogue import LEARNERS
from fewer.cli import app
from fewer.io import read_table
from fewer.study import Journal, StudyModel, make_plan, study_data
from fewer.study.work._work import FoldWork

EFFORT = [
    "--preset",
    "quick",
    "--methods",
    "anova",
    "--learners",
    "ridge,knn",
    "--folds",
    "3",
    "--repeats",
    "1",
    "-j",
    "1",
]


def fewer(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % 2)
    columns = {f"gene {i}": rng.normal(size=60) + (2.0 * y if i < 2 else 0) for i in range(12)}
    frame = pl.DataFrame({"sample_id": [f"s{i:02d}" for i in range(60)], **columns})
    frame = frame.with_columns(
        colour=pl.Series(np.where(y, "red", "blue")[rng.permutation(60)]), state=pl.Series(np.where(y, "ill", "well"))
    )
    path = tmp_path_factory.mktemp("tables") / "blood.csv"
    frame.write_csv(path)
    return path


@pytest.fixture(scope="module")
def finished(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("studies") / "blood"
    result = fewer("study", table, "--target", "state", *EFFORT, "--permutations", 19, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


def test_a_study_says_what_it_found_and_where_the_report_is(finished):
    out, result = finished
    assert "Can the target be predicted?" in result.stdout
    assert "gene 0" in result.stdout
    assert f"Report: {out / 'report.html'}" in result.stdout


def test_it_leaves_what_the_user_keeps(finished):
    out, _ = finished
    names = {path.name for path in out.iterdir()}
    assert {"features.txt", "findings.json", "report.html", "journal.sqlite", "model.skops", "plan.json"} <= names
    findings = json.loads((out / "findings.json").read_text())
    chosen = [column["name"] for column in findings["columns"] if column["chosen"]]
    assert (out / "features.txt").read_text().splitlines() == chosen


def test_show_repeats_it(finished):
    out, result = finished
    assert fewer("show", out).stdout == result.stdout
    assert json.loads(fewer("show", out, "--json").stdout)["version"] == 6


def test_the_plan_of_a_report_gives_the_same_numbers(finished, tmp_path):
    out, _ = finished
    again = fewer("study", "--plan", out / "report.html", "--out", tmp_path / "again", "-j", 1)
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "findings.json").read_text() == (out / "findings.json").read_text()


def test_studies_are_listed_resumed_and_removed(finished, tmp_path):
    out, _ = finished
    listed = fewer("studies", out.parent)
    assert str(out) in listed.stdout
    assert json.loads((out / "findings.json").read_text())["headline"] in listed.stdout
    assert fewer("resume", out, "-j", 1).exit_code == 0
    assert "There is no study" in fewer("studies", tmp_path).stdout


def test_rm_removes_only_the_study(table, tmp_path):
    out = tmp_path / "study"
    assert fewer("study", table, "-t", "state", *EFFORT, "--permutations", 0, "--out", out).exit_code == 0
    (out / "my notes.txt").write_text("keep me")
    assert fewer("rm", out, "--yes").exit_code == 0
    assert [path.name for path in out.iterdir()] == ["my notes.txt"]
    assert fewer("rm", out, "--yes").exit_code == 2


def test_rm_asks_and_says_what_it_did(finished):
    out, _ = finished
    answered_no = CliRunner().invoke(app, ["rm", str(out)], input="n\n")
    assert answered_no.exit_code == 0
    assert f"Kept {out}.\n" in answered_no.stdout
    assert (out / "journal.sqlite").exists()


def test_a_dry_run_shows_the_plan_and_runs_nothing(table, tmp_path):
    result = fewer("study", table, "-t", "state", *EFFORT, "--dry-run", "--out", tmp_path / "study")
    assert result.exit_code == 0
    assert "candidates" in result.stdout
    assert "5: all features, anova, each with ridge, nearest neighbours; the baseline" in " ".join(
        result.stdout.split()
    )
    assert "on 1 worker, and up to " in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 120
    assert not (tmp_path / "study").exists()


def test_a_dry_run_without_tests_speaks_of_none(table):
    result = fewer("study", table, "-t", "state", *EFFORT, "--permutations", 0, "--dry-run")
    assert result.exit_code == 0
    assert "for the tests" not in result.stdout


def test_an_unfinished_study_says_what_is_left_and_is_no_json(table, tmp_path):
    plan = make_plan(study_data(read_table(table, target="state")), preset="quick", n_folds=3, n_repeats=1)
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal:
        result = fewer("show", tmp_path)
        assert f"not finished: 0 of {plan.n_evaluations} evaluations." in result.stdout
        for candidate in range(len(plan.candidates)):
            for fold in range(3):
                journal.add(FoldWork(candidate, 0, fold).key, {})
    assert "the tests and the report remain" in fewer("show", tmp_path).stdout
    as_json = fewer("show", tmp_path, "--json")
    assert as_json.exit_code == 2
    assert as_json.stdout == ""
    assert "fewer resume" in as_json.stderr


def test_new_rows_are_reduced_and_predicted(finished, table, tmp_path):
    out, _ = finished
    features = (out / "features.txt").read_text().splitlines()
    result = fewer("apply", out, table, "-o", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    reduced = pl.read_csv(tmp_path / "new.csv")
    assert "predicted_state" in reduced.columns
    truth = pl.read_csv(table)["state"]
    assert (reduced["predicted_state"] == truth).mean() > 0.8
    assert set(features) <= {*reduced.columns, "colour_red"}
    assert fewer("apply", out, table).stdout == (tmp_path / "new.csv").read_text()
    only = pl.read_csv(table).select([name for name in features if not name.startswith("colour")])
    only.drop(only.columns[0]).write_csv(tmp_path / "short.csv")
    lacking = fewer("apply", out, tmp_path / "short.csv", "-o", tmp_path / "x.csv")
    assert lacking.exit_code == 2
    assert only.columns[0] in lacking.stderr


def test_a_model_from_a_stranger_is_not_loaded(finished, tmp_path):
    from dataclasses import replace

    out, _ = finished
    spoilt = tmp_path / "study"
    shutil.copytree(out, spoilt)
    replace(StudyModel.load(out / "model.skops"), pipeline={"run": CliRunner}).save(spoilt / "model.skops")
    refused = fewer("apply", spoilt, spoilt / "nothing.csv", "-o", tmp_path / "x.csv")
    assert refused.exit_code == 2
    assert "not loaded" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "sate"], "(given by --target). Did you mean 'state'?"),
        (["--target", "state", "--preset", "fast"], "must be one of quick"),
        (["--target", "state", "--methods", "fischer"], "fisher"),
        (["--target", "state", "--engine", "cloud"], "must be local or dask"),
        (["--target", "state", "--engine", "dask"], "--scheduler"),
        (["--target", "state", "--sizes", "a,b"], "whole numbers"),
        (["--target", "state", "--groups", "sampel_id"], "(given by --groups). Did you mean 'sample_id'?"),
        (["--target", "state", "--time", "sampel_id"], "(given by --time). Did you mean 'sample_id'?"),
        (["--target", "state", "--keep", "sampel_id"], "(given by --keep). Did you mean 'sample_id'?"),
        (["--target", "state", "--groups", "state"], "'state' is the target"),
        (["--target", "state", "--jobs", "0"], "'--jobs'"),
        (["--target", "state", "--seed", "-1"], "seed must be at least 0"),
        (["--target", "state", "--confidence", "95"], "confidence must be between 0 and 1, not 95"),
        (["--target", "state", "--plan", "none.json"], "The plan none.json cannot be read: No such file or directory."),
        (
            ["--target", "state", "--plan", "TABLE"],
            "contains no plan; give the report.html or the plan.json of a study.",
        ),
        (["--target", "state", "--drop", ",".join(f"gene {i}" for i in range(12)) + ",colour"], "list it in --keep."),
        ([], "needs a target: give the column to predict with --target"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_in_a_paragraph(table, tmp_path, words, said):
    words = [table if word == "TABLE" else word for word in words]
    result = fewer("study", table, *words, "--out", tmp_path / "study")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_decimal_commas_are_told_although_the_study_cannot_begin(tmp_path):
    path = tmp_path / "euro.csv"
    path.write_text("a;y\n" + "".join(f"{i},5;{i},25\n" for i in range(20)))
    result = fewer("study", path, "--target", "y", "--dry-run")
    assert result.exit_code == 2
    assert "use --decimal ,;" in result.stderr


def test_without_a_table_there_is_no_study():
    result = fewer("study")
    assert result.exit_code == 2
    assert "Give a table" in result.stderr


def test_what_every_fold_warns_of_is_one_note_with_the_name_of_the_column(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"x{place}": rng.normal(size=150) for place in range(3)}
    pl.DataFrame({"sex": np.arange(150) % 2 + 1, **columns, "y": rng.normal(size=150)}).write_csv(tmp_path / "t.csv")
    effort = ["SubspaceDistanceFeatures" if word == "anova" else word for word in EFFORT] + ["--permutations", "0"]
    result = fewer("study", tmp_path / "t.csv", "--target", "y", *effort, "--out", tmp_path / "study")
    assert result.exit_code == 0, result.output
    assert [line[:21] for line in result.stderr.splitlines() if "different values" in line] == ["Warning: Column 'sex'"]


@pytest.fixture
def sigint_as_in_a_terminal():
    """Python's own handler: a job in the background starts with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.usefixtures("sigint_as_in_a_terminal")
def test_sigterm_stops_a_study_as_ctrl_c_does(table, tmp_path, monkeypatch):
    add = Journal.add
    before = signal.getsignal(signal.SIGTERM)

    def add_and_be_terminated(journal, *words):
        add(journal, *words)
        if len(journal) == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Journal, "add", add_and_be_terminated)
    out = tmp_path / "study"
    stopped = fewer("study", table, "-t", "state", *EFFORT, "--permutations", 0, "--out", out)
    assert stopped.exit_code == 143
    assert "Stopped; 3 finished tasks kept." in stopped.stderr
    assert signal.getsignal(signal.SIGTERM) is before
    assert "not finished: 3 of 15 evaluations" in fewer("show", out).stdout


def test_a_damaged_study_is_listed_shown_as_such_and_removed(finished, tmp_path):
    out, _ = finished
    for name in ("first", "second"):
        shutil.copytree(out, tmp_path / name)
    (tmp_path / "first" / "journal.sqlite").write_text("no database " * 50)
    listed = fewer("studies", tmp_path)
    assert listed.exit_code == 0
    assert "is damaged. Remove the study with `fewer rm" in listed.stdout
    assert str(tmp_path / "second") in listed.stdout
    for command in ("show", "resume"):
        refused = fewer(command, tmp_path / "first")
        assert refused.exit_code == 2
        assert "is damaged" in refused.stderr
    assert fewer("rm", tmp_path / "first", "--yes").exit_code == 0
    assert not (tmp_path / "first").exists()


def test_findings_that_are_damaged_are_shown_from_the_journal(finished, tmp_path):
    out, _ = finished
    shutil.copytree(out, tmp_path / "study")
    (tmp_path / "study" / "findings.json").write_text("{}")
    assert fewer("show", tmp_path / "study", "--json").stdout == fewer("show", out, "--json").stdout
    assert "does not match its checksum" in fewer("studies", tmp_path).stdout


LISTING = """
import sys
from typer.main import get_command
from typer.testing import CliRunner
from fewer.cli import app
result = CliRunner().invoke(app, ["studies", sys.argv[1]])
assert result.exit_code == 0, result.output
print(result.stdout)
print(*sorted(name.partition(".")[0] for name in sys.modules))
print(sum(name.startswith("fewer.") for name in sys.modules))
"""


def test_studies_are_listed_by_small_reads(finished, tmp_path):
    out, _ = finished
    done = subprocess.run([sys.executable, "-c", LISTING, out.parent], capture_output=True, text=True)
    assert str(out) in done.stdout, done.stderr
    *_, modules, ours = done.stdout.splitlines()
    assert {"numpy", "scipy", "sklearn", "polars", "joblib", "numba"}.isdisjoint(modules.split())
    assert int(ours) < 35


def test_parsimony_may_be_one_standard_error(table, tmp_path):
    out = tmp_path / "out"
    done = fewer("study", table, "-t", "state", *EFFORT, "--permutations", 0, "--parsimony", "one_se", "-o", out)
    assert done.exit_code == 0, done.output
    findings = json.loads((out / "findings.json").read_text())
    assert "one standard error" in findings["how_few"]["how"]
    assert findings["chosen"] == list(dict.fromkeys(each["source"] for each in findings["columns"] if each["chosen"]))


@pytest.mark.parametrize("given", ["2", "some"])
def test_another_parsimony_is_refused(table, tmp_path, given):
    done = fewer("study", table, "-t", "state", *EFFORT, "--parsimony", given, "-o", tmp_path / "out")
    assert done.exit_code != 0
    assert "one_se" in done.output


def test_counts_are_studied_by_the_poisson_deviance(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    counts = rng.poisson(np.exp(0.3 + 0.8 * X[:, 2]))
    pl.DataFrame({**{f"x{i}": X[:, i] for i in range(4)}, "visits": counts}).write_csv(tmp_path / "visits.csv")
    effort = ["--preset", "quick", "--methods", "pearson", "--folds", 3, "--repeats", 1, "--permutations", 19, "-j", 1]
    scored = ["--target", "visits", "--scoring", "neg_mean_poisson_deviance", "--out", tmp_path / "out", "--json"]
    result = fewer("study", tmp_path / "visits.csv", *scored, *effort)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["learnable"]["verdict"] == "yes"
    assert found["columns"][0]["name"] == "x2"
    model = StudyModel.load(tmp_path / "out" / "model.skops")
    applied = model.pipeline.predict(X[:, [int(name[1:]) for name in model.columns]])
    assert applied.min() > 0


def test_the_help_shows_no_type_for_flags_and_where_defaults_come_from():
    said = fewer("study", "--help").stdout
    assert "<bool>" not in said
    assert "<str>" not in said.partition("Options")[2]
    assert "(by preset)" in said


def test_the_help_names_learners_that_there_are():
    (option,) = (each for each in get_command(app).commands["study"].params if "--learners" in each.opts)
    names = option.help.partition(": ")[2].partition(", ...")[0].split(", ")
    assert set(names) < set(LEARNERS)
