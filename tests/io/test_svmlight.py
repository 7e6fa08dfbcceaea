import gzip

import numpy as np
import pytest

from fewer.io import TableError, read_table


def test_rows_are_sparse_and_labels_are_the_target(file):
    dataset = read_table(file("1 1:0.5 3:2 # first\n-1 2:1\n1 1:3\n-1\n", "words.svm"))
    assert dataset.is_sparse
    np.testing.assert_array_equal(dataset.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [3, 0, 0], [0, 0, 0]])
    assert (dataset.target, dataset.task) == ("target", "binary")
    assert dataset.y.tolist() == [1, -1, 1, -1]


def test_compressed_files_and_other_suffixes(file):
    text = b"1.5 1:1\n2.5 2:1\n"
    assert read_table(file(gzip.compress(text), "a.svm.gz")).task == "regression"
    assert read_table(file(text, "a.libsvm")).shape == (2, 2)


@pytest.mark.parametrize("bad", ["one 1:2", "1 x:2", "1 2:x", "1 2:1 1:1", "1 2", "1,2:3"])
def test_a_bad_line_is_named_by_its_number(file, bad):
    with pytest.raises(TableError, match=r"bad\.svm, line 3: .*is not svmlight. A line is a label"):
        read_table(file(f"# words\n1 1:2\n{bad}\n", "bad.svm"))


def test_an_empty_file_is_an_error(file):
    with pytest.raises(TableError, match=r"bad\.svm"):
        read_table(file("", "bad.svm"))
