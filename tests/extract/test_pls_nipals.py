"""Components of NIPALS along rows and along columns: as good as those of arithmetic with more digits."""

import numpy as np
import pytest

from fewer.learn.pls._components import nipals
from fewer.learn.pls._table import CentredTable
from tolerances import rounding


def ill_conditioned(n_rows, n_columns, decades, seed):
    """Singular values fall by so many powers of ten; the target goes with all directions."""
    rng = np.random.default_rng(seed)
    rank = min(n_rows - 1, n_columns)
    left = np.linalg.qr(rng.normal(size=(n_rows, rank)))[0]
    right = np.linalg.qr(rng.normal(size=(n_columns, rank)))[0]
    X = (left * 10 ** np.linspace(0, -decades, rank)) @ right.T
    y = X @ rng.normal(size=n_columns) + 0.1 * rng.normal(size=n_rows)
    return X - X.mean(axis=0), y - y.mean()


def with_more_digits(X, y, n_components):
    """Coefficients after the last component by the textbook's deflation, in 80 bits."""
    X, y = X.astype(np.longdouble), y.astype(np.longdouble)
    left, coef = X.copy(), np.zeros(X.shape[1], dtype=np.longdouble)
    weights, loadings, targets = [], [], []
    for _ in range(n_components):
        w = left.T @ y
        w /= np.sqrt(w @ w)
        t = left @ w
        p, q = left.T @ t / (t @ t), y @ t / (t @ t)
        left, y = left - np.outer(t, p), y - q * t
        weights.append(w), loadings.append(p), targets.append(q)
    # The rotations by the triangular P'W, one after the other.
    rotations = []
    for w in weights:
        r = w.copy()
        for p, earlier in zip(loadings, rotations, strict=False):
            r -= (p @ r) * earlier
        rotations.append(r)
    for q, r in zip(targets, rotations, strict=True):
        coef += q * r
    return coef.astype(np.float64)


@pytest.mark.parametrize("shape", [(40, 120), (120, 40)])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decades", [1, 4, 6])
def test_ill_conditioned_tables_cost_no_digits(shape, seed, decades):
    X, y = ill_conditioned(*shape, decades, seed)
    expected = with_more_digits(X, y, 8)
    found = nipals(CentredTable(X), y[:, None], 8)
    # The condition is that of the scores, which are far from as unequal as the singular values.
    condition = np.linalg.norm(X) / np.sqrt(found.squares.min())
    tolerance = rounding(max(shape), np.abs(expected).max(), condition)
    np.testing.assert_allclose(found.coefficients()[:, 0], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("shape", [(40, 120), (120, 40)])
def test_scores_are_orthogonal_and_given_by_the_rotations_and_weights_are_orthonormal(shape):
    X, y = ill_conditioned(*shape, 3, 0)
    found = nipals(CentredTable(X), y[:, None], 10)
    lengths = np.sqrt(found.squares)
    np.testing.assert_allclose(np.linalg.norm(found.scores, axis=0), lengths)
    np.testing.assert_allclose((found.scores / lengths).T @ (found.scores / lengths), np.eye(10), atol=1e-11)
    scale = np.linalg.norm(X, axis=1).max() * np.linalg.norm(found.rotations, axis=0).max()
    np.testing.assert_allclose(X @ found.rotations, found.scores, rtol=0, atol=rounding(max(shape), scale))
    np.testing.assert_allclose(found.weights.T @ found.weights, np.eye(10), atol=1e-11)
    np.testing.assert_allclose(found.x_loadings, X.T @ found.scores / found.squares, atol=1e-10)
    np.testing.assert_allclose(found.y_loadings[0], y @ found.scores / found.squares, atol=1e-10)
    assert (found.weights.max(axis=0) == np.abs(found.weights).max(axis=0)).all()


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_a_target_of_few_directions_has_as_many_components(shape):
    """A table with three different singular values has three different powers of X'X, and so three components."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(np.column_stack([np.ones(shape[0]), rng.normal(size=(shape[0], 9))]))[0][:, 1:]
    right = np.linalg.qr(rng.normal(size=(shape[1], 9)))[0]
    X = (left * np.repeat([3.0, 2.0, 1.0], 3)) @ right.T
    y = X @ rng.normal(size=shape[1])
    assert nipals(CentredTable(X), y[:, None], 9).n_components == 3
    assert nipals(CentredTable(X), np.zeros((shape[0], 1)), 9).n_components == 0
