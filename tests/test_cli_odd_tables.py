"""Tables that no study can be made of are refused with a sentence and exit code 2, never with a traceback."""

import pytest
from typer.testing import CliRunner

from fewer.cli import app

EFFORT = ["--preset", "quick", "--learners", "ridge", "--repeats", "1", "-j", "1", "-q"]


def rows(y, g=None):
    """A table of three columns that vary, beside a target, and a column of the time or of groups if it is given."""
    lines = ["x0,x1,x2,y"]
    for place, label in enumerate(y, start=1):
        lines.append(",".join([*(f"{place * step % 1:.3f}" for step in (0.37, 0.77, 0.53)), str(label)]))
    if g is not None:
        lines = [f"{before},{line}" for before, line in zip(["g", *map(str, g)], lines, strict=True)]
    return "\n".join(lines) + "\n"


def study(tmp_path, text, *words, method="anova"):
    table = tmp_path / "table.csv"
    table.write_bytes(text.encode())
    out = ["--out", str(tmp_path / "study"), "--methods", method, "--permutations", "0"]
    return CliRunner().invoke(app, ["study", str(table), "--target", "y", *EFFORT, *out, *words])


REFUSED = {
    "an empty file": ("", [], "the file is empty"),
    "a header alone": ("x0,x1,y\n", [], "no rows"),
    "two rows": (rows("ab"), [], "2 rows"),
    "five rows with two classes of one row": (rows("aaabc"), [], "The class 'b' of 'y' has one row"),
    "a class of one row": (rows("a" * 19 + "b"), [], "The class 'b' of 'y' has one row"),
    "one class": (rows("a" * 20), [], "has only one value"),
    "a constant target": (rows([1.5] * 20), [], "has only one value"),
    "an identifier as the target": (
        rows([f"id{place}" for place in range(20)]),
        [],
        "are different, as those of an identifier are",
    ),
    "a target without values": (rows([""] * 20), [], "missing in every row"),
    "two columns of one name": ("x,x,y\n" + "1,2,a\n2,1,b\n" * 10, [], "column names must differ"),
    "columns without values": ("x0,x1,y\n" + ",,a\n,,b\n" * 10, [], "constant or empty"),
    "constant columns": ("x0,x1,y\n" + "1,2,a\n1,2,b\n" * 10, [], "constant or empty"),
    "an open quote": ('x0,x1,y\n1,"2,a\n' + "1,2,b\n" * 10, [], "not closed"),
    "infinite cells": (rows("ab" * 10).replace("0.370", "inf"), [], "contains inf, an infinite number, in row"),
    "as many folds as rows": (rows("ab" * 10), ["--folds", "20"], "No class of 'y' has more than 10 rows"),
    "more folds than rows": (
        rows("ab" * 10),
        ["--folds", "30"],
        "--folds must be at most the number of rows (20), not 30",
    ),
    "sizes beyond the columns": (rows("ab" * 10), ["--sizes", "5"], "number of columns (3), not 5"),
    "an unknown score": (rows("ab" * 10), ["--scoring", "nonsense"], "no score 'nonsense'"),
    "a score that no candidate has": (
        rows("ab" * 10),
        ["--scoring", "neg_log_loss", "--folds", "4"],
        "No candidate could be run",
    ),
    "one group": (rows("ab" * 10, [1] * 20), ["--groups", "g"], "has one group only"),
    "more folds than groups": (
        rows("aabb" * 5, [0, 1, 2, 3] * 5),
        ["--groups", "g", "--folds", "6"],
        "cannot be split into 6 folds (grouped)",
    ),
    "groups that are the classes": (rows("ab" * 10, [1, 2] * 10), ["--groups", "g"], "no row of class 'b'"),
    "a class that comes late": (rows("a" * 10 + "b" * 10, range(20)), ["--time", "g"], "no row of class 'b'"),
    "as many folds in time as rows": (
        rows("ab" * 10, range(20)),
        ["--time", "g", "--folds", "20"],
        "cannot be split into 20 folds (in order of time)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_studied_is_refused_with_a_sentence(tmp_path, name):
    text, words, said = REFUSED[name]
    refused = study(tmp_path, text, *words)
    assert isinstance(refused.exception, SystemExit), refused.exception
    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())


@pytest.mark.parametrize("labels", ["aabb", "aabbb"])
def test_a_table_of_four_or_five_rows_can_be_studied(tmp_path, labels):
    done = study(tmp_path, rows(labels), "--permutations", "19")
    assert done.exit_code == 0, done.output


def test_a_score_that_a_test_fold_does_not_define_is_named(tmp_path):
    refused = study(tmp_path, rows([0.1, 0.4, 0.2, 0.9, 0.7, 0.3], range(6)), "--time", "g", method="pearson")
    assert refused.exit_code == 2
    assert "r2 is not defined on a test fold of 1 row" in " ".join(refused.stderr.split())


WORDS = {
    "categories alone": "a,b,y\n" + "u,k,1\nv,l,2\nu,m,1\nv,k,2\nw,l,1\n" * 8,
    "two categories and missing cells": "a,b,y\n" + "u,,1\nv,l,2\n,m,1\nv,k,2\nw,l,1\n" * 8,
    "truth values": "a,b,y\n" + "true,false,x\nfalse,false,z\ntrue,true,x\nfalse,true,z\nfalse,true,x\n" * 8,
    "categories and a number that says nothing": "a,b,n,y\n" + "u,k,1,p\nv,l,1,q\nu,m,2,p\nv,k,1,q\nw,l,2,q\n" * 8,
    "categories and a number as the target": "a,b,y\n" + "u,k,1.5\nv,l,2.5\nu,m,1.25\nv,k,2.75\nw,l,1.1\n" * 8,
}


@pytest.mark.parametrize("name", WORDS)
def test_a_table_without_useful_numbers_can_be_studied_to_the_report(tmp_path, name):
    method = "pearson" if "as the target" in name else "anova"
    done = study(tmp_path, WORDS[name], method=method)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "study" / "report.html").stat().st_size > 100_000
