import csv
import gzip
import io
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer.io import TableError, read_table
from fewer.io._csv import blank_records, first_records


def cells(dataset):
    """Rows as lists, whatever holds them."""
    if isinstance(dataset.X, pl.DataFrame):
        return [list(row) for row in dataset.X.rows()]
    return [[None if value != value else value for value in row] for row in dataset.X.tolist()]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_from_the_header(file, separator):
    text = "a,b,c\n1,2.5,x\n3,4.5,y\n".replace(",", separator)
    dataset = read_table(file(text))
    assert dataset.columns == ("a", "b", "c")
    assert cells(dataset) == [[1, 2.5, "x"], [3, 4.5, "y"]]


def test_a_separator_inside_quoted_names_does_not_count(file):
    assert read_table(file('"a;b;c","d"\n1,2\n')).columns == ("a;b;c", "d")


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        "\ufeffa,b\n1,2\n3,4\n",
        '\ufeff"a","b"\r\n"1","2"\r\n"3","4"\r\n',
        "\n\na,b\n1,2\n\n3,4\n\n\n",
        "a,b\r\n1,2\r\n\r\n3,4\r\n\r\n",
        " a , b\n 1, 2\n3 ,4\n",
    ],
)
def test_marks_line_ends_and_blank_lines_do_not_matter(file, text):
    dataset = read_table(file(text))
    assert dataset.columns == ("a", "b")
    assert cells(dataset) == [[1, 2], [3, 4]]


def test_a_blank_line_in_a_single_column_is_a_missing_value_unless_it_ends_the_file(file):
    assert cells(read_table(file("a\n1\n\n3\n\n\n"))) == [[1], [None], [3]]


def test_quotes_hold_separators_quotes_and_line_ends(file):
    dataset = read_table(file('a,b\n"x, ""y""",1\n"two\nlines",2\n'))
    assert cells(dataset) == [['x, "y"', 1], ["two\nlines", 2]]


def test_compressed_files_are_read(file):
    assert cells(read_table(file(gzip.compress(b"a\tb\n1\t2\n"), "t.tsv.gz"))) == [[1, 2]]
    with pytest.raises(TableError, match=r"t\.csv\.gz: .*gzip"):
        read_table(file(gzip.compress(b"a,b\n1,2\n")[:-9], "t.csv.gz"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "a;b;c\n1,5;x;2\n2,25;y;3\n?;y;4\n",
            r"'1,5' in column 'a'.* in 1 of 3 columns.* use decimal=','; if .*thousands",
        ),
        ('a,b\n"1,234",x\n"2,345",y\n', r"'1,234' in column 'a'.* point instead; if .*thousands"),
    ],
)
def test_numbers_with_commas_that_stay_strings_are_told_with_the_cure(file, text, complaint):
    with pytest.warns(UserWarning, match=complaint) as caught:
        read_table(file(text))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("text", ["a;b\n1;x,y\n2;1,5\n", "a;b\n1;2\n3;4\n", "a;b\n1;5,\n3;6,\n"])
def test_other_commas_are_not_taken_for_decimal_marks(file, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(file(text))


def test_decimal_commas(file):
    dataset = read_table(file("a;b;c\n1,5;x;-2,5\n 2,25;y;NA\n+3;z;1e3\n"), decimal=",")
    assert cells(dataset) == [[1.5, "x", -2.5], [2.25, "y", None], [3.0, "z", 1000.0]]
    with pytest.raises(TableError, match=r"decimal=','.*separator ','"):
        read_table(file("a,b\n1,2\n"), decimal=",")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "99999999999999999999"], [1.0, 1e20]),
        (
            ["1", "123456789012345678901234567890123456789012345"],
            [1.0, float("123456789012345678901234567890123456789012345")],
        ),
        (["1e5", "-2.5E-3"], [1e5, -2.5e-3]),
        ([" 1.5", "2 "], [1.5, 2.0]),
        (["+1", ".5"], [1.0, 0.5]),
        (["inf", "-inf"], [np.inf, -np.inf]),
        (["?", "2"], [None, 2.0]),
        (["NA", "2"], [None, 2.0]),
        (["nan", "2"], [None, 2.0]),
        (["9223372036854775807", "1"], [9223372036854775807, 1]),
    ],
)
def test_numbers_are_read_however_they_are_written(file, texts, values):
    dataset = read_table(file("a\n" + "\n".join(texts) + "\n"))
    assert [row[0] for row in cells(dataset)] == values


@pytest.mark.parametrize("late", ["2.5", "1e300", "99999999999999999999", " 7", "-inf"])
def test_a_number_of_another_form_may_come_late(file, late):
    dataset = read_table(file("a,b\n" + "1,1\n" * 3000 + f"{late},2\n"))
    assert isinstance(dataset.X, np.ndarray)
    assert dataset.X[-1, 0] == float(late)
    assert dataset.n_rows == 3001


def test_a_word_may_come_late(file):
    with pytest.warns(UserWarning, match="'a' contains 'many'"):
        dataset = read_table(file("a,b\n" + "1,1\n" * 3000 + "many,2\n"))
    assert dataset.X["a"][-1] == "many"
    assert dataset.kinds == ("categorical", "numeric")


def test_words_among_numbers_are_told_with_the_cure(file):
    path = file("a,b,c\n" + "1,2.5,u\n" * 30 + "low,-,1\nhigh,3,v\n")
    with pytest.warns(
        UserWarning, match=r"'a' contains 'high', 'low'; 'b' contains '-'.*DEFAULT_MISSING, '-', 'high', 'low'\]"
    ) as seen:
        read_table(path)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = read_table(path, missing_values=["-", "high", "low"])
    assert dataset.kinds == ("constant", "numeric", "categorical")


def test_codes_and_words_are_read_without_warning(file):
    rows = [f"{j},A{j},{'x' if j % 3 else j}" for j in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(file("\n".join(["n,code,half", *rows]) + "\n"))


def test_a_column_may_start_empty(file):
    dataset = read_table(file("a,b\n" + "1,\n" * 3000 + "1,2.5\n"))
    assert dataset.X[-1, 1] == 2.5
    assert dataset.missing_by_column.tolist() == [0, 3000]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a,b,c\n1,2,3\n4,5\n", 3, "2 fields"),
        ("a,b,c\n1,2,3\n\n4\n", 4, "1 field"),
        ("a,b,c\n1,2,3,4\n", 2, "4 fields"),
        ('a,b,c\n"x\ny",2,3\n4,5,6\n7,8\n', 5, "2 fields"),
        ('a,b,c\n1,2,3\n"x\n,y",2\n4,5,6\n', 3, "2 fields"),
        ("a,b,c\n1,2,3\n4,5", 3, "2 fields"),
        ("\n\na,b,c\r\n1,2,3\r\n4,5\r\n", 5, "2 fields"),
    ],
)
def test_a_ragged_row_is_named_by_its_line(file, text, line, found):
    with pytest.raises(TableError, match=rf"table\.csv, line {line}: {found} found, but 3 expected"):
        read_table(file(text))


def test_row_labels_without_a_name_are_explained(file):
    with pytest.raises(TableError, match="name for the row labels"):
        read_table(file("a,b\nr1,1,2\nr2,3,4\n"))


def test_bytes_that_are_not_utf8_are_named_by_line_and_character(file):
    path = file("name,x\nAnna,1\nZoë café,2\n".encode("cp1252"))
    with pytest.raises(TableError, match=r"line 3, character 3: byte 0xeb.*try encoding='cp1252'"):
        read_table(path)
    assert read_table(path, encoding="cp1252").X["name"].to_list() == ["Anna", "Zoë café"]


def test_utf16_is_recognised(file):
    path = file("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(TableError, match=r"UTF-16 text.*encoding='utf-16'"):
        read_table(path)
    assert cells(read_table(path, encoding="utf-16")) == [[1, 2]]
    with pytest.raises(TableError, match=r"line 1: there is a NUL byte"):
        read_table(file("a,b\n1,2\n".encode("utf-16-le")))
    with pytest.raises(TableError, match="encoding='utf8000' is not known"):
        read_table(path, encoding="utf8000")
    with pytest.raises(TableError, match="is not ascii text"):
        read_table(file("a,b\n1,é\n"), encoding="ascii")


def test_repeated_names_are_refused_with_their_positions(file):
    with pytest.raises(TableError, match=r"line 1: column names must differ, but 'a' is the name of columns 1, 3"):
        read_table(file("a,b,a\n1,2,3\n"))


def test_the_line_of_a_header_counts_the_blank_lines_before_it(file):
    with pytest.raises(TableError, match=r"line 3: the first line looks like data"):
        read_table(file("\n\n5.1,3.5\n4.9,3.0\n"))


def test_a_blank_name_is_made_up_from_its_position(file):
    dataset = read_table(file(",b,\n10,5,1\n11,7,2\n"))
    assert dataset.columns == ("unnamed_1", "b", "unnamed_3")


@pytest.mark.parametrize("header", ["5.1,3.5,1.4", "1,1,2", "-1,2,3"])
def test_a_header_that_is_data_is_refused(file, header):
    path = file(f"{header}\n4.9,3.0,1.4\n")
    with pytest.raises(TableError, match=r"line 1: the first line looks like data.*header=False"):
        read_table(path)
    dataset = read_table(path, header=False)
    assert dataset.columns == ("x0", "x1", "x2")
    assert dataset.n_rows == 2


def test_numbered_columns_are_names(file):
    assert read_table(file("0,1,2\n4.9,3.0,1.4\n")).columns == ("0", "1", "2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b\n", "header with 2 names, but no row"),
        ("a b\n1 2\n", "separated by spaces.*separator=' '"),
        ('a,b\n5" disk,2\n', r"line 2, character 2: there is a quote .* in the middle of a field"),
        ('a,b\n1, "x, y"\n', r"line 2, character 4: there is a quote .* no spaces outside"),
        ('a,b\n1,"x"\n2,"x" y\n', r"line 3, character 5: there is a quote .* in the middle of a field"),
        ('a,b\n1,2\n"x,2\n3,4\n', r"line 3: a quote .* closed"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file, text, message):
    with pytest.raises(TableError, match=r"table\.csv.*" + message):
        read_table(file(text))


def test_a_header_whose_quote_never_ends_is_an_error(file):
    with pytest.raises(TableError, match=r"line 1: the header .*quote"):
        read_table(file('a,"b\n' + "1,2\n" * 50_000))


def test_a_separator_must_be_one_character(file):
    with pytest.raises(TableError, match="single character"):
        read_table(file("a::b\n1::2\n"), separator="::")
    assert cells(read_table(file("a b\n1 2\n"), separator=" ")) == [[1, 2]]


def test_ten_thousand_columns(file):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 10_000))
    text = io.StringIO()
    csv.writer(text).writerows([[f"g{j}" for j in range(10_000)], *X.tolist()])
    dataset = read_table(file(text.getvalue()), target="g17")
    np.testing.assert_array_equal(dataset.X, np.delete(X, 17, axis=1))
    np.testing.assert_array_equal(dataset.y, X[:, 17])


FIELDS = st.text(st.sampled_from('",\r\na é'), max_size=6)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(FIELDS, min_size=3, max_size=3), min_size=1, max_size=8), chunk=st.integers(1, 40))
def test_scanning_in_chunks_finds_the_records_that_the_csv_module_wrote(rows, chunk):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["x", "y", "z"], *rows])
    data = np.frombuffer(text.getvalue().encode(), dtype=np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fewer.io._csv.CHUNK", chunk)
        patch.setattr("fewer.io._csv.CHUNK", chunk)
        assert len(blank_records(data, ",", 3, "table")) == 0
        assert next(csv.reader(io.StringIO(first_records(data).texts[1].decode(), newline=""))) == rows[0]
        short = np.concatenate([data, np.frombuffer(b'"p","q"\n', dtype=np.uint8)])
        line = text.getvalue().count("\n") + 1
        with pytest.raises(TableError, match=f"line {line}: 2 fields found"):
            blank_records(short, ",", 3, "table")
