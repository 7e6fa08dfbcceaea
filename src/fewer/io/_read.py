"""read_table: one door for every source."""

from collections.abc import Iterable, Mapping
from typing import Any

from fewer.io._assemble import assemble
from fewer.io._dataset import Dataset
from fewer.io._frame import DEFAULT_MISSING
from fewer.io._memory import table_from_memory


def read_table(
    source: Any,
    *,
    target: Any = None,
    drop: Iterable[str] = (),
    missing_values: Iterable[object] = DEFAULT_MISSING,
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
) -> Dataset:
    """Read a table.

    Examples
    --------
    >>> from fewer.io import read_table
    >>> read_table({"a": [1, 2, 4], "b": ["x", "y", "x"]}, target="b").task
    'binary'
    """
    return assemble(
        table_from_memory(source),
        target=target,
        drop=drop,
        missing_values=missing_values,
        task=task,
        kinds=kinds,
        missing_target=missing_target,
    )
