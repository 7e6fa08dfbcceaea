"""PCA of a table with missing values by accelerated gradient steps, at a cost of O(N c) a step for N observed entries.

Each step moves all loadings and scores at once against the gradient, every coordinate scaled by its own curvature:

    theta <- theta - gamma (d2C/dtheta2)^-alpha dC/dtheta,

where alpha = 0 is plain descent and alpha = 1 Newton's method with a diagonal Hessian. A step that does not lower the
cost is taken back and gamma halved; after a good one gamma grows by a tenth. Between steps come the closed forms of the
means, the variances and (in the diagonal variants) the posterior variance of each coordinate on its own,

    wtilde_ik = v [v / v_k + sum_{O_i} (x_kj^2 + xtilde_kj)]^-1,
    xtilde_kj = v [v + sum_{O_j} (w_ik^2 + wtilde_ik)]^-1.

The gradients are ``dC/dw_ik = w_ik / v_k + (1/v) sum_{O_i} [-r_ij x_kj + w_ik xtilde_kj]``, with r the residuals, and
likewise for the scores with prior variance 1; their curvatures are 1 / wtilde and 1 / xtilde.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fewer._kernels._arrays import in_threads
from fewer.complete._entries import sum_residuals, sum_stored
from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import Family, Settings, Settled, pca_basis, robust_variance


class StoredTable:
    """Observed entries ``(x - centre) / scale`` by rows and by columns."""

    def __init__(self, table: Observed, centre: np.ndarray, scale: float) -> None:
        stored = table.by_rows
        self.shape, self.n_observed = table.shape, table.n_observed
        self.by_rows = stored.astype(np.float64)
        self.by_rows.data = (stored.data - centre[stored.indices]) / scale
        self.by_columns = self.by_rows.tocsc()
        self.column_counts = table.column_counts


@dataclass(frozen=True)
class Factors:
    """Both factors, the variance of each of their coordinates, the mean, and the variances of the model."""

    loadings: np.ndarray
    scores: np.ndarray
    loading_variances: np.ndarray
    score_variances: np.ndarray
    mean: np.ndarray
    mean_variances: np.ndarray
    noise: float
    loading_priors: np.ndarray
    mean_prior: float


class Residuals(NamedTuple):
    """Of each row (or column): residuals times the other side's vectors, summed; their sum; their sum of squares."""

    weighted: np.ndarray
    totals: np.ndarray
    squares: np.ndarray


class Descent:
    """Steps of the speeded-up gradient on one table."""

    def __init__(self, table: StoredTable, family: Family, settings: Settings, alpha: float) -> None:
        self.table, self.family, self.settings, self.alpha = table, family, settings, alpha
        self.step_size = 1.0

    def step(self, factors: Factors, n_done: int) -> tuple[Factors, float, float]:
        """The factors after one step, their cost and their expected squared error."""
        factors = self._with_posterior_variances(factors)
        factors = self._moved(factors)
        factors, squares = self._with_mean(factors)
        error = self._expected_error(factors, squares)
        noise = robust_variance(error, self.table.n_observed, self.settings.hyper_a, self.settings.hyper_b)
        factors = replace(factors, noise=float(noise))
        cost = self._cost(factors, error)
        if self.family.prior_of_loadings and n_done + 1 >= self.settings.n_broad_iter:
            factors = self._with_learnt_priors(factors)
        if self.family.prior_of_scores and not self.family.uncertain_scores:
            factors = self._rescaled(factors)
        return factors, cost, error

    def _by_rows(self, factors: Factors) -> Residuals:
        stored = self.table.by_rows
        zeros = np.zeros(self.table.shape[0])
        return _residuals(stored, factors.scores, factors.loadings, zeros, factors.mean)

    def _by_columns(self, factors: Factors) -> Residuals:
        stored = self.table.by_columns
        zeros = np.zeros(self.table.shape[0])
        return _residuals(stored, factors.loadings, factors.scores, factors.mean, zeros)

    def _with_posterior_variances(self, factors: Factors) -> Factors:
        family, noise = self.family, factors.noise
        if family.uncertain_loadings:
            sums = _sums(self.table.by_columns, factors.scores**2 + factors.score_variances)
            factors = replace(factors, loading_variances=noise / (noise / factors.loading_priors + sums))
        if family.uncertain_scores:
            sums = _sums(self.table.by_rows, factors.loadings**2 + factors.loading_variances)
            factors = replace(factors, score_variances=noise / (noise + sums))
        return factors

    def _moved(self, factors: Factors) -> Factors:
        family, noise = self.family, factors.noise
        spread_of_scores = _sums(self.table.by_columns, factors.score_variances)
        spread_of_loadings = _sums(self.table.by_rows, factors.loading_variances)
        loading_prior = noise / factors.loading_priors if family.prior_of_loadings else 0.0
        score_prior = noise if family.prior_of_scores else 0.0
        # All of it times the noise variance, which leaves the step as it is up to gamma.
        loading_slope = factors.loadings * (loading_prior + spread_of_scores)
        score_slope = factors.scores * (score_prior + spread_of_loadings)
        rows = self._by_rows(factors)
        loading_slope -= self._by_columns(factors).weighted
        score_slope -= rows.weighted
        loading_curvature = loading_prior + spread_of_scores + _sums(self.table.by_columns, factors.scores**2)
        score_curvature = score_prior + spread_of_loadings + _sums(self.table.by_rows, factors.loadings**2)
        loading_move = loading_slope / np.maximum(loading_curvature, 1e-12) ** self.alpha
        score_move = score_slope / np.maximum(score_curvature, 1e-12) ** self.alpha

        def height(trial: Factors, residuals: Residuals) -> float:
            return float(
                residuals.squares.sum()
                + np.sum(trial.loadings**2 * (loading_prior + spread_of_scores))
                + np.sum(trial.scores**2 * (score_prior + spread_of_loadings))
            )

        before = height(factors, rows)
        for _ in range(60):
            trial = replace(
                factors,
                loadings=factors.loadings - self.step_size * loading_move,
                scores=factors.scores - self.step_size * score_move,
            )
            if height(trial, self._by_rows(trial)) < before:
                self.step_size *= 1.1
                return trial
            self.step_size /= 2
        return factors

    def _with_mean(self, factors: Factors) -> tuple[Factors, float]:
        """The mean in closed form, and the sum of squared residuals with it."""
        residuals = self._by_columns(factors)
        if not self.settings.center:
            return factors, float(residuals.squares.sum())
        counts = np.maximum(self.table.column_counts, 1)
        totals = residuals.totals + counts * factors.mean
        mean, variances = totals / counts, factors.mean_variances
        if self.family.prior_of_loadings:
            shrunk = factors.mean_prior / (counts * factors.mean_prior + factors.noise)
            mean = shrunk * totals
            variances = shrunk * factors.noise if self.family.uncertain_loadings else variances
        shift = mean - factors.mean
        squares = np.sum(residuals.squares - 2 * shift * residuals.totals + self.table.column_counts * shift**2)
        return replace(factors, mean=mean, mean_variances=variances), float(squares)

    def _expected_error(self, factors: Factors, squares: float) -> float:
        error = squares + self.table.column_counts @ factors.mean_variances
        if self.family.uncertain_scores:
            sums = _sums(self.table.by_rows, factors.loadings**2 + factors.loading_variances)
            error += np.sum(factors.score_variances * sums)
        if self.family.uncertain_loadings:
            error += np.sum(factors.scores**2 * _sums(self.table.by_rows, factors.loading_variances))
        return float(error)

    def _cost(self, factors: Factors, error: float) -> float:
        """Sum of squares for least squares; otherwise minus the lower bound of the log likelihood, or posterior."""
        family, noise = self.family, factors.noise
        if not family.prior_of_scores:
            return error
        cost = error / (2 * noise) + self.table.n_observed / 2 * np.log(2 * np.pi * noise)
        cost += np.sum(factors.scores**2) / 2
        if family.uncertain_scores:
            cost += np.sum(factors.score_variances - 1 - np.log(factors.score_variances)) / 2
        if not family.prior_of_loadings:
            return float(cost)
        cost += np.sum((factors.loadings**2 + factors.loading_variances) / factors.loading_priors) / 2
        cost += self.table.shape[1] * np.sum(np.log(factors.loading_priors)) / 2
        if self.settings.center:
            cost += np.sum(factors.mean**2 + factors.mean_variances) / factors.mean_prior / 2
            cost += self.table.shape[1] * np.log(factors.mean_prior) / 2
        if family.uncertain_loadings:
            cost -= np.sum(1 + np.log(factors.loading_variances)) / 2
            if self.settings.center:
                cost -= np.sum(1 + np.log(factors.mean_variances)) / 2
        return float(cost)

    def _with_learnt_priors(self, factors: Factors) -> Factors:
        a, b, n_columns = self.settings.hyper_a, self.settings.hyper_b, self.table.shape[1]
        squares = np.sum(factors.loadings**2 + factors.loading_variances, axis=0)
        factors = replace(factors, loading_priors=robust_variance(squares, n_columns, a, b))
        if not self.settings.center:
            return factors
        total = float(np.sum(factors.mean**2 + factors.mean_variances))
        return replace(factors, mean_prior=robust_variance(total, n_columns, a, b))

    def _rescaled(self, factors: Factors) -> Factors:
        """Scores brought to zero mean and unit variance: without it, the scale of MAP's factors runs away."""
        middle = factors.scores.mean(axis=0) if self.settings.center else np.zeros(factors.scores.shape[1])
        centred = factors.scores - middle
        spread = np.sqrt(np.mean(centred**2, axis=0))
        spread[spread == 0] = 1.0
        mean = factors.mean + factors.loadings @ middle
        return replace(factors, scores=centred / spread, loadings=factors.loadings * spread, mean=mean)


def first_factors(table: StoredTable, size: int, settings: Settings, rng: np.random.RandomState) -> Factors:
    """Small random factors, broad priors, and noise as large as the table's variance."""
    n_rows, n_columns = table.shape
    return Factors(
        loadings=rng.normal(size=(n_columns, size)) / np.sqrt(size),
        scores=rng.normal(size=(n_rows, size)),
        loading_variances=np.zeros((n_columns, size)),
        score_variances=np.zeros((n_rows, size)),
        mean=np.zeros(n_columns),
        mean_variances=np.zeros(n_columns),
        noise=1.0,
        loading_priors=np.full(size, settings.broad_var),
        mean_prior=settings.broad_var,
    )


def in_pca_basis(factors: Factors, center: bool) -> Factors:
    """The same model in the basis of PCA; of the variances, which no longer are independent, the diagonal is kept."""
    middle = factors.scores.mean(axis=0) if center else np.zeros(factors.scores.shape[1])
    centred = factors.scores - middle
    spread = np.diag(factors.score_variances.mean(axis=0))
    basis = pca_basis(centred.T @ centred / len(centred) + spread, factors.loadings.T @ factors.loadings)
    return replace(
        factors,
        loadings=factors.loadings @ basis,
        loading_variances=factors.loading_variances @ basis**2,
        scores=np.linalg.solve(basis, centred.T).T,
        mean=factors.mean + factors.loadings @ middle,
        loading_priors=factors.loading_priors @ basis**2,
    )


class DescentFit(NamedTuple):
    """The factors reached, the costs on the way there, and whether they had settled."""

    factors: Factors
    costs: np.ndarray
    converged: bool


def descend(
    steps: Descent,
    start: Factors,
    *,
    max_iter: int,
    settled: Settled,
    on_step: Callable[[Factors], bool],
) -> DescentFit:
    """Steps until the error has settled; ``on_step`` may return True to stop and keep what there is."""
    factors, costs, errors = start, [], []
    converged = False
    for n_done in range(max_iter):
        factors, cost, error = steps.step(factors, n_done)
        costs.append(cost)
        errors.append(np.sqrt(error / steps.table.n_observed))
        converged = settled(errors, costs)
        if on_step(factors) or converged:
            break
    return DescentFit(factors, np.array(costs), converged)


def _sums(stored, vectors: np.ndarray) -> np.ndarray:
    sums = np.empty((len(stored.indptr) - 1, vectors.shape[1]))
    in_threads(sum_stored, stored.indptr, stored.indices, vectors, sums, cost=vectors.shape[1])
    return sums


def _residuals(stored, own, others, own_offset, other_offset) -> Residuals:
    found = Residuals(np.empty_like(own), np.empty(len(own)), np.empty(len(own)))
    in_threads(
        sum_residuals,
        stored.indptr,
        stored.indices,
        stored.data,
        np.ascontiguousarray(own),
        np.ascontiguousarray(others),
        own_offset,
        other_offset,
        *found,
        cost=2 * own.shape[1],
    )
    return found
