"""From a table with missing entries to a fitted model, by any of the methods: the pure function behind ``PCAMissing``.

The table is centred by its observed column means and divided by its overall standard deviation first, so that nothing
depends on the units that it comes in: priors, tolerances and starting values are in units of that deviation. A ``Plan``
says which method fits a table, how it is solved, and when it has converged. ``_alternating.py`` and ``_gradient.py``
hold the mathematics of most methods; imputation by SVD is here:

    repeat: m = column means of the completed table; W X' = its best approximation of rank c; missing <- W x_j + m.

It is the EM algorithm with the missing entries as what is hidden, and each round lowers the least-squares cost over the
observed ones. A round takes O(n p min(n, p)), so it is for tables that are not large.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fewer._kernels._numpy_lapack import largest_eigh
from fewer.complete._completer import usable_rank
from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import (
    FAMILIES,
    Alternating,
    Family,
    GroupedTable,
    Parameters,
    Settings,
    alternate,
    first_parameters,
    pca_basis,
    rotated_parameters,
    scores_given,
)
from fewer.complete.pca_missing._gradient import Descent, Factors, StoredTable, descend, first_factors, in_pca_basis
from fewer.complete.pca_missing._packed import packed_diagonals, unpacked

METHODS = ("ls-imputation", "ls", "map", "ppca", "vb", "ppca-diag", "vb-diag")
DIAGONAL = ("ppca-diag", "vb-diag")
# The error counts as settled when it would change by less than tol within 100 rounds, judged by this many.
_WINDOW = 20
# Above this many steps for one round of alternating updates, gradient steps are the better bargain.
_MANY_STEPS = 2e9
# At most this share missing is "few"; a table with at most this many entries is "small"; p * this <= n is "long".
_FEW_HOLES, _SMALL_TABLE, _LONG = 0.02, 1_000_000, 10
_DEFAULT_COMPONENTS = 10


@dataclass(frozen=True)
class Plan:
    """How to fit: a method of ``METHODS``, how it is solved, and the settings of its updates."""

    method: str
    gradient: bool
    rank: int
    settings: Settings
    alpha: float
    max_iter: int
    tol: float
    early_stopping: bool

    @property
    def family(self) -> Family:
        """The parts of the model that the method keeps."""
        return family_of(self.method)

    def settled(self, errors: list[float], costs: list[float]) -> bool:
        """Whether the error has settled, or moves without lowering the cost; time with broad priors does not count."""
        warm_up = self.settings.n_broad_iter if self.family.prior_of_loadings else 0
        if len(errors) <= warm_up + _WINDOW:
            return False
        if abs(errors[-1] - errors[-1 - _WINDOW]) < self.tol * _WINDOW / 100:
            return True
        return abs(costs[-1] - costs[-1 - _WINDOW]) < 1e-6 * self.tol * abs(costs[-1])


def family_of(method: str) -> Family:
    """The parts of the model that a method keeps."""
    return FAMILIES[method.removesuffix("-imputation").removesuffix("-diag")]


def guided_method(shape: tuple[int, int], n_observed: int, rank: int, dense: bool) -> str:
    """The method to use, by how much is missing and how large the table is."""
    n_rows, n_columns = shape
    size = n_rows * n_columns
    large = n_observed * rank**2 > _MANY_STEPS
    if n_observed >= (1 - _FEW_HOLES) * size:
        return "ls-imputation" if dense and size <= _SMALL_TABLE else "ls"
    probabilistic = "ppca" if n_columns * _LONG <= n_rows else "vb"
    return probabilistic + "-diag" if large else probabilistic


def uses_gradient(method: str, solver: str, n_observed: int, rank: int) -> bool:
    """Whether gradient steps are taken rather than closed-form updates in turn."""
    if method in ("ls", "map"):
        return solver == "gradient" or (solver == "auto" and n_observed * rank**2 > _MANY_STEPS)
    return method in DIAGONAL


def default_rank(shape: tuple[int, int]) -> int:
    """Components where none are asked for."""
    return max(1, min(_DEFAULT_COMPONENTS, min(shape) - 1))


def planned(
    table: Observed,
    settings: Settings,
    *,
    rank: int | None,
    method: str,
    solver: str,
    alpha: float,
    max_iter: int,
    tol: float,
    early_stopping: bool,
) -> Plan:
    """The plan for a table; combinations that make no sense are refused."""
    dense, n_observed = table.dense is not None, table.n_observed
    rank = default_rank(table.shape) if rank is None else usable_rank(rank, table.shape)
    if method == "auto":
        method = guided_method(table.shape, n_observed, rank, dense)
    by_steps_or_in_turn = method in ("ls", "map")
    if method == "ls-imputation" and not dense:
        raise ValueError(
            "method='ls-imputation' fills the table in while it fits, and this one is sparse: use method='ls', 'vb' or "
            "'vb-diag', which look at the stored entries only."
        )
    if solver != "auto" and not by_steps_or_in_turn:
        raise ValueError(f"solver={solver!r} is for method='ls' and 'map'; method={method!r} has one way only.")
    gradient = uses_gradient(method, solver, n_observed, rank)
    if early_stopping and not (gradient and by_steps_or_in_turn):
        raise ValueError(
            f"early_stopping goes with method='ls' or 'map' and solver='gradient', not with method={method!r}"
            + (" and closed-form updates." if by_steps_or_in_turn else ".")
        )
    return Plan(method, gradient, rank, settings, alpha, max_iter, tol, early_stopping)


class Imputation(NamedTuple):
    """Loadings (scores have unit variance) and mean reached, the costs on the way, and whether they had settled."""

    loadings: np.ndarray
    mean: np.ndarray
    costs: np.ndarray
    converged: bool


def truncated_svd(X: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """``X v`` for the leading right singular vectors v, and these as columns."""
    if X.shape[0] < X.shape[1]:
        squares, left = largest_eigh(X @ X.T, rank)
        lengths = np.sqrt(np.maximum(squares, 1e-300))
        return left * lengths, X.T @ (left / lengths)
    _, right = largest_eigh(X.T @ X, rank)
    return X @ right, right


def impute_by_svd(
    X: np.ndarray,
    rank: int,
    *,
    center: bool,
    max_iter: int,
    settled: Callable[[list[float], list[float]], bool],
    on_round: Callable[[np.ndarray, np.ndarray], bool],
) -> Imputation:
    """Rounds of imputation; X has NaN for missing entries and column means of about zero."""
    missing = np.isnan(X)
    filled = np.where(missing, 0.0, X)
    n_observed = X.size - np.count_nonzero(missing)
    mean = np.zeros(X.shape[1])
    costs: list[float] = []
    errors: list[float] = []
    converged = False
    for _ in range(max_iter):
        if center:
            mean = filled.mean(axis=0)
        projected, axes = truncated_svd(filled - mean, rank)
        model = projected @ axes.T + mean
        residuals = np.where(missing, 0.0, filled - model)
        costs.append(float(np.sum(residuals**2)))
        errors.append(np.sqrt(costs[-1] / n_observed))
        filled = np.where(missing, model, filled)
        loadings = axes * np.sqrt(np.mean(projected**2, axis=0))
        converged = settled(errors, costs) or not missing.any()  # in a complete table, one round is the whole answer
        if on_round(loadings, mean) or converged:
            break
    return Imputation(loadings[:, ::-1], mean, np.array(costs), converged)


_HELD_OUT = 0.2


class Fitted(NamedTuple):
    """A fitted model in the units of the table.

    Covariances of the loadings come packed, one for each number in ``covariance_of``; or as variances, one row for each
    column of the table, in the diagonal methods; or not at all. Scores are there only if they are not those that the
    rest of the model gives.
    """

    loadings: np.ndarray
    loading_covariances: np.ndarray | None
    covariance_of: np.ndarray
    mean: np.ndarray
    mean_variances: np.ndarray
    noise: float
    loading_priors: np.ndarray
    scores: np.ndarray | None
    lower_bound: float
    history: np.ndarray
    converged: bool
    stopped: bool


OnRound = Callable[[Callable[[], Fitted]], bool]


def fit_table(table: Observed, plan: Plan, rng: np.random.RandomState, on_round: OnRound) -> Fitted:
    """Fit once, from a random start. Every row and every column of the table has something observed."""
    centre = table.column_means if plan.settings.center else np.zeros(table.shape[1])
    scale = _spread(table, centre)
    in_units = _Units(centre, scale, table.n_observed, plan)
    if plan.method == "ls-imputation":
        return _by_imputation(table, plan, in_units, on_round)
    if plan.gradient:
        return _by_gradient(table, plan, in_units, rng, on_round)
    return _by_alternating(table, plan, in_units, rng, on_round)


def _spread(table: Observed, centre: np.ndarray) -> float:
    stored = table.by_rows
    spread = float(np.sqrt(np.mean((stored.data.astype(np.float64) - centre[stored.indices]) ** 2)))
    return spread if spread > 0 else 1.0


class _Units(NamedTuple):
    """Takes a model of the centred and scaled table back to the table's own units."""

    centre: np.ndarray
    scale: float
    n_observed: int
    plan: Plan

    def fitted(
        self,
        parameters: Parameters,
        covariance_of: np.ndarray,
        costs: np.ndarray,
        converged: bool = False,
        stopped: bool = False,
        scores: np.ndarray | None = None,
    ) -> Fitted:
        """The model, with the largest loading of each component positive."""
        loadings = parameters.loadings
        signs = np.sign(loadings[np.abs(loadings).argmax(axis=0), np.arange(loadings.shape[1])])
        signs[signs == 0] = 1.0
        covariances = parameters.loading_covariances
        if covariances is not None and self.plan.method not in DIAGONAL:
            covariances = rotated_parameters(parameters, np.diag(signs)).loading_covariances
        unit = self.scale**2
        # A density of the scaled table is one of the table itself, times scale for each entry.
        likelihood = self.plan.family.prior_of_scores
        history = costs + self.n_observed * np.log(self.scale) if likelihood else costs * unit
        return Fitted(
            loadings=loadings * signs * self.scale,
            loading_covariances=None if covariances is None else covariances * unit,
            covariance_of=covariance_of,
            mean=parameters.mean * self.scale + self.centre,
            mean_variances=parameters.mean_variances * unit,
            noise=parameters.noise * unit,
            loading_priors=parameters.loading_priors * unit,
            scores=None if scores is None else scores * signs,
            lower_bound=-float(history[-1]) if len(history) else -np.inf,
            history=history,
            converged=converged,
            stopped=stopped,
        )


def _watched(on_round: OnRound) -> tuple[OnRound, list[bool]]:
    """The same callback, and a list that is not empty once it has said stop."""
    said_stop: list[bool] = []

    def watching(make: Callable[[], Fitted]) -> bool:
        if on_round(make):
            said_stop.append(True)
        return bool(said_stop)

    return watching, said_stop


def _by_alternating(table: Observed, plan: Plan, units: _Units, rng, on_round: OnRound) -> Fitted:
    grouped = GroupedTable(table, units.centre, units.scale)
    start = first_parameters(rng.normal(size=(table.shape[1], plan.rank)), plan.settings)
    labels = grouped.columns.labels
    watching, said_stop = _watched(on_round)
    updates = Alternating(grouped, plan.family, plan.settings)
    found = alternate(
        updates,
        start,
        max_iter=plan.max_iter,
        settled=plan.settled,
        on_round=lambda now: watching(lambda: units.fitted(now, labels, np.zeros(0))),
    )
    final = _in_pca_basis(updates, found.parameters, plan)
    return units.fitted(final, labels, found.costs, found.converged, bool(said_stop))


def _in_pca_basis(updates: Alternating, parameters: Parameters, plan: Plan) -> Parameters:
    grouped = updates.table
    scores = scores_given(grouped, parameters, plan.family)
    moments = unpacked(grouped.rows.second_moments(scores.means, scores.covariances).sum(axis=0)) / len(scores.means)
    if plan.settings.center:
        middle = scores.means.mean(axis=0)
        moments -= np.outer(middle, middle)
        parameters = replace(parameters, mean=parameters.mean + parameters.loadings @ middle)
    # The rounds turn to where loadings are uncorrelated together with their uncertainty; here the loadings themselves
    # are made orthogonal, as components of PCA are.
    basis = pca_basis(moments, parameters.loadings.T @ parameters.loadings)
    return updates.with_learnt_priors(rotated_parameters(parameters, basis))


def _by_gradient(table: Observed, plan: Plan, units: _Units, rng, on_round: OnRound) -> Fitted:
    checked = None
    if plan.early_stopping:
        held_out = rng.choice(table.n_observed, size=int(_HELD_OUT * table.n_observed), replace=False)
        checked = _HeldOut(table, held_out, units)
        table = table.hidden(held_out)
    stored = StoredTable(table, units.centre, units.scale)
    covariance_of = np.arange(table.shape[1])
    watching, said_stop = _watched(on_round)

    def parameters_of(turned: Factors) -> Parameters:
        variances = turned.loading_variances if plan.family.uncertain_loadings else None
        return Parameters(
            turned.loadings,
            variances,
            turned.mean,
            turned.mean_variances,
            turned.noise,
            turned.loading_priors,
            turned.mean_prior,
        )

    def on_step(factors: Factors) -> bool:
        worse = checked is not None and checked.rises(factors)
        turned = partial(in_pca_basis, factors, plan.settings.center)
        return watching(lambda: units.fitted(parameters_of(turned()), covariance_of, np.zeros(0))) or worse

    found = descend(
        Descent(stored, plan.family, plan.settings, plan.alpha),
        first_factors(stored, plan.rank, plan.settings, rng),
        max_iter=plan.max_iter,
        settled=plan.settled,
        on_step=on_step,
    )
    if checked is None:
        best = in_pca_basis(found.factors, plan.settings.center)
        return units.fitted(parameters_of(best), covariance_of, found.costs, found.converged, bool(said_stop))
    best = in_pca_basis(checked.best, plan.settings.center)
    converged = found.converged or checked.risen
    # Scores of least squares made anew would fit the entries that stopping early kept from being fitted.
    return units.fitted(parameters_of(best), covariance_of, found.costs, converged, bool(said_stop), best.scores)


class _HeldOut:
    """The error at entries that are held out, and the factors for which it was least."""

    def __init__(self, table: Observed, entries: np.ndarray, units: _Units) -> None:
        stored = table.by_rows.tocoo()
        self._rows, self._columns = stored.row[entries], stored.col[entries]
        self._values = (stored.data[entries] - units.centre[self._columns]) / units.scale
        self._least = np.inf
        self.risen = False
        self.best: Factors

    def rises(self, factors: Factors) -> bool:
        """Whether the error has begun to rise."""
        model = np.einsum("ij,ij->i", factors.scores[self._rows], factors.loadings[self._columns])
        error = float(np.mean((self._values - model - factors.mean[self._columns]) ** 2))
        if error < self._least:
            self._least, self.best = error, factors
        # The first steps go up and down by chance; a hundredth above the least is a rise.
        self.risen = error > 1.01 * self._least
        return self.risen


def _by_imputation(table: Observed, plan: Plan, units: _Units, on_round: OnRound) -> Fitted:
    assert table.dense is not None
    X = (table.dense.astype(np.float64) - units.centre) / units.scale
    covariance_of = np.arange(table.shape[1])
    watching, said_stop = _watched(on_round)

    def parameters_of(loadings: np.ndarray, mean: np.ndarray, noise: float = 1.0) -> Parameters:
        zeros = np.zeros(len(mean))
        return Parameters(loadings, None, mean, zeros, noise, np.full(plan.rank, np.inf), np.inf)

    found = impute_by_svd(
        X,
        plan.rank,
        center=plan.settings.center,
        max_iter=plan.max_iter,
        settled=plan.settled,
        on_round=lambda loadings, mean: watching(
            lambda: units.fitted(parameters_of(loadings, mean), covariance_of, np.zeros(0))
        ),
    )
    noise = (2 * plan.settings.hyper_b + found.costs[-1]) / (2 * plan.settings.hyper_a + table.n_observed)
    final = parameters_of(found.loadings, found.mean, noise)
    return units.fitted(final, covariance_of, found.costs, found.converged, bool(said_stop))


def packed_covariances(fitted_covariances: np.ndarray | None, covariance_of: np.ndarray, method: str):
    """The covariances of the loadings, one packed matrix for each column of the table; None where there are none."""
    if fitted_covariances is None:
        return None
    if method in DIAGONAL:
        return packed_diagonals(fitted_covariances)
    return fitted_covariances[covariance_of]
