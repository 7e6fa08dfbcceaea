"""The command line: `fewer describe` and `fewer methods`, their errors, and their exit codes."""

import inspect
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import fewer
from fewer._options import options_of
from fewer.catalogue import method, methods
from fewer.cli import app
from fewer.report import print_methods


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    ill = rng.permutation(["yes", "no"] * 30)
    age = rng.integers(20, 80, 60)
    return pl.DataFrame(
        {
            "age": age,
            "again": age,
            "weight, kg": rng.normal(70, 9, 60),
            "code": np.where(ill == "yes", "a", "b"),
            "ill": ill,
        }
    )


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "patients.csv"
    frame.write_csv(path)
    return path


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"fewer {fewer.__version__}\n"


def test_help_does_not_import_what_it_does_not_need():
    script = (
        "import sys\nfrom typer.testing import CliRunner\nfrom fewer.cli import app\n"
        "done = CliRunner().invoke(app, ['--help'])\n"
        "print(done.exit_code, sorted({'numpy', 'scipy', 'sklearn', 'polars', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"


def test_describe_tells_what_the_table_is_and_what_to_do(table):
    done = run("describe", table, "--target", "ill")
    assert done.exit_code == 0
    # A long path is broken anywhere, so no white space counts.
    assert f"{table.name}:60rows,4columns" in "".join(done.stdout.split())
    assert "age = again" in done.stdout
    assert "code alone predicts the target almost perfectly" in " ".join(done.stdout.split())
    assert done.stdout.rstrip().endswith("fewer study TABLE --target ill")


def test_json_alone_goes_to_the_standard_output(table):
    done = run("describe", table, "--target", "ill", "--json")
    facts = json.loads(done.stdout)
    assert facts["rows"] == 60
    assert facts["duplicates"] == [["age", "again"]]
    assert done.stderr == ""


def test_describe_works_without_a_target(table):
    assert json.loads(run("describe", table, "--json").stdout)["target"] is None


@pytest.mark.parametrize("suffix", [".parquet", ".arff"])
def test_other_formats_are_described_alike(frame, table, tmp_path, suffix):
    path = tmp_path / f"patients{suffix}"
    if suffix == ".parquet":
        frame.write_parquet(path)
    else:
        rows = "\n".join(",".join(str(value) for value in row) for row in frame.rows())
        path.write_text(
            "@relation patients\n@attribute age numeric\n@attribute again numeric\n@attribute 'weight, kg' numeric\n"
            f"@attribute code {{a,b}}\n@attribute ill {{yes,no}}\n@data\n{rows}\n"
        )
    found, expected = (json.loads(run("describe", file, "-t", "ill", "--json").stdout) for file in (path, table))
    for key in ("rows", "columns", "kinds", "duplicates", "leaking_columns", "target"):
        assert found[key] == expected[key]


def test_columns_are_dropped_by_name_and_quotes_protect_a_comma(table):
    facts = json.loads(run("describe", table, "--drop", 'again,"weight, kg"', "--drop", "code", "--json").stdout)
    assert facts["columns_by_kind"] == {"numeric": ["age"], "boolean": ["ill"]}


def test_more_markers_of_missing_values_add_to_the_usual_ones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n-999,x\nNA,y\n2.5,unknown\n3.5,x\n")
    facts = json.loads(run("describe", path, "--missing-values", "-999,unknown", "--json").stdout)
    assert [(item["column"], item["count"]) for item in facts["missing"]["columns"]] == [("a", 2), ("b", 1)]


def test_separator_encoding_and_header_are_passed_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;b\n1,5;2\n2,5;3\n4,5;7\n".encode("latin-1"))
    done = run("describe", path, "--separator", ";", "--decimal", ",", "--encoding", "latin-1", "--json")
    assert json.loads(done.stdout)["columns_by_kind"] == {"numeric": ["größe", "b"]}
    plain = tmp_path / "plain.csv"
    plain.write_text("1.5,2\n2.5,3\n4.5,7\n")
    assert json.loads(run("describe", plain, "--no-header", "--json").stdout)["rows"] == 3


def test_the_task_can_be_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame({"a": np.random.default_rng(0).normal(size=40), "y": np.arange(40) % 5}).write_csv(path)
    facts = json.loads(run("describe", path, "-t", "y", "--task", "regression", "--json").stdout)
    assert facts["target"]["task"] == "regression"


def test_output_goes_to_a_file_as_text_or_by_its_suffix_as_json(table, tmp_path):
    done = run("describe", table, "-o", tmp_path / "out.txt")
    assert (done.exit_code, done.stdout) == (0, "")
    text = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert text.rstrip().endswith("fewer methods --task unsupervised")
    assert "\x1b" not in text
    run("describe", table, "-o", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"] == 60


def test_a_data_set_by_name_brings_its_own_target():
    facts = json.loads(run("describe", "dataset:iris", "--json").stdout)
    assert (facts["rows"], facts["columns"], facts["target"]["task"]) == (150, 4, "multiclass")
    dropped = json.loads(run("describe", "dataset:iris", "--drop", "petal length (cm)", "--json").stdout)
    assert dropped["columns"] == 3


def test_a_column_of_a_data_set_by_name_may_be_the_target():
    facts = json.loads(run("describe", "dataset:iris", "--target", "petal width (cm)", "--json").stdout)
    assert (facts["columns"], facts["target"]["name"]) == (4, "petal width (cm)")
    assert facts["source"] == "data set iris (scikit-learn)"


@pytest.mark.parametrize(
    ("name", "text", "arguments", "cure", "then"),
    [
        ("t.csv", "name,b\nZoë,1\nAnn,2\n".encode("cp1252"), [], "try --encoding cp1252.", ["--encoding", "cp1252"]),
        ("t.csv", b"1.5,2\n3,4\n", [], "Use --no-header (the columns", ["--no-header"]),
        ("t.csv", b"a b\n1 2\n", [], "Use --separator ' ' if", ["--separator", " "]),
        ("t.csv", b"a;b\n1,5;2\n2,5;3\n", [], "use --decimal ,; if", ["--decimal", ","]),
        ("t.dat", b"a,b\n1,2\n", [], "--format (csv,", ["--format", "csv"]),
        ("t.csv", b"a,b\n1,2\n2,3\n", ["-t", "c"], "(given by --target)", ["-t", "b"]),
        ("t.csv", b"a,b\n1,2\n2,3\n", ["-t", "b", "--drop", "b"], "the target and in --drop.", ["-t", "b"]),
        ("t.csv", b"a\n" + b"1\n" * 30 + b"no\nlow\n", [], "--missing-values low,no.", ["--missing-values", "low,no"]),
    ],
)
def test_a_cure_is_told_as_the_option_to_type(tmp_path, name, text, arguments, cure, then):
    (tmp_path / name).write_bytes(text)
    assert cure in run("describe", tmp_path / name, *arguments).stderr
    cured = run("describe", tmp_path / name, *then)
    assert (cured.exit_code, cured.stderr) == (0, "")


def test_every_reading_option_is_an_argument_of_read_table_and_an_option_of_every_command_that_reads():
    options = {each.name for each in options_of("reading")}
    assert options <= set(inspect.signature(fewer.read_table).parameters)
    for command in ("describe", "study", "apply"):
        said = run(command, "--help").stdout
        for name in options:
            assert f"--{'no-' * (name == 'header')}{name.replace('_', '-')}" in said


def test_names_of_files_are_told_as_they_are(tmp_path):
    (tmp_path / "target=3.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "target=3.csv: there is no column" in run("describe", tmp_path / "target=3.csv", "-t", "c").stderr


def test_a_table_of_a_database_is_asked_for_by_its_name(tmp_path):
    import sqlite3

    connection = sqlite3.connect(tmp_path / "lab.sqlite")
    for table in ("assays", "patients"):
        connection.execute(f"CREATE TABLE {table} (a, b)")
        connection.execute(f"INSERT INTO {table} VALUES (1, 2)")
    connection.commit()
    connection.close()
    assert "--table or --query. Tables: 'assays', 'patients'" in run("describe", tmp_path / "lab.sqlite").stderr
    assert run("describe", tmp_path / "lab.sqlite", "--table", "assays").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_file.csv"], "no_such_file.csv"),
        (["TABLE", "--target", "il"], "Did you mean 'ill'?"),
        (["TABLE", "--drop", "agee"], "'agee'"),
        (["TABLE", "--task", "guessing"], "guessing"),
        (["TABLE", "-o", "no/such/folder/out.txt"], "no/such/folder/out.txt"),
        (["dataset:irsi"], "Did you mean 'iris'"),
        (["dataset:iris", "--drop", "petal"], "there is no column 'petal'"),
        (["dataset:iris", "--target", "petal width"], "(given by --target). Did you mean 'petal width (cm)'"),
        (["dataset:iris", "--separator", ";"], "--separator does not apply"),
        (["dataset:iris", "--task", "regression"], "--task does not apply"),
    ],
)
def test_mistakes_get_one_paragraph_on_stderr_and_exit_code_2(arguments, message, table):
    done = run("describe", *[table if argument == "TABLE" else argument for argument in arguments])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "\n\n" not in done.stderr.strip()


def test_errors_stay_on_stderr_with_json(table):
    done = run("describe", table, "--target", "nobody", "--json")
    assert (done.exit_code, done.stdout) == (2, "")


def test_names_in_errors_are_not_markup(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("[red]a,b\n1.5,2.5\n3.5,4.5\n")
    assert "'[red]x'" in run("describe", path, "--target", "[red]x").stderr


def test_rows_left_out_for_want_of_a_target_are_noted_on_stderr(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1.5,u\n2.5,\n3.5,v\n4.5,u\n")
    done = run("describe", path, "--target", "y", "--json")
    assert json.loads(done.stdout)["rows"] == 3
    assert done.stderr.startswith("Warning: ")
    assert "UserWarning" not in done.stderr


def test_faults_of_ours_keep_their_traceback(table, monkeypatch):
    monkeypatch.setattr("fewer.overview.describe", lambda dataset: 1 / 0)
    done = run("describe", table)
    assert isinstance(done.exception, ZeroDivisionError)


def test_ctrl_c_ends_quietly(table, monkeypatch):
    def interrupted(dataset):
        raise KeyboardInterrupt

    monkeypatch.setattr("fewer.overview.describe", interrupted)
    done = run("describe", table)
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_pipe_ends_quietly(table, options):
    command = [sys.executable, "-c", "from fewer.cli import app; app()", "describe", str(table), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


def test_piped_output_is_plain_and_fits_80_columns(table):
    command = [sys.executable, "-c", "from fewer.cli import app; app()", "describe", str(table), "--target", "ill"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    lines = done.stdout.splitlines()
    assert max(map(len, lines[1:])) <= 80
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in lines)


def run_methods(*arguments):
    return CliRunner().invoke(app, ["methods", *arguments])


def test_every_method_is_listed_with_when_to_use_it_its_cost_and_its_authors():
    said = run_methods().stdout
    for card in methods():
        assert card.name in said
    assert "When: The columns mix a few independent sources" in said
    assert "Cost: O(n p^2 + p^3) time" in said
    assert "From: Cardoso, J.-F. (1989)\n" in said


def test_one_method_is_shown_with_its_paper_and_its_cost():
    said = " ".join(run_methods("kurtosisica").stdout.split())
    assert "Cardoso, J.-F. (1989)" in said
    assert "O(n p^2 + p^3)" in said


def test_json_holds_the_whole_card():
    (card,) = json.loads(run_methods("ReconstructionPCA", "--json").stdout)
    assert card["room"] == "extract"
    assert card["handles"] == ["sparse"]
    assert card["citation"].startswith("Jolliffe")


def test_filters_narrow_the_list():
    assert {card["room"] for card in json.loads(run_methods("--room", "extract", "--json").stdout)} == {"extract"}
    assert all("sparse" in card["handles"] for card in json.loads(run_methods("--handles", "sparse", "--json").stdout))


def test_where_nothing_matches_the_nearest_are_named():
    said = run_methods("--room", "extract", "--handles", "missing,sparse,categorical").stdout
    assert said.startswith("No method matches all of these options.\n")
    extract = ", ".join(card.name for card in methods(room="extract"))
    assert f"Without --handles: {extract}.\n" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["KurtosICA"], "Did you mean KurtosisICA?"),
        (["--room", "kitchen"], "There is no room 'kitchen'"),
        (["--handles", "dirt"], "There is no kind of data 'dirt'"),
    ],
)
def test_unknown_words_end_with_a_message_and_no_traceback(arguments, complaint):
    done = run_methods(*arguments)
    assert done.exit_code == 2
    assert complaint in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_card_with_markup_in_it_stays_text(capsys):
    declare = method(room="select", tasks=["evaluation"], when="[red]always[/red] and [bold", cost="O(1)", handles=[])
    print_methods([declare(lambda X: X).__fewer_method__])
    assert "When: [red]always[/red] and [bold" in capsys.readouterr().out


def test_one_method_is_shown_with_what_units_do():
    shown = " ".join(run_methods("RegularizedFisher").stdout.split())
    assert "The result depends on the unit of the columns: alpha is added to sums of squares of the columns." in shown
    shown = " ".join(run_methods("ReconstructionPCA").stdout.split())
    assert "The result does not depend on the unit or the origin of the columns." in shown
    assert json.loads(run_methods("BasisPursuit", "--json").stdout)[0]["depends_on_shift"]
