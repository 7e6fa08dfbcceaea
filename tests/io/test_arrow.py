import datetime

import polars as pl
import pytest

from fewer.io import TableError, read_table


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_types_are_kept(tmp_path, suffix):
    frame = pl.DataFrame(
        {
            "day": [datetime.date(2024, 1, 1), None],
            "word": ["x", "y"],
            "flag": [True, None],
            "choice": pl.Series(["p", "q"], dtype=pl.Enum(["p", "q"])),
        }
    )
    path = tmp_path / f"t.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    assert read_table(path).X.equals(frame)


def test_the_first_version_of_feather_is_named(file):
    with pytest.raises(TableError, match="first version of Feather"):
        read_table(file(b"FEA1" + bytes(100), "t.feather"))
