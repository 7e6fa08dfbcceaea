"""MATLAB ``.mat`` and numpy ``.npz`` files: several arrays by name, of which one is the table and one the target."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewer.io._errors import TableError
from fewer.io._formats import Options
from fewer.io._memory import Table, table_from_memory

_TABLE_NAMES = ("x", "data", "fea", "features", "inputs")
_TARGET_NAMES = ("y", "labels", "label", "gnd", "target", "targets", "class", "classes", "outputs")
_COLUMN_NAMES = ("columns", "feature_names", "names", "varnames")
_SPARSE_PARTS = {"format", "shape", "data"}


def read_mat(path: Path, options: Options) -> Table:
    """The table in a MATLAB file of version 4 to 7."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        arrays = loadmat(path)
    except NotImplementedError as error:
        raise TableError(
            f"{path}: this MATLAB file is of version 7.3 (HDF5), which is not read. Save it in MATLAB by "
            "save('name.mat', 'X', 'Y', '-v7'), or turn it into .npz with h5py."
        ) from error
    except (MatReadError, ValueError, TypeError, OSError, EOFError, KeyError, zlib.error) as error:
        raise TableError(
            f"{path}: this cannot be read as a MATLAB file ({error}). Was it written completely?"
        ) from error
    return _table_of({name: array for name, array in arrays.items() if not name.startswith("__")}, path)


def read_npz(path: Path, options: Options) -> Table:
    """The table in a numpy archive, or a matrix written by ``scipy.sparse.save_npz``; objects are never unpickled."""
    if not zipfile.is_zipfile(path):
        raise TableError(f"{path}: this is not a numpy archive. Write it by np.savez(path, X=X, y=y).")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if arrays.keys() >= _SPARSE_PARTS:
            arrays["X"] = sp.load_npz(path)
            arrays.pop("data")
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        if "pickle" in str(error):
            raise TableError(
                f"{path}: the archive holds Python objects, which are not loaded because they could run any code. Save "
                "numbers as numbers, and names as np.array(names, dtype=str)."
            ) from error
        raise TableError(
            f"{path}: this cannot be read as a numpy archive ({error}). Was it written completely?"
        ) from error
    return _table_of(arrays, path)


def _table_of(arrays: dict[str, Any], path: Path) -> Table:
    by_lower = {name.lower(): name for name in arrays}
    found = _first(by_lower, _TABLE_NAMES)
    if found is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2 and min(array.shape) > 1]
        found = tables[0] if len(tables) == 1 else None
    if found is None:
        shown = ", ".join(f"{name} {'x'.join(map(str, np.shape(array)))}" for name, array in arrays.items())
        raise TableError(
            f"{path}: no array is called X, so it is not clear which is the table. There are: {shown or 'none'}. Name "
            "the table X and the target y, or load the arrays yourself and give read_table(X, target=y)."
        )
    table = table_from_memory(arrays[found])
    table.source = str(path)
    names = _first(by_lower, _COLUMN_NAMES)
    if names is not None and found != names and np.size(arrays[names]) == table.data.shape[1]:
        table.columns = [str(name).rstrip() for name in _flat(arrays[names])]
    label = _first(by_lower, _TARGET_NAMES)
    if "target_name" in arrays:
        table.target = str(_flat(arrays["target_name"])[0])
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
            f"{n_rows} rows. The table seems to lie on its side: save its transpose."
        )
    if values.dtype.kind == "O":
        return np.array([str(value) for value in _flat(values)], dtype=object)
    if values.dtype.kind == "U":
        return np.array([str(value).rstrip() for value in values.ravel()], dtype=object)
    return values


def _flat(cells: Any) -> list[Any]:
    """Values of a MATLAB cell array, or of an array."""
    return [cell.ravel()[0] if isinstance(cell, np.ndarray) and cell.size else cell for cell in np.ravel(cells)]
