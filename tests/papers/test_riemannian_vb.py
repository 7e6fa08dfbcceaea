"""Honkela, Raiko, Kuusela, Tornio and Karhunen (2010): Riemannian conjugate gradients for variational Bayes."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_t, spearmanr
from sklearn.decomposition import PCA
from sklearn.mixture import BayesianGaussianMixture

from fewer.latent import DiagonalMetric, NonlinearFactorAnalysis, VBGaussianMixture, riemannian_cg
from fewer.latent._normal_wishart import single_normal_wishart
from fewer.latent.variational._factor_network import Weights, output_gradients, outputs
from fewer.latent.variational._free_energy import MixtureRows, fit_by_em, softmax
from tolerances import rounding

PRIORS = {"mean_prior": np.zeros(2), "covariance_prior": np.eye(2) / 2}  # W_0 = (4 / p) I


def overlapping(distance, seed, n_rows=1000):
    """Five equal groups with covariance .03 I, at 0 and (+-R, +-R)."""
    rng = np.random.default_rng(seed)
    centres = distance * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    return centres[np.arange(n_rows) % 5] + np.sqrt(0.03) * rng.normal(size=(n_rows, 2))


@cache
def runs(distance, solver, tables, n_starts):
    """Iterations, evaluations and free energy of every start on every table."""
    found = []
    for seed in tables:
        X = overlapping(distance, seed)
        for start in range(n_starts):
            model = VBGaussianMixture(8, solver=solver, max_iter=20_000, random_state=start, **PRIORS).fit(X)
            found.append((model.n_iter_, model.n_eval_, model.free_energy_))
    return np.array(found)


@pytest.fixture
def point():
    """Rows, and means and logits of four components anywhere."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    rows = MixtureRows(X, rng.uniform(0.5, 2, size=40), 1.0, single_normal_wishart(np.zeros(3), 1.0, np.eye(3), 3.0))
    return rows, rng.normal(size=(4, 3)), rng.normal(size=(4, 40))


@pytest.mark.claim("riemannian-vb", 1)
def test_a_natural_gradient_step_of_length_one_is_a_step_of_em(point):
    rows, means, logits = point
    at = rows.free_energy(means, logits)[1]()
    step_means, step_logits = rows.natural_gradients(at)
    expected, _ = softmax(rows.expected_log_densities(at.posterior))
    assert np.abs(softmax(logits - step_logits)[0] - expected).max() < 1e-10
    # Means of 40 rows with weights; the step itself is the difference that is taken off again.
    scale = np.abs(rows.X).max() + np.abs(means).max()
    tolerance = rounding(40, scale)
    assert np.abs(means - step_means - rows.posterior(at.shares).components.means).max() < tolerance


def central_differences(function, x, step=1e-5):
    found = np.empty_like(x)
    for place in np.ndindex(x.shape):
        there = np.zeros_like(x)
        there[place] = step
        found[place] = (function(x + there) - function(x - there)) / (2 * step)
    return found


@pytest.mark.claim("riemannian-vb", 2)
def test_gradients_are_those_of_the_free_energy(point):
    rows, means, logits = point
    of_means, of_logits = rows.gradients(rows.free_energy(means, logits)[1]())
    assert of_means == pytest.approx(central_differences(lambda x: rows.free_energy(x, logits)[0], means), abs=1e-5)
    assert of_logits == pytest.approx(central_differences(lambda x: rows.free_energy(means, x)[0], logits), abs=1e-5)


@pytest.mark.claim("riemannian-vb", 2)
@pytest.mark.parametrize("solver", ["em", "rcg", "rg"])
def test_free_energy_never_rises(solver):
    X = overlapping(0.3, 0, 300)
    model = VBGaussianMixture(8, solver=solver, max_iter=3000, random_state=0, **PRIORS).fit(X)
    assert model.n_iter_ > 20
    assert np.diff(-model.objective_path_).max() <= 1e-9 * len(X)


@pytest.mark.claim("riemannian-vb", 2)
@pytest.mark.parametrize("solver", ["em", "rcg"])
def test_free_energy_of_one_component_is_the_log_evidence(solver):
    X = np.random.default_rng(0).normal(size=(30, 2)) @ [[1.0, 0.5], [0.0, 0.7]]
    p = X.shape[1]
    # The evidence by the chain rule: every row is predicted from those before it, by Student's t.
    mean, count, scale, degrees, evidence = np.zeros(p), 1.0, np.eye(p) / 2, float(p), 0.0
    for x in X:
        df = degrees + 1 - p
        evidence += multivariate_t(mean, scale * (count + 1) / (count * df), df).logpdf(x)
        scale = scale + count / (count + 1) * np.outer(x - mean, x - mean)
        mean, count, degrees = (count * mean + x) / (count + 1), count + 1, degrees + 1
    model = VBGaussianMixture(1, solver=solver, random_state=0, tol=1e-13, **PRIORS).fit(X)
    assert model.free_energy_ == pytest.approx(-evidence, abs=1e-8)


@pytest.mark.claim("riemannian-vb", 3)
@pytest.mark.parametrize(("tables", "n_starts"), [((1, 3), 2), pytest.param((0, 1, 2, 3), 5, marks=pytest.mark.slow)])
def test_conjugate_gradients_need_a_fifth_of_the_iterations_of_em(tables, n_starts, figure):
    em, rcg = runs(0.2, "em", tables, n_starts), runs(0.2, "rcg", tables, n_starts)
    iterations, evaluations, energy = np.median(rcg, axis=0)
    figure(f"iterations {iterations:.0f} of {np.median(em[:, 0]):.0f}, evaluations {evaluations:.0f}")
    assert iterations <= np.median(em[:, 0]) / 5
    assert evaluations <= np.median(em[:, 1]) / 2
    assert energy <= np.median(em[:, 2]) + 0.005 * abs(np.median(em[:, 2]))


@pytest.mark.slow
@pytest.mark.claim("riemannian-vb", 3)
def test_natural_gradients_alone_are_as_slow_as_em(figure):
    em, rg = (np.median(runs(0.2, solver, (1, 3), 2)[:, 0]) for solver in ("em", "rg"))
    figure(f"{rg:.0f} iterations, EM {em:.0f}")
    assert em / 2 <= rg <= 2 * em


@pytest.mark.claim("riemannian-vb", 4)
@pytest.mark.parametrize("n_starts", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_overlap_hardly_changes_the_iterations_of_conjugate_gradients(n_starts, figure):
    numbers = [np.median(runs(distance, "rcg", (0, 1, 2, 3), n_starts)[:, 0]) for distance in (0.1, 0.2, 0.3, 0.4)]
    figure(", ".join(f"{number:.0f}" for number in numbers))
    assert max(numbers) < 2.5 * min(numbers)


@pytest.mark.slow
@pytest.mark.claim("riemannian-vb", 4)
def test_overlap_changes_the_iterations_of_em(figure):
    numbers = [np.median(runs(distance, "em", (0, 1, 2, 3), 5)[:, 0]) for distance in (0.1, 0.2, 0.3, 0.4)]
    figure(", ".join(f"{number:.0f}" for number in numbers))
    assert max(numbers) > 3 * min(numbers)


@pytest.mark.claim("riemannian-vb", 5)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_em_agrees_with_scikit_learn_from_the_same_responsibilities():
    X = overlapping(0.4, 0, 300)
    peer = BayesianGaussianMixture(
        n_components=5,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=1.0,
        mean_precision_prior=1.0,
        mean_prior=np.zeros(2),
        degrees_of_freedom_prior=2.0,
        covariance_prior=np.eye(2) / 2,
        reg_covar=0.0,
        init_params="random",
        max_iter=5000,
        tol=1e-13,
        random_state=0,
    ).fit(X)
    shares = np.random.RandomState(0).uniform(size=(300, 5))  # what scikit-learn draws from this seed
    shares /= shares.sum(axis=1, keepdims=True)
    rows = MixtureRows(X, np.ones(300), 1.0, single_normal_wishart(np.zeros(2), 1.0, np.eye(2) / 2, 2.0))
    start = rows.posterior(shares.T)
    found = fit_by_em(rows, start, tol=1e-10, max_iter=5000, on_step=lambda: False).posterior
    assert found.components.means == pytest.approx(peer.means_, abs=1e-4)
    assert found.concentrations / found.concentrations.sum() == pytest.approx(peer.weights_, abs=1e-4)


class Toy:
    """Factorised normal q for p(x, y) ~ exp(-9 (x y - 1)^2 - x^2 - y^2); variances by their fixed point."""

    def __init__(self):
        self.var = np.ones(2)

    def __call__(self, mean):
        squares = mean**2 + self.var
        value = 9 * (squares.prod() - 2 * mean.prod() + 1) + squares.sum() - np.log(self.var).sum() / 2
        return value, 18 * (mean * squares[::-1] - mean[::-1]) + 2 * mean

    def update(self, mean):
        for place in range(2):
            other = 1 - place
            self.var[place] = 1 / (2 * (9 * (mean[other] ** 2 + self.var[other]) + 1))


@pytest.mark.claim("riemannian-vb", 6)
@pytest.mark.parametrize(
    ("method", "geometry"),
    [
        ("cg", "riemannian"),
        ("gradient", "riemannian"),
        ("cg", "euclidean"),
        ("gradient", "euclidean"),
        ("lbfgs", "euclidean"),
    ],
)
def test_every_solver_reaches_the_optimum_of_the_toy_posterior(method, geometry, figure):
    starts = np.random.default_rng(0).normal(size=(20, 2))
    ends = []
    for start in starts:
        toy = Toy()
        metric = DiagonalMetric(lambda x, toy=toy: 1 / toy.var)
        found = riemannian_cg(
            toy, metric, start, method=method, geometry=geometry, update=toy.update, tol=1e-10, max_iter=2000
        )
        ends.append(found.value)
    reached = int(np.sum(np.abs(np.array(ends) - 5.7793) < 1e-4))
    figure(f"{reached} of 20")
    assert reached >= 15


def test_gradients_of_the_network_are_those_of_its_cost():
    rng = np.random.default_rng(0)
    n, q, h, p = 5, 2, 4, 3
    X, s, s_var = rng.normal(size=(n, p)), rng.normal(size=(n, q)), rng.uniform(0.05, 0.3, size=(n, q))
    means = Weights(rng.normal(size=(h, q)), rng.normal(size=h), rng.normal(size=(p, h)), rng.normal(size=p))
    variances = Weights(*(rng.uniform(0.01, 0.2, size=each.shape) for each in means))
    precision, weights = rng.uniform(1, 3, size=p), rng.uniform(0.5, 2, size=n)

    def cost(s, s_var, means, variances):
        known = outputs(s, s_var, means, variances, precision)
        return weights @ ((X - known.means) ** 2 @ precision + known.row_cost) / 2

    known = outputs(s, s_var, means, variances, precision, slopes=True)
    found = output_gradients(X, s, s_var, means, variances, precision, weights, known)
    w = weights[:, None]
    assert found.s * w == pytest.approx(central_differences(lambda x: cost(x, s_var, means, variances), s), abs=1e-6)
    assert found.s_var * w == pytest.approx(
        central_differences(lambda x: cost(s, x, means, variances), s_var), abs=1e-6
    )
    for name in Weights._fields:
        of_means = central_differences(
            lambda x, name=name: cost(s, s_var, means._replace(**{name: x}), variances), getattr(means, name)
        )
        of_variances = central_differences(
            lambda x, name=name: cost(s, s_var, means, variances._replace(**{name: x})), getattr(variances, name)
        )
        assert getattr(found.means, name) == pytest.approx(of_means, abs=1e-6)
        assert getattr(found.variances, name) == pytest.approx(of_variances, abs=1e-6)


def test_moments_of_the_network_are_those_of_draws():
    """Monte Carlo: mean and variance of the output, weights and factors drawn from q."""
    rng = np.random.default_rng(0)
    s, s_var = np.array([[0.6, -0.4]]), np.array([[0.02, 0.03]])
    means = Weights(rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=(3, 4)), rng.normal(size=3))
    variances = Weights(*(np.full(each.shape, 0.01) for each in means))
    n_draws = 40_000
    A, a, B, b = (
        mean + np.sqrt(var) * rng.normal(size=(n_draws, *mean.shape))
        for mean, var in zip(means, variances, strict=True)
    )
    factors = s + np.sqrt(s_var) * rng.normal(size=(n_draws, 2))
    drawn = np.einsum("dij,dj->di", B, np.tanh(np.einsum("djl,dl->dj", A, factors) + a)) + b
    for place in range(3):
        precision = np.eye(3)[place]
        found = outputs(s, s_var, means, variances, precision)
        error = np.sqrt(drawn[:, place].var() / n_draws)
        assert abs(found.means[0, place] - drawn[:, place].mean()) < 5 * error + 0.01  # the linearisation
        assert found.row_cost[0] == pytest.approx(drawn[:, place].var(), rel=0.1)


def curve(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n_rows)
    return s, np.column_stack([s, s**2, np.sin(2 * s)]) + 0.05 * rng.normal(size=(n_rows, 3))


def check_curve(model, s, X, figure):
    pca = PCA(1).fit(X)
    of_pca = np.mean((pca.inverse_transform(pca.transform(X)) - X) ** 2)
    error = np.mean((model.reconstruct(X) - X) ** 2)
    agreement = abs(spearmanr(model.transform(X)[:, 0], s)[0])
    figure(f"error {error / of_pca:.3f} of PCA's, Spearman {agreement:.4f}")
    assert error <= of_pca / 2
    assert agreement >= 0.97


@pytest.mark.claim("riemannian-vb", 7)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_curve_has_one_factor_in_short(figure):
    s, X = curve()
    model = NonlinearFactorAnalysis(1, n_hidden=10, n_init=2, max_iter=80, tol=1e-3, random_state=0).fit(X)
    check_curve(model, s, X, figure)


@pytest.mark.slow
@pytest.mark.claim("riemannian-vb", 7)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_curve_has_one_factor(figure):
    s, X = curve()
    one = NonlinearFactorAnalysis(1, max_iter=200, tol=1e-3, random_state=0).fit(X)
    two = NonlinearFactorAnalysis(2, max_iter=200, tol=1e-3, random_state=0).fit(X)
    check_curve(one, s, X, figure)
    figure(f"F {one.free_energy_:.1f} with one factor, {two.free_energy_:.1f} with two")
    assert one.free_energy_ <= two.free_energy_ + 0.01 * abs(two.free_energy_)


def test_metrics_solve_what_they_multiply():
    from fewer.latent import BlockDiagonalMetric, TridiagonalMetric

    rng = np.random.default_rng(0)
    blocks = np.array([[[2.0, 1.0], [1.0, 3.0]], [[5.0, 0.0], [0.0, 1.0]], [[1.0, 0.2], [0.2, 1.0]]])
    metrics = [
        DiagonalMetric(lambda x: 1 + x**2),
        BlockDiagonalMetric(lambda x: blocks),
        TridiagonalMetric(lambda x: (np.full(6, 2.5), np.full(5, -1.0))),
    ]
    x, vector = rng.normal(size=(2, 6))
    for metric in metrics:
        assert metric.solve(x, metric.product(x, vector)) == pytest.approx(vector, abs=rounding(6, 10, condition=20))
