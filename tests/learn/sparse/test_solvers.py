"""All solvers minimise one problem: same minimum, whatever the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fewer.learn.sparse._l1_path import smallest_weight
from fewer.learn.sparse._problem import L1Problem, duality_gap
from fewer.learn.sparse._solvers import SOLVERS


def solved(solver, problem, tol=1e-10, max_iter=30_000):
    return SOLVERS[solver](
        problem, np.zeros(problem.size), problem.absolute_tolerance(tol), max_iter, np.random.default_rng(0)
    )


@st.composite
def problems(draw):
    """Tables with what makes solvers stumble: constants, copies, separable classes, odd scales, rows without weight."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n_rows, n_columns = draw(st.sampled_from([(12, 60), (200, 5), (40, 40), (25, 8)]))
    X = rng.normal(size=(n_rows, n_columns)) + 0.5 * rng.normal(size=(n_rows, 1))
    z = X[:, :3] @ [2.0, -1.0, 1.0]
    loss = draw(st.sampled_from(["log", "squared_hinge", "squared"]))
    noise = 0.0 if draw(st.booleans()) else 1.0
    target = z + noise * rng.normal(size=n_rows)
    y = target if loss == "squared" else np.where(target > np.median(target), 1.0, -1.0)
    X[:, 1] = 1.0 if draw(st.booleans()) else X[:, 1]
    X[:, 2] = X[:, 0] if draw(st.booleans()) else X[:, 2]
    X = X * draw(st.sampled_from([1.0, 1e-4, 1e4]))
    if draw(st.booleans()):
        X = X * 10.0 ** rng.uniform(-1, 1, size=n_columns)
    weights = (rng.random(n_rows) < 0.8) * rng.exponential(size=n_rows) if draw(st.booleans()) else np.ones(n_rows)
    weights[[int(np.argmin(y)), int(np.argmax(y))]] = 1.0
    table = sparse.csc_array(X) if draw(st.booleans()) else X
    problem = L1Problem.of(loss, table, y, sample_weight=weights, fit_intercept=draw(st.booleans()))
    return problem.scaled(smallest_weight(problem) * draw(st.sampled_from([0.5, 2.0, 10.0, 100.0])))


def assert_one_minimum(problem):
    found = {solver: solved(solver, problem) for solver in SOLVERS}
    best = min(solution.objective for solution in found.values())
    for solver, solution in found.items():
        excess = (solution.objective - best) / best
        assert excess <= 1e-8, f"{solver} ends {excess:.1e} above the minimum"
    exact = found["auto"]
    assert exact.converged
    assert problem.objective(exact.coefficients) == pytest.approx(exact.objective, rel=1e-9)
    gap = duality_gap(problem, exact.coefficients, exact.predictions)
    assert -1e-9 * best <= gap <= 1e-6 * best


@settings(max_examples=8, deadline=None, derandomize=True)
@given(problem=problems())
def test_solvers_agree_on_awkward_problems(problem):
    assert_one_minimum(problem)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(problem=problems())
def test_solvers_agree_on_two_hundred_awkward_problems(problem):
    assert_one_minimum(problem)


@pytest.mark.parametrize("solver", SOLVERS)
def test_32_bit_numbers_and_sparse_tables_come_to_the_same_minimum(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < 0.4)
    X = X.astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    values = [
        solved(solver, L1Problem.of("log", table, y, C=2.0, fit_intercept=True), tol=1e-7).objective
        for table in (X.astype(np.float64), X, sparse.csr_array(X), sparse.csc_matrix(X.astype(np.float64)))
    ]
    assert np.ptp(values) <= 1e-5 * values[0]


def test_a_column_set_aside_by_shrinking_comes_back():
    # The first pass sees the second column as useless; it is needed once the first has its weight.
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(300, 1))
    X = np.asfortranarray(shared + 0.2 * rng.normal(size=(300, 6)))
    y = np.where(20 * (X[:, 0] - X[:, 1]) + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    problem = L1Problem.of("squared_hinge", X, y, C=10.0)
    exact = solved("auto", problem)
    shrunk = SOLVERS["cdn"](
        problem, np.zeros(6), problem.absolute_tolerance(1e-7), 100_000, np.random.default_rng(0), shrinking=True
    )
    assert shrunk.converged
    assert shrunk.objective == pytest.approx(exact.objective, rel=1e-7)


def test_working_sets_find_the_few_columns_of_a_wide_table():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(100, 3000)))
    y = np.where(X[:, :4].sum(axis=1) > 0, 1.0, -1.0)
    problem = L1Problem.of("log", X, y)
    problem = problem.scaled(8 * smallest_weight(problem))
    found = solved("auto", problem)
    assert found.converged
    assert np.abs(problem.subgradient(found.coefficients)).max() < 1e-6
    assert found.objective == pytest.approx(solved("newglmnet", problem).objective, rel=1e-9)


def test_tall_tables_use_a_sample_for_the_curvature_and_end_exactly():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(20_000, 8)))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=20_000) > 0, 1.0, -1.0)
    problem = L1Problem.of("log", X, y, C=0.01)
    found, other = solved("auto", problem, tol=1e-8), solved("tron", problem, tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(other.objective, rel=1e-10)


def test_the_gap_bounds_the_distance_to_the_minimum():
    rng = np.random.default_rng(1)
    X = np.asfortranarray(rng.normal(size=(50, 10)))
    y = np.where(X[:, 0] + rng.normal(size=50) > 0, 1.0, -1.0)
    for loss in ("log", "squared_hinge", "squared"):
        for intercept in (False, True):
            problem = L1Problem.of(loss, X, y, C=1.0, fit_intercept=intercept)
            best = solved("auto", problem).objective
            for _ in range(20):
                w = rng.normal(size=problem.size) * (rng.random(problem.size) < 0.5)
                z = problem.predictions(w)
                assert duality_gap(problem, w, z) >= problem.objective(w, z) - best - 1e-8 * best


@pytest.mark.parametrize("seed", [1, 7])
def test_coordinate_descent_comes_down_where_a_step_gains_less_than_rounding(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 8)) + 0.5 * rng.normal(size=(25, 1))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=25) > 0, 1.0, -1.0)
    problem = L1Problem.of("log", X, y)
    solution = solved("cdn", problem.scaled(100 * smallest_weight(problem)), max_iter=1000)
    assert solution.converged
