"""Gaussian response model: counts that rise and fall along a hidden gradient.

Counts are Poisson, with

    log E y_ik = a_k - ||z_i - u_k||^2 / (2 t_k^2)

for rows at z_i and columns with optima u_k, tolerances t_k and heights a_k. Dropping what is expected from the
likelihood equations gives reciprocal averaging, so correspondence analysis is where the search starts [1]_.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import gammaln, logsumexp

from fewer.extract.correspondence._axes import axes_by_svd
from fewer.extract.correspondence._counts import CountTable, residuals

_SCALES = np.geomspace(0.3, 10, 16)
_LARGEST = 60.0  # of a logarithm of a mean: beyond it a search has gone astray, and exp would overflow
_STEPS = 100
_ROUNDS = 5
_PLACES = 16


class Response(NamedTuple):
    """Heights, scores of rows, optima and log tolerances of columns; with totals, these are what rows add up to."""

    heights: np.ndarray
    rows: np.ndarray
    optima: np.ndarray
    log_tolerances: np.ndarray
    row_totals: np.ndarray | None = None


class Fit(NamedTuple):
    """The response found, its log likelihood and that of the start, steps taken, and whether it settled."""

    response: Response
    log_likelihood: float
    started_at: float
    n_iter: int
    settled: bool


def log_means(response: Response) -> np.ndarray:
    """Logarithms of the expected counts."""
    logs = response.heights - _squared_distances(response) / (2 * np.exp(2 * response.log_tolerances))
    if response.row_totals is not None:
        return logs + (np.log(response.row_totals) - logsumexp(logs, axis=1))[:, None]
    return np.minimum(logs, _LARGEST)


def log_likelihood(counts: np.ndarray, response: Response) -> float:
    """Poisson log likelihood of counts."""
    logs = log_means(response)
    return float(np.sum(counts * logs - np.exp(logs)) - gammaln(counts + 1).sum())


def gradient(counts: np.ndarray, response: Response) -> Response:
    """Derivatives of the log likelihood."""
    excess = counts - np.exp(log_means(response))
    pulls = excess * np.exp(-2 * response.log_tolerances)
    return Response(
        excess.sum(axis=0),
        pulls @ response.optima - pulls.sum(axis=1)[:, None] * response.rows,
        pulls.T @ response.rows - pulls.sum(axis=0)[:, None] * response.optima,
        np.sum(pulls * _squared_distances(response), axis=0),
    )


def fitted_response(
    table: CountTable,
    n_axes: int,
    covariates: np.ndarray | None,
    *,
    equal_tolerance: bool,
    row_effects: bool,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> Fit:
    """The most likely response; rows are anywhere, or at ``covariates @ coefficients`` if these are given.

    A row may sit on the wrong side of an optimum, where no small step leads out of: each is placed anew when the search
    has come to an end, and if that helps, the search goes on from there.
    """
    given = np.ascontiguousarray(table.counts, dtype=np.float64)
    # About 1 on average, so that the search ends alike in every unit; powers of 2 cost no digits.
    unit = 2.0 ** np.round(np.log2(given.mean()))
    counts = given / unit
    row_totals, column_totals = table.row_totals / unit, table.column_totals / unit
    table = table._replace(counts=counts, row_totals=row_totals, column_totals=column_totals)
    start = _start(table, counts, n_axes, covariates, row_effects)
    here, n_iter, settled, stopped = start, 0, False, False
    for _ in range(_ROUNDS):
        run = _climbed(counts, here, covariates, equal_tolerance, tol, max_iter - n_iter, on_step)
        here, n_iter, settled, stopped = run.response, n_iter + run.n_iter, run.settled, run.stopped
        if covariates is not None or stopped:
            break
        placed_anew = here._replace(rows=row_scores(counts, here))
        gain = log_likelihood(counts, placed_anew) - log_likelihood(counts, here)
        here = placed_anew if gain >= 0 else here
        if gain <= 1e-6 or n_iter >= max_iter:
            break
    start, here = _times(start, unit), _times(here, unit)
    return Fit(here, log_likelihood(given, here), log_likelihood(given, start), n_iter, settled or stopped)


def _times(response: Response, unit: float) -> Response:
    """The response of counts that are ``unit`` times as large."""
    totals = None if response.row_totals is None else unit * response.row_totals
    return response._replace(heights=response.heights + np.log(unit), row_totals=totals)


class _Climb(NamedTuple):
    response: Response
    n_iter: int
    settled: bool
    stopped: bool


def _climbed(
    counts: np.ndarray,
    start: Response,
    covariates: np.ndarray | None,
    equal_tolerance: bool,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> _Climb:
    """The top that is reached from a start by L-BFGS over heights, rows (or their coefficients), optima, tolerances."""
    free = start.rows if covariates is None else np.linalg.lstsq(covariates, start.rows, rcond=None)[0]
    parts = (start.heights, free, start.optima, start.log_tolerances)
    stops = np.cumsum([part.size for part in parts])[:-1]
    stopped = False

    def unpacked(values: np.ndarray) -> Response:
        heights, rows, optima, tolerances = (
            piece.reshape(part.shape) for piece, part in zip(np.split(values, stops), parts, strict=True)
        )
        places = rows if covariates is None else covariates @ rows
        return Response(heights, places, optima, tolerances, start.row_totals)

    def downhill(values: np.ndarray) -> tuple[float, np.ndarray]:
        response = unpacked(values)
        slopes = gradient(counts, response)
        rows = slopes.rows if covariates is None else covariates.T @ slopes.rows
        tolerances = np.zeros_like(slopes.log_tolerances) if equal_tolerance else slopes.log_tolerances
        packed = np.concatenate([slopes.heights, rows.ravel(), slopes.optima.ravel(), tolerances])
        return -log_likelihood(counts, response), -packed

    def watched(intermediate_result: Any) -> None:
        nonlocal stopped
        stopped = on_step()
        if stopped:
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-15, "gtol": tol * counts.sum(), "maxcor": 20}
    first = np.concatenate([part.ravel() for part in parts])
    run = optimize.minimize(downhill, first, jac=True, method="L-BFGS-B", callback=watched, options=options)
    return _Climb(unpacked(run.x), int(run.nit), run.nit < max_iter, stopped)


def row_scores(counts: np.ndarray, response: Response) -> np.ndarray:
    """The most likely scores of rows with given counts: Newton steps from the best of several places."""
    precision = np.exp(-2 * response.log_tolerances)
    weights = counts * precision
    totals = weights.sum(axis=1)
    filled = totals > 0
    found = np.zeros((len(counts), response.optima.shape[1]))
    averages = (weights[filled] @ response.optima) / totals[filled, None]
    found[filled] = _scored(counts[filled], _best_places(counts[filled], averages, response), response, precision)
    return found


def _best_places(counts: np.ndarray, averages: np.ndarray, response: Response) -> np.ndarray:
    """For each row the best of the average of its optima and some places where training rows are."""
    order = np.argsort(response.rows[:, 0], kind="stable")
    some = order[np.linspace(0, len(order) - 1, min(len(order), _PLACES)).astype(int)]
    best, values = averages.copy(), _row_log_likelihoods(counts, _with_rows(response, averages, counts))
    for place in response.rows[some]:
        everywhere = np.broadcast_to(place, averages.shape)
        there = _row_log_likelihoods(counts, _with_rows(response, everywhere, counts))
        better = there > values
        best[better], values[better] = place, there[better]
    return best


def _scored(counts: np.ndarray, rows: np.ndarray, response: Response, precision: np.ndarray) -> np.ndarray:
    moving = np.arange(len(rows))
    for _ in range(_STEPS):
        if not len(moving):
            break
        here = _with_rows(response, rows[moving], counts[moving])
        means = np.exp(log_means(here))
        away = response.optima - here.rows[:, None, :]
        pulls = (counts[moving] - means) * precision
        slopes = np.einsum("ik,ikq->iq", pulls, away)
        bend = np.einsum("ikq,ikr->iqr", (means * precision**2)[..., None] * away, away)
        bend += pulls.sum(axis=1)[:, None, None] * np.eye(rows.shape[1])
        if here.row_totals is not None:
            pulled = np.einsum("ik,ikq->iq", means * precision, away)
            bend -= pulled[:, :, None] * (pulled / here.row_totals[:, None])[:, None, :]
        # Where the likelihood bends upwards, a step along the slope stands in for Newton's.
        enough = 0.1 * np.sum(counts[moving] * precision, axis=1)
        lacking = np.maximum(enough - np.linalg.eigvalsh(bend)[:, 0], 0)
        steps = np.linalg.solve(bend + lacking[:, None, None] * np.eye(rows.shape[1]), slopes[..., None])[..., 0]
        before = _row_log_likelihoods(counts[moving], here)
        for _ in range(30):
            after = _row_log_likelihoods(counts[moving], here._replace(rows=here.rows + steps))
            worse = after < before - 1e-12 * np.abs(before)
            if not worse.any():
                break
            steps[worse] /= 2
        rows[moving] = here.rows + steps
        moving = moving[np.abs(steps).max(axis=1) > 1e-10]
    return rows


def _with_rows(response: Response, rows: np.ndarray, counts: np.ndarray) -> Response:
    """The response for other rows, with their own totals where totals count."""
    return response._replace(rows=rows, row_totals=None if response.row_totals is None else counts.sum(axis=1))


def _row_log_likelihoods(counts: np.ndarray, response: Response) -> np.ndarray:
    logs = log_means(response)
    return np.sum(counts * logs - np.exp(logs), axis=1)


def _start(
    table: CountTable, counts: np.ndarray, n_axes: int, covariates: np.ndarray | None, row_effects: bool
) -> Response:
    """Scores of correspondence analysis, at the most likely of several scales, with the heights that fit them."""
    M = residuals(table._replace(counts=counts))
    if covariates is not None:
        roots = np.sqrt(table.row_totals)
        basis = np.linalg.qr((covariates - table.row_totals @ covariates / table.total) * roots[:, None])[0]
        M = basis @ (basis.T @ M)
    axes = list(axes_by_svd(M, n_axes))
    rows = np.column_stack([axis.left for axis in axes]) * np.sqrt(table.total / table.row_totals)[:, None]
    optima = np.column_stack([axis.right for axis in axes]) * np.sqrt(table.total / table.column_totals)[:, None]
    strengths = np.array([max(axis.size, 1e-6) for axis in axes])
    if covariates is not None:
        rows = covariates @ np.linalg.lstsq(covariates, rows, rcond=None)[0]
    candidates = [
        _with_heights(table, scale * rows * strengths**power, scale * optima * strengths ** (1 - power), row_effects)
        for scale in _SCALES
        for power in (0.0, 0.5, 1.0)
    ]
    return max(candidates, key=lambda response: log_likelihood(counts, response))


def _with_heights(table: CountTable, rows: np.ndarray, optima: np.ndarray, row_effects: bool) -> Response:
    """Heights that make the expected totals of columns those observed (nearly, with row effects), tolerances of 1."""
    response = Response(np.zeros(len(optima)), rows, optima, np.zeros(len(optima)))
    weights = table.row_totals[:, None] if row_effects else None
    heights = np.log(table.column_totals) - logsumexp(log_means(response), axis=0, b=weights)
    return response._replace(heights=heights, row_totals=table.row_totals if row_effects else None)


def _squared_distances(response: Response) -> np.ndarray:
    away = response.rows[:, None, :] - response.optima
    return np.einsum("ikq,ikq->ik", away, away)
