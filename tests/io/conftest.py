"""Small tables in files, and a way to say that two Datasets hold the same."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset


@pytest.fixture
def file(tmp_path):
    """Write text or bytes to a file of this name and give its path."""

    def write(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def assert_same():
    """Assert that two Datasets agree in everything but their source."""

    def plain(series: pl.Series) -> list:
        """Values without their type: a day is its midnight, a category its name."""
        if series.dtype in (pl.Date, pl.Datetime):
            return series.cast(pl.Datetime("us")).to_list()
        return series.to_list() if series.dtype.is_numeric() else series.cast(pl.String).to_list()

    def check(found: Dataset, expected: Dataset) -> None:
        assert found.columns == expected.columns
        assert found.kinds == expected.kinds
        assert found.task == expected.task
        assert found.shape == expected.shape
        if expected.y is None:
            assert found.y is None
        else:
            np.testing.assert_array_equal(found.y, expected.y)
        if isinstance(expected.X, pl.DataFrame):
            assert isinstance(found.X, pl.DataFrame)
            for name in expected.columns:
                assert plain(found.X[name]) == plain(expected.X[name])
        elif sp.issparse(expected.X):
            assert sp.issparse(found.X)
            np.testing.assert_array_equal(found.X.toarray(), expected.X.toarray())
        else:
            assert isinstance(found.X, np.ndarray)
            np.testing.assert_array_equal(found.X, expected.X)

    return check
