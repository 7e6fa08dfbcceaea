"""Predictions of support vector machines by blocks: those of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from fewer._estimators import machine_predictions, predicted

TABLES = {"two classes": load_breast_cancer, "ten classes": load_digits, "numbers": load_diabetes}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("options", [{}, {"C": 10.0, "gamma": 0.01}, {"gamma": 5.0}], ids=["plain", "C=10", "narrow"])
@pytest.mark.parametrize("shift", [0, 1e4])
def test_predictions_are_those_of_fits(table, options, shift):
    X, y = TABLES[table](return_X_y=True)
    X = StandardScaler().fit_transform(X) + shift
    numbers = table == "numbers"
    model = (SVR if numbers else SVC)(**options).fit(X[::2], y[::2] if numbers else y[::2].astype(str))
    found, expected = machine_predictions(model, X), model.predict(X)
    if numbers:
        np.testing.assert_allclose(found, expected, rtol=1e-9 if not shift else 1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


def test_what_needs_checks_or_is_another_machine_is_left_to_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    model = SVC().fit(X, y)
    with_nan = np.where(X[0, 0] == X, np.nan, X)
    for other, rows in [
        (SVC(kernel="linear", C=1e-6).fit(X, y), X),
        (SVC().fit(sparse.csr_array(X), y), X),
        (SVC(break_ties=True).fit(X, y), X),
        (model, X.tolist()),
        (model, sparse.csr_array(X)),
        (model, X[:, :3]),
        (model, X[:0]),
        (model, with_nan),
    ]:
        assert machine_predictions(other, rows) is None
    with pytest.raises(ValueError, match="features"):
        predicted(model, X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        predicted(model, with_nan)
