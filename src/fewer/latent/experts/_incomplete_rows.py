"""Rows with missing entries under mixtures of normal gates with probit experts: integrals, predictions, imputations.

Integrals are over the missing entries, under K normal kernels at once.

For a row x with observed entries o and missing entries m, and a component with precision matrix A,

    log integral exp(s + l'x - x'Ax / 2) dx_m = s + x_o'(l_o - A_oo x_o / 2) + b'A_mm^-1 b / 2 - log |A_mm| / 2 + c,
    b = l_m - A_mo x_o,    E[x_m | x_o] = A_mm^-1 b,    Cov[x_m | x_o] = A_mm^-1,

with c = |m| log(2 pi) / 2. Where fewer entries are observed than missing, the same follows from S = A^-1 and a
factorization of S_oo. So the matrix to factorize is never larger than half of the columns, rows with the same pattern
share it, and one loop factorizes it for all components, whose entries lie side by side in memory. Rows without missing
values need none.

New rows are predicted from their observed entries alone. With weights pi_h, means m_h, precisions A_h and coefficients
w_h,

    P(h | x_o) ~ pi_h N(x_o; m_h, A_h),    P(y = 1 | x_o, h) = Phi(phi_h / sqrt(g_h)),
    phi_h = w_h'[E[x | x_o, h]; 1],        g_h = 1 + w_h'Cov[x | x_o, h] w_h.

Of a row without missing values the posterior is used in full: the density is Student's, and ``[x; 1]'Cov(w_h)[x; 1]``
adds to g_h. With missing values this has no closed form, and posterior means of the parameters are used instead.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from scipy.special import logsumexp, ndtr

from fewer._kernels._arrays import read_only
from fewer.latent._normal_wishart import NormalWishart, log_predictive_densities

_SUMS = {"reassoc", "contract", "nsz"}
_LOG_2PI = math.log(2 * math.pi)
# Numbers of one array (components, rows, columns) that are in memory together.
_ENTRIES = 2_000_000
# Components with a smaller share of the rows of a pattern would change a sum by less than this share of a row.
NEGLIGIBLE = 1e-10


class Block(NamedTuple):
    """Rows that are integrated in the same way, sorted by pattern.

    ``values`` has zeros for missing entries. Pattern k is that of the rows ``starts[k]`` to ``starts[k + 1] - 1``; the
    matrix to factorize has the columns ``members[ends[k]:ends[k + 1]]``, those with ``by`` "missing" or "observed"
    values.
    """

    rows: np.ndarray
    values: np.ndarray
    by: Literal["missing", "observed", "nothing"]
    starts: np.ndarray
    ends: np.ndarray
    members: np.ndarray


class Quadratics(NamedTuple):
    """Precision matrices (K, P, P) of the components, their inverses, and the logarithms of their determinants."""

    matrices: np.ndarray
    inverses: np.ndarray
    log_dets: np.ndarray


class Conditionals(NamedTuple):
    """Log integrals (b, K) of the rows of a block, and what the moments of their missing entries are made of."""

    log_masses: np.ndarray
    residuals: np.ndarray
    solutions: np.ndarray


def blocks_of(X: np.ndarray, n_components: int, *, by_missing: bool = False) -> list[Block]:
    """The rows of a table with NaN in blocks of moderate size, those with equal patterns beside one another.

    With ``by_missing`` the matrix of the missing entries is factorized even where it is the larger one.
    """
    missing = np.isnan(X)
    n_missing = missing.sum(axis=1)
    packed = np.ascontiguousarray(np.packbits(missing, axis=1))  # of a table by columns it is not
    patterns = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    order = np.argsort(patterns, kind="stable")
    kinds: dict[Literal["missing", "observed", "nothing"], np.ndarray] = {
        "nothing": n_missing == 0,
        "missing": (n_missing > 0) & (by_missing | (2 * n_missing <= X.shape[1])),
        "observed": (2 * n_missing > X.shape[1]) & (not by_missing),
    }
    size = max(64, _ENTRIES // max(1, n_components * X.shape[1]))
    found = []
    for by, chosen in kinds.items():
        of_kind = order[chosen[order]]
        for first in range(0, len(of_kind), size):
            rows = of_kind[first : first + size]
            new = np.flatnonzero(patterns[rows][1:] != patterns[rows][:-1]) + 1
            starts = np.concatenate([[0], new, [len(rows)]])
            used = missing[rows[starts[:-1]]] if by == "missing" else ~missing[rows[starts[:-1]]]
            ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
            values = np.where(missing[rows], 0.0, X[rows])
            found.append(Block(rows, values, by, *map(read_only, (starts, ends, np.nonzero(used)[1]))))
    return found


def quadratics_of(matrices: np.ndarray) -> Quadratics:
    """Precision matrices with their inverses."""
    log_dets = 2 * np.log(np.diagonal(np.linalg.cholesky(matrices), axis1=1, axis2=2)).sum(axis=1)
    inverses = np.linalg.inv(matrices)
    return Quadratics(matrices, (inverses + inverses.transpose(0, 2, 1)) / 2, log_dets)


def conditionals(block: Block, quadratics: Quadratics, linear: np.ndarray, constants: np.ndarray) -> Conditionals:
    """Log integrals of the rows of a block, for linear terms (K, b, P) and constants (b, K)."""
    X = block.values
    n_columns = X.shape[1]
    n_members = np.repeat(np.diff(block.ends), np.diff(block.starts))
    if block.by == "observed":
        solutions = linear @ quadratics.inverses
        residuals = X - solutions
        masses = constants + (np.einsum("kbp,kbp->bk", linear, solutions) - quadratics.log_dets) / 2
        masses += ((n_columns - n_members) * (_LOG_2PI / 2))[:, None]
        matrices, sign = quadratics.inverses, -1.0
    else:
        solutions = linear
        residuals = linear - X @ quadratics.matrices
        masses = constants + np.einsum("bp,kbp->bk", X, linear + residuals) / 2
        if block.by == "nothing":
            return Conditionals(masses, residuals, solutions)
        masses += (n_members * (_LOG_2PI / 2))[:, None]
        matrices, sign = quadratics.matrices, 1.0
    side_by_side = np.ascontiguousarray(matrices.transpose(1, 2, 0))
    given = (block.starts, block.ends, block.members, read_only(side_by_side), read_only(residuals))
    _add_log_masses(*given, sign, masses)
    return Conditionals(masses, residuals, solutions)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _add_log_masses(starts, ends, members, matrices, residuals, sign, masses):
    """Add ``sign r_S' M_SS^-1 r_S / 2 - log |M_SS| / 2`` of every row and component."""
    n_columns, n_components = matrices.shape[0], matrices.shape[2]
    factor = np.empty((n_columns, n_columns, n_components))
    inverse_roots = np.empty((n_columns, n_components))
    solved = np.empty((n_columns, n_components))
    sums, log_roots, squares = np.empty(n_components), np.empty(n_components), np.empty(n_components)
    for pattern in range(len(starts) - 1):
        own = members[ends[pattern] : ends[pattern + 1]]
        size = len(own)
        for k in range(n_components):
            log_roots[k] = 0.0
        for i in range(size):
            for j in range(i + 1):
                for k in range(n_components):
                    sums[k] = matrices[own[i], own[j], k]
                for before in range(j):
                    for k in range(n_components):
                        sums[k] -= factor[i, before, k] * factor[j, before, k]
                if i == j:
                    for k in range(n_components):
                        root = math.sqrt(sums[k])
                        inverse_roots[i, k] = 1.0 / root
                        log_roots[k] += math.log(root)
                else:
                    for k in range(n_components):
                        factor[i, j, k] = sums[k] * inverse_roots[j, k]
        for row in range(starts[pattern], starts[pattern + 1]):
            for k in range(n_components):
                squares[k] = 0.0
            for i in range(size):
                for k in range(n_components):
                    sums[k] = residuals[k, row, own[i]]
                for before in range(i):
                    for k in range(n_components):
                        sums[k] -= factor[i, before, k] * solved[before, k]
                for k in range(n_components):
                    value = sums[k] * inverse_roots[i, k]
                    solved[i, k] = value
                    squares[k] += value * value
            for k in range(n_components):
                masses[row, k] += sign * squares[k] / 2 - log_roots[k]


class Moments(NamedTuple):
    """Of the rows of a block: completed rows (K, b, P) and variances of projections of missing entries (K, C, b).

    They are computed for components with a share of the row that is not negligible.
    """

    completed: np.ndarray
    variances: np.ndarray


def moments(
    block: Block,
    quadratics: Quadratics,
    known: Conditionals,
    shares: np.ndarray,
    covariances: np.ndarray | None = None,
    directions: np.ndarray | None = None,
) -> Moments:
    """Rows completed by conditional means; adds their conditional covariances, by shares (b, K), to those given.

    ``directions`` (K, C, P) asks for the variances of the projections on them that come from missing entries.
    """
    n_components, (n_rows, n_columns) = len(quadratics.matrices), block.values.shape
    directions = np.zeros((n_components, 0, n_columns)) if directions is None else directions
    variances = np.zeros((n_components, directions.shape[1], n_rows))
    if block.by == "nothing":
        return Moments(np.broadcast_to(block.values, (n_components, n_rows, n_columns)), variances)
    by_observed = block.by == "observed"
    completed = np.repeat(block.values[None], n_components, axis=0)
    sums = np.zeros((n_components, n_columns, n_columns)) if covariances is None else covariances
    _moments(
        block.starts, block.ends, block.members, by_observed,
        read_only(quadratics.inverses if by_observed else quadratics.matrices),
        read_only(known.residuals), read_only(known.solutions), read_only(shares), read_only(directions),
        completed, sums, variances,
    )  # fmt: skip
    return Moments(completed, variances)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _moments(
    starts, ends, members, by_observed, matrices, residuals, solutions, shares, directions,
    completed, covariances, variances,
):  # fmt: skip
    n_components, n_columns = matrices.shape[0], matrices.shape[1]
    n_directions = directions.shape[1]
    inverse = np.empty((n_columns, n_columns))
    spread = np.empty((n_columns, n_columns))
    is_member = np.zeros(n_columns, dtype=np.bool_)
    others = np.empty(n_columns, dtype=np.int64)
    for pattern in range(len(starts) - 1):
        own = members[ends[pattern] : ends[pattern + 1]]
        size = len(own)
        is_member[:] = False
        for i in range(size):
            is_member[own[i]] = True
        n_others = 0
        for column in range(n_columns):
            if not is_member[column]:
                others[n_others] = column
                n_others += 1
        missing = others[:n_others] if by_observed else own
        n_missing = len(missing)
        for k in range(n_components):
            share = 0.0
            for row in range(starts[pattern], starts[pattern + 1]):
                share += shares[row, k]
            if share <= NEGLIGIBLE:
                continue
            matrix = matrices[k]
            _inverse_of(matrix, own, inverse)
            if by_observed:
                _schur_complement(matrix, own, missing, inverse, spread)
            covariance = spread if by_observed else inverse
            for i in range(n_missing):
                for j in range(n_missing):
                    covariances[k, missing[i], missing[j]] += share * covariance[i, j]
            for c in range(n_directions):
                total = 0.0
                for i in range(n_missing):
                    part = 0.0
                    for j in range(n_missing):
                        part += covariance[i, j] * directions[k, c, missing[j]]
                    total += part * directions[k, c, missing[i]]
                for row in range(starts[pattern], starts[pattern + 1]):
                    variances[k, c, row] = total
            for row in range(starts[pattern], starts[pattern + 1]):
                if by_observed:
                    for i in range(n_missing):
                        completed[k, row, missing[i]] = solutions[k, row, missing[i]]
                for i in range(size):
                    value = 0.0
                    for j in range(size):
                        value += inverse[i, j] * residuals[k, row, own[j]]
                    if by_observed:
                        for j in range(n_missing):
                            completed[k, row, missing[j]] += matrix[own[i], missing[j]] * value
                    else:
                        completed[k, row, own[i]] = value


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _inverse_of(matrix, own, inverse):
    """Inverse of the block of a positive definite matrix with these columns, by its Cholesky factor."""
    size = len(own)
    # The factor goes below the diagonal, its inverse replaces it column by column, and the product is symmetric.
    for i in range(size):
        for j in range(i + 1):
            value = matrix[own[i], own[j]]
            for before in range(j):
                value -= inverse[i, before] * inverse[j, before]
            inverse[i, j] = math.sqrt(value) if i == j else value / inverse[j, j]
    for j in range(size):
        inverse[j, j] = 1.0 / inverse[j, j]
        for i in range(j + 1, size):
            value = inverse[i, j] * inverse[j, j]
            for between in range(j + 1, i):
                value += inverse[i, between] * inverse[between, j]
            inverse[i, j] = -value / inverse[i, i]
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for after in range(i, size):
                value += inverse[after, i] * inverse[after, j]
            inverse[j, i] = value
    for i in range(size):
        for j in range(i):
            inverse[i, j] = inverse[j, i]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _schur_complement(matrix, own, others, inverse, complement):
    """``M_bb - M_ba M_aa^-1 M_ab`` for the inverse of ``M_aa``."""
    size = len(own)
    product = np.empty(size)
    for i in range(len(others)):
        for a in range(size):
            value = 0.0
            for b in range(size):
                value += inverse[a, b] * matrix[own[b], others[i]]
            product[a] = value
        for j in range(i + 1):
            value = matrix[others[i], others[j]]
            for a in range(size):
                value -= product[a] * matrix[own[a], others[j]]
            complement[i, j] = value
            complement[j, i] = value


def draw_missing(block: Block, quadratics: Quadratics, known: Conditionals, chosen: np.ndarray, noise: np.ndarray):
    """Rows (b, P) with missing entries drawn from the chosen component of each, for standard normal noise (b, P)."""
    drawn = block.values.copy()
    if block.by == "nothing":
        return drawn
    given = (read_only(quadratics.matrices), read_only(known.residuals), read_only(chosen), read_only(noise))
    _draw_missing(block.starts, block.ends, block.members, *given, drawn)
    return drawn


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _draw_missing(starts, ends, members, matrices, residuals, chosen, noise, drawn):
    """``A_mm^-1 r_m + L^-T e`` where ``A_mm = L L'``, which is ``L^-T (L^-1 r_m + e)``."""
    n_columns = matrices.shape[1]
    factor = np.empty((n_columns, n_columns))
    solved = np.empty(n_columns)
    for pattern in range(len(starts) - 1):
        own = members[ends[pattern] : ends[pattern + 1]]
        size = len(own)
        for row in range(starts[pattern], starts[pattern + 1]):
            matrix = matrices[chosen[row]]
            for i in range(size):
                for j in range(i + 1):
                    value = matrix[own[i], own[j]]
                    for before in range(j):
                        value -= factor[i, before] * factor[j, before]
                    factor[i, j] = math.sqrt(value) if i == j else value / factor[j, j]
                value = residuals[chosen[row], row, own[i]]
                for before in range(i):
                    value -= factor[i, before] * solved[before]
                solved[i] = value / factor[i, i]
            for i in range(size - 1, -1, -1):
                value = solved[i] + noise[row, i]
                for after in range(i + 1, size):
                    value -= factor[after, i] * drawn[row, own[after]]
                drawn[row, own[i]] = value / factor[i, i]


class Mixture(NamedTuple):
    """Weights (H,), means (H, P), precisions (H, P, P), and coefficients (H, C, P + 1) with the intercept last.

    ``gates`` and ``covariances`` (H, C, P + 1, P + 1) are the posterior, where it is known.
    """

    weights: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    coef: np.ndarray
    gates: NormalWishart | None = None
    covariances: np.ndarray | None = None


class Prediction(NamedTuple):
    """Of rows: log densities (n,), responsibilities (n, H) and probabilities of the outputs (n, C)."""

    log_densities: np.ndarray
    responsibilities: np.ndarray
    probabilities: np.ndarray


def predicted(X: np.ndarray, mixture: Mixture) -> Prediction:
    """What the mixture says about rows with NaN for missing entries."""
    n_components, n_outputs, _ = mixture.coef.shape
    densities = np.empty(len(X))
    shares = np.empty((len(X), n_components))
    probabilities = np.empty((len(X), n_outputs))
    quadratics = quadratics_of(mixture.precisions)
    for block in blocks_of(X, n_components):
        found = _in_block(block, mixture, quadratics)
        densities[block.rows], shares[block.rows], probabilities[block.rows] = found
    return Prediction(densities, shares, probabilities)


def _in_block(block: Block, mixture: Mixture, quadratics: Quadratics) -> Prediction:
    slopes, intercepts = mixture.coef[:, :, :-1], mixture.coef[:, :, -1]
    if block.by == "nothing" and mixture.gates is not None:
        masses = log_predictive_densities(block.values, mixture.gates)
        with np.errstate(divide="ignore"):
            masses += np.log(mixture.weights)
        locations = np.einsum("bp,hcp->bhc", block.values, slopes, optimize=True) + intercepts
        variances = _coefficient_variances(block.values, mixture)
    else:
        found = _gated(block, mixture, quadratics)
        masses = found.log_masses
        shares = _normalised(masses)[1]
        completed, variances = moments(block, quadratics, found, shares, directions=slopes)
        locations = np.einsum("hbp,hcp->bhc", completed, slopes, optimize=True) + intercepts
        variances = variances.transpose(2, 0, 1)
    totals, shares = _normalised(masses)
    probabilities = np.einsum("bh,bhc->bc", shares, ndtr(locations / np.sqrt(1 + variances)))
    return Prediction(totals, shares, probabilities)


def _gated(block: Block, mixture: Mixture, quadratics: Quadratics):
    """Log densities of the observed entries under each component, with its weight."""
    pulled = np.einsum("hpq,hq->hp", mixture.precisions, mixture.means)
    constants = quadratics.log_dets - mixture.means.shape[1] * np.log(2 * np.pi)
    constants = (constants - np.einsum("hp,hp->h", pulled, mixture.means)) / 2
    with np.errstate(divide="ignore"):
        constants += np.log(mixture.weights)
    linear = np.repeat(pulled[:, None, :], len(block.values), axis=1)
    return conditionals(block, quadratics, linear, np.broadcast_to(constants, (len(block.values), len(constants))))


def _normalised(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    totals = logsumexp(masses, axis=1)
    return totals, np.exp(masses - totals[:, None])


def _coefficient_variances(X: np.ndarray, mixture: Mixture) -> np.ndarray:
    """``[x; 1]'Cov(w_h)[x; 1]`` for every row, component and output."""
    n_components, n_outputs, _ = mixture.coef.shape
    if mixture.covariances is None:
        return np.zeros((len(X), n_components, n_outputs))
    extended = np.column_stack([X, np.ones(len(X))])
    products = extended @ mixture.covariances
    return np.einsum("hcbq,bq->bhc", products, extended, optimize=True)


class Imputation(NamedTuple):
    """Rows completed by posterior means (n, P), and covariances of their missing entries (n, P, P) or (0, P, P)."""

    completed: np.ndarray
    covariances: np.ndarray


def imputed(X: np.ndarray, mixture: Mixture, with_covariances: bool = False) -> Imputation:
    """Posterior means of the missing entries, and covariances if wanted, given the observed entries and no label."""
    quadratics = quadratics_of(mixture.precisions)
    completed = np.array(X, dtype=np.float64)
    n_columns = X.shape[1]
    covariances = np.zeros((len(X) if with_covariances else 0, n_columns, n_columns))
    for block in blocks_of(X, len(mixture.weights)):
        found = _gated(block, mixture, quadratics)
        shares = _normalised(found.log_masses)[1]
        means = moments(block, quadratics, found, shares).completed
        completed[block.rows] = np.einsum("bh,hbp->bp", shares, means)
        for place, row in enumerate(block.rows if with_covariances else ()):
            missing = np.flatnonzero(np.isnan(X[row]))
            deviations = means[:, place, missing] - completed[row, missing]
            within = np.linalg.inv(mixture.precisions[:, missing[:, None], missing])
            total = np.einsum("h,hpq->pq", shares[place], within)
            total += (deviations * shares[place, :, None]).T @ deviations
            covariances[row][np.ix_(missing, missing)] = total
    observed = ~np.isnan(X)
    completed[observed] = X[observed]
    return Imputation(completed, covariances)
