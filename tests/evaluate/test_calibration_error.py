"""How far probabilities are from shares of the class, over sliding windows."""

import numpy as np
import pytest

from fewer.evaluate import calibration_error
from tolerances import rounding


def by_hand(is_class, proba, size):
    """Window by window."""
    order = np.argsort(proba, kind="stable")
    p, hits = proba[order], is_class[order]
    gaps = [abs(p[i : i + size].mean() - hits[i : i + size].mean()) for i in range(len(p) - size + 1)]
    return np.mean(gaps)


def test_it_is_the_mean_over_windows():
    rng = np.random.default_rng(0)
    y, proba = rng.integers(2, size=70), rng.random(70)
    for size in (1, 10, 70):
        found = calibration_error(y, proba, rows_per_window=size)
        assert found == pytest.approx(by_hand(y, proba, size), abs=rounding(200))
    assert calibration_error(y, proba) == pytest.approx(abs(y.mean() - proba.mean()), abs=rounding(200))
    many, table = rng.integers(3, size=70), rng.dirichlet(np.ones(3), 70)
    expected = np.mean([by_hand(many == each, table[:, each], 20) for each in range(3)])
    assert calibration_error(many, table, rows_per_window=20) == pytest.approx(expected, abs=rounding(200))


def test_neither_the_order_of_the_rows_nor_the_name_of_the_class_matters():
    rng = np.random.default_rng(1)
    proba = rng.integers(4, size=300) / 3  # many rows of equal probability
    y = np.where(rng.random(300) < proba, "ill", "well")
    order = rng.permutation(300)
    found = calibration_error(y, 1 - proba)
    assert calibration_error(y[order], 1 - proba[order]) == pytest.approx(found, abs=rounding(300))
    assert calibration_error(y == "ill", proba) == pytest.approx(found, abs=rounding(300))
    assert calibration_error(y, np.column_stack([proba, 1 - proba])) == pytest.approx(found, abs=rounding(300))


def test_a_shift_of_all_probabilities_is_found():
    rng = np.random.default_rng(2)
    proba = rng.uniform(0.2, 0.8, size=20_000)
    y = rng.random(20_000) < proba
    # Shares over 1,000 rows have a standard error of at most 0.016.
    assert calibration_error(y, proba, rows_per_window=1000) < 0.016
    assert calibration_error(y, proba + 0.15, rows_per_window=1000) == pytest.approx(0.15, abs=0.016)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="a column for each class"):
        calibration_error([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="between 0 and 1, and does not in row 2"):
        calibration_error([0, 1, 1], [0.1, 0.2, np.nan])
    with pytest.raises(ValueError, match="one class only"):
        calibration_error([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="at least 1"):
        calibration_error([0, 1], [0.1, 0.2], rows_per_window=0)
