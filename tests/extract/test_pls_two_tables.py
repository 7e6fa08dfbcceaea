"""PLSCanonical, PLSSB and CanonicalRidge: agreement with scikit-learn and closed forms, wide, sparse and bad tables."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cross_decomposition import CCA, PLSSVD
from sklearn.cross_decomposition import PLSCanonical as PeerCanonical
from sklearn.datasets import load_linnerud

from fewer.extract import PLSSB, CanonicalRidge, PLSCanonical
from fewer.extract.pls import _two_tables

SHAPES = [(40, 9, 5), (20, 60, 30), (30, 4, 1)]


def tables(n_rows, n_columns, n_targets, seed=0):
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(n_rows, 3))
    return tuple(
        causes @ rng.normal(size=(3, width)) + rng.normal(size=(n_rows, width)) + 2 for width in (n_columns, n_targets)
    )


def same_up_to_sign(ours, theirs, atol=1e-7):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=atol)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scaled", [False, True])
def test_canonical_is_that_of_scikit_learn(shape, scaled):
    X, Y = tables(*shape)
    k = min(3, shape[2])
    ours = PLSCanonical(k, scale=scaled).fit(X, Y)
    theirs = PeerCanonical(k, scale=scaled, tol=1e-24, max_iter=20_000).fit(X, Y)
    for name in ("weights", "loadings", "rotations"):
        for side in "xy":
            same_up_to_sign(getattr(ours, f"{side}_{name}_"), getattr(theirs, f"{side}_{name}_"))
    same_up_to_sign(ours.transform(X), theirs.transform(X))
    same_up_to_sign(ours.transform_y(Y), theirs.transform(X, Y)[1])
    np.testing.assert_allclose(ours.transform(X), ours.x_scores_, atol=1e-9)
    np.testing.assert_allclose(ours.transform_y(Y), ours.y_scores_, atol=1e-9)


def test_canonical_scores_are_orthogonal_within_each_table():
    model = PLSCanonical(4).fit(*tables(40, 9, 5))
    for scores in (model.x_scores_, model.y_scores_):
        products = scores.T @ scores
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_sb_is_the_singular_value_decomposition(shape):
    X, Y = tables(*shape)
    ours = PLSSB(min(3, shape[2])).fit(X, Y)
    theirs = PLSSVD(min(3, shape[2]), scale=False).fit(X, Y)
    same_up_to_sign(ours.x_weights_, theirs.x_weights_)
    same_up_to_sign(ours.y_weights_, theirs.y_weights_)
    values = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), compute_uv=False)
    np.testing.assert_allclose(ours.singular_values_, values[: len(ours.singular_values_)])


def test_without_a_ridge_it_is_canonical_correlation():
    X, Y = tables(60, 5, 4)
    ours = CanonicalRidge(2).fit(X, Y)
    theirs = CCA(2, scale=False, tol=1e-16, max_iter=20_000).fit(X, Y)
    along = [np.corrcoef(*(side[:, place] for side in theirs.transform(X, Y)))[0, 1] for place in range(2)]
    np.testing.assert_allclose(ours.correlations_, along, atol=1e-6)
    np.testing.assert_allclose(ours.eigenvalues_, ours.correlations_**2, atol=1e-10)


@pytest.mark.parametrize(("gamma_x", "gamma_y"), [(0.3, 0.0), (0.99, 0.5), (1.0, 0.0), (0.0, 1.0)])
def test_rotations_solve_the_eigenproblem(gamma_x, gamma_y):
    X, Y = tables(50, 6, 3)
    model = CanonicalRidge(gamma_x=gamma_x, gamma_y=gamma_y).fit(X, Y)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    left, right = (
        (1 - gamma) * table.T @ table + gamma * np.eye(table.shape[1]) for table, gamma in ((X, gamma_x), (Y, gamma_y))
    )
    turned = linalg.solve(left, X.T @ Y) @ linalg.solve(right, Y.T @ X) @ model.x_rotations_
    np.testing.assert_allclose(turned, model.x_rotations_ * model.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(model.x_rotations_.T @ left @ model.x_rotations_, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(model.y_rotations_.T @ right @ model.y_rotations_, np.eye(3), atol=1e-9)


def test_with_both_gammas_at_one_it_is_sb():
    X, Y = tables(20, 60, 4)
    np.testing.assert_allclose(
        CanonicalRidge(gamma_x=1, gamma_y=1).fit(X, Y).x_rotations_, PLSSB().fit(X, Y).x_weights_, atol=1e-9
    )


@pytest.mark.parametrize(
    "model", [PLSCanonical(2), PLSSB(2), CanonicalRidge(2, gamma_x=0.5), PLSCanonical(2, scale=True)]
)
@pytest.mark.parametrize("shape", [(40, 12), (15, 60)])
def test_sparse_is_dense(model, shape):
    rng = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.3, rng=rng, format="csr")
    Y = X[:, :3] @ rng.normal(size=(3, 3)) + 0.1 * rng.normal(size=(shape[0], 3))
    expected = model.fit(X.toarray(), Y).transform(X.toarray())
    np.testing.assert_allclose(model.fit(X, Y).transform(X), expected, atol=1e-8)


def test_more_columns_than_rows_need_a_ridge():
    X, Y = tables(20, 30, 3)
    with pytest.raises(ValueError, match=r"30 columns and 20 rows.*Set gamma_x above 0"):
        CanonicalRidge().fit(X, Y)
    with pytest.raises(ValueError, match="Set gamma_y above 0"):
        CanonicalRidge().fit(Y, X)
    assert CanonicalRidge(gamma_x=0.1).fit(X, Y).correlations_.max() <= 1


@pytest.mark.parametrize("model", [PLSCanonical(5), PLSSB(5), CanonicalRidge(5)])
def test_more_pairs_than_there_are_is_said(model):
    with pytest.warns(UserWarning, match="n_components=5 are asked for, and there are 3"):
        model.fit(*load_linnerud(return_X_y=True))
    assert model.n_components_ == 3


def test_the_second_table_must_keep_its_columns():
    X, Y = tables(20, 5, 3)
    with pytest.raises(ValueError, match="y has 2 columns, and in fit it had 3"):
        PLSSB().fit(X, Y).transform_y(Y[:, :2])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_plssb_of_a_wide_table_decomposes_the_cross_products_alone(form, monkeypatch):
    def never(*args):
        raise AssertionError("the table was decomposed")

    X, Y = tables(20, 30, 3)
    monkeypatch.setattr(_two_tables, "_thin_svd_of", never)
    found = PLSSB().fit(form(X), Y)
    left, sizes, _ = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), full_matrices=False)
    np.testing.assert_allclose(found.singular_values_, sizes)
    np.testing.assert_allclose(np.abs(np.diag(left.T @ found.x_weights_)), 1)


def test_plssb_of_two_wide_tables_stays_with_the_rows():
    X, Y = tables(10, 30, 25)
    found = PLSSB().fit(X, Y)
    sizes = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), compute_uv=False)
    np.testing.assert_allclose(found.singular_values_, sizes[: found.n_components_])
    assert found.n_components_ == 9


def test_wide_tables_of_low_rank_need_no_ridge():
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(20, 3))
    X, Y = causes @ rng.normal(size=(3, 25)), causes + rng.normal(size=(20, 3))
    expected = CanonicalRidge().fit(causes, Y).correlations_
    np.testing.assert_allclose(CanonicalRidge().fit(X, Y).correlations_, expected)
