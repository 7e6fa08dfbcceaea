import datetime
import gzip

import numpy as np
import polars as pl
import pytest

from fewer.io import TableError, read_table

HEADER = """% a comment
@RELATION plants

@ATTRIBUTE height NUMERIC
@attribute 'leaf shape' {round, 'long and thin', "it\\'s odd"}
@attribute note string
@attribute seen date "yyyy-MM-dd"
@DATA
"""
SPARSE = """@relation words
@attribute alpha numeric
@attribute beta real
@attribute flag {0, 1}
@attribute kind {ham, 'spam mail'}
@data
"""


@pytest.fixture
def arff(file):
    return lambda text: file(text, "plants.arff")


def test_columns_have_the_declared_types(arff):
    dataset = read_table(
        arff(HEADER + "1.5,round,small,2024-01-31\n% why\n\n?,round, tall ,?\n2,'long and thin',?,2024-02-01\n")
    )
    assert dataset.columns == ("height", "leaf shape", "note", "seen")
    assert dataset.X["height"].to_list() == [1.5, None, 2.0]
    assert dataset.X.schema["leaf shape"] == pl.Enum(["round", "long and thin", "it's odd"])
    assert dataset.X["note"].to_list() == ["small", "tall", None]
    assert dataset.X["seen"].to_list() == [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)]


def test_both_kinds_of_quotes_and_escapes(arff):
    rows = "1,'it\\'s odd','a, \"b\"',2024-01-31\n2,\"it's odd\",\"tab\\there\",2024-01-31\n3,round,it's,2024-01-31\n"
    dataset = read_table(arff(HEADER + rows))
    assert dataset.X["leaf shape"].to_list() == ["it's odd", "it's odd", "round"]
    assert dataset.X["note"].to_list() == ['a, "b"', "tab\there", "it's"]


def test_all_numeric_attributes_make_an_array(file):
    text = "@relation r\r\n@attribute a integer\r\n@attribute b real\r\n@data\r\n1, 2.5\r\n3, ?\r\n"
    dataset = read_table(file(text, "n.arff"))
    np.testing.assert_array_equal(dataset.X, [[1, 2.5], [3, np.nan]])
    packed = read_table(file(gzip.compress(text.encode()), "n.arff.gz"))
    np.testing.assert_array_equal(packed.X, dataset.X)


def test_a_nominal_target_gives_classes(arff):
    dataset = read_table(arff(HEADER + "1,round,a,?\n2,'long and thin',b,?\n3,round,c,?\n"), target="leaf shape")
    assert dataset.task == "binary"
    assert dataset.y.tolist() == ["round", "long and thin", "round"]


def test_numbers_as_nominal_values_are_categories(file):
    dataset = read_table(file("@attribute a {1,2,3}\n@attribute b numeric\n@data\n1,5\n2,6\n3,7\n", "n.arff"))
    assert dataset.kinds == ("categorical", "numeric")


def test_sparse_rows_stay_sparse_and_carry_their_target(arff):
    dataset = read_table(arff(SPARSE + "{0 1.5, 3 'spam mail'}\n{1 2, 2 1}\n{}\n{1 ?, 3 ham}\n"))
    assert dataset.is_sparse
    np.testing.assert_array_equal(dataset.X.toarray(), [[1.5, 0, 0], [0, 2, 1], [0, 0, 0], [0, np.nan, 0]])
    assert dataset.columns == ("alpha", "beta", "flag")
    assert dataset.target == "kind"
    assert dataset.y.tolist() == ["spam mail", "ham", "ham", "ham"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,square,a,?\n", r"line 9: 'square' in the attribute 'leaf shape' is not one of its values"),
        ("1,round,a,?\n2,Round,a,?\n", r"line 10: 'Round'.*Did you mean 'round'"),
        ("1,round,a\n", r"line 9: 3 fields found, but the header declares 4"),
        ("1,'round',a,?,5\n", r"line 9: 5 fields found, but the header declares 4"),
        ("1,round,a,?\n% x\ntall,round,a,?\n", r"line 11: 'tall' in the attribute 'height' is not a number"),
        ("1,round,a,2024-02-30\n", r"line 9: '2024-02-30' in the attribute 'seen' is not a date"),
        ("1,'round,a,?\n", r"line 9: field 2 .*quote"),
        ("", "there are no rows after @data"),
    ],
)
def test_a_bad_row_is_named_by_its_line(arff, rows, message):
    with pytest.raises(TableError, match=r"plants\.arff.*" + message):
        read_table(arff(HEADER + rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("{0 1, 3 eggs}\n{}\n", r"line 7: 'eggs' in the attribute 'kind'"),
        ("{}\n{0 x}\n", r"line 8: 'x' in the attribute 'alpha' is not a number"),
        ("{4 1}\n", r"line 7: '4 1' is not 'index value'.*from 0 to 3"),
        ("{1 1, 0 1}\n", r"line 7: ' 0 1' is not 'index value'"),
        ("{0 1}\n1,2,0,ham\n", r"line 8: the first row is sparse"),
        ("{0 1}\n{0 1\n", r"line 8: the first row is sparse"),
    ],
)
def test_a_bad_sparse_row_is_named_by_its_line(arff, rows, message):
    with pytest.raises(TableError, match=message):
        read_table(arff(SPARSE + rows))


def test_sparse_rows_hold_one_target_only(arff):
    text = SPARSE.replace("@data", "@attribute extra string\n@data")
    with pytest.raises(TableError, match="not numbers: 'kind', 'extra'"):
        read_table(arff(text + "{0 1, 3 ham, 4 x}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", r"line 1: 'a,b' .* before @data"),
        ("@attribute a numeric\n", "there are no lines with @data"),
        ("@data\n1\n", "there are no @attribute lines"),
        ("@attribute a\n@data\n1\n", r"line 1: '@attribute a' is not a declaration"),
        ("@attribute a relational\n@data\n1\n", r"line 1: the attribute 'a' is of the type 'relational'"),
        ("@attribute a {x, y\n@data\nx\n", r"line 1: the values of the attribute 'a' .*closing brace"),
        ("@attribute a {x, x}\n@data\nx\n", r"line 1: the values of the attribute 'a' repeat 'x'"),
        ("@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "'a' is the name of columns 1, 2"),
    ],
)
def test_a_bad_header_is_explained(arff, text, message):
    with pytest.raises(TableError, match=message):
        read_table(arff(text))
