"""Elimination by ridge regression: the ranking of fits made anew, on wide, long and sparse tables."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import RFE
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from fewer.select import RidgeRFE

LONG, WIDE = (60, 14), (24, 70)


def table(shape, n_classes, seed=0):
    """Columns of unequal units, some of them linked to the target; ``n_classes=0`` for numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    response = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=len(X))
    X = X * np.logspace(-3, 3, shape[1]) + 10.0
    return X, response if n_classes == 0 else np.argsort(np.argsort(response)) * n_classes // len(X)


def indicators(y, n_classes):
    return y if n_classes == 0 else (y == 1) * 1.0 if n_classes == 2 else (y[:, None] == np.arange(n_classes)) * 1.0


def order_of_new_fits(X, targets, alpha, step):
    """Columns from the last one left to the first one dropped, with a model fitted anew for each round."""
    X, left, dropped = StandardScaler().fit_transform(X), np.arange(X.shape[1]), []
    while len(left) > 1:
        coefficients = np.atleast_2d(Ridge(alpha).fit(X[:, left], targets).coef_)
        worst_first = np.argsort((coefficients**2).sum(axis=0))
        n_dropped = max(1, int(step * len(left)))
        dropped += left[worst_first[:n_dropped]].tolist()
        left = np.sort(left[worst_first[n_dropped:]])
    return [*left, *dropped[::-1]]


@pytest.mark.parametrize("shape", [LONG, WIDE])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_the_ranking_is_that_of_scikit_learn(shape, n_classes):
    X, y = table(shape, n_classes)
    peer = RFE(Ridge(5.0), n_features_to_select=1, step=1).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(RidgeRFE(step=1, alpha=5.0).fit(X, y).ranking_, peer.ranking_)


@pytest.mark.parametrize("shape", [LONG, WIDE])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_a_share_of_those_left_is_dropped_as_by_fits_made_anew(shape, n_classes):
    X, y = table(shape, n_classes)
    expected = order_of_new_fits(X, indicators(y, n_classes), 3.0, 0.2)
    select = RidgeRFE(4, alpha=3.0).fit(X, y)
    np.testing.assert_array_equal(np.argsort(select.ranking_), expected)
    np.testing.assert_array_equal(select.get_support(indices=True), np.sort(expected[:4]))


@pytest.mark.parametrize("shape", [LONG, WIDE])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_penalty_has_the_smallest_generalised_cross_validation_error(shape, n_classes):
    X, y = table(shape, n_classes, seed=2)
    chosen = RidgeRFE().fit(X, y).alpha_
    Z, n = StandardScaler().fit_transform(X), len(X)
    T = indicators(y, n_classes).reshape(n, -1)
    T = T - T.mean(axis=0)

    def error(alpha):
        hat = np.full((n, n), 1 / n) + Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T)
        return n * ((T - hat @ T) ** 2).sum() / (n - np.trace(hat)) ** 2

    grid = shape[1] * np.logspace(-2, 5, 15)
    assert chosen == pytest.approx(min(grid, key=error))
    assert grid[0] < chosen < grid[-1]


@pytest.mark.parametrize("shape", [LONG, WIDE])
def test_a_sparse_table_has_the_ranking_of_a_dense_one(shape):
    X, y = table(shape, 3)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    dense, thin = RidgeRFE().fit(X, y), RidgeRFE().fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.ranking_, dense.ranking_)
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-6)


@pytest.mark.parametrize("shape", [LONG, WIDE])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constant_columns_come_last_with_a_score_of_zero(shape, kind):
    X, y = table(shape, 2)
    X[:, [3, 5]] = 0.1, 1e6
    select = RidgeRFE().fit(kind(X), y)
    assert set(np.argsort(select.ranking_)[-2:]) == {3, 5}
    np.testing.assert_array_equal(select.scores_[[3, 5]], 0)


def test_only_the_rows_drawn_are_used():
    X, y = table((200, 10), 2)
    select = RidgeRFE(max_samples=100, random_state=0).fit(X, y)
    again = RidgeRFE(max_samples=0.5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(select.scores_, again.scores_)
    assert not np.array_equal(select.scores_, RidgeRFE().fit(X, y).scores_)
    np.testing.assert_array_equal(RidgeRFE(max_samples=1.0).fit(X, y).scores_, RidgeRFE().fit(X, y).scores_)


def test_a_table_with_too_many_rows_and_columns_is_refused(monkeypatch):
    monkeypatch.setattr("fewer.select.embedded._elimination._LONGEST_SIDE", 20)
    X, y = table(WIDE, 2)
    with pytest.raises(ValueError, match=r"24 rows and 70 columns.*at most 20: give max_samples=5"):
        RidgeRFE().fit(X, y)
    assert RidgeRFE(max_samples=5, random_state=0).fit(X, y).ranking_.max() == 70


class StopAfterOne:
    """A callback that stops after the first round."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        return context.parent is not None


def test_a_stopped_elimination_ranks_what_is_left_by_score():
    X, y = table(WIDE, 2)
    stopped = RidgeRFE().set_callbacks(StopAfterOne()).fit(X, y)
    assert stopped.n_iter_ == 1
    np.testing.assert_array_equal(np.argsort(stopped.ranking_), np.argsort(-stopped.scores_, kind="stable"))
