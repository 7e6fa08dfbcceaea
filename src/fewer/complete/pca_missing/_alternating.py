"""PCA with missing entries by closed-form updates in turn: least squares, MAP, probabilistic and variational Bayes.

With ``y_ij`` the entry of row j in column i, ``O_j`` the columns observed in row j, ``O_i`` the rows that observe
column i, the model is ``y_ij = w_i' x_j + m_i + noise`` with noise of variance v, and priors ``x_j ~ N(0, I)``,
``w_ik ~ N(0, v_k)``, ``m_i ~ N(0, v_m)``. One round of variational Bayes is

    Sigma_xj = v (v I + sum_{O_j} [w_i w_i' + Sigma_wi])^-1,             x_j = Sigma_xj sum_{O_j} w_i (y_ij - m_i) / v,
    Sigma_wi = v (v diag(1/v_k) + sum_{O_i} [x_j x_j' + Sigma_xj])^-1,   w_i = Sigma_wi sum_{O_i} x_j (y_ij - m_i) / v,

with ``m_i`` between them, and after them v, v_k, v_m and a rotation to the basis of PCA. The other three leave parts of
it out: probabilistic PCA has no priors on w and m, so that Sigma_w = 0; MAP has all priors and no Sigma at all; least
squares has neither.

An update of the scores needs ``sum_{i in O_j} S_i`` for matrices ``S_i`` of the columns. Rows with the same ``O_j``
share that sum, and columns that are observed in the same rows enter it together (``GroupedTable``); so it is a product
of the mask, with one row for each pattern of rows and one column for each pattern of columns, and of totals over
groups. A dense table leaves these products to BLAS; a sparse one walks over what is stored, in threads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from fewer._kernels._arrays import in_threads
from fewer.complete._entries import multiply_stored, sum_stored
from fewer.complete._observed import Observed, Patterns
from fewer.complete.pca_missing._packed import (
    Inverses,
    add_outer_products,
    diagonals,
    for_inner_products,
    inverses,
    packed_of,
    products,
    unpacked,
)


class Side(NamedTuple):
    """The rows, or the columns, and the groups with equal patterns that they form."""

    labels: np.ndarray
    members: np.ndarray
    indptr: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Members of each group."""
        return np.diff(self.indptr)

    def totals(self, vectors: np.ndarray) -> np.ndarray:
        """Sum of the members' vectors, for each group."""
        if len(self.indptr) - 1 == len(self.labels):  # each is a group of its own
            return vectors[self.members]
        return np.add.reduceat(vectors[self.members], self.indptr[:-1], axis=0)

    def second_moments(self, vectors: np.ndarray, covariances: np.ndarray | None) -> np.ndarray:
        """Sum of ``v v' + covariance`` over the members of each group, packed; covariances come one for each group."""
        size = vectors.shape[1]
        if covariances is None:
            totals = np.zeros((len(self.indptr) - 1, size * (size + 1) // 2))
        else:
            totals = covariances * self.counts[:, None]
        in_threads(add_outer_products, self.indptr, self.members, vectors, totals, cost=size * size)
        return totals


class GroupedTable:
    """Entries ``(x - centre) / scale`` of a table, zero where missing."""

    def __init__(self, table: Observed, centre: np.ndarray, scale: float, *, group_columns: bool = True) -> None:
        self.shape = table.shape
        row_patterns = table.row_patterns
        column_patterns = table.column_patterns if group_columns else Patterns(*2 * (np.arange(table.shape[1]),))
        self.rows, self.columns = _side(row_patterns), _side(column_patterns)
        self.n_observed = table.n_observed
        if table.dense is None:
            stored = table.by_rows
            self._by_rows = stored.copy()
            self._by_rows.data = (stored.data.astype(np.float64) - centre[stored.indices]) / scale
            self._by_columns = self._by_rows.tocsc()
            mask = self._by_rows[row_patterns.examples][:, column_patterns.examples]
            self._mask_by_rows, self._mask_by_columns = mask, mask.tocsc()
            self._dense = None
        else:
            observed = table.mask
            self._dense = np.where(observed, (table.dense.astype(np.float64) - centre) / scale, 0.0)
            self._mask = observed[row_patterns.examples][:, column_patterns.examples].astype(np.float64)

    def over_columns(self, vectors: np.ndarray) -> np.ndarray:
        """For each group of rows, the sum of the vectors of the groups of columns that it observes."""
        if self._dense is not None:
            return self._mask @ vectors
        return _summed(self._mask_by_rows, vectors)

    def over_rows(self, vectors: np.ndarray) -> np.ndarray:
        """For each group of columns, the sum of the vectors of the groups of rows that observe it."""
        if self._dense is not None:
            return self._mask.T @ vectors
        return _summed(self._mask_by_columns, vectors)

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """The table times a vector for each column."""
        if self._dense is not None:
            return self._dense @ vectors
        return _multiplied(self._by_rows, vectors)

    def transposed_times(self, vectors: np.ndarray) -> np.ndarray:
        """The transposed table times a vector for each row."""
        if self._dense is not None:
            return self._dense.T @ vectors
        return _multiplied(self._by_columns, vectors)

    def column_counts(self) -> np.ndarray:
        """Observed entries of each column."""
        return self.over_rows(self.rows.counts[:, None].astype(np.float64))[self.columns.labels, 0]

    def column_sums(self) -> np.ndarray:
        """Sum of each column."""
        if self._dense is not None:
            return self._dense.sum(axis=0)
        return np.asarray(self._by_columns.sum(axis=0)).ravel()

    def column_squares(self) -> np.ndarray:
        """Sum of squares of each column."""
        if self._dense is not None:
            return np.einsum("ij,ij->j", self._dense, self._dense)
        return np.asarray(self._by_columns.power(2).sum(axis=0)).ravel()

    def row_squares(self) -> np.ndarray:
        """Sum of squares of each row."""
        if self._dense is not None:
            return np.einsum("ij,ij->i", self._dense, self._dense)
        return np.asarray(self._by_rows.power(2).sum(axis=1)).ravel()


def _side(patterns: Patterns) -> Side:
    counts = np.bincount(patterns.labels, minlength=len(patterns.examples))
    members = np.argsort(patterns.labels, kind="stable")
    return Side(patterns.labels, members, np.concatenate([[0], np.cumsum(counts)]))


def _summed(stored, vectors: np.ndarray) -> np.ndarray:
    sums = np.empty((len(stored.indptr) - 1, vectors.shape[1]))
    in_threads(sum_stored, stored.indptr, stored.indices, np.ascontiguousarray(vectors), sums, cost=vectors.shape[1])
    return sums


def _multiplied(stored, vectors: np.ndarray) -> np.ndarray:
    products = np.empty((len(stored.indptr) - 1, vectors.shape[1]))
    vectors = np.ascontiguousarray(vectors)
    in_threads(multiply_stored, stored.indptr, stored.indices, stored.data, vectors, products, cost=vectors.shape[1])
    return products


Totals = TypeVar("Totals", float, np.ndarray)


class Family(NamedTuple):
    """Which parts of the model a method keeps: the priors, and the uncertainty (covariances) of either factor."""

    prior_of_scores: bool
    prior_of_loadings: bool
    uncertain_scores: bool
    uncertain_loadings: bool


FAMILIES = {
    "ls": Family(False, False, False, False),
    "map": Family(True, True, False, False),
    "ppca": Family(True, False, True, False),
    "vb": Family(True, True, True, True),
}


@dataclass(frozen=True)
class Settings:
    """How the updates run; variances in units of the table's own variance."""

    center: bool
    rotate: bool
    n_broad_iter: int
    broad_var: float
    hyper_a: float
    hyper_b: float


@dataclass(frozen=True)
class Parameters:
    """All that the scores of a row depend on.

    ``loading_covariances`` has one packed matrix for each group of columns, or is None.
    """

    loadings: np.ndarray
    loading_covariances: np.ndarray | None
    mean: np.ndarray
    mean_variances: np.ndarray
    noise: float
    loading_priors: np.ndarray
    mean_prior: float


class Scores(NamedTuple):
    """Scores of all rows; for each group of rows their packed covariance and its log determinant, or None."""

    means: np.ndarray
    covariances: np.ndarray | None
    log_determinants: np.ndarray | None


class Round(NamedTuple):
    """What a round of updates came to."""

    parameters: Parameters
    cost: float
    error: float


def robust_variance(total: Totals, count: float, a: float, b: float) -> Totals:
    """Variance of zero-mean variables from their sum of squares; a and b keep it from collapsing to zero.

    With a = b = 0 rounding does: variances are in units of the table's.
    """
    return (2 * b + total) / (2 * a + count) + np.finfo(np.float64).eps


def first_parameters(loadings: np.ndarray, settings: Settings) -> Parameters:
    """Where the updates start from: broad priors, and noise as large as the table's variance."""
    n_columns, size = loadings.shape
    zeros = np.zeros(n_columns)
    broad = settings.broad_var
    return Parameters(loadings, None, zeros, zeros, 1.0, np.full(size, broad), broad)


def scores_given(table: GroupedTable, parameters: Parameters, family: Family) -> Scores:
    """Scores of the rows with the parameters fixed."""
    size = parameters.loadings.shape[1]
    moments = table.columns.second_moments(parameters.loadings, parameters.loading_covariances)
    offsets = table.columns.totals(parameters.mean[:, None] * parameters.loadings)
    sums = table.over_columns(np.hstack([moments, offsets]))
    right = table.times(parameters.loadings) - sums[table.rows.labels, -size:]
    ridge = np.full(size, parameters.noise if family.prior_of_scores else 0.0)
    inverse = inverses(np.ascontiguousarray(sums[:, :-size]), ridge)
    means = products(table.rows.labels, inverse.matrices, right)
    return Scores(means, *_covariances(inverse, parameters.noise, size, family.uncertain_scores))


def _covariances(inverse: Inverses, noise: float, size: int, wanted: bool):
    if not wanted:
        return None, None
    return noise * inverse.matrices, inverse.log_determinants + size * np.log(noise)


class Alternating:
    """Rounds of updates on one table; what does not change from round to round is kept here."""

    def __init__(self, table: GroupedTable, family: Family, settings: Settings) -> None:
        self.table, self.family, self.settings = table, family, settings
        self._counts = table.column_counts()
        self._sums = table.column_sums()
        self._squares = table.column_squares()

    def round(self, parameters: Parameters, n_done: int) -> Round:
        """Update everything once; the cost is that of the state before it is rotated."""
        table, family, settings = self.table, self.family, self.settings
        size = parameters.loadings.shape[1]
        scores = scores_given(table, parameters, family)
        group_moments = table.rows.second_moments(scores.means, scores.covariances)
        sums = table.over_rows(np.hstack([group_moments, table.rows.totals(scores.means)]))
        moments, score_sums = np.ascontiguousarray(sums[:, :-size]), sums[table.columns.labels, -size:]

        mean, mean_variances = self._mean_given(parameters, score_sums)
        noise, priors = parameters.noise, parameters.loading_priors
        ridge = noise / priors if family.prior_of_loadings else np.zeros(size)
        inverse = inverses(moments, ridge)
        right = table.transposed_times(scores.means) - mean[:, None] * score_sums
        loadings = products(table.columns.labels, inverse.matrices, right)
        covariances, log_determinants = _covariances(inverse, noise, size, family.uncertain_loadings)

        own_moments = table.columns.second_moments(loadings, covariances)
        error = float(
            np.sum(self._squares - 2 * mean * self._sums + self._counts * (mean**2 + mean_variances))
            - 2 * np.sum(loadings * right)
            + np.sum(for_inner_products(own_moments) * moments)
        )
        error = max(error, 0.0)
        noise = float(robust_variance(error, table.n_observed, settings.hyper_a, settings.hyper_b))
        updated = replace(
            parameters,
            loadings=loadings,
            loading_covariances=covariances,
            mean=mean,
            mean_variances=mean_variances,
            noise=noise,
        )
        total = unpacked(group_moments.sum(axis=0))
        cost = self._cost(updated, error, total, scores.log_determinants, log_determinants)
        rotated = self._rotated(updated, scores.means.mean(axis=0), total / table.shape[0], own_moments.sum(axis=0))
        if n_done + 1 >= settings.n_broad_iter:
            rotated = self.with_learnt_priors(rotated)
        return Round(rotated, cost, error)

    def _mean_given(self, parameters: Parameters, score_sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.settings.center:
            return parameters.mean, parameters.mean_variances
        totals = self._sums - np.einsum("ij,ij->i", parameters.loadings, score_sums)
        if not self.family.prior_of_loadings:
            return totals / self._counts, parameters.mean_variances
        prior, noise = parameters.mean_prior, parameters.noise
        shrunk = prior / (self._counts * prior + noise)
        return shrunk * totals, shrunk * noise if self.family.uncertain_loadings else parameters.mean_variances

    def _cost(self, parameters, error, total, score_logs, loading_logs) -> float:
        """Sum of squares for least squares; otherwise minus the lower bound of the log likelihood, or posterior."""
        family, n_observed, noise = self.family, self.table.n_observed, parameters.noise
        if not family.prior_of_scores:
            return error
        cost = error / (2 * noise) + n_observed / 2 * np.log(2 * np.pi * noise) + np.trace(total) / 2
        if family.uncertain_scores:
            size = parameters.loadings.shape[1]
            cost -= (self.table.rows.counts @ score_logs + self.table.shape[0] * size) / 2
        if not family.prior_of_loadings:
            return float(cost)
        priors, prior = parameters.loading_priors, parameters.mean_prior
        n_columns = self.table.shape[1]
        squares = self._loading_squares(parameters)
        cost += (np.sum(squares / priors) + n_columns * np.sum(np.log(priors))) / 2
        if self.settings.center:
            cost += (np.sum(self._mean_squares(parameters)) / prior + n_columns * np.log(prior)) / 2
        if family.uncertain_loadings:
            cost -= (self.table.columns.counts @ loading_logs + n_columns * len(priors)) / 2
            if self.settings.center:
                cost -= (np.sum(np.log(parameters.mean_variances)) + n_columns) / 2
        return float(cost)

    def _loading_squares(self, parameters: Parameters) -> np.ndarray:
        squares = np.sum(parameters.loadings**2, axis=0)
        if parameters.loading_covariances is not None:
            squares = squares + self.table.columns.counts @ diagonals(parameters.loading_covariances)
        return squares

    @staticmethod
    def _mean_squares(parameters: Parameters) -> np.ndarray:
        return parameters.mean**2 + parameters.mean_variances

    def with_learnt_priors(self, parameters: Parameters) -> Parameters:
        """Prior variances as the loadings and means suggest them, where there are priors."""
        if not self.family.prior_of_loadings:
            return parameters
        a, b, n_columns = self.settings.hyper_a, self.settings.hyper_b, self.table.shape[1]
        priors = robust_variance(self._loading_squares(parameters), n_columns, a, b)
        if not self.settings.center:
            return replace(parameters, loading_priors=priors)
        prior = robust_variance(float(np.sum(self._mean_squares(parameters))), n_columns, a, b)
        return replace(parameters, loading_priors=priors, mean_prior=prior)

    def _rotated(self, parameters, score_mean, score_moments, loading_moments) -> Parameters:
        """The same model in the basis where scores have unit covariance and loadings are orthogonal, largest first.

        The scores need not be rotated: the next round starts by making them anew.
        """
        if not self.settings.rotate:
            if self.family.uncertain_scores or not self.family.prior_of_scores:
                return parameters
            return self._rescaled(parameters, score_mean, score_moments)
        if self.settings.center:
            score_moments = score_moments - np.outer(score_mean, score_mean)
            parameters = replace(parameters, mean=parameters.mean + parameters.loadings @ score_mean)
        return rotated_parameters(parameters, pca_basis(score_moments, unpacked(loading_moments)))

    def _rescaled(self, parameters, score_mean, score_moments) -> Parameters:
        """Scores brought to unit variance one by one: without it, the scale of MAP's factors runs away."""
        variances = np.diag(score_moments).copy()
        if self.settings.center:
            variances -= score_mean**2
            parameters = replace(parameters, mean=parameters.mean + parameters.loadings @ score_mean)
        return rotated_parameters(parameters, np.diag(np.sqrt(variances)))


def pca_basis(score_moments: np.ndarray, loading_moments: np.ndarray) -> np.ndarray:
    """The matrix that loadings are multiplied by (scores by its inverse) to reach the basis of PCA."""
    variances, axes = np.linalg.eigh(score_moments)
    # A direction without any score left cannot be scaled to unit variance.
    roots = np.sqrt(np.maximum(variances, 1e-12 * max(variances[-1], 1e-300)))
    whitened = axes * roots
    _, turn = np.linalg.eigh(whitened.T @ loading_moments @ whitened)
    return whitened @ turn[:, ::-1]


def rotated_parameters(parameters: Parameters, basis: np.ndarray) -> Parameters:
    """Loadings and their covariances in another basis."""
    covariances = parameters.loading_covariances
    if covariances is not None:
        covariances = packed_of(basis.T @ unpacked(covariances) @ basis)
    return replace(parameters, loadings=parameters.loadings @ basis, loading_covariances=covariances)


Settled = Callable[[list[float], list[float]], bool]
OnRound = Callable[[Parameters], bool]


class Fit(NamedTuple):
    """The parameters reached, the costs on the way there, and whether they had settled."""

    parameters: Parameters
    costs: np.ndarray
    converged: bool


def alternate(updates: Alternating, start: Parameters, *, max_iter: int, settled: Settled, on_round: OnRound) -> Fit:
    """Rounds of updates until the error has settled; ``on_round`` may return True to stop and keep what there is."""
    parameters, costs, errors = start, [], []
    converged = False
    for n_done in range(max_iter):
        parameters, cost, error = updates.round(parameters, n_done)
        costs.append(cost)
        errors.append(np.sqrt(error / updates.table.n_observed))
        converged = settled(errors, costs)
        if on_round(parameters) or converged:
            break
    return Fit(parameters, np.array(costs), converged)
