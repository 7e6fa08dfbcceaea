"""HDDC: EM rises, agrees with a Gaussian mixture where they are the same, and sees what k-means cannot."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fewer.extract import HDDA, HDDC
from fewer.extract.hdda._hddc import Recipe, compact_rows, em, partition


def crossing_lines(n_rows=300, n_columns=30, seed=0):
    """Two clusters about the origin, each along a line of its own."""
    rng = np.random.default_rng(seed)
    X, y = 0.1 * rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    X[np.arange(n_rows), y] += 3 * rng.normal(size=n_rows)
    return X, y


def far_clusters(n_rows=120, n_columns=10, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    return rng.normal(size=(n_rows, n_columns)) + 8 * rng.normal(size=(3, n_columns))[y], y


@pytest.mark.parametrize("model", ["full", "isometric", "homothetic", "common_noise"])
def test_the_likelihood_never_falls(model):
    X, y = crossing_lines(100, 8)
    rng = np.random.default_rng(0)
    rows = compact_rows(X)
    start = partition(rng.permutation(y), 2)
    values = [
        em(rows.coordinates, start, Recipe(model, np.array([1, 2]), 0.2, 1e-8, 0.0, n_steps), 8).log_likelihood
        for n_steps in range(1, 15)
    ]
    assert (np.diff(values) > -1e-6).all()
    assert values[-1] > values[0] + 10


def test_the_likelihood_is_that_of_the_mixture():
    X, _ = crossing_lines()
    model = HDDC(n_dims=1, random_state=0).fit(X)
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum())
    assert model.score(X) == pytest.approx(model.log_likelihood_ / len(X))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_in_two_columns_it_is_a_gaussian_mixture():
    X = load_iris().data[:, [0, 2]]
    ours = HDDC(2, n_dims=1, tol=1e-10, max_iter=500, random_state=0).fit(X)
    theirs = GaussianMixture(2, tol=1e-10, max_iter=500, reg_covar=0, random_state=0).fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), abs=1e-6)
    order = np.argsort(-theirs.weights_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X)[:, order], atol=1e-3)
    for each, k in enumerate(order):
        Q = ours.subspaces_[each]
        covariance = ours.a_[each] * Q @ Q.T + ours.b_[each] * (np.eye(2) - Q @ Q.T)
        np.testing.assert_allclose(covariance, theirs.covariances_[k], atol=1e-3)


@pytest.mark.parametrize("n_dims", [1, "scree", "bic"])
def test_clusters_that_lie_through_one_another_are_parted(n_dims):
    X, y = crossing_lines()
    model = HDDC(n_dims=n_dims, init="random", n_init=5, random_state=0).fit(X)
    np.testing.assert_array_equal(model.dims_, [1, 1])
    assert adjusted_rand_score(y, model.labels_) > 0.85


def test_known_clusters_give_the_estimates_of_hdda():
    X, y = far_clusters()
    ours, known = HDDC(3, n_dims=2, random_state=0).fit(X), HDDA(n_dims=2).fit(X, y)
    assert adjusted_rand_score(y, ours.labels_) == 1
    match = [int(np.linalg.norm(known.means_ - mean, axis=1).argmin()) for mean in ours.means_]
    assert sorted(match) == [0, 1, 2]
    np.testing.assert_allclose(ours.means_, known.means_[match], atol=1e-8)
    np.testing.assert_allclose(ours.a_, known.a_[match], rtol=1e-6)
    np.testing.assert_allclose(ours.b_, known.b_[match], rtol=1e-6)


def test_more_columns_than_rows_are_fitted_through_the_rows():
    X, y = far_clusters(45, 400)
    model = HDDC(3, n_dims=2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum())
    for Q in model.subspaces_:
        np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-8)


def test_a_second_stage_goes_on_with_another_model():
    X, _ = crossing_lines()
    X[:, 2:] *= 2
    first = HDDC(n_dims=1, model="isometric", random_state=0).fit(X)
    both = HDDC(n_dims=1, model="isometric", second_stage="full", random_state=0).fit(X)
    assert first.a_[0] == first.a_[1]
    assert both.a_[0] != both.a_[1]
    assert both.log_likelihood_ > first.log_likelihood_
    assert both.n_parameters_ == first.n_parameters_ + 2


def test_bic_finds_the_number_of_clusters():
    X, _ = far_clusters()
    values = [HDDC(k, n_dims=1, model="isometric", n_init=3, random_state=0).fit(X).bic_ for k in (1, 2, 3, 4)]
    assert np.argmin(values) == 2


def test_threads_change_nothing():
    X, _ = crossing_lines(100)
    one, two = (
        HDDC(n_dims=1, init="random", n_init=3, n_jobs=n_jobs, random_state=0).fit(X).log_likelihood_
        for n_jobs in (1, 2)
    )
    assert one == two


def test_the_largest_cluster_is_the_first_and_axes_have_its_number():
    X, y = far_clusters()
    model = HDDC(2, n_dims=1, random_state=0).fit(X[y < 2][:70])
    assert (np.diff(model.priors_) <= 0).all()
    assert model.get_feature_names_out().tolist() == ["hddc_0_0", "hddc_1_0"]
    assert model.transform_class(X, 1).shape == (120, 1)
    with pytest.raises(ValueError, match="no cluster 2"):
        model.transform_class(X, 2)


def test_hard_cases_stay_finite():
    X = np.repeat(np.eye(3), 4, axis=0)  # three points, four times each
    with pytest.warns(UserWarning, match="no direction stands out: transform gives no columns"):
        model = HDDC(3, random_state=0).fit(X)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.warns(UserWarning, match="the table has one column only"):
        assert np.isfinite(HDDC(2, random_state=0).fit(np.arange(10.0)[:, None]).score_samples([[3.0]])).all()
    with pytest.warns(UserWarning, match="n_dims=9 is more than the rows or columns of cluster"):
        HDDC(2, n_dims=9, random_state=0).fit(far_clusters()[0][:40, :4])
    with pytest.raises(ValueError, match="only 3 rows"):
        HDDC(4).fit(np.eye(3))
    with pytest.raises(ValueError, match="n_dims"):
        HDDC(2, n_dims=[1, 2, 3]).fit(X)


def test_a_sparse_table_is_told_what_to_do():
    with pytest.raises(TypeError, match=r"X.toarray\(\), which takes 80 MB here, or have TruncatedSVD\(100\)"):
        HDDC().fit(sparse.eye_array(10_000, 1000, format="csr"))


def test_an_unfinished_fit_is_told():
    X, _ = crossing_lines()
    with pytest.warns(ConvergenceWarning, match="still gained"):
        HDDC(n_dims=1, init="random", max_iter=2, tol=0, random_state=0).fit(X)
