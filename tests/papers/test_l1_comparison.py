"""Yuan, Chang, Hsieh and Lin (2010), A comparison of optimization methods for L1-regularized linear classification."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fewer.learn import L1LinearClassifier
from fewer.learn.sparse._kernels import shrunk_step
from fewer.learn.sparse._l1_path import smallest_weight
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse._solvers import SOLVERS
from tolerances import rounding

OPTIMA = {
    ("log", 0.1): (12.222779, 9),
    ("log", 1.0): (46.081740, 16),
    ("log", 10.0): (258.880882, 24),
    ("squared_hinge", 0.1): (7.926237, 15),
    ("squared_hinge", 1.0): (38.720609, 21),
    ("squared_hinge", 10.0): (247.43071, 27),
}


@pytest.fixture(scope="module")
def cancer():
    """breast_cancer with standardised columns, +1 for class 1."""
    X, y = load_breast_cancer(return_X_y=True)
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0)), np.where(y == 1, 1.0, -1.0)


def text_like(n_rows, n_columns, n_words, n_useful, seed):
    """Sparse rows of unit length whose columns have Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    frequencies = 1 / np.arange(1, n_columns + 1) ** 0.9
    columns = rng.choice(n_columns, size=(n_rows, n_words), p=frequencies / frequencies.sum())
    X = sparse.csr_array(
        (np.ones(n_rows * n_words), (np.repeat(np.arange(n_rows), n_words), columns.ravel())), shape=(n_rows, n_columns)
    )
    X.sum_duplicates()
    X = sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X
    effects = np.zeros(n_columns)
    effects[rng.choice(n_columns // 10, n_useful, replace=False)] = 5 * rng.normal(size=n_useful)
    signal = X @ effects
    y = np.where(rng.random(n_rows) < expit(2 * (signal - np.median(signal))), 1.0, -1.0)
    return sparse.csc_array(X), y


def solved(solver, problem, tol, max_iter=20_000, **options):
    return SOLVERS[solver](
        problem, np.zeros(problem.size), problem.absolute_tolerance(tol), max_iter, np.random.default_rng(0), **options
    )


@pytest.mark.claim("l1-comparison", 1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_reaches_the_optima_and_their_supports(cancer, solver, figure):
    X, y = cancer
    worst = 0.0
    for (loss, C), (value, n_nonzero) in OPTIMA.items():
        for options in [{"shrinking": True}, {"shrinking": False}] if solver == "cdn" else [{}]:
            found = solved(solver, L1Problem.of(loss, X, y, C=C), 1e-7, **options)
            worst = max(worst, abs(found.objective - value) / value)
            assert np.count_nonzero(found.coefficients) == n_nonzero
    assert worst < 1e-5
    figure(f"{solver}: within {worst:.0e}, supports equal")


@pytest.mark.claim("l1-comparison", 2)
def test_the_first_column_enters_just_above_the_smallest_weight(cancer, figure):
    X, y = cancer
    found = []
    for loss, expected in [("log", 0.0045805), ("squared_hinge", 0.0011451)]:
        smallest = smallest_weight(L1Problem.of(loss, X, y))
        assert smallest == pytest.approx(expected, rel=1e-4)
        for factor, n_nonzero in [(0.999, 0), (1.01, 1)]:
            model = L1LinearClassifier(loss, factor * smallest, fit_intercept=False).fit(X, y)
            assert len(model.support_) == n_nonzero
        found.append(f"{smallest:.7f}")
    figure(", ".join(found))


@pytest.mark.claim("l1-comparison", 3)
def test_descent_is_monotone_and_ends_at_a_small_subgradient(cancer, figure):
    X, y = cancer
    largest = 0.0
    for solver in ("cdn", "tron"):
        for loss in ("log", "squared_hinge"):
            for C in (0.1, 1.0):
                model = L1LinearClassifier(
                    loss, C, solver=solver, fit_intercept=False, tol=1e-9, max_iter=5000, record=True, random_state=0
                ).fit(X, y)
                values = np.array(model.history_[0].objective)
                assert (np.diff(values) <= 1e-10).all()
                problem = L1Problem.of(loss, X, y, C=C)
                largest = max(largest, np.abs(problem.subgradient(model.coef_[0])).max())
    assert largest < 1e-5
    figure(f"largest sub-gradient {largest:.0e}")


@pytest.mark.claim("l1-comparison", 4)
def test_the_objective_is_liblinears(cancer, figure):
    X, y = cancer
    worst = 0.0
    for C in (0.1, 1.0):
        peers = {
            "log": LogisticRegression(
                l1_ratio=1, C=C, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000
            ),
            "squared_hinge": LinearSVC(
                penalty="l1", dual=False, C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
            ),
        }
        for loss, peer in peers.items():
            problem = L1Problem.of(loss, X, y, C=C)
            theirs = problem.objective(peer.fit(X, y).coef_[0])
            ours = L1LinearClassifier(loss, C, fit_intercept=False, tol=1e-9).fit(X, y)
            worst = max(worst, abs(ours.objective_[0] - theirs) / theirs)
            assert problem.objective(ours.coef_[0]) == pytest.approx(ours.objective_[0], rel=rounding(len(y)))
    assert worst < 1e-6
    figure(f"within {worst:.0e}")


@pytest.mark.claim("l1-comparison", 5)
def test_the_step_of_one_coefficient_minimises_its_model(figure):
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(1000):
        w, slope, curvature = rng.normal(0, 2), rng.normal(0, 3), rng.exponential() + 0.1

        def model(z, w=w, slope=slope, curvature=curvature):
            return np.abs(w + z) + slope * z + curvature * z**2 / 2

        step = shrunk_step(slope, curvature, w, 1.0)
        reach = abs(w) + (abs(slope) + 1) / curvature
        grid = np.linspace(-reach, reach, 100_001)
        best = grid[np.argmin(model(grid))]
        scale = abs(w) + (1 + abs(slope)) * abs(step) + curvature * step**2 / 2
        assert model(step) <= model(best) + rounding(3, scale)
        worst = max(worst, abs(step - best) / reach)
    assert worst < 1e-4
    figure(f"within {worst:.0e} of the range")


@pytest.mark.parametrize("shape", [(200, 600, 40, 20), pytest.param((500, 2000, 40, 30), marks=pytest.mark.slow)])
def test_on_text_newton_needs_fewer_rounds_than_coordinate_passes_and_shrinking_changes_nothing(shape):
    _newton_against_passes(*text_like(*shape, seed=0))


@pytest.mark.slow
@pytest.mark.claim("l1-comparison", 6)
def test_on_text_newton_needs_fewer_rounds_than_coordinate_passes(figure):
    X, y = text_like(5000, 50_000, 40, 200, seed=0)
    figure(_newton_against_passes(X, y))


def _newton_against_passes(X, y):
    problem = L1Problem.of("log", X, y, C=10 * smallest_weight(L1Problem.of("log", X, y)))
    best = solved("auto", problem, 1e-11).objective
    rounds = {}
    for solver in ("cdn", "newglmnet", "tron"):
        values = []
        solved(
            solver, problem, 1e-7, 300, on_iteration=lambda w, z, values=values: values.append(problem.objective(w, z))
        )
        rounds[solver] = next(at for at, value in enumerate(values, 1) if (value - best) / best <= 1e-8)
    assert rounds["newglmnet"] < rounds["cdn"]
    assert rounds["tron"] < rounds["cdn"]
    plain, shrunk = (solved("cdn", problem, 1e-7, 300, shrinking=choice) for choice in (False, True))
    assert np.array_equal(plain.coefficients != 0, shrunk.coefficients != 0)
    return ", ".join(f"{solver} {count}" for solver, count in rounds.items())


@pytest.mark.claim("l1-comparison", 8)
def test_the_intercept_is_free_and_takes_up_shifts_of_the_columns(cancer, figure):
    X, y = cancer
    model = L1LinearClassifier(C=1.0, tol=1e-10).fit(X, y)
    margins = y * (X @ model.coef_[0] + model.intercept_[0])
    balance = abs((y * (expit(margins) - 1)).sum())
    assert balance < 1e-6
    shifted = X + np.random.default_rng(0).normal(0, 3, size=X.shape[1])
    moved = L1LinearClassifier(C=1.0, tol=1e-10).fit(shifted, y)
    gap = np.abs(moved.decision_function(shifted) - model.decision_function(X)).max()
    assert gap < 1e-5
    figure(f"sum of slopes {balance:.0e}; predictions differ by {gap:.0e}")
