"""Yuan (2010), High dimensional inverse covariance matrix estimation via linear programming."""

import time
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import toeplitz

from fewer.datasets import make_graph_gaussian
from fewer.graph import NeighborhoodDantzigPrecision, NeighborhoodSelectionMLE, SparsePrecisionCV, nearest_symmetric
from tolerances import rounding


def chain(n_rows, n_columns, rho, seed):
    return make_graph_gaussian(n_rows, n_columns, "chain", rho=rho, random_state=seed).X


@pytest.mark.claim("inverse-cov-lp", 1)
def test_a_tiny_penalty_gives_the_inverse(figure):
    R = np.corrcoef(make_graph_gaussian(200, 6, random_state=0).X.T)
    inverse = np.linalg.inv(R)
    raw = NeighborhoodDantzigPrecision(1e-9).fit_covariance(R).precision_raw_
    error = np.abs(raw - inverse).max() / np.abs(inverse).max()
    figure(f"relative error {error:.0e}")
    assert error < 1e-6


@pytest.mark.claim("inverse-cov-lp", 2)
def test_a_penalty_above_all_covariances_gives_the_diagonal():
    X = chain(50, 8, 0.5, 0)
    S = np.cov(X.T, bias=True)
    largest = np.abs(S - np.diag(np.diag(S))).max()
    fitted = NeighborhoodDantzigPrecision(largest).fit(X)
    np.testing.assert_allclose(fitted.precision_, np.diag(1 / np.diag(S)), rtol=rounding(len(X)), atol=0)
    assert not fitted.adjacency_.any()


@pytest.mark.claim("inverse-cov-lp", 3)
def test_the_constraint_holds_and_no_column_is_larger_than_the_lasso(figure):
    X = chain(30, 20, 0.6, 1)
    S = np.cov(X.T, bias=True)
    sums, excess = {}, -np.inf
    for method in ("dantzig", "lasso"):
        raw = NeighborhoodDantzigPrecision(0.15, method=method).fit(X).precision_raw_
        coefs = -raw / np.diag(raw)
        np.fill_diagonal(coefs, 0)
        slopes = S - S @ coefs
        np.fill_diagonal(slopes, 0)
        excess = max(excess, np.abs(slopes).max() - 0.15)
        sums[method] = np.abs(coefs).sum(axis=0)
    figure(f"largest excess {excess:.0e}")
    assert excess <= 1e-9
    assert np.all(sums["dantzig"] <= sums["lasso"] + 1e-8)
    assert np.any(sums["dantzig"] < sums["lasso"] - 1e-3)


@pytest.mark.claim("inverse-cov-lp", 4)
def test_symmetrisation_reaches_the_densest_subgraph_and_beats_averages(figure):
    rng = np.random.default_rng(0)
    subsets = [list(each) for size in range(2, 8) for each in combinations(range(7), size)]
    n_better = 0
    for _ in range(20):
        raw = rng.normal(size=(7, 7))
        apart = np.triu(np.abs(raw - raw.T))
        densest = max(apart[np.ix_(each, each)].sum() / len(each) for each in subsets)
        found = nearest_symmetric(raw)
        error = np.abs(found.matrix - raw).sum(axis=0).max()
        averaged = np.abs((raw + raw.T) / 2 - raw).sum(axis=0).max()
        assert error == pytest.approx(densest, abs=1e-9)
        assert found.error == pytest.approx(error, abs=1e-9)
        assert 0 <= found.gap < 1e-9
        assert np.array_equal(found.matrix, found.matrix.T)
        assert np.array_equal(np.diag(found.matrix), np.diag(raw))
        assert error <= averaged + 1e-9
        n_better += error < averaged - 1e-6
    figure(f"better than averages in {n_better} of 20")
    assert n_better >= 15
    star = np.eye(6)
    star[0, 1:] = 1
    assert nearest_symmetric(star).error == pytest.approx(5 / 6)


def spectral_errors(n_runs, n_columns, rho, *estimators):
    """Mean spectral error of each estimator's precision matrix, then of the diagonal estimate."""
    truth = np.linalg.inv(toeplitz(rho ** np.arange(n_columns)))
    errors = []
    for seed in range(n_runs):
        X = chain(50, n_columns, rho, seed)
        found = [estimator.fit(X).precision_ for estimator in estimators] + [np.diag(1 / X.var(axis=0))]
        errors.append([np.linalg.norm(each - truth, 2) for each in found])
    return np.mean(errors, axis=0)


@pytest.mark.claim("inverse-cov-lp", 5)
@pytest.mark.parametrize(
    ("rho", "expected", "within", "ratio"),
    [(0.1, 0.64, 0.08, None), (0.3, 0.87, 0.10, 0.97), (0.5, 1.60, 0.15, 0.85), (0.7, 3.25, 0.25, 0.75)],
)
def test_errors_of_the_simulation_are_those_of_the_calibration(rho, expected, within, ratio, figure):
    error, diagonal = spectral_errors(20, 25, rho, NeighborhoodDantzigPrecision())
    figure(f"rho {rho}: {error:.2f}, ratio {error / diagonal:.2f}")
    assert error == pytest.approx(expected, abs=within)
    if ratio is not None:
        assert error / diagonal < ratio


@pytest.mark.claim("inverse-cov-lp", 6)
def test_the_error_falls_with_the_rows_at_the_rate_of_the_theory(figure):
    truth = np.linalg.inv(toeplitz(0.4 ** np.arange(50)))
    scaled = []
    for n_rows in (100, 400, 1600):
        errors = [
            np.abs(NeighborhoodDantzigPrecision().fit(chain(n_rows, 50, 0.4, seed)).precision_ - truth)
            .sum(axis=0)
            .max()
            for seed in range(3)
        ]
        scaled.append(np.mean(errors) * np.sqrt(n_rows / np.log(50)))
    figure("scaled errors " + ", ".join(f"{each:.1f}" for each in scaled))
    assert max(scaled) < 2 * min(scaled)


@pytest.mark.claim("inverse-cov-lp", 7)
def test_the_graph_of_a_chain_is_found(figure):
    X, _, truth = make_graph_gaussian(1000, 30, "chain", rho=0.5, random_state=0)
    fitted = NeighborhoodDantzigPrecision("cv", n_alphas=7, cv=3, rule="and", threshold=0.1).fit(X)
    found, true = fitted.adjacency_, truth["adjacency"]
    n_false = (found & ~true).sum() / (~true).sum()
    figure(f"false edges {n_false:.1%}")
    assert found[true].all()
    assert n_false <= 0.05


@pytest.mark.claim("inverse-cov-lp", 8)
def test_two_hundred_columns_are_solved_with_their_certificate(figure):
    X = chain(50, 200, 0.5, 0)
    begin = time.perf_counter()
    fitted = NeighborhoodDantzigPrecision(n_jobs=2).fit(X)
    figure(f"{time.perf_counter() - begin:.1f} s")
    S = np.cov(X.T, bias=True)
    coefs = -fitted.precision_raw_ / np.diag(fitted.precision_raw_)
    np.fill_diagonal(coefs, 0)
    slopes = S - S @ coefs
    np.fill_diagonal(slopes, 0)
    assert np.abs(slopes).max() <= fitted.alpha_ + 1e-9
    assert fitted.symmetrization_gap_ < 1e-8


@pytest.mark.claim("inverse-cov-lp", 9)
def test_its_companions_are_where_the_calibration_has_them(figure):
    lp, glasso, neighbours, diagonal = spectral_errors(
        6,
        25,
        0.5,
        NeighborhoodDantzigPrecision(),
        SparsePrecisionCV(criterion="bic", covariance="empirical"),
        NeighborhoodSelectionMLE(),
    )
    figure(f"LP {lp:.2f}, graphical lasso {glasso:.2f}, neighbourhoods {neighbours:.2f}, diagonal {diagonal:.2f}")
    assert glasso < lp < diagonal
    assert neighbours < diagonal
