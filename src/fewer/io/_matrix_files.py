"""Files that hold arrays: MATLAB ``.mat``, numpy ``.npz``, and svmlight (libsvm).

``.mat`` and ``.npz`` hold several arrays by name, of which one is the table and one the target. A line of svmlight is
``label index:value index:value ...``, with zeros left out.
"""

import io
import re
import zipfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import argument, listed_values
from fewer.io._confined import Reply, UnreadableError, read_confined
from fewer.io._convert import dataset_to_numpy
from fewer.io._csv import is_packed, unpacked
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, refuse_empty, refuse_large
from fewer.io._memory import Table, default_names, table_from_memory
from fewer.io._read import Options

_TABLE_NAMES = ("x", "data", "fea", "features", "inputs")
_TARGET_NAMES = ("y", "labels", "label", "gnd", "target", "targets", "class", "classes", "outputs")
_COLUMN_NAMES = ("columns", "feature_names", "names", "varnames")
_SPARSE_PARTS = {"format", "shape", "data"}
_COMPRESSED = ("csr", "csc", "bsr")
_LINE = re.compile(r"\s*[^\s:]+(\s+qid:\d+)?(\s+\d{1,18}:[^\s:]+)*\s*(#.*)?|\s*(#.*)?")
_WIDTH = re.compile(rb"# (\d{1,18}) columns\b")


def read_mat(path: Path, options: Options) -> Table:
    """The table in a MATLAB file of version 4 to 7."""
    try:
        arrays, others = read_confined("mat", path, received_variables)
    except UnreadableError as error:
        if error.cause == "NotImplementedError":
            raise TableError(
                f"{path}: this MATLAB file is of version 7.3 (HDF5), which is not supported. Save it in MATLAB with "
                "save('name.mat', 'X', 'Y', '-v7'), or convert it to .npz with h5py."
            ) from error
        raise error.as_error(path, "a MATLAB") from error
    return _table_of(arrays, path, others)


def received_variables(reply: Reply) -> tuple[dict[str, Any], list[str]]:
    """Variables of a MATLAB file by name, and the names of those that hold neither numbers nor text."""
    arrays: dict[str, Any] = {}
    others: list[str] = []
    for about in reply.about["variables"]:
        name, shape = str(about["name"]), tuple(map(int, about["shape"]))
        if about["type"] == "array":
            arrays[name] = reply.array(shape, about["dtype"], about["order"])
        elif about["type"] == "sparse":
            arrays[name] = _received_sparse(reply, shape, *about["lengths"], *about["dtypes"])
        elif about["type"] == "cells":
            cells = np.empty(len(about["values"]), dtype=object)
            cells[:] = about["values"]
            arrays[name] = cells.reshape(shape)
        else:
            others.append(name)
    return arrays, others


def _received_sparse(reply: Reply, shape: tuple[int, ...], n_stored: int, n_starts: int, *dtypes: str) -> sp.csc_matrix:
    lengths = (n_stored, n_stored, n_starts)
    values, indices, starts = (reply.array((n,), dtype) for n, dtype in zip(lengths, dtypes, strict=True))
    return _checked(sp.csc_matrix((values, indices, starts), shape=shape))


def read_npz(path: Path, options: Options) -> Table:
    """The table in a numpy archive, or a matrix written by ``scipy.sparse.save_npz``; objects are never unpickled."""
    if not zipfile.is_zipfile(path):
        raise TableError(f"{path}: this is not a numpy archive. Write one with np.savez(path, X=X, y=y).")
    try:
        arrays = _members(path)
        if arrays.keys() >= _SPARSE_PARTS:
            arrays["X"] = _sparse_of(arrays, str(path))
            arrays.pop("data")
    except TableError:
        raise
    except MemoryError as error:
        raise TableError(
            f"{path}: it declares more than fits into memory ({error}). It is damaged, or too large for this machine."
        ) from error
    except Exception as error:  # numpy, zipfile and zlib raise errors of many types for damaged bytes
        if "pickle" in str(error):
            raise TableError(
                f"{path}: the archive holds Python objects, which are not loaded because they could run any code. Save "
                "numbers as numbers, and names as np.array(names, dtype=str)."
            ) from error
        reason = str(error) or type(error).__name__
        raise TableError(
            f"{path}: this cannot be read as a numpy archive ({reason[:500]}). Check that it is complete."
        ) from error
    return _table_of(arrays, path)


def _members(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an archive by name, without what is none."""
    with zipfile.ZipFile(path) as archive:
        refuse_large(str(path), sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    for array in arrays.values():
        # An empty array may declare any number of columns.
        refuse_empty(str(path), (0, *np.shape(array)), getattr(array, "nbytes", 0))
    return {name: _readable(array) for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _readable(array: np.ndarray) -> np.ndarray:
    """The array, with bytes as text; raises for text with characters that do not exist."""
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    for name in array.dtype.names or ():
        _readable(array[name])
    if array.dtype.kind == "U" and array.nbytes:
        codes = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if np.any((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))):
            raise ValueError("a text holds characters that do not exist")
    return array


def _sparse_of(parts: dict[str, np.ndarray], source: str) -> Any:
    """The matrix whose parts ``scipy.sparse.save_npz`` has written."""
    name = parts["format"].item()
    name = name.decode("ascii") if isinstance(name, bytes) else name
    shape = tuple(parts["shape"].tolist())
    data = parts["data"]
    refuse_empty(source, (0, *shape), sum(part.nbytes for part in parts.values()))
    if name in _COMPRESSED:
        whole: Any = (data, parts["indices"], parts["indptr"])
    elif name == "coo":
        whole = (data, tuple(parts["coords"]) if "coords" in parts else (parts["row"], parts["col"]))
    elif name == "dia":
        whole = (data, parts["offsets"])
    else:
        raise ValueError(f"{name!r} is not a format of sparse matrices")
    family = "array" if parts.get("_is_array", np.False_).item() else "matrix"
    return _checked(getattr(sp, f"{name}_{family}")(whole, shape=shape))


def _checked(matrix: Any) -> Any:
    """The matrix; raises when its indices lie outside of it, for the loops of scipy trust them.

    Its own ``check_format`` looks at nothing else when the last of ``indptr`` is zero.
    """
    if matrix.format in _COMPRESSED:
        matrix.check_format(full_check=True)
        starts, indices = matrix.indptr, matrix.indices
        n_places = (
            matrix.shape[0] if matrix.format == "csc" else matrix.shape[1] // getattr(matrix, "blocksize", (1, 1))[1]
        )
        ordered = starts[0] == 0 and np.all(starts[1:] >= starts[:-1]) and starts[-1] <= len(indices)
        if not ordered or (len(indices) and not 0 <= indices.min() <= indices.max() < n_places):
            raise ValueError("the indices of the sparse matrix are damaged")
    return matrix


def _table_of(arrays: dict[str, Any], path: Path, others: Iterable[str] = ()) -> Table:
    by_lower = {name.lower(): name for name in arrays}
    found = _first(by_lower, _TABLE_NAMES)
    if found is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2 and min(array.shape) > 1]
        found = tables[0] if len(tables) == 1 else None
    if found is None:
        shown = ", ".join(f"{name} {'x'.join(map(str, np.shape(array)))}" for name, array in arrays.items())
        structs = f" Structs and objects are not read: {listed_values(others)}." if others else ""
        raise TableError(
            f"{path}: no array is called X, so it is not clear which is the table. The arrays are: {shown or 'none'}."
            f"{structs} Name the table X and the target y, or load the arrays and give read_table(X, target=y)."
        )
    if sp.issparse(arrays[found]):
        matrix = arrays[found]
        refuse_empty(str(path), matrix.shape, 16 * matrix.nnz)
    try:
        table = table_from_memory(arrays[found])
    except (TypeError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if isinstance(error, TableError):
            raise TableError(f"{path}: {found} is not a table. {error}") from error
        raise TableError(
            f"{path}: {found}, of type {arrays[found].dtype}, cannot be converted to a table ({error})."
        ) from error
    table.source = str(path)
    names = _first(by_lower, _COLUMN_NAMES)
    if names is not None and found != names and np.size(arrays[names]) == table.data.shape[1]:
        table.columns = [str(name).rstrip() for name in np.ravel(arrays[names])]
    label = _first(by_lower, _TARGET_NAMES)
    if "target_name" in arrays and np.size(arrays["target_name"]):
        table.target = str(np.ravel(arrays["target_name"])[0])
    if label is not None and label != found:
        table.y = _target(arrays[label], table, label)
        table.target = table.target or (label if label.lower() != "y" else "target")
    return table


def _first(by_lower: dict[str, str], candidates: tuple[str, ...]) -> str | None:
    return next((by_lower[name] for name in candidates if name in by_lower), None)


def _target(array: Any, table: Table, name: str) -> np.ndarray:
    values = array.toarray() if sp.issparse(array) else np.asarray(array)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    n_rows, n_columns = table.data.shape
    if values.ndim == 1 and len(values) == n_columns != n_rows:
        raise TableError(
            f"{table.source}: {name} has {len(values)} values, which is the number of columns of the table, not of its "
            f"{n_rows} rows. Rows and columns seem to be swapped: save the transposed table."
        )
    if values.dtype.kind in "OU":
        return np.array([None if value is None else str(value).rstrip() for value in values.ravel()], dtype=object)
    return values


def dataset_of(table: Dataset | pl.DataFrame) -> Dataset:
    """The Dataset itself, or that of a frame, without a target."""
    return table if isinstance(table, Dataset) else Dataset.from_frame(table)


def write_svm(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write svmlight; columns lose their names."""
    dataset = dataset_of(table)
    if dataset.y is None:
        raise TableError(
            "Each line of an svmlight file starts with the target, but this table has none. Read the table with "
            f"{argument('target')}."
        )
    if dataset.y.dtype == object:
        raise TableError(
            f"svmlight holds numbers only, but the target {dataset.target!r} holds strings. Encode its classes as "
            "numbers."
        )
    write_svmlight(path, dataset_to_numpy(dataset), dataset.y)


def write_npz(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write X, y, columns and target_name; a sparse X so that ``scipy.sparse.load_npz`` reads it as well."""
    dataset = dataset_of(table)
    X = dataset_to_numpy(dataset)
    arrays = {"X": X}
    if sp.issparse(X):
        arrays = {name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")}
        arrays["format"] = X.format.encode("ascii")
        arrays["_is_array"] = isinstance(X, sp.sparray)
    with path.open("wb") as file:
        np.savez(file, **arrays, **_labels(dataset, str))


def write_mat(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write X, y, columns and target_name as MATLAB version 5."""
    from scipy.io import savemat
    from scipy.io.matlab import MatWriteError

    dataset = dataset_of(table)
    X = dataset_to_numpy(dataset)
    if not sp.issparse(X) and X.nbytes >= 2**31:
        raise TableError("A MATLAB file of version 5 holds arrays of less than 2 GB. Write .npz or Parquet.")
    try:
        savemat(path, {"X": X, **_labels(dataset, object)}, oned_as="column", do_compression=True, appendmat=False)
    except MatWriteError as error:
        raise TableError(f"MATLAB files cannot hold this table: {error}. Write .npz or Parquet.") from error


def _labels(dataset: Dataset, text: type) -> dict[str, Any]:
    """Target and names; strings as fixed-width text or as objects (cells, in MATLAB)."""
    labels: dict[str, Any] = {"columns": np.array(dataset.columns, dtype=text)}
    if dataset.y is not None:
        labels["y"] = dataset.y.astype(text) if dataset.y.dtype == object else dataset.y
        labels["target_name"] = np.array([dataset.target or "target"], dtype=text)
    return labels


def read_svmlight(path: Path, options: Options) -> Table:
    """Sparse rows with their labels as the target."""
    from sklearn.datasets import load_svmlight_file

    with _open(path) as file:
        width = _WIDTH.match(file.readline(1000))
        file.seek(0)
        try:
            X, y = load_svmlight_file(file, n_features=int(width[1]) if width else None)
        except (ValueError, OverflowError, MemoryError, OSError) as error:
            raise _bad_line(path, error) from error
    if X.shape[0] == 0:
        raise TableError(f"{path}: the file has no rows.")
    refuse_empty(str(path), X.shape, 16 * X.nnz)
    return Table(X, default_names(X.shape[1]), str(path), y=y, target="target")


def write_svmlight(path: Path, X: Any, y: np.ndarray) -> None:
    """Write the rows, counting columns from 1; the first line says how many there are, for the last may be empty.

    Numbers are written with all their digits, so that they are read back the same.
    """
    rows = sp.csr_array(X)
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(f"# {rows.shape[1]} columns\n")
        for row, label in enumerate((y + 0).tolist()):  # + 0 turns booleans into 0 and 1
            stored = slice(rows.indptr[row], rows.indptr[row + 1])
            order = np.argsort(rows.indices[stored])
            indices = (rows.indices[stored][order] + 1).tolist()
            values = (rows.data[stored][order] + 0).tolist()
            pairs = [f"{index}:{value!r}" for index, value in zip(indices, values, strict=True)]
            file.write(" ".join([repr(label), *pairs]) + "\n")


def _open(path: Path) -> BinaryIO:
    return io.BytesIO(unpacked(path)) if is_packed(path) else path.open("rb")


def _bad_line(path: Path, error: Exception) -> TableError:
    cure = "A line is a label followed by index:value pairs with increasing indices."
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if not _is_sound(line.decode("utf-8", errors="replace")):
                shown = line[:60].decode("utf-8", errors="replace").strip()
                return TableError(f"{path}, line {number}: {shown!r} is not svmlight. {cure}")
    return TableError(f"{path}: this cannot be read as an svmlight file ({error}). {cure}")


def _is_sound(line: str) -> bool:
    if not _LINE.fullmatch(line.rstrip("\r\n")):
        return False
    label, *pairs = line.split("#")[0].split() or ["0"]
    pairs = [pair for pair in pairs if not pair.startswith("qid:")]
    indices = [int(pair.split(":")[0]) for pair in pairs]
    try:
        [float(text) for text in (label, *(pair.split(":")[1] for pair in pairs))]
    except ValueError:
        return False
    return all(first < second for first, second in pairwise(indices))
