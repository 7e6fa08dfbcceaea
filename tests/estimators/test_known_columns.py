"""Names of columns that a caller knows, in what fits on arrays say."""

import numpy as np
import pytest

from fewer._estimators import columns_known_as, known_column
from fewer.extract import FastProjectiveClustering
from fewer.select.objectives._decision_table import _coded
from fewer.select.objectives._discriminant import warn_of_separators

NAMES = ["age", "sex", "pulse"]


def test_columns_have_names_inside_and_places_outside():
    with columns_known_as(NAMES):
        assert known_column(1, 3) == "sex"
        assert known_column(1, 2) == 1  # part of the table, whose columns are others
        with columns_known_as(["x", "y"]):
            assert known_column(1, 2) == "y"
        assert known_column(2, 3) == "pulse"
    assert known_column(1, 3) == 1


def test_fits_on_arrays_name_the_columns_that_they_warn_of():
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[:, 1] = np.arange(150) % 2
    with columns_known_as(NAMES):
        with pytest.warns(UserWarning, match="Column 'sex' has at most"):
            model = FastProjectiveClustering().fit(X)
        with pytest.warns(UserWarning, match="Column 'age' has 150 different values"):
            _coded(X)
        with pytest.warns(UserWarning, match="Column 'sex' is constant within every class"):
            warn_of_separators(np.array([1.0, 0.0, 1.0]), np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert all(isinstance(column, int) for bounds in model.bounds_ for column in bounds)  # what is fitted is as ever
    with pytest.warns(UserWarning, match="Column 1 has at most"):
        FastProjectiveClustering().fit(X)
