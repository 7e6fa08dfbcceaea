"""A table of numbers and words as one matrix: the words of a column as codes, beside the list of its categories.

A study cuts its table into folds hundreds of times. A frame of thousands of columns is slow to cut, and one column of
words must not turn all columns of numbers into such a frame.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import polars as pl

from fewer.io import Dataset


@dataclass(frozen=True, eq=False, repr=False)
class CodedDataset(Dataset):
    """A Dataset whose ``X`` is a matrix with strings as integer codes.

    Attributes
    ----------
    categories : mapping of str to tuple of str
        For each column of words its categories, sorted; the code is the position in this tuple, NaN where missing.
    """

    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def coded(dataset: Dataset) -> Dataset:
    """The table as a matrix; an array or a sparse matrix stays as it is.

    Parameters
    ----------
    dataset : Dataset
        Any table. Columns that are neither numeric nor boolean count as strings.

    Returns
    -------
    dataset : Dataset
        A `CodedDataset` where there are columns of words.

    Examples
    --------
    >>> table = Dataset.from_frame({"size": [1.5, 2.5, 3.0], "colour": ["red", None, "blue"]})
    >>> matrix = coded(table)
    >>> matrix.X
    array([[1.5, 1. ],
           [2.5, nan],
           [3. , 0. ]])
    >>> matrix.categories
    {'colour': ('blue', 'red')}
    """
    if not isinstance(dataset.X, pl.DataFrame):
        return dataset
    words = words_of(dataset)
    known_words = set(words)
    numbers = dataset.keep(name for name in dataset.columns if name not in known_words).to_numpy()
    numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)
    if not words:
        return replace(dataset, X=numbers)
    places = positions(dataset, words)
    X = np.empty(dataset.shape, dtype=numbers.dtype)
    X[:, np.setdiff1d(np.arange(dataset.n_columns), places)] = numbers
    categories = {}
    for name, place in zip(words, places, strict=True):
        values = dataset.X[name].cast(pl.String)
        known = values.drop_nulls().unique().sort()
        codes = values.replace_strict(known, np.arange(len(known), dtype=float), return_dtype=pl.Float64)
        categories[name] = tuple(known.to_list())
        X[:, place] = codes.fill_null(np.nan).to_numpy()
    return CodedDataset(X=X, categories=categories, **_facts(dataset))


def decoded(dataset: Dataset) -> Dataset:
    """The table with words as words again: a frame where it has columns of words."""
    words = words_of(dataset)
    if not isinstance(dataset, CodedDataset) or not words:
        return dataset
    frame = pl.DataFrame(dataset.X, schema=list(dataset.columns), orient="row", nan_to_null=True)
    frame = frame.with_columns(
        pl.Series(name, dataset.categories[name], dtype=pl.String).gather(frame[name].cast(pl.UInt32)) for name in words
    )
    return Dataset(X=frame, **_facts(dataset))


def words_of(dataset: Dataset) -> list[str]:
    """Columns of strings, in the order of the table."""
    if isinstance(dataset, CodedDataset):
        return [name for name in dataset.columns if name in dataset.categories]
    if isinstance(dataset.X, pl.DataFrame):
        return [name for name, dtype in dataset.X.schema.items() if not _is_number(dtype)]
    return []


def positions(dataset: Dataset, names: list[str]) -> list[int]:
    """Positions of columns."""
    place = {name: j for j, name in enumerate(dataset.columns)}
    return [place[name] for name in names]


def _facts(dataset: Dataset) -> dict[str, Any]:
    return {each.name: getattr(dataset, each.name) for each in fields(Dataset) if each.name != "X"}


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)
