"""What a reader hands over: columns, target, and the target's name."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


class Table(NamedTuple):
    frame: "pl.DataFrame"
    y: "np.ndarray"
    target: str
