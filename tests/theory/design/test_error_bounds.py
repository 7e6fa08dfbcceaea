from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from fewer.theory import cone_invertibility, lq_error_bound, selection_certificate
from tolerances import rounding


def covariance(seed, n=12, p=6):
    X = np.random.default_rng(seed).normal(size=(n, p))
    X /= np.sqrt((X**2).mean(axis=0))
    return X.T @ X / n


def by_enumeration(sigma, J, xi):
    """The factor by one linear program for each sign pattern and each largest column."""
    p, best = len(sigma), np.inf
    for signs in product((1, -1), repeat=len(J)):
        inside = dict(zip(J, signs, strict=True))
        for largest in range(p):
            parts = np.hstack([sigma, -sigma, -np.ones((p, 1))])
            mirrored = np.hstack([-sigma, sigma, -np.ones((p, 1))])
            cone = np.array([-xi if j in inside else 1.0 for j in range(p)] * 2 + [0.0])
            bounds = [(0, 0 if inside.get(j) == -1 else None) for j in range(p)]
            bounds += [(0, 0 if inside.get(j) == 1 else None) for j in range(p)] + [(0, None)]
            equal = np.zeros((1, 2 * p + 1))
            equal[0, [largest, p + largest]] = 1, -1
            found = linprog(
                np.r_[np.zeros(2 * p), 1],
                A_ub=np.vstack([parts, mirrored, cone]),
                b_ub=np.zeros(2 * p + 1),
                A_eq=equal,
                b_eq=[1],
                bounds=bounds,
            )
            if found.status == 0:
                best = min(best, found.fun)
    return best


@pytest.mark.parametrize(("seed", "xi"), [(0, 1.0), (1, 2.0), (2, 0.5)])
def test_the_exact_factor_is_that_of_all_sign_patterns(seed, xi):
    sigma = covariance(seed)
    factor = cone_invertibility(sigma, [0, 3], xi=xi, precomputed=True)
    assert factor.exact
    assert factor.value == pytest.approx(by_enumeration(sigma, [0, 3], xi), abs=1e-7)
    u = factor.minimiser
    assert np.abs(np.delete(u, [0, 3])).sum() <= xi * np.abs(u[[0, 3]]).sum() + 1e-8
    assert np.abs(sigma @ u).max() / np.abs(u).max() == pytest.approx(factor.value)


def test_bounds_are_never_above_what_directions_of_the_cone_show():
    rng = np.random.default_rng(0)
    for seed in range(2):
        sigma = covariance(seed, n=40)
        bounds = {q: cone_invertibility(sigma, [0, 1], q=q, precomputed=True, method="bound").value for q in (1, 2, 4)}
        assert min(bounds.values()) > 0
        for _ in range(200):
            u = np.r_[rng.normal(size=2), rng.normal(size=4)]
            u[2:] *= rng.random() * np.abs(u[:2]).sum() / np.abs(u[2:]).sum()
            for q, bound in bounds.items():
                assert 2 ** (1 / q) * np.abs(sigma @ u).max() / np.linalg.norm(u, q) >= bound - 1e-9


def test_a_design_is_scaled_first_and_many_columns_get_bounds():
    X = np.random.default_rng(3).normal(size=(50, 6))
    assert cone_invertibility(X * [1, 10, 100, 1, 1, 5], [0, 1]).value == pytest.approx(
        cone_invertibility(X, [0, 1]).value
    )
    wide = cone_invertibility(np.random.default_rng(4).normal(size=(30, 100)), [0, 1, 2])
    assert not wide.exact
    assert wide.value == 0
    assert "Unknown" in wide.reading


def test_a_direction_that_the_design_does_not_see_gives_zero():
    X = np.random.default_rng(5).normal(size=(30, 4))
    X[:, 1] = X[:, 0]
    factor = cone_invertibility(X, [0])
    assert factor.value == pytest.approx(0, abs=1e-9)


def test_error_bounds_follow_their_formulas():
    sigma = np.eye(9)
    lasso = lq_error_bound(sigma, [0, 1, 2, 3], 0.2, method="lasso", q=np.inf, precomputed=True)
    assert lasso.bound == pytest.approx(1.5 * 0.2)
    assert lasso.noise_allowed == pytest.approx(0.1)
    given = lq_error_bound(sigma, [0], 0.2, q=np.inf, noise_product=0.05, precomputed=True)
    assert given.bound == pytest.approx(0.25)
    assert given.holds
    assert lq_error_bound(sigma, [0], 0.2, noise_product=0.3, precomputed=True).holds is False
    # Coefficients outside of J: 2 M(0.2, 2 * 0.5) = 2 * 0.2 in the largest norm.
    rest = lq_error_bound(sigma, [0], 0.2, q=np.inf, rest=0.5, precomputed=True)
    assert rest.bound == pytest.approx(0.4)
    known = lq_error_bound(sigma, [0, 1, 2, 3], 0.01, sparse_eigenvalues=(0.0, 0.0), precomputed=True)
    assert known.bound <= np.sqrt(40) * 0.01 * (1 + rounding(9))


def test_a_selection_is_certified_only_for_large_coefficients():
    assert selection_certificate(np.eye(8), [0, 1], 0.1, 0.5, precomputed=True).certified
    small = selection_certificate(np.eye(8), [0, 1], 0.1, 0.3, precomputed=True)
    assert not small.certified
    assert small.smallest_coefficient == pytest.approx(0.4)
    assert "above 0.4" in small.reading


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"support": [0, 0]}, "different columns"),
        ({"support": [9]}, "from 0 to 4"),
        ({"support": [0], "q": 2, "method": "exact"}, "method='bound'"),
        ({"support": [0], "xi": -1}, "negative"),
        ({"support": [0], "method": "other"}, "choose"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cone_invertibility(np.eye(5), precomputed=True, **options)
