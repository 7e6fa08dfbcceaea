"""Reading a wide CSV file, beside pandas and polars."""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def wide_csv(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Decimal numbers under named columns, all of which must come back as they were written."""
    path = folder / "wide.csv"
    values = np.random.default_rng(0).normal(size=(n_rows, n_columns)).round(6)
    header = ",".join(f"gene_{number}" for number in range(n_columns))
    np.savetxt(path, values, delimiter=",", fmt="%.6f", header=header, comments="")

    def fewer() -> np.ndarray:
        from fewer.io import read_table

        return read_table(path).X

    def pandas() -> np.ndarray:
        from pandas import read_csv

        return read_csv(path).to_numpy()

    def polars() -> np.ndarray:
        from polars import read_csv

        return read_csv(path).to_numpy()

    # The last digit may be rounded either way by a fast parser.
    return Contest(
        ours={"fewer": fewer}, peers={"pandas": pandas, "polars": polars}, objective=np.asarray, tolerance=1e-15
    )


CASES = [
    Case("CSV, 1,000 rows x 10,000 columns", lambda folder: wide_csv(1_000, 10_000, folder)),
    Case("CSV, 100,000 rows x 100 columns", lambda folder: wide_csv(100_000, 100, folder)),
]
