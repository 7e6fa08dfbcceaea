"""Correlations are those of numpy on every route: all pairs at once, one by one, in blocks of rows, and sparse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import f_classif, f_regression

from fewer.select.redundancy import _similarity
from fewer.select.redundancy._similarity import Correlations
from tolerances import rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 6)) * [1.0, 10.0, 0.1, 1.0, 3.0, 1.0] + [5.0, 0.0, -3.0, 0.0, 0.0, 0.0]
X[:, 3] = X[:, 0] + 0.5 * RNG.normal(size=30)
X[:, 5] = 7.0
X[RNG.random(X.shape) < 0.2] = 0.0
X[:, 5] = 7.0
EXPECTED = np.zeros((6, 6))
EXPECTED[:5, :5] = np.corrcoef(X[:, :5].T)

ROUTES = {
    "all pairs at once": lambda: Correlations(X, n_asked=6),
    "one by one": lambda: Correlations(X, n_asked=0),
    "float32": lambda: Correlations(X.astype(np.float32), n_asked=0),
    "sparse": lambda: Correlations(sparse.csc_array(X), n_asked=6),
}


@pytest.mark.parametrize("cells", [2**21, 50], ids=["centred", "in blocks"])
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_correlations_of_numpy(route, cells, monkeypatch):
    monkeypatch.setattr(_similarity, "_CELLS_AT_ONCE", cells)
    found, y = ROUTES[route](), X[:, 0] - X[:, 1]
    # Sums of squares about zero are larger than those about the mean.
    off_centre = np.mean(X[:, :5] ** 2, axis=0) / np.var(X[:, :5], axis=0)
    near = {"abs": 1e-6 if route == "float32" else rounding(30, condition=off_centre.max())}
    assert found.varies.tolist() == [True] * 5 + [False]
    for column in range(6):
        assert found.with_column(column) == pytest.approx(EXPECTED[column], **near)
    first, second = np.array([3, 0]), np.array([1, 4, 2])
    assert found.between(first, second) == pytest.approx(EXPECTED[np.ix_(first, second)], **near)
    assert found.with_target(y)[:5] == pytest.approx(np.corrcoef(X[:, :5].T, y)[-1, :-1], **near)
    assert found.with_target(np.full(30, 0.3)).tolist() == [0.0] * 6


@pytest.mark.parametrize("table", [X, sparse.csc_array(X)], ids=["dense", "sparse"])
def test_f_statistics_are_those_of_scikit_learn(table):
    found, classes = Correlations(table), np.arange(30) % 3
    assert found.f_statistics_of_classes(classes)[:5] == pytest.approx(f_classif(X[:, :5], classes)[0])
    assert found.f_statistics_of_numbers(X[:, 4] ** 2)[:5] == pytest.approx(f_regression(X[:, :5], X[:, 4] ** 2)[0])


def test_f_is_infinite_where_nothing_is_left_to_explain():
    classes = np.repeat([0, 1], 5)
    assert Correlations(classes[:, None] * 2.0).f_statistics_of_classes(classes).tolist() == [np.inf]
