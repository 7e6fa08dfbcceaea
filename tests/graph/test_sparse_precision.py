"""The graphical lasso: its minimum, its certificate, its parts, its path and the choice of its penalty."""

import warnings

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.covariance import empirical_covariance, graphical_lasso
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_graph_gaussian
from fewer.graph import (
    SparsePrecision,
    SparsePrecisionCV,
    partial_correlations,
    sparse_precision,
    sparse_precision_path,
)
from fewer.graph.precision._column_covariance import column_covariance, kendall_tau
from fewer.graph.precision._newton import free_entries
from tolerances import rounding


def objective(S, precision, alpha):
    off = np.abs(precision - np.diag(np.diag(precision)))
    return -np.linalg.slogdet(precision)[1] + (S * precision).sum() + (alpha * off)[off > 0].sum()


def table(n_rows, n_columns, seed=0):
    return make_graph_gaussian(n_rows, n_columns, random_state=seed).X


@pytest.mark.parametrize(("n_rows", "alpha"), [(200, 0.02), (200, 0.2), (10, 0.2), (10, 0.5)])
def test_the_minimum_is_that_of_scikit_learn(n_rows, alpha):
    S = empirical_covariance(table(n_rows, 12))
    expected = graphical_lasso(S, alpha, tol=1e-12, enet_tol=1e-12, max_iter=1000)[1]
    found = sparse_precision(S, alpha, tol=1e-13)
    assert np.abs(found.precision - expected).max() < 1e-5 * np.abs(expected).max()
    assert found.objective <= objective(S, expected, alpha) + rounding(12, abs(found.objective), 100)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.6])
def test_the_gap_bounds_how_far_the_objective_is_above_its_minimum(alpha):
    S = np.corrcoef(table(20, 40).T)
    rough, fine = sparse_precision(S, alpha, tol=1e-2), sparse_precision(S, alpha, tol=1e-12)
    assert 0 <= fine.gap <= 40e-12 + rounding(40, 40)
    assert -rounding(40, 40) <= rough.objective - fine.objective <= rough.gap <= 0.4
    # Sums of 1,600 products; the log-determinant moves by the relative error of the precision times its condition.
    size = ((np.abs(S) + alpha) * np.abs(fine.precision)).sum()
    tolerance = rounding(40**2, size, np.linalg.cond(fine.precision))
    assert fine.objective == pytest.approx(objective(S, fine.precision, alpha), abs=tolerance)
    assert np.allclose(fine.precision @ fine.covariance, np.eye(40), atol=rounding(40, 1, 1e4))


def test_the_solution_satisfies_the_optimality_conditions():
    S = np.corrcoef(table(15, 30).T)
    found = sparse_precision(S, 0.3, tol=1e-13)
    slopes = found.covariance - S
    edges = (found.precision != 0) & ~np.eye(30, dtype=bool)
    assert np.allclose(np.diag(found.covariance), 1, atol=1e-6)
    assert np.allclose(slopes[edges], 0.3 * np.sign(found.precision[edges]), atol=1e-6)
    assert np.abs(slopes).max() <= 0.3 + 1e-6


def test_parts_that_covariances_do_not_connect_are_solved_separately_and_exactly():
    blocks = [np.corrcoef(table(30, 8, seed).T) for seed in range(3)]
    S = np.zeros((24, 24))
    for place, block in enumerate(blocks):
        S[8 * place : 8 * place + 8, 8 * place : 8 * place + 8] = block
    shuffled = np.random.default_rng(0).permutation(24)
    found = sparse_precision(S[np.ix_(shuffled, shuffled)], 0.1, tol=1e-12)
    assert found.n_parts >= 3
    for place, block in enumerate(blocks):
        inside = np.argsort(shuffled)[8 * place : 8 * place + 8]
        alone = sparse_precision(block, 0.1, tol=1e-12).precision
        assert np.allclose(found.precision[np.ix_(inside, inside)], alone, atol=1e-6)
    assert np.count_nonzero(found.precision) == sum(
        np.count_nonzero(sparse_precision(block, 0.1, tol=1e-12).precision) for block in blocks
    )


def test_a_graph_without_cycles_needs_no_step():
    S = np.array([[2.0, 0.8, 0.0], [0.8, 1.0, -0.5], [0.0, -0.5, 1.5]])
    found = sparse_precision(S, 0.2, tol=1e-12)
    assert found.n_iter == 0
    size = ((np.abs(S) + 0.2) * np.abs(found.precision)).sum() + 3
    assert abs(found.gap) < rounding(9, size, np.linalg.cond(found.precision))


def test_a_large_penalty_leaves_the_diagonal():
    S = empirical_covariance(table(50, 6))
    largest = np.abs(S - np.diag(np.diag(S))).max()
    assert np.array_equal(sparse_precision(S, largest).precision, np.diag(1 / np.diag(S)))
    assert np.count_nonzero(sparse_precision(S, 0.99 * largest).precision) == 8


def test_without_a_penalty_it_is_the_inverse():
    S = empirical_covariance(table(50, 6))
    assert np.allclose(sparse_precision(S, 0.0, tol=1e-14).precision, np.linalg.inv(S), rtol=1e-6)


def test_a_forbidden_edge_stays_out_and_a_free_one_is_not_shrunk():
    S = empirical_covariance(table(60, 5))
    penalty = np.full((5, 5), np.inf)
    penalty[[0, 1], [1, 0]] = penalty[[1, 2], [2, 1]] = 0
    found = sparse_precision(S, penalty, tol=1e-13)
    allowed = penalty == 0
    assert np.array_equal(found.precision != 0, allowed | np.eye(5, dtype=bool))
    # Of the maximum-likelihood estimate for a graph, covariances of the edges are those of the sample.
    assert np.allclose(found.covariance[allowed], S[allowed], atol=1e-6)


def test_converges_where_scikit_learn_does_not():
    S = np.corrcoef(table(50, 200).T)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        graphical_lasso(S, 0.3, tol=2e-4, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sparse_precision(S, 0.3, tol=1e-6, max_iter=30)
    assert found.gap <= 2e-4


def test_solves_what_scikit_learn_gives_up():
    S = np.corrcoef(table(10, 20).T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(FloatingPointError, match="ill-conditioned"):
            graphical_lasso(S, 0.01)
    assert sparse_precision(S, 0.01).gap <= 2e-5


@pytest.mark.parametrize("alpha", [1e-2, 1e-3])
def test_small_penalties_with_fewer_rows_than_columns_converge(alpha):
    S = np.corrcoef(np.random.default_rng(0).normal(size=(10, 40)).T)
    found = sparse_precision(S, alpha)
    assert found.gap <= 40e-6
    assert found.n_iter <= 60


def test_penalties_too_small_to_converge_end_with_a_gap_and_advice():
    S = np.corrcoef(np.random.default_rng(0).normal(size=(10, 20)).T)
    with pytest.warns(ConvergenceWarning, match="Increase alpha, which is 1e-07 of the largest covariance"):
        found = sparse_precision(S, 1e-7 * np.abs(np.triu(S, 1)).max(), max_iter=30)
    # Rounding decides whether a step of the last few still lowers the objective; without one the search ends early.
    assert 20 <= found.n_iter <= 30
    assert 20e-6 < found.gap < np.inf
    assert np.linalg.eigvalsh(found.precision)[0] > 0


def test_tiny_penalties_with_few_rows_converge(monkeypatch):
    from fewer.graph.precision import _newton

    n_joint = []
    joint = _newton._joint_minimum
    monkeypatch.setattr(_newton, "_joint_minimum", lambda *given: n_joint.append(1) or joint(*given))
    S = np.corrcoef(table(15, 40).T)
    found = sparse_precision(S, 0.01, tol=1e-9)
    assert n_joint  # rows that depend on one another too much for one after the other
    assert found.gap <= 4e-8
    slopes = found.covariance - S
    edges = (found.precision != 0) & ~np.eye(40, dtype=bool)
    assert np.allclose(slopes[edges], 0.01 * np.sign(found.precision[edges]), atol=1e-4)


@pytest.mark.parametrize(("covariance", "alpha"), [("spearman", 0.003), ("spearman", 0.001), ("empirical", 0.01)])
def test_tiny_penalties_on_nearly_collinear_columns_converge(covariance, alpha):
    """Radii, perimeters and areas of cells: entries change their sign within a Newton step."""
    X = load_breast_cancer().data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SparsePrecision(alpha=alpha, covariance=covariance).fit(X)
    assert found.gap_ <= 30e-6
    assert found.n_iter_ < 100


def test_the_lowest_point_of_a_way_through_changes_of_sign():
    from fewer.graph.precision._newton import _lowest_along

    rng = np.random.default_rng(0)
    for _ in range(20):
        at, way, penalties = rng.normal(size=8), rng.normal(size=8), rng.uniform(size=8)
        slope, bend = -3 * rng.uniform(), rng.uniform(0.5, 3)

        def height(t, at=at, way=way, penalties=penalties, slope=slope, bend=bend):
            return slope * t + bend * t**2 / 2 + penalties @ np.abs(at + t * way)

        grid = np.linspace(0, 1, 2001)
        best = _lowest_along(at, way, slope, bend, penalties)
        assert 0 <= best <= 1
        size = abs(slope) + bend / 2 + penalties @ (np.abs(at) + np.abs(way))
        assert height(best) <= min(height(t) for t in grid) + rounding(10, size)


def test_too_few_steps_are_reported_with_the_gap():
    S = np.corrcoef(table(15, 30).T)
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .*max_iter"):
        sparse_precision(S, 0.01, max_iter=1)


def test_float32_stays_float32_and_agrees():
    X = table(30, 20)
    narrow = SparsePrecision(0.2, covariance="pearson").fit(X.astype(np.float32))
    wide = SparsePrecision(0.2, covariance="pearson").fit(X)
    assert narrow.precision_.dtype == narrow.covariance_.dtype == np.float32
    assert np.allclose(narrow.precision_, wide.precision_, atol=0.01)


def test_perfectly_correlated_columns_work_with_a_penalty_and_are_refused_without():
    X = table(40, 4)
    X = np.c_[X, X[:, 0], -X[:, 1]]
    graph = SparsePrecision(0.1, covariance="pearson").fit(X)
    assert graph.gap_ <= 6e-6
    assert graph.adjacency_[0, 4]
    assert graph._edge_weights()[1, 5] < 0
    with pytest.raises(ValueError, match="singular"):
        SparsePrecision(0.0).fit(X)


def test_constant_columns_are_named():
    import pandas as pd

    frame = pd.DataFrame(table(40, 3), columns=["a", "b", "c"]).assign(d=7.1)
    for covariance in ("empirical", "spearman"):
        with pytest.raises(ValueError, match=r"1 column is constant \(d\)"):
            SparsePrecision(covariance=covariance).fit(frame)
    with pytest.raises(ValueError, match="NaN, in column 'b'"):
        SparsePrecision().fit(frame.assign(b=np.nan))


@pytest.mark.parametrize("alphas", [[], [-1.0, 0.1], [0.1, np.nan], [np.inf]])
def test_bad_rows_of_penalties_are_refused(alphas):
    X = table(30, 4)
    for path in (
        lambda: SparsePrecisionCV(alphas=alphas).fit(X),
        lambda: sparse_precision_path(X.T @ X, alphas=alphas),
    ):
        with pytest.raises(ValueError, match="alphas must be finite numbers that are not negative, at least one"):
            path()


def test_bad_matrices_and_penalties_are_refused():
    with pytest.raises(ValueError, match="square"):
        sparse_precision(np.ones((2, 3)), 0.1)
    with pytest.raises(ValueError, match="symmetric cov"):
        sparse_precision([[1, 0.5], [0.1, 1]], 0.1)
    with pytest.raises(ValueError, match="column 1"):
        sparse_precision([[1, 0.0], [0.0, 0]], 0.1)
    with pytest.raises(ValueError, match="negative"):
        sparse_precision(np.eye(2), -0.1)
    with pytest.raises(ValueError, match="one penalty"):
        sparse_precision(np.eye(2), [[0, 1], [2, 0]])


def test_the_covariance_can_be_given():
    X = table(50, 6)
    found = SparsePrecision(0.1, covariance="precomputed").fit(empirical_covariance(X))
    expected = SparsePrecision(0.1).fit(X).precision_
    # The same steps from covariances that differ by rounding.
    tolerance = rounding(50, np.abs(expected).max(), np.linalg.cond(expected))
    np.testing.assert_allclose(found.precision_, expected, rtol=0, atol=tolerance)


def test_correlations_make_the_graph_independent_of_units():
    X = table(50, 6)
    units = np.array([1e-3, 1, 10, 1e4, 2, 5])
    first, second = (SparsePrecision(0.1, covariance="pearson").fit(each) for each in (X, X * units))
    assert np.allclose(second.precision_ * np.outer(units, units), first.precision_, rtol=1e-6, atol=1e-6)
    assert np.allclose(second.mahalanobis(X * units), first.mahalanobis(X))


@pytest.mark.parametrize("covariance", ["spearman", "kendall"])
def test_ranks_see_the_gaussians_behind_other_columns(covariance):
    X = table(4000, 5)
    bent = X.copy()
    bent[:, 0], bent[:, 1], bent[:, 2] = np.exp(3 * X[:, 0]), X[:, 1] ** 3, 1 / (1 + np.exp(-3 * X[:, 2]))
    n_used = 4000 if covariance == "spearman" else 600
    straight = column_covariance(X[:n_used], "pearson").matrix
    found = column_covariance(bent[:n_used], covariance).matrix
    assert np.abs(found - straight).max() < 3 / np.sqrt(n_used)
    assert np.abs(column_covariance(bent[:n_used], "pearson").matrix - straight).max() > 5 / np.sqrt(n_used)


def test_kendall_counts_ties_as_scipy_does():
    X = np.random.default_rng(0).integers(4, size=(30, 4)).astype(float)
    expected = [[kendalltau(X[:, i], X[:, j]).statistic for i in range(4)] for j in range(4)]
    assert np.allclose(kendall_tau(X), expected)


def test_rank_correlations_that_are_indefinite_are_moved_until_they_are_not():
    X = np.random.default_rng(1).normal(size=(6, 12))
    # The sum of the twelve eigenvalues is 12.
    assert np.linalg.eigvalsh(column_covariance(X, "spearman").matrix)[0] > -rounding(12, 12)
    assert SparsePrecision(0.2, covariance="spearman").fit(X).gap_ < 1e-4


def test_the_path_gives_the_solutions_at_its_penalties():
    S = np.corrcoef(table(30, 25).T)
    path = sparse_precision_path(S, n_alphas=6, eps=0.2, tol=1e-12)
    assert path.n_edges[0] == 0
    assert np.all(np.diff(path.n_edges) > 0)
    for alpha, precision, log_det, trace in zip(path.alphas, path.precisions, path.log_dets, path.traces, strict=True):
        alone = sparse_precision(S, alpha, tol=1e-12).precision
        assert np.allclose(precision.toarray(), alone, atol=1e-5)
        assert log_det == pytest.approx(np.linalg.slogdet(alone)[1], abs=1e-6)
        assert trace == pytest.approx((S * alone).sum(), abs=1e-6)
    assert len(path.plot(7).data) == 7


def test_warm_starts_take_fewer_steps_than_cold_ones():
    S = np.corrcoef(table(20, 60).T)
    path = sparse_precision_path(S, alphas=np.geomspace(0.3, 0.1, 10))
    cold = [sparse_precision(S, alpha).n_iter for alpha in path.alphas]
    assert path.n_iter[1:].sum() < sum(cold[1:])


def test_held_out_likelihood_is_scikit_learns_score():
    X = table(60, 6)
    chosen = SparsePrecisionCV(alphas=[0.3, 0.1, 0.02], criterion="cv", cv=3, covariance="empirical").fit(X)
    folds = np.array_split(np.arange(60), 3)
    expected = [
        np.mean(
            [
                SparsePrecision(alpha).fit(np.delete(X, fold, axis=0)).set_params(assume_centered=True).score(X[fold])
                for fold in folds
            ]
        )
        for alpha in chosen.alphas_
    ]
    assert np.allclose(chosen.scores_, expected, atol=1e-5)
    assert chosen.alpha_ == chosen.alphas_[np.argmax(expected)]


def test_bic_and_ebic_are_what_their_formulas_say():
    X = table(60, 6)
    S = np.corrcoef(X.T)
    for criterion, gamma in (("bic", 0.0), ("ebic", 0.5)):
        chosen = SparsePrecisionCV(alphas=[0.4, 0.2, 0.1, 0.05], criterion=criterion).fit(X)
        expected = []
        for alpha in chosen.alphas_:
            precision = sparse_precision(S, alpha).precision
            n_edges = (np.count_nonzero(precision) - 6) / 2
            fit = 60 * ((S * precision).sum() - np.linalg.slogdet(precision)[1])
            expected.append(fit + n_edges * np.log(60) + 4 * gamma * n_edges * np.log(6))
        assert np.allclose(chosen.scores_ * -120, expected, rtol=1e-5)


def test_ebic_finds_the_graph_and_cv_finds_more():
    X, _, truth = make_graph_gaussian(400, 30, structure="chain", random_state=1)
    found = SparsePrecisionCV().fit(X).adjacency_
    assert np.all(found[truth["adjacency"]])
    n_false = (found & ~truth["adjacency"]).sum() / 2
    assert n_false <= 0.1 * 30 * 29 / 2
    assert (SparsePrecisionCV(criterion="cv").fit(X).adjacency_ & ~truth["adjacency"]).sum() / 2 > n_false


def test_edges_weigh_their_partial_correlations():
    X = table(300, 5)
    graph = SparsePrecision(1e-9, tol=1e-12).fit(X)
    others = X[:, 2:] - X[:, 2:].mean(axis=0)
    residuals = [X[:, j] - X[:, j].mean() for j in (0, 1)]
    residuals = [each - others @ np.linalg.lstsq(others, each, rcond=None)[0] for each in residuals]
    assert graph._edge_weights()[0, 1] == pytest.approx(np.corrcoef(residuals)[0, 1], abs=1e-5)
    assert np.allclose(np.diag(partial_correlations(graph.precision_)), 1)


def test_an_entry_and_its_mirror_image_are_free_together():
    """Whatever rounding makes of a symmetric matrix: a row of the one must not point into the row of another."""
    S = np.eye(3)
    S[0, 1] = S[1, 2] = 0.5 + 1e-12
    S[1, 0] = S[2, 1] = 0.5 - 1e-12
    for matrix in (S, S.T.copy()):
        starts, columns, mirror = free_entries(np.eye(3), matrix, np.eye(3), np.array([[0.5]]))
        rows = np.repeat(np.arange(3), np.diff(starts))
        assert columns[mirror].tolist() == rows.tolist()
        assert rows[mirror].tolist() == columns.tolist()


@pytest.mark.parametrize("constant", [True, False])
def test_free_entries_are_those_that_are_not_zero_or_beyond_their_penalty(constant):
    rng = np.random.default_rng(0)
    S, W, precision = (np.tril(each) + np.tril(each, -1).T for each in rng.normal(size=(3, 30, 30)))
    precision[np.abs(precision) < 2] = 0
    penalty = np.full((30, 30), 2.5) if constant else np.abs(S) + 1
    free = (precision != 0) | (np.abs(S - W) > penalty) | np.eye(30, dtype=bool)
    starts, columns, mirror = free_entries(precision, S, W, penalty[:1, :1] if constant else penalty)
    rows = np.repeat(np.arange(30), np.diff(starts))
    assert np.array_equal(np.column_stack([rows, columns]), np.argwhere(free))
    assert np.array_equal(columns[mirror], rows)
    assert np.array_equal(rows[mirror], columns)
