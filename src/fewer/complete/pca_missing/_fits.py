"""From a table with holes to a fitted model, by any of the methods: the pure function behind ``PCAMissing``.

The table is centred by its observed column means and divided by its overall standard deviation first, so that nothing
depends on the units that it comes in: priors, tolerances and starting values are in units of that deviation.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import (
    Alternating,
    Parameters,
    alternate,
    first_parameters,
    pca_basis,
    rotated_parameters,
    scores_given,
)
from fewer.complete.pca_missing._gradient import Descent, Factors, StoredTable, descend, first_factors, in_pca_basis
from fewer.complete.pca_missing._grouped_table import GroupedTable
from fewer.complete.pca_missing._imputation import impute_by_svd
from fewer.complete.pca_missing._packed import packed_diagonals, unpacked
from fewer.complete.pca_missing._plan import DIAGONAL, Plan

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
