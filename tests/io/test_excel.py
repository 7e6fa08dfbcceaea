import importlib.util

import polars as pl
import pytest

from fewer.io import TableError, read_table

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")


@pytest.fixture
def workbook(tmp_path):
    """Write a workbook of these sheets, each a list of rows."""

    def write(**sheets):
        path = tmp_path / "book.xlsx"
        with xlsxwriter.Workbook(path) as book:
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for number, row in enumerate(rows):
                    sheet.write_row(number, 0, row)
        return path

    return write


def test_a_sheet_is_read(workbook):
    dataset = read_table(
        workbook(plants=[["height", "kind"], [1.5, "fern"], [None, "moss"], [3, "fern"]]), target="kind"
    )
    assert dataset.X.ravel().tolist()[::2] == [1.5, 3.0]
    assert dataset.missing_by_column.tolist() == [1]
    assert dataset.y.tolist() == ["fern", "moss", "fern"]


def test_sheets_by_name_and_number(workbook):
    path = workbook(first=[["a", "b"], [1, 2]], second=[["c", "d"], [3, 4]])
    assert read_table(path).columns == ("a", "b")
    assert read_table(path, sheet="second").columns == ("c", "d")
    assert read_table(path, sheet=2).X.tolist() == [[3, 4]]
    assert "sheet 'second'" in read_table(path, sheet=2).source
    with pytest.raises(TableError, match=r"no sheet 'secnd'. Did you mean 'second'"):
        read_table(path, sheet="secnd")
    with pytest.raises(TableError, match=r"no sheet number 3.*from 1 to 2"):
        read_table(path, sheet=3)


def test_headers_are_checked(workbook):
    with pytest.raises(TableError, match="'a' is the name of columns 1, 3"):
        read_table(workbook(s=[["a", "b", "a"], [1, 2, 3]]))
    assert read_table(workbook(s=[["", "b"], [1, 2], [3, 4]])).columns == ("unnamed_1", "b")
    assert read_table(workbook(s=[[1, 2], [3, 4]]), header=False).X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TableError, match="no rows"):
        read_table(workbook(s=[["a", "b"]]))
    with pytest.raises(TableError, match="empty"):
        read_table(workbook(s=[]))


def test_words_and_numbers_in_one_column_become_strings(workbook):
    dataset = read_table(workbook(s=[["a", "b"], [1, 1], ["x", 2], [2.5, 3]]))
    assert dataset.X.schema["a"] == pl.String


def test_without_the_reader_the_extra_is_named(workbook, monkeypatch):
    path = workbook(s=[["a"], [1]])
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "fastexcel" else real(name))
    with pytest.raises(TableError, match=r"pip install 'fewer\[excel\]'"):
        read_table(path)
