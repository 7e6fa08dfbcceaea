"""Files that hold arrays: svmlight, numpy ``.npz`` and MATLAB ``.mat``."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io._convert import dataset_to_numpy
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError
from fewer.io._svmlight import write_svmlight


def dataset_of(table: Dataset | pl.DataFrame) -> Dataset:
    """The Dataset itself, or that of a frame, without a target."""
    return table if isinstance(table, Dataset) else Dataset.from_frame(table)


def write_svm(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write svmlight; columns lose their names."""
    dataset = dataset_of(table)
    if dataset.y is None:
        raise TableError(
            "Each line of an svmlight file starts with the target, but this table has none. Read it with target=."
        )
    if dataset.y.dtype == object:
        raise TableError(
            f"svmlight holds numbers only, but the target {dataset.target!r} holds strings. Number its classes."
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
