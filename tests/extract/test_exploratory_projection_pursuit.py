"""Directions of structure without classes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, FastICA

from fewer.extract import ExploratoryProjectionPursuit
from fewer.extract.projection_pursuit._search import along, along_by_differences, negentropy
from tolerances import rounding


def two_groups(seed=0, n_rows=300):
    """Groups along the direction of least variance, and a skewed column of more; then all is turned."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)) * [5, 4, 3, 1, 2, 0.5]
    X[:, 5] += rng.choice([-1, 1], size=n_rows)
    X[:, 3] = rng.exponential(size=n_rows)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return X @ turn, turn


def test_groups_in_the_direction_of_least_variance_are_found():
    X, turn = two_groups()
    model = ExploratoryProjectionPursuit(2, random_state=0).fit(X)
    overlaps = np.abs(model.components_ @ turn[[3, 5]].T)
    assert sorted(overlaps.argmax(axis=1)) == [0, 1]
    assert overlaps.max(axis=1).min() > 0.97
    assert np.abs(PCA(2).fit(X).components_ @ turn[[3, 5]].T).max() < 0.3


def test_independent_columns_are_told_apart_as_fast_ica_does():
    rng = np.random.default_rng(0)
    sources = np.column_stack([rng.uniform(size=1000), rng.laplace(size=1000)])
    X = sources @ np.array([[1.0, 0.5], [0.3, 1.0]])
    found = ExploratoryProjectionPursuit(2, random_state=0).fit_transform(X)
    match = np.abs(np.corrcoef(found.T, FastICA(2, random_state=0).fit_transform(X).T)[:2, 2:])
    assert match.max(axis=1).min() > 0.98


def test_negentropy_is_about_zero_for_normal_rows_and_that_of_a_uniform_density_for_uniform_ones():
    rng = np.random.default_rng(0)
    index = negentropy(4000, "normal_reference", 0.7)
    normal, uniform = rng.normal(size=4000), rng.uniform(size=4000)
    assert abs(index(normal / normal.std())[0]) < 0.02
    assert index((uniform - 0.5) / uniform.std())[0] == pytest.approx(0.5 * np.log(np.pi * np.e / 6), abs=0.05)


def test_derivatives_of_negentropy_are_right():
    rng = np.random.default_rng(0)
    Z, index = rng.laplace(size=(100, 3)), negentropy(100, "normal_reference", 1.3)
    direction = np.array([0.6, 0.0, 0.8])
    exact, by_differences = along(Z, index)(direction), along_by_differences(Z, lambda z: index(z)[0])(direction)
    np.testing.assert_allclose(exact[1], by_differences[1], rtol=1e-5, atol=1e-8)


def test_an_index_of_ones_own_is_maximised_with_and_without_derivatives():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 1] = rng.exponential(size=400)

    def skewness(values):
        return np.mean(values**3) ** 2

    def with_derivatives(values):
        return skewness(values), 6 * np.mean(values**3) * values**2 / len(values)

    plain, quick = (
        ExploratoryProjectionPursuit(1, index=index, random_state=0).fit(X) for index in (skewness, with_derivatives)
    )
    assert abs(plain.components_[0, 1]) > 0.98
    np.testing.assert_allclose(plain.components_, quick.components_, atol=1e-3)
    with pytest.raises(ValueError, match="index must return a number"):
        ExploratoryProjectionPursuit(1, index=np.sort).fit(X)


def test_what_was_found_is_taken_away():
    X, _ = two_groups()
    model = ExploratoryProjectionPursuit(3, random_state=0).fit(X)
    assert model.scores_[2] < 0.3 * model.scores_[0]
    np.testing.assert_allclose(model.original_scores_[0], model.scores_[0])


def test_the_first_directions_of_a_larger_fit_are_those_of_a_smaller_one():
    X, _ = two_groups()
    small, large = (ExploratoryProjectionPursuit(size, random_state=0).fit(X) for size in (1, 2))
    np.testing.assert_allclose(small.components_, large.components_[:1], rtol=0, atol=rounding(len(X)))


def test_sparse_tables_with_many_columns_are_taken():
    X = sparse.random_array((40, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
    model = ExploratoryProjectionPursuit(2, n_init=0, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), (X.toarray() - model.mean_) @ model.components_.T, atol=1e-10)


def test_too_many_components_are_told_and_constant_tables_refused():
    X, _ = two_groups(n_rows=60)
    with pytest.warns(UserWarning, match="there are 6"):
        assert ExploratoryProjectionPursuit(7, n_init=0, random_state=0).fit(X).n_components_ == 6
    with pytest.raises(ValueError, match="constant"):
        ExploratoryProjectionPursuit().fit(np.ones((20, 3)))
