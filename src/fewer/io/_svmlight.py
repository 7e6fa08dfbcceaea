"""svmlight (libsvm) files: ``label index:value index:value ...``, one row a line, zeros left out."""

import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from fewer.io._encoding import is_packed, unpacked
from fewer.io._errors import TableError
from fewer.io._formats import Options
from fewer.io._limits import refuse_empty
from fewer.io._memory import Table, default_names

_LINE = re.compile(r"\s*[^\s:]+(\s+qid:\d+)?(\s+\d{1,18}:[^\s:]+)*\s*(#.*)?|\s*(#.*)?")
_WIDTH = re.compile(rb"# (\d{1,18}) columns\b")


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
    cure = "A line is a label followed by index:value pairs with growing indices."
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
