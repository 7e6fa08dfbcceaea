"""Factor analysis: a few common factors behind the columns, and noise of each column's own.

    x = mu + W z + e,        z ~ N(0, I_q),        e ~ N(0, Psi), diagonal.

Given Psi, the best W is known. With eigenvalues t_1 >= ... >= t_p and eigenvectors u of Psi^-1/2 S Psi^-1/2, it is
``Psi^1/2 U (T - I)^1/2`` of those of the first q that exceed 1, and twice the negative log-likelihood of a row, as a
function of v = log Psi alone, is

    F(v) = p log 2 pi + sum_i v_i + sum_{k <= q} (log t_k + 1) + sum_{m > q} t_m.

F has a simple gradient and Hessian (Jöreskog 1967, Clarke 1970), so a few Newton steps on the p noise variances replace
thousands of EM steps. They need the covariance S only, or, in wide tables, products with the rows.

Missing values: S becomes what the model expects of the complete rows, given the observed entries (EM with respect to
the missing entries alone); then comes a Newton step. The log-likelihood is that of the observed entries.

References
----------
Jöreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis. Psychometrika 32, 443-482.
Clarke, M. R. B. (1970). A rapidly convergent method for maximum-likelihood factor analysis. British Journal of
Mathematical and Statistical Psychology 23, 43-52.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewer._kernels._numpy_lapack import solve_spd
from fewer._kernels._scipy_solvers import eigsh, minimize
from fewer.latent._latent_model import Climb, OnStep, climb

_NEWTON_COLUMNS = 100
"""Beyond this many columns, a gradient method with a few eigenvectors takes less time than Newton's with all."""
_GRAM_ROWS = 300
"""Up to so many rows, all eigenvalues of their products take less time than a few by iteration."""
_FINER = 0.01
"""A step of the gradient method gains less than one of Newton's, so it ends by a smaller tolerance."""
_LARGEST_MOVE = 3.0
_SMALLEST_STEP = 1e-8
_ROUNDING = 1e-13
_ENTRIES_AT_ONCE = 1 << 22
_LOG_2PI = float(np.log(2 * np.pi))


class Factors(NamedTuple):
    """Means (p,), loadings W (p, q) and noise variances (p,)."""

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray


class Rows(NamedTuple):
    """Rows with 0 for missing entries, their weights, and which entries each pattern observes (None: all of them)."""

    X: np.ndarray
    weights: np.ndarray
    observed: np.ndarray | None
    pattern: np.ndarray

    @property
    def total(self) -> float:
        return float(self.weights.sum())


def rows_of(X: np.ndarray, weights: np.ndarray) -> Rows:
    """Rows grouped by what is missing in them.

    >>> rows_of(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]]), np.ones(3)).pattern
    array([1, 0, 1])
    """
    missing = np.isnan(X)
    if not missing.any():
        return Rows(X, weights, None, np.zeros(len(X), dtype=np.int64))
    _, first, pattern = np.unique(np.packbits(missing, axis=1), axis=0, return_index=True, return_inverse=True)
    return Rows(np.where(missing, 0.0, X), weights, ~missing[first], pattern.ravel())


def observed_units(X: np.ndarray, weights: np.ndarray, name_of: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of what is observed of each column; 0 for constant columns."""
    missing = np.isnan(X)
    if not missing.any():
        # Of large numbers, the weighted mean of differences is more exact than that of the numbers.
        offset = X[0] + weights @ (X - X[0]) / weights.sum()
        centred = X - offset
        totals: Any = weights.sum()
    else:
        totals = weights @ ~missing
        if (totals == 0).any():
            name = name_of(int(np.flatnonzero(totals == 0)[0]))
            raise ValueError(f"Column {name} has no observed value: leave it out.")
        first = np.nanmin(X, axis=0)
        offset = first + weights @ np.where(missing, 0.0, X - first) / totals
        centred = np.where(missing, 0.0, X - offset)
    largest = np.maximum(centred.max(axis=0), -centred.min(axis=0))
    centred /= np.where(largest > 0, largest, 1.0)
    centred *= centred
    unit = largest * np.sqrt(weights @ centred / totals)
    return offset, np.where(unit > 1e-12 * np.abs(offset), unit, 0.0)


class Posterior(NamedTuple):
    """Of each row E[z] and its log-likelihood; of each pattern the covariance of z, and the weight of its rows."""

    means: np.ndarray
    log_likelihoods: np.ndarray
    covariances: np.ndarray


def posterior(rows: Rows, model: Factors) -> Posterior:
    """What the observed entries of each row say about its factors."""
    (p, q), W = model.loadings.shape, model.loadings
    scaled = W / model.noise[:, None]
    observed = np.ones((1, p)) if rows.observed is None else rows.observed.astype(np.float64)
    products = (scaled[:, :, None] * W[:, None, :]).reshape(p, q * q)
    precisions = np.eye(q) + (observed @ products).reshape(-1, q, q)
    covariances = np.linalg.inv(precisions)
    centred = rows.X - model.mean
    if rows.observed is not None:
        centred *= observed[rows.pattern]
    projected = centred @ scaled
    means = np.einsum("nij,nj->ni", covariances[rows.pattern], projected)
    squares = centred**2 @ (1 / model.noise) - np.einsum("ni,ni->n", projected, means)
    constants = observed @ (np.log(model.noise) + _LOG_2PI) + np.linalg.slogdet(precisions)[1]
    return Posterior(means, -(constants[rows.pattern] + squares) / 2, covariances)


def expected_moments(rows: Rows, model: Factors, found: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the complete rows, as the model expects them given the observed entries."""
    share = rows.weights / rows.total
    if rows.observed is None:
        return weighted_moments(rows.X, share)
    W, missing = model.loadings, ~rows.observed
    complete = np.where(missing[rows.pattern], model.mean + found.means @ W.T, rows.X)
    mean, covariance = weighted_moments(complete, share)
    masses = np.bincount(rows.pattern, weights=share, minlength=len(missing))
    covariance[np.diag_indices_from(covariance)] += (masses @ missing) * model.noise
    roots = np.linalg.cholesky(found.covariances) * np.sqrt(masses)[:, None, None]
    at_once = max(1, _ENTRIES_AT_ONCE // W.size)
    for start in range(0, len(missing), at_once):  # sum over patterns of M W V W' M, by one product
        part = slice(start, start + at_once)
        pieces = np.swapaxes(missing[part, :, None] * (W @ roots[part]), 1, 2).reshape(-1, len(W))
        covariance += pieces.T @ pieces
    return mean, covariance


def weighted_moments(X: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of rows whose shares sum to 1."""
    mean = share @ X
    centred = (X - mean) * np.sqrt(share)[:, None]
    return mean, centred.T @ centred


class Profile(NamedTuple):
    """F at some noise variances, its gradient in their logarithms, and the eigenvalues and vectors behind it.

    ``n_used`` is the number of factors with an eigenvalue above 1, which are the only ones that the likelihood gains
    from.
    """

    log_noise: np.ndarray
    value: float
    gradient: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    n_used: int


def profile(S: np.ndarray, log_noise: np.ndarray, n_factors: int) -> Profile:
    """F by all eigenvalues, the largest first."""
    scale = np.exp(-log_noise / 2)
    values, vectors = np.linalg.eigh(S * np.outer(scale, scale))
    return _profile(values[::-1], vectors[:, ::-1], np.diag(S) * scale**2, log_noise, n_factors)


def leading_profile(product: "Product", log_noise: np.ndarray, n_factors: int, start: np.ndarray) -> Profile:
    """F by the eigenvalues of the factors alone; ``start`` is where the search for eigenvectors begins."""
    scale = np.exp(-log_noise / 2)
    values, vectors = product.leading(scale, n_factors, start)
    return _profile(values, vectors, product.diagonal * scale**2, log_noise, n_factors)


def _profile(
    values: np.ndarray, vectors: np.ndarray, diagonal: np.ndarray, log_noise: np.ndarray, n_factors: int
) -> Profile:
    n_used = int(np.count_nonzero(values[:n_factors] > 1))
    top, U = values[:n_used], vectors[:, :n_used]
    value = len(log_noise) * _LOG_2PI + log_noise.sum() + np.sum(np.log(top) + 1 - top) + diagonal.sum()
    gradient = 1 + U**2 @ (top - 1) - diagonal
    return Profile(log_noise, float(value), gradient, values, vectors, n_used)


class Product(NamedTuple):
    """A covariance S, as itself or as rows whose products give it; its diagonal; and the mean of the rows."""

    S: np.ndarray | None
    rows: np.ndarray | None
    diagonal: np.ndarray
    mean: np.ndarray

    def leading(self, scale: np.ndarray, k: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The k largest eigenvalues of S, rows and columns times ``scale``, and their vectors."""
        n_columns = len(scale)
        if self.rows is not None and len(self.rows) <= _GRAM_ROWS:
            scaled = self.rows * scale
            values, left = np.linalg.eigh(scaled @ scaled.T)
            values, left = values[::-1][:k], left[:, ::-1][:, :k]
            kept = values > 1e-12 * max(values[0], 1e-300)
            return values[kept], (scaled.T @ left[:, kept]) / np.sqrt(values[kept])
        if self.S is not None:
            matrix = self.S * np.outer(scale, scale)
            operator = LinearOperator(matrix.shape, matvec=lambda v: matrix @ v, dtype=np.float64)
        else:
            assert self.rows is not None
            scaled = self.rows * scale
            operator = LinearOperator(
                (n_columns, n_columns), matvec=lambda v: scaled.T @ (scaled @ v), dtype=np.float64
            )
        values, vectors = eigsh(operator, k=min(k, n_columns - 1), v0=start)
        order = np.argsort(values)[::-1]
        return values[order], vectors[:, order]


def profile_hessian(found: Profile) -> np.ndarray:
    """Second derivatives of F in the logarithms of the noise variances."""
    k, t, U = found.n_used, found.values, found.vectors
    rest, low = U[:, k:], t[k:]
    hessian = (rest @ rest.T) * ((rest * low) @ rest.T)
    for a in range(k):
        factors = (1 - low) * (t[a] + low) / np.maximum(t[a] - low, 1e-12)
        hessian += np.outer(U[:, a], U[:, a]) * ((rest * factors) @ rest.T)
    return hessian


def best_loadings(found: Profile, n_factors: int) -> np.ndarray:
    """The loadings that maximise the likelihood, given the noise variances; columns of 0 where nothing is left."""
    loadings = np.zeros((len(found.log_noise), n_factors))
    k = found.n_used
    loadings[:, :k] = np.exp(found.log_noise / 2)[:, None] * found.vectors[:, :k] * np.sqrt(found.values[:k] - 1)
    return loadings


def newton_step(S: np.ndarray, found: Profile, n_factors: int, floor: float) -> Profile:
    """The next noise variances, between ``floor`` (a logarithm) and the variances of the columns; F never grows."""
    return shared_newton_step([S], [found], np.ones(1), n_factors, floor)[0]


def shared_newton_step(
    covariances: Sequence[np.ndarray], found: Sequence[Profile], shares: np.ndarray, n_factors: int, floor: float
) -> list[Profile]:
    """The next noise variances of groups of rows that share them: their mean F, weighted by ``shares``, never grows."""
    now = found[0].log_noise
    value = sum(share * each.value for share, each in zip(shares, found, strict=True))
    gradient = sum(share * each.gradient for share, each in zip(shares, found, strict=True))
    variances = sum(share * np.diag(S) for share, S in zip(shares, covariances, strict=True))
    highest = np.log(np.maximum(variances, np.exp(floor)))
    free = ~((now <= floor) & (gradient > 0) | (now >= highest) & (gradient < 0))
    if not free.any():
        return list(found)
    inside = np.ix_(free, free)
    hessian = sum(share * profile_hessian(each) for share, each in zip(shares, found, strict=True))
    move = _solved(hessian[inside], gradient[free])
    if move is None or move @ gradient[free] <= 0:  # far from the minimum, a part of the Hessian that is never negative
        rests = [each.vectors[:, each.n_used :] for each in found]
        safe = sum(share * (rest @ rest.T) ** 2 for share, rest in zip(shares, rests, strict=True))
        move = _solved(safe[inside] + 1e-8 * np.eye(len(inside[0])), gradient[free])
        move = gradient[free] if move is None else move
    step = min(1.0, _LARGEST_MOVE / max(float(np.abs(move).max()), 1e-300))
    while step > _SMALLEST_STEP:
        moved = now.copy()
        moved[free] -= step * move
        moved = np.clip(moved, floor, highest)
        after = [profile(S, moved, n_factors) for S in covariances]
        reached = sum(share * each.value for share, each in zip(shares, after, strict=True))
        if reached <= value - 1e-4 * float(gradient @ (now - moved)):
            return after
        if abs(reached - value) <= _ROUNDING * abs(value):  # F is flat here, and its gradient decides
            slope = sum(share * each.gradient for share, each in zip(shares, after, strict=True))
            return after if np.abs(slope[free]).max() < np.abs(gradient[free]).max() else list(found)
        step /= 4
    return list(found)


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    try:
        return solve_spd(matrix, right)
    except np.linalg.LinAlgError:
        return None


def gradient_steps(
    product: Product,
    log_noise: np.ndarray,
    n_factors: int,
    lowest: float,
    *,
    max_iter: int,
    tol: float,
    on_step: Callable[[float], bool] = lambda value: False,
) -> tuple[Profile, bool]:
    """Minimise F by a quasi-Newton method; ``on_step`` gets F after each step. Also whether ``tol`` was reached."""
    start = np.cos(np.arange(len(log_noise)))
    last: list[Profile] = []

    def value_and_gradient(moved: np.ndarray) -> tuple[float, np.ndarray]:
        last[:] = [leading_profile(product, moved.copy(), n_factors, start)]
        return last[0].value, last[0].gradient

    def callback(intermediate_result: Any) -> None:
        if on_step(float(intermediate_result.fun)):
            raise StopIteration

    highest = np.log(product.diagonal)
    bounds = np.column_stack([np.minimum(lowest, highest), highest])
    options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-10, "maxcor": 20}
    found = minimize(
        value_and_gradient, log_noise, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=options
    )
    value_and_gradient(found.x)
    return last[0], bool(found.success)


def starting_noise(S: np.ndarray, n_factors: int) -> np.ndarray:
    """What the other columns leave of each column's variance, as Jöreskog has it; half of it where that is nothing."""
    p = len(S)
    variances = np.maximum(np.diag(S), 1e-12)
    values, vectors = np.linalg.eigh(S / np.sqrt(np.outer(variances, variances)))
    if values[0] > 1e-8:
        left = (1 - n_factors / (2 * p)) / (vectors**2 @ (1 / values))
    else:
        left = np.full(p, 0.5)
    return np.clip(left, 0.05, 0.95) * variances


def product_of(rows: Rows) -> Product:
    """The covariance of complete rows; where there are fewer rows than columns, and many of these, the rows."""
    share = rows.weights / rows.total
    mean = share @ rows.X
    if _NEWTON_COLUMNS < rows.X.shape[1] > len(rows.X):
        centred = (rows.X - mean) * np.sqrt(share)[:, None]
        return Product(None, centred, np.einsum("ij,ij->j", centred, centred), mean)
    # The columns were centred before, so that the mean is small, and nothing cancels.
    alike = bool(np.ptp(rows.weights) == 0)
    weighted = rows.X if alike else rows.X * np.sqrt(share)[:, None]
    S = weighted.T @ weighted
    S = (S * share[0] if alike else S) - np.outer(mean, mean)
    return Product(S, None, np.diag(S), mean)


def fitted_factors(
    rows: Rows,
    product: Product | None,
    n_factors: int,
    start: np.ndarray | None,
    floor: float,
    *,
    max_iter: int,
    tol: float,
    on_step: OnStep,
) -> Climb:
    """Climb the log-likelihood of columns with variance 1 from noise variances; the state is a ``Factors``.

    ``product`` is that of the rows, which several starts share; None where entries are missing.
    """
    lowest, half = float(np.log(floor)), -rows.total / 2
    if product is None:
        return _fitted_with_missing(rows, n_factors, start, lowest, max_iter=max_iter, tol=tol, on_step=on_step)

    def factors(state: Profile) -> Factors:
        return Factors(product.mean, best_loadings(state, n_factors), np.exp(state.log_noise))

    if product.S is not None and (len(product.S) <= _NEWTON_COLUMNS or n_factors > len(product.S) // 4):
        S = product.S

        def step(state: Profile) -> tuple[Profile, float]:
            return newton_step(S, state, n_factors, lowest), half * state.value

        state = profile(S, np.log(starting_noise(S, n_factors) if start is None else start), n_factors)
        found = climb(state, step, max_iter=max_iter, tol=tol, on_step=on_step)
        return found._replace(state=factors(found.state))
    path: list[float] = []
    stopped: list[bool] = []

    def after(value: float) -> bool:
        path.append(half * value)
        stopped.append(on_step())
        return stopped[-1]

    noise = np.full(len(product.diagonal), 0.5) if start is None else start
    state, converged = gradient_steps(
        product, np.log(noise), n_factors, lowest, max_iter=max_iter, tol=_FINER * tol, on_step=after
    )
    return Climb(factors(state), np.array([*path, half * state.value]), converged, any(stopped))


def _fitted_with_missing(
    rows: Rows, n_factors: int, start: np.ndarray | None, lowest: float, *, max_iter: int, tol: float, on_step: OnStep
) -> Climb:
    n_columns = rows.X.shape[1]
    by_newton = n_columns <= _NEWTON_COLUMNS

    def maximised(mean: np.ndarray, S: np.ndarray, log_noise: np.ndarray) -> Factors:
        if by_newton:
            found = newton_step(S, profile(S, log_noise, n_factors), n_factors, lowest)
        else:
            product = Product(S, None, np.diag(S), mean)
            found, _ = gradient_steps(product, log_noise, n_factors, lowest, max_iter=5, tol=0)
        return Factors(mean, best_loadings(found, n_factors), np.exp(found.log_noise))

    def step(model: Factors) -> tuple[Factors, float]:
        found = posterior(rows, model)
        mean, S = expected_moments(rows, model, found)
        return maximised(mean, S, np.log(model.noise)), float(rows.weights @ found.log_likelihoods)

    nothing = Factors(np.zeros(n_columns), np.zeros((n_columns, n_factors)), np.ones(n_columns))
    mean, S = expected_moments(rows, nothing, posterior(rows, nothing))
    noise = starting_noise(S, n_factors) if start is None else start
    return climb(maximised(mean, S, np.log(noise)), step, max_iter=max_iter, tol=tol, on_step=on_step)
