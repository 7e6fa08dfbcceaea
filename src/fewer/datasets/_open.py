"""A table from anywhere: a file, a database, a frame in memory, or a data set by its name."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewer._wording import argument
from fewer.datasets._load import load
from fewer.datasets._record import DatasetError

if TYPE_CHECKING:
    from fewer.io import Dataset

_BY_NAME = "dataset:"


def open_table(
    source: Any, target: str | None = None, *, drop: Iterable[str] = (), task: str = "auto", **reading: Any
) -> "Dataset":
    """The table as a Dataset.

    Parameters
    ----------
    source : path, URI, "dataset:NAME", frame, array, sparse matrix or Dataset
        The table.
    target : str, default=None
        Column to predict; a data set by name and a Dataset may have one of their own.
    drop : iterable of str, default=()
        Columns to leave out.
    task : str, default="auto"
        What the target asks for, as in ``read_table``.
    **reading : object
        Further arguments of ``read_table``; those that are None are left out. ``missing_values`` are markers besides
        the usual ones.

    Returns
    -------
    dataset : Dataset
        The table with its target.

    Examples
    --------
    >>> from fewer.datasets import open_table
    >>> open_table("dataset:iris", drop=["petal width (cm)"]).shape
    (150, 3)
    """
    from fewer.io import DEFAULT_MISSING, Dataset, read_table

    drop = list(drop)
    given = {name: value for name, value in reading.items() if value is not None and (name, value) != ("header", True)}
    if isinstance(source, Dataset) or (isinstance(source, str) and source.startswith(_BY_NAME)):
        return _opened(source, target, drop, given if task == "auto" else {**given, "task": task})
    if "missing_values" in given:
        given["missing_values"] = (*DEFAULT_MISSING, *given["missing_values"])
    return read_table(source, target=target, drop=drop, task=task, **given)


def place_of(table: Any) -> str | None:
    """Where the table is, from any folder: a path in full, names and addresses as they are; None for one in memory.

    Examples
    --------
    >>> place_of("dataset:iris"), place_of([[1, 2]])
    ('dataset:iris', None)
    """
    if not isinstance(table, (str, os.PathLike)):
        return None
    path = Path(table)
    return str(path.resolve()) if path.exists() else str(table)


def _opened(table: Any, target: str | None, drop: list[str], given: dict[str, Any]) -> "Dataset":
    """A table that has been read before, which carries its own target and needs no reading options."""
    from fewer.io import TableError, unknown_column

    named = isinstance(table, str)
    source = table if named else table.source
    if given:
        kind = "dataset:NAME" if named else "a Dataset"
        raise TableError(f"{source}: {argument(next(iter(given)))} does not apply to {kind}. Leave it out.")
    dataset = _loaded(table, target) if named else _with_target(table, target, source)
    for name in drop:
        if name not in dataset.columns:
            raise unknown_column(source, name, dataset.columns, argument("drop"))
    return dataset.drop(drop) if drop else dataset


def _loaded(table: str, target: str | None) -> "Dataset":
    """A data set with its own target, or with one of its columns as the target."""
    name = table.removeprefix(_BY_NAME)
    try:
        return load(name, **({} if target is None else {"target": target}))
    except DatasetError:
        return _with_target(load(name), target, table)


def _with_target(dataset: "Dataset", target: str | None, source: str) -> "Dataset":
    from fewer.io import Dataset, unknown_column

    if target is None or target == dataset.target:
        return dataset
    if target not in dataset.columns:
        raise unknown_column(source, target, (*dataset.columns, str(dataset.target)), argument("target"))
    return replace(Dataset.from_frame(dataset.to_polars(dense=True), target=target), source=dataset.source)
