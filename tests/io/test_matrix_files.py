import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from fewer.io import TableError, read_table

X = np.array([[1.5, 2, 3], [4, 5, 6], [7, 8.5, 9], [1, 2, 2]])


@pytest.mark.parametrize(("table", "target"), [("X", "Y"), ("x", "y"), ("fea", "gnd"), ("data", "labels")])
def test_usual_names_are_found_in_any_case(tmp_path, table, target):
    savemat(tmp_path / "t.mat", {table: X, target: [[1.0], [2], [1], [2]]})
    np.savez(tmp_path / "t.npz", **{table: X, target: [1.0, 2, 1, 2]})
    for name in ("t.mat", "t.npz"):
        dataset = read_table(tmp_path / name)
        np.testing.assert_array_equal(dataset.X, X)
        assert dataset.y.tolist() == [1, 2, 1, 2]
        assert dataset.task == "binary"


def test_the_only_matrix_is_the_table(tmp_path):
    savemat(tmp_path / "t.mat", {"expression": X, "version": 3})
    np.testing.assert_array_equal(read_table(tmp_path / "t.mat").X, X)


def test_without_usual_names_the_arrays_are_listed(tmp_path):
    savemat(tmp_path / "t.mat", {"p": X, "q": np.eye(2)})
    with pytest.raises(TableError, match=r"The arrays are: p 4x3, q 2x2.*read_table\(X, target=y\)"):
        read_table(tmp_path / "t.mat")


def test_column_names_are_read(tmp_path):
    savemat(tmp_path / "t.mat", {"X": X, "columns": np.array(["a", "bb", "c"], dtype=object)})
    np.savez(tmp_path / "t.npz", X=X, feature_names=["a", "bb", "c"])
    assert read_table(tmp_path / "t.mat").columns == ("a", "bb", "c")
    assert read_table(tmp_path / "t.npz").columns == ("a", "bb", "c")


def test_string_labels_are_classes(tmp_path):
    savemat(tmp_path / "cell.mat", {"X": X, "Y": np.array(["no", "yes", "no", "yes"], dtype=object)})
    savemat(tmp_path / "char.mat", {"X": X, "Y": ["no", "yes", "no", "yes"]})
    for name in ("cell.mat", "char.mat"):
        assert read_table(tmp_path / name).y.tolist() == ["no", "yes", "no", "yes"]


def test_cells_of_numbers_and_words_are_columns(tmp_path):
    cells = np.array([[1.5, "red", ""], [2.5, "blue", "x"], [np.array([]), "red", np.eye(2)]], dtype=object)
    savemat(tmp_path / "t.mat", {"X": cells, "about": {"year": 2024}})
    frame = read_table(tmp_path / "t.mat").X
    assert frame.rows() == [(1.5, "red", None), (2.5, "blue", "x"), (None, "red", "[2x2]")]


def test_structs_are_named_where_no_table_is_found(tmp_path):
    savemat(tmp_path / "t.mat", {"X": {"a": 1}, "Y": [1, 2, 3]})
    with pytest.raises(TableError, match=r"no array is called X.*Structs and objects are not read: 'X'"):
        read_table(tmp_path / "t.mat")


def test_sparse_matrices_stay_sparse(tmp_path):
    matrix = sp.random(6, 5, density=0.4, format="csc", random_state=0)
    savemat(tmp_path / "t.mat", {"X": matrix})
    savemat(tmp_path / "t4.mat", {"X": matrix}, format="4")
    sp.save_npz(tmp_path / "t.npz", matrix.tocsr())
    for name, format in (("t.mat", "csc"), ("t4.mat", "csc"), ("t.npz", "csr")):
        dataset = read_table(tmp_path / name)
        assert dataset.X.format == format
        np.testing.assert_array_equal(dataset.X.toarray(), matrix.toarray())


def test_a_table_on_its_side_is_noticed(tmp_path):
    savemat(tmp_path / "t.mat", {"X": X, "Y": [1.0, 2, 1]})
    with pytest.raises(TableError, match=r"Y has 3 values, which is the number of columns.*transpose"):
        read_table(tmp_path / "t.mat")
    savemat(tmp_path / "t.mat", {"X": X, "Y": [1.0, 2, 1, 2, 1]})
    with pytest.raises(TableError, match="has 5 values, but the table has 4 rows"):
        read_table(tmp_path / "t.mat")


def test_hdf5_files_of_matlab_are_refused_with_the_cure(file):
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(500)
    with pytest.raises(TableError, match=r"version 7\.3 \(HDF5\).*'-v7'"):
        read_table(file(head, "t.mat"))


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([[{"a": 1}]], dtype=object))
    with pytest.raises(TableError, match=r"could run any code.*dtype=str"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["t.mat", "t.npz", "t.parquet", "t.arrow", "t.xlsx", "t.db"])
@pytest.mark.parametrize("content", [b"", b"junk" * 100])
def test_what_is_no_such_file_is_said(file, name, content):
    with pytest.raises(TableError, match=rf"t\.{name[2:]}"):
        read_table(file(content, name))


def test_a_truncated_file_is_an_error(tmp_path, file):
    savemat(tmp_path / "t.mat", {"X": np.random.default_rng(0).normal(size=(50, 50))}, do_compression=True)
    np.savez_compressed(tmp_path / "t.npz", X=np.random.default_rng(0).normal(size=(50, 50)))
    for name in ("t.mat", "t.npz"):
        content = (tmp_path / name).read_bytes()
        with pytest.raises(TableError, match=name):
            read_table(file(content[: len(content) // 2], name))


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
