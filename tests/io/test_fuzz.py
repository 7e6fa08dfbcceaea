"""Whatever is in a file, reading it gives a table or an error of ours: no other exception, no crash, no hang."""

import gzip
import io
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from scipy.io import savemat

from fewer.io import _confined, _matrix_files, _read, read_table
from mutated import (
    QUICK,
    SLOW,
    batches,
    damaged,
    damaged_archive,
    fuzzed,
    limited_memory,
    mutated,
    mutated_archive,
    refused_or_read,
)

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(12, 4)).round(2)
Y = np.array([0, 1] * 6)
MATRIX = sp.random(12, 5, density=0.4, format="csc", rng=0)
FRAME = pl.DataFrame(
    {
        "a": [1.5, None, 2.5] * 4,
        "b": [1, 2, 3] * 4,
        "c": ["x", "yy", "a text of more than twelve bytes"] * 4,
        "d": [True, False, None] * 4,
        "e": pl.Series(["2020-01-01", "2021-02-03", None] * 4).str.to_date(),
        "f": pl.Series(["r", "g", "r"] * 4, dtype=pl.Categorical),
    }
)
DENSE_ARFF = b"""@relation t
@attribute a numeric
@attribute 'b c' {x, y, 'z w'}
@attribute s string
@attribute d date yyyy-MM-dd
@data
1.5,x,'some, text',2020-01-01
?,y,b,2021-03-04
3,'z w',?,?
"""
SPARSE_ARFF = b"""@relation t
@attribute a numeric
@attribute b numeric
@attribute c {no, yes}
@data
{0 1.5, 2 yes}
{1 3}
{0 2, 1 4, 2 yes}
"""
SVMLIGHT = b"# 5 columns\n1 1:0.5 3:2 5:1.25\n-1 2:1e3 # c\n1 qid:3 1:1 4:0.25\n0 5:3\n"


def written(write, *args, **options) -> bytes:
    buffer = io.BytesIO()
    write(buffer, *args, **options)
    return buffer.getvalue()


def csv_files() -> list[bytes]:
    return [FRAME.write_csv().encode(), b'name;v\n"a;b";1,5\n"c""d";2,5\n', b"a\tb\r\n1\t2\r\n\r\n3\t\r\n"]


def archives_of_arrays() -> list[bytes]:
    return [
        written(np.savez, X=X, y=Y, columns=np.array(list("abcd"))),
        written(np.savez_compressed, X=X.astype("f4"), labels=np.array(["no", "yes"] * 6)),
        *[
            written(sp.save_npz, MATRIX.asformat(form), compressed=False)
            for form in ("csc", "csr", "coo", "bsr", "dia")
        ],
    ]


def matlab_files() -> list[bytes]:
    words = np.array(["no", "yes"] * 6, dtype=object)
    return [
        written(savemat, {"X": X, "Y": Y[:, None]}),
        written(savemat, {"X": X, "Y": ["no", "yes"] * 6, "about": {"a": 1}}, do_compression=True),
        written(savemat, {"X": MATRIX, "Y": words}),
        written(savemat, {"X": X, "Y": Y}, format="4"),
    ]


def parquet_files() -> list[bytes]:
    return [
        written(FRAME.write_parquet),
        written(FRAME.write_parquet, compression="uncompressed"),
        written(FRAME.write_parquet, compression="snappy", row_group_size=4),
    ]


def arrow_files() -> list[bytes]:
    return [
        written(FRAME.write_ipc),
        written(FRAME.write_ipc, compression="zstd"),
        written(FRAME.write_ipc, compression="lz4", compat_level=pl.CompatLevel.oldest()),
    ]


def workbooks() -> list[bytes]:
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer) as book:
        sheet = book.add_worksheet("s")
        sheet.write_row(0, 0, ["a", "b", "c"])
        for row in range(1, 11):
            sheet.write_row(row, 0, [row / 4, f"w{row}", row % 2 == 0])
    return [buffer.getvalue()]


def databases(folder: Path) -> list[bytes]:
    path = folder / "valid.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("CREATE TABLE t (a REAL, b INTEGER, c TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i / 2, i, f"w{i}") for i in range(40)])
    connection.close()
    return [path.read_bytes()]


def check(folder: Path, suffix: str, contents, max_examples: int) -> int:
    """Read this many mutated files in this process; how many of them could be read."""
    path = folder / f"t{suffix}"
    n_read = 0

    @fuzzed(max_examples)
    @given(contents)
    def read(content):
        nonlocal n_read
        path.write_bytes(content)
        n_read += refused_or_read(lambda: read_table(path))

    with limited_memory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read()
    return n_read


EFFORT = [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.slow)]


@pytest.mark.parametrize("max_examples", EFFORT)
@pytest.mark.parametrize(
    ("suffix", "valid"),
    [(".csv", csv_files()), (".arff", [DENSE_ARFF, SPARSE_ARFF]), (".svm", [SVMLIGHT])],
)
def test_text_is_read_or_refused(tmp_path, suffix, valid, max_examples):
    assert check(tmp_path, suffix, mutated(valid), max_examples)


@pytest.mark.parametrize("max_examples", EFFORT)
def test_packed_text_is_read_or_refused(tmp_path, max_examples):
    for suffix, content in [(".csv.gz", csv_files()[0]), (".arff.gz", DENSE_ARFF), (".svm.gz", SVMLIGHT)]:
        check(tmp_path, suffix, mutated([gzip.compress(content, mtime=0)]), max_examples // 3)


@pytest.mark.parametrize("max_examples", EFFORT)
def test_archives_of_arrays_are_read_or_refused(tmp_path, max_examples):
    assert check(tmp_path, ".npz", mutated_archive(archives_of_arrays()), max_examples)


@pytest.mark.parametrize("max_examples", EFFORT)
def test_databases_are_read_or_refused(tmp_path, max_examples):
    assert check(tmp_path, ".db", mutated(databases(tmp_path)), max_examples)


BATCH = 50


@pytest.mark.parametrize("max_examples", EFFORT)
@pytest.mark.parametrize(
    ("format", "damage", "valid"),
    [
        ("mat", damaged, matlab_files),
        ("parquet", damaged, parquet_files),
        ("arrow", damaged, arrow_files),
        ("excel", damaged_archive, workbooks),
    ],
)
def test_binary_files_are_read_or_refused(tmp_path, monkeypatch, format, damage, valid, max_examples):
    """One child process for many files, else most of the time would be its start."""
    known = _read.FORMATS[format]
    n_read = 0
    outcomes: dict[Path, object] = {}

    def outcome_of(format, path, receive, options=None):
        if isinstance(outcomes[path], _confined.UnreadableError):
            raise outcomes[path]
        return outcomes[path]

    for module in (_confined, _matrix_files):
        monkeypatch.setattr(module, "read_confined", outcome_of)
    receive = {"mat": _matrix_files.received_variables, "excel": _confined._received}.get(format, lambda reply: None)
    paths = [tmp_path / f"t{place}{known.suffixes[0]}" for place in range(BATCH)]

    @fuzzed(max_examples // BATCH)
    @given(batches(damage, valid(), BATCH))
    def read(batch):
        nonlocal n_read
        for path, content in zip(paths, batch, strict=True):
            path.write_bytes(content)
        options = {"sheet": None, "header": True}
        outcomes.update(zip(paths, _confined.confined_outcomes(format, paths, receive, options), strict=True))
        with limited_memory():
            n_read += sum(refused_or_read(lambda path=path: read_table(path)) for path in paths)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read()
    assert n_read  # else nothing but the first check of each reader was tried
