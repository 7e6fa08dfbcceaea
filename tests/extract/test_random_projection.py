import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from fewer.extract import RandomProjection, distortion_dim, landmark_dim, margin_dim
from tolerances import rounding

KINDS = ["gaussian", "sign", "orthogonal", "sparse"]


def word_counts(n_rows, n_columns):
    """Rows of 200 words, a few of them frequent."""
    shares = 1 / np.arange(1, n_columns + 1)
    return np.random.default_rng(0).multinomial(200, shares / shares.sum(), size=n_rows).astype(float)


def distortion(projections, X):
    """Root mean square of what squared distances change by."""
    before = pdist(X, "sqeuclidean")
    changes = [pdist(dense(model.fit_transform(X)), "sqeuclidean") / before - 1 for model in projections]
    return np.sqrt(np.mean(np.square(changes)))


def dense(table):
    return table.toarray() if sparse.issparse(table) else table


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_kept_as_well_as_by_scikit_learn(kind):
    X = np.random.default_rng(0).normal(size=(30, 500))
    ours = distortion([RandomProjection(100, method=kind, random_state=seed) for seed in range(20)], X)
    theirs = distortion([GaussianRandomProjection(100, random_state=seed) for seed in range(20)], X)
    assert ours < 1.1 * theirs


def test_sparse_directions_keep_distances_between_word_counts_which_scikit_learns_do_not():
    X = word_counts(30, 2000)
    ours = distortion([RandomProjection(200, method="sparse", random_state=seed) for seed in range(20)], X)
    signs = distortion([RandomProjection(200, method="sign", random_state=seed) for seed in range(20)], X)
    theirs = distortion([SparseRandomProjection(200, random_state=seed) for seed in range(20)], X)
    assert ours < 1.15 * signs
    assert theirs > 1.3 * signs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_form_of_a_table_gives_its_product_with_the_directions(kind, dtype):
    X = np.random.default_rng(0).normal(size=(19, 300)).astype(dtype)  # no multiple of the rows that go together
    X[X < 0.5] = 0
    model = RandomProjection(21, method=kind, random_state=0).fit(X)
    expected = X @ dense(model.components_).T
    tolerance = rounding(300, np.abs(expected).max(), dtype=dtype)
    assert model.components_.dtype == expected.dtype == dtype
    forms = [X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_matrix(X), pd.DataFrame(X)]
    for form in forms:
        found = model.transform(form)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_signs_that_are_unpacked_in_parts_are_the_same(monkeypatch):
    X = np.random.default_rng(0).normal(size=(5, 100))
    whole = RandomProjection(21, method="sign", random_state=0).fit_transform(X)
    monkeypatch.setattr("fewer.extract.random_projection._random_projection._CELLS", 50)
    np.testing.assert_allclose(RandomProjection(21, method="sign", random_state=0).fit_transform(X), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_come_in_blocks_are_projected_as_the_whole_table(kind):
    X = np.random.default_rng(0).normal(size=(50, 200))
    model = RandomProjection(20, method=kind, random_state=0).fit(X[:10])
    blocks = [model.transform(X[start : start + 7]) for start in range(0, 50, 7)]
    np.testing.assert_allclose(np.vstack(blocks), RandomProjection(20, method=kind, random_state=0).fit_transform(X))


def test_entries_are_what_their_kind_says():
    X = np.zeros((1, 400))
    gaussian, sign, orthogonal, thin = (
        RandomProjection(100, method=kind, n_nonzero=3, random_state=0).fit(X).components_ for kind in KINDS
    )
    assert gaussian.std() == pytest.approx(0.1, rel=0.02)
    assert np.mean(np.abs(gaussian) > 0.1 * 1.96) == pytest.approx(0.05, abs=0.005)
    np.testing.assert_allclose(np.abs(sign), 0.1)
    assert sign.mean() == pytest.approx(0, abs=0.002)
    np.testing.assert_allclose(orthogonal @ orthogonal.T, 4 * np.eye(100), rtol=0, atol=rounding(400, scale=4))
    np.testing.assert_allclose(np.abs(thin.data), 1 / np.sqrt(3))
    assert (np.bincount(thin.indices, minlength=400) == 3).all()


def test_more_directions_than_new_columns_are_not_spread_over():
    model = RandomProjection(2, method="sparse", n_nonzero=5, random_state=0).fit(np.zeros((1, 10)))
    assert model.components_.nnz == 20


def test_signs_take_a_bit_each():
    model = RandomProjection(1000, method="sign", random_state=0).fit(np.zeros((2, 4000)))
    assert sum(value.nbytes for value in vars(model._directions).values() if isinstance(value, np.ndarray)) == 500_000


def test_where_random_directions_save_nothing_columns_are_kept_and_that_is_said():
    X = np.random.default_rng(0).normal(size=(50, 100))
    with pytest.warns(UserWarning, match="100 columns; they are kept as they are. Raise eps, or give n_components"):
        model = RandomProjection().fit(X)
    assert model.n_components_ == 100
    np.testing.assert_array_equal(model.transform(X), X)
    np.testing.assert_array_equal(model.components_.toarray(), np.eye(100))
    assert sparse.issparse(model.transform(sparse.csr_array(X)))


def test_more_directions_than_columns_are_as_many_as_columns_with_a_warning():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 4, as many as columns"):
        model = RandomProjection(9, method="orthogonal", random_state=0).fit(X)
    np.testing.assert_allclose(pdist(model.transform(X)), pdist(X))


def test_one_column_and_one_row_are_no_trouble():
    assert RandomProjection(1, random_state=0).fit_transform([[2.0]]).shape == (1, 1)


@pytest.mark.parametrize("eps", [0, 1, 1.5])
def test_a_distortion_without_a_bound_is_refused(eps):
    with pytest.raises(ValueError, match="eps"):
        RandomProjection(eps=eps).fit(np.zeros((5, 5)))
    with pytest.raises(ValueError, match=f"eps={eps} must be above 0 and below 1"):
        distortion_dim(100, eps)


@pytest.mark.parametrize("number", [margin_dim, landmark_dim])
def test_a_margin_that_is_no_cosine_is_refused(number):
    for gamma in (0, -0.1, 1.1):
        with pytest.raises(ValueError, match="cosine of an angle"):
            number(gamma)
    with pytest.raises(ValueError, match="delta=2 must be above 0 and below 1"):
        number(0.5, delta=2)


def test_names_of_new_columns_follow_the_class():
    frame = pd.DataFrame(np.eye(5), columns=list("abcde"))
    model = RandomProjection(2, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["randomprojection0", "randomprojection1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_missing_values_in_new_rows_are_told_by_their_column(kind, form):
    X = np.random.default_rng(0).normal(size=(20, 30))
    model = RandomProjection(4, method=kind, random_state=0).fit(X)
    X[11, 7] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN, in column 7 \(row 11\)"):
        model.transform(form(X))
    X[11, 7] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        model.transform(form(X))


def test_sparse_gaussian_directions_keep_squared_lengths_on_average():
    x = np.random.default_rng(0).normal(size=(1, 300))
    models = (RandomProjection(50, method="sparse_gaussian", density=0.1, random_state=seed) for seed in range(200))
    ratios = [np.sum(model.fit_transform(x) ** 2) / np.sum(x**2) for model in models]
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(200))


def test_sparse_gaussian_directions_have_the_density_and_normal_entries():
    components = RandomProjection(100, method="sparse_gaussian", random_state=0).fit(np.zeros((5, 400))).components_
    assert components.nnz / 40_000 == pytest.approx(1 / 20, abs=0.005)  # 1 / sqrt(n_features) by default
    assert np.std(components.data) == pytest.approx(np.sqrt(20 / 100), rel=4 / np.sqrt(2 * components.nnz))
    assert np.mean(np.abs(components.data) < np.std(components.data)) == pytest.approx(0.683, abs=0.05)


def test_a_sparse_table_stays_sparse_by_sparse_gaussian_directions():
    X = sparse.random_array((20, 100), density=0.05, rng=np.random.default_rng(0), format="csr")
    model = RandomProjection(30, method="sparse_gaussian", density=0.1, random_state=0).fit(X)
    assert sparse.issparse(model.transform(X))
    np.testing.assert_allclose(model.transform(X).toarray(), model.transform(X.toarray()))
