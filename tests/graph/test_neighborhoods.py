"""Precision matrices from regressions of each column on the others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import Lasso

from fewer.datasets import make_graph_gaussian
from fewer.graph import NeighborhoodDantzigPrecision, NeighborhoodSelectionMLE, nearest_symmetric
from fewer.graph.precision._neighborhoods import dantzig_with_known_edges, lasso_from_moments, positive_definite


def table(n_rows=80, n_columns=8, seed=0, **options):
    return make_graph_gaussian(n_rows, n_columns, random_state=seed, **options).X


def test_the_lasso_from_moments_is_scikit_learns():
    X = table(seed=1)
    y = X[:, 0] - X[:, 3] + np.random.default_rng(0).normal(size=80)
    expected = Lasso(0.1, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    found = lasso_from_moments(X.T @ X / 80, X.T @ y / 80, np.full(8, 0.1), 1e-12, 10_000)
    assert np.allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("method", ["dantzig", "lasso"])
def test_known_edges_are_not_shrunk_and_forbidden_ones_absent(method):
    X = table(seed=2)
    free = NeighborhoodDantzigPrecision(0.6, method=method).fit(X)
    assert not free.adjacency_[0, 1]
    informed = NeighborhoodDantzigPrecision(0.6, method=method, known_edges=[(0, 1)]).fit(X)
    assert informed.adjacency_[0, 1]
    strict = NeighborhoodDantzigPrecision(0.15, method=method, rule="or").fit(X)
    pair = tuple(np.argwhere(strict.adjacency_)[0])
    without = NeighborhoodDantzigPrecision(0.4, method=method, zero_edges=[pair]).fit(X)
    assert without.precision_raw_[pair] == without.precision_raw_[pair[::-1]] == 0


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.3, 1.0])
def test_coefficients_of_unknown_edges_have_the_smallest_norm(alpha):
    """Known edges cost nothing and stay in the constraint: the norm is that of a linear program, solved plainly."""
    S = np.corrcoef(table(seed=3).T)
    gram, products, known = S[1:, 1:], S[1:, 0], np.arange(7) < 2
    found = dantzig_with_known_edges(gram, products, alpha, known, np.full(7, True))
    residual = products - gram @ found
    assert np.abs(residual).max() <= alpha + 1e-8
    costs = np.tile(np.where(known, 0.0, 1.0), 2)
    plain = linprog(
        costs,
        A_ub=np.block([[gram, -gram], [-gram, gram]]),
        b_ub=np.r_[products + alpha, alpha - products],
    )
    assert np.abs(found[~known]).sum() == pytest.approx(plain.fun, abs=1e-7)
    if alpha == 1:  # nothing else is needed, so that known edges are those of least squares
        assert np.allclose(found[:2], np.linalg.solve(gram[:2, :2], products[:2]), atol=1e-7)


def test_edges_are_known_by_name_and_covariances_of_a_frame_keep_their_names():
    frame = pd.DataFrame(table(seed=2), columns=list("abcdefgh"))
    by_number = NeighborhoodDantzigPrecision(0.6, known_edges=[(0, 1)], zero_edges=np.array([[2, 3]])).fit(frame)
    by_name = NeighborhoodDantzigPrecision(0.6, known_edges=[("b", "a")], zero_edges=[("c", "d")])
    assert by_name.fit(frame).edges_.equals(by_number.edges_)
    covariances = by_name.fit_covariance(frame.cov(ddof=0)).edges_
    assert covariances.select("from", "to").equals(by_number.edges_.select("from", "to"))


def test_edges_that_cannot_be_are_refused():
    X = table()
    with pytest.raises(ValueError, match="is in zero_edges and in known_edges"):
        NeighborhoodDantzigPrecision(zero_edges=[(0, 1)], known_edges=[(1, 0)]).fit(X)
    for pair in ((0, 8), (0, 0), ("x0", "x8")):
        with pytest.raises(ValueError, match="not a pair of two different columns of the 8"):
            NeighborhoodDantzigPrecision(known_edges=[pair]).fit(X)
    for pairs in ([0, 1], [(0, 1, 2)], [(0.0, 1.0)]):
        with pytest.raises(ValueError, match="pairs of column numbers or names"):
            NeighborhoodDantzigPrecision(known_edges=pairs).fit(X)
    with pytest.raises(ValueError, match="increase alpha"):
        NeighborhoodDantzigPrecision(1e-6, zero_edges=[(0, j) for j in range(1, 8)]).fit(X)


def test_rows_and_their_covariances_give_the_same():
    X = table()
    S = np.cov(X.T, bias=True)
    by_rows = NeighborhoodDantzigPrecision(with_std=True).fit(X)
    by_covariances = NeighborhoodDantzigPrecision(with_std=True).fit_covariance(S, n_samples=80)
    assert np.allclose(by_rows.precision_, by_covariances.precision_, rtol=1e-6, atol=1e-9)
    for alpha, need in (("theory", "n_samples"), ("cv", "rows")):
        with pytest.raises(ValueError, match=need):
            NeighborhoodDantzigPrecision(alpha).fit_covariance(S)


def test_standardised_columns_make_it_independent_of_units():
    X = table()
    units = 10.0 ** np.arange(-4, 4)
    first, second = (NeighborhoodDantzigPrecision(with_std=True).fit(each) for each in (X, X * units))
    assert np.allclose(second.precision_ * np.outer(units, units), first.precision_, rtol=1e-6, atol=1e-8)


def test_a_penalty_for_each_column_loosens_its_regression():
    X = table()
    alphas = np.full(8, 0.1)
    alphas[3] = 10
    raw = NeighborhoodDantzigPrecision(alphas).fit(X).precision_raw_
    same = NeighborhoodDantzigPrecision(0.1).fit(X).precision_raw_
    assert np.count_nonzero(raw[:, 3]) == 1
    assert np.array_equal(np.delete(raw, 3, axis=1), np.delete(same, 3, axis=1))
    with pytest.raises(ValueError, match="8 columns"):
        NeighborhoodDantzigPrecision(alphas[:3]).fit(X)


def test_symmetrisation_by_means_by_the_smaller_and_not_at_all():
    X = table(20, 8, rho=0.9)
    raw = NeighborhoodDantzigPrecision(0.1, symmetrize=None).fit(X)
    assert np.array_equal(raw.precision_, raw.precision_raw_)
    mean = NeighborhoodDantzigPrecision(0.1, symmetrize="average", positive_definite=False).fit(X)
    assert np.allclose(mean.precision_, (raw.precision_ + raw.precision_.T) / 2)
    least = NeighborhoodDantzigPrecision(0.1, symmetrize="min", positive_definite=False).fit(X).precision_
    assert np.allclose(np.abs(least), np.minimum(np.abs(raw.precision_), np.abs(raw.precision_.T)))
    both = NeighborhoodDantzigPrecision(0.1).fit(X)
    assert both.symmetrization_error_ <= mean.symmetrization_error_
    assert both.symmetrization_gap_ < 1e-9


def test_shares_are_balanced_among_the_best():
    # Columns 0 and 1 need a load of 5 each; 2 and 3 could leave all of their difference with one of them.
    raw = np.eye(4)
    raw[0, 1], raw[2, 3] = 10, 2
    found = nearest_symmetric(raw).matrix
    assert found[0, 1] == pytest.approx(5)
    assert found[2, 3] == pytest.approx(1)


def test_eigenvalues_up_to_zero_are_replaced_by_the_penalty():
    repaired, n_replaced = positive_definite(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.3)
    assert n_replaced == 1
    assert np.allclose(np.linalg.eigvalsh(repaired), [0.3, 3.0])
    X = table(8, 12, rho=0.95, seed=3)
    fitted = NeighborhoodDantzigPrecision(0.02).fit(X)
    lowest = np.linalg.eigvalsh(fitted.precision_)[0]
    assert lowest > 0
    assert (fitted.n_repaired_eigenvalues_ > 0) == (np.linalg.eigvalsh(fitted.precision_sym_)[0] <= 0)


def test_columns_that_others_predict_exactly_are_named():
    X = table(5, 10)
    with pytest.warns(UserWarning, match="predict column 'x0' exactly"):
        NeighborhoodDantzigPrecision(0.0).fit(X)


def test_both_criteria_of_cross_validation_choose_a_penalty_that_is_not_the_largest():
    X = table(300, 6, structure="chain")
    for criterion in ("likelihood", "trace"):
        fitted = NeighborhoodDantzigPrecision("cv", criterion=criterion, n_alphas=5, cv=3).fit(X)
        assert fitted.alpha_ < 0.3 * np.abs(np.cov(X.T, bias=True) - np.diag(X.var(axis=0))).max()


def test_neighbourhood_selection_has_the_likelihood_estimate_on_its_graph():
    X, _, truth = make_graph_gaussian(400, 12, "chain", random_state=1)
    fitted = NeighborhoodSelectionMLE(tol=1e-12).fit(X)
    assert np.array_equal(fitted.adjacency_, truth["adjacency"])
    S = np.cov(X.T, bias=True)
    kept = fitted.adjacency_ | np.eye(12, dtype=bool)
    assert np.allclose(fitted.covariance_[kept], S[kept], atol=1e-5)
    assert np.all(fitted.precision_[~kept] == 0)


def test_independent_columns_rarely_get_an_edge():
    n_wrong = sum(
        NeighborhoodSelectionMLE().fit(np.random.default_rng(seed).normal(size=(60, 10))).adjacency_.any()
        for seed in range(40)
    )
    assert n_wrong <= 6  # 0.05 x 40 = 2, and nearly three standard deviations


def test_a_larger_level_or_one_regression_instead_of_two_gives_more_edges():
    X = table(60, 15, seed=4)
    counts = [
        NeighborhoodSelectionMLE(level, rule=rule).fit(X).adjacency_.sum()
        for level, rule in ((0.05, "and"), (0.05, "or"), (0.9, "or"))
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_constant_columns_are_named():
    X = np.c_[table(), np.ones(80)]
    for estimator in (NeighborhoodDantzigPrecision(), NeighborhoodSelectionMLE()):
        with pytest.raises(ValueError, match=r"constant \(x8\)"):
            estimator.fit(X)


def test_the_graph_does_not_depend_on_the_unit_of_the_table():
    X = table()
    penalty = 0.1
    first, second = (
        NeighborhoodDantzigPrecision(penalty * unit**2, threshold=0.05).fit(unit * X).adjacency_ for unit in (1.0, 1e5)
    )
    assert first.any()
    assert np.array_equal(first, second)


def test_fewer_rows_than_columns_and_no_penalty_still_give_a_positive_definite_matrix():
    X = np.random.default_rng(0).normal(size=(10, 40))
    with pytest.warns(UserWarning, match="predict column"):
        fitted = NeighborhoodDantzigPrecision(0.0).fit(X)
    assert np.linalg.eigvalsh(fitted.precision_)[0] > 0
    assert np.isfinite(fitted.covariance_).all()


def test_the_penalty_of_the_theory_is_for_columns_of_variance_one():
    X = table()
    with pytest.warns(UserWarning, match="variance 1, and that of column 'x2' is"):
        NeighborhoodDantzigPrecision().fit(X * np.where(np.arange(8) == 2, 100.0, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NeighborhoodDantzigPrecision(with_std=True).fit(100 * X)


def test_a_likelihood_without_a_maximum_names_the_columns():
    X = table()
    for extra in (X[:, 0], 5 - 3 * X[:, 0]):
        with pytest.raises(ValueError, match="one of columns x0, x8 is a linear combination"):
            NeighborhoodSelectionMLE().fit(np.column_stack([X, extra]))
