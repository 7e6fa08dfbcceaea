"""Non-linear factor analysis by variational Bayes: the free energy, and how it is lowered.

    x = B tanh(A s + a) + b + noise,    s ~ N(0, I),    noise_i ~ N(0, e^{2 v_i}),
    A_jl ~ N(0, 1),    B_ij ~ N(0, e^{2 v_Bj}),    a_j ~ N(m_a, e^{2 v_a}),    b_i ~ N(m_b, e^{2 v_b}).

The log standard deviations v_i and v_Bj have normal priors with unknown means and log standard deviations of their own;
these, and those of a and b, have priors N(0, 100^2). Every unknown has an independent normal distribution under q. One
with mean g and variance var g, under a prior with mean m and log standard deviation v, costs

    ln(2 pi) / 2 + v + [(g - m)^2 + var g + var m] e^{2 var v - 2 v} / 2 - ln(2 pi e var g) / 2.

Before each step of the conjugate gradients, which move the means of s, A, a, B and b together, the hyper-parameters get
their best values, and variances follow the fixed point ``1 / var = 2 dC/dvar`` (C is the cost without entropies) as far
as F falls.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import wrightomega

from fewer.latent.variational._factor_network import Outputs, Weights, output_gradients, outputs
from fewer.latent.variational._riemannian_cg import DiagonalMetric, riemannian_cg

_LOG_2PI = float(np.log(2 * np.pi))
_BROAD = 100.0**-2
_NEWTON_STEPS = 12
_SMALLEST_NOISE = 0.5 * np.log(1e-8)
_MAX_DAMPINGS = 6
_MAX_ROW_STEPS = 50
_MAX_HALVINGS = 8
_N_TRIES = 20
_START_RIDGE = 1e-3


class Normal(NamedTuple):
    """Mean and variance of independent normal variables."""

    mean: np.ndarray
    var: np.ndarray

    @property
    def squares(self) -> np.ndarray:
        return self.mean**2 + self.var

    @property
    def inverse_variance(self) -> np.ndarray:
        """Expected inverse of a variance whose log standard deviation this is."""
        return np.exp(2 * self.var - 2 * self.mean)


class Hyper(NamedTuple):
    """A mean and a log standard deviation that several variables share."""

    mean: Normal
    log_sd: Normal

    @property
    def precision(self) -> float:
        return float(self.log_sd.inverse_variance)


class Hierarchy(NamedTuple):
    """Noise of columns, reach of hidden units, and what the priors of these and of the offsets have in common."""

    noise: Normal
    reach: Normal
    of_noise: Hyper
    of_reach: Hyper
    of_a: Hyper
    of_b: Hyper


class Factors(NamedTuple):
    """All that q knows: of rows, of the weights (means, variances), and of the hierarchy."""

    s: Normal
    means: Weights
    variances: Weights
    hierarchy: Hierarchy


def divergence_from_normal(given: Normal, prior_mean: Normal | float, log_sd: Normal | float) -> np.ndarray:
    """What variables cost under a normal prior, less their entropy."""
    mean, mean_var = (prior_mean.mean, prior_mean.var) if isinstance(prior_mean, Normal) else (prior_mean, 0.0)
    v, precision = (
        (log_sd.mean, log_sd.inverse_variance) if isinstance(log_sd, Normal) else (log_sd, np.exp(-2 * log_sd))
    )
    return v + ((given.mean - mean) ** 2 + given.var + mean_var) * precision / 2 - (1 + np.log(given.var)) / 2


def best_mean(children: Normal, precision: float) -> Normal:
    """The common mean of variables with a known inverse variance."""
    total = np.size(children.mean) * precision + _BROAD
    return Normal(np.array(precision * np.sum(children.mean) / total), np.array(1 / total))


def best_log_sd(n: float, squares: np.ndarray, prior_mean: float, prior_precision: float) -> Normal:
    """Log standard deviation of n variables from the sum of their expected squared distances from their mean.

    Minimises ``n v + squares e^{2 var v - 2 v} / 2 + prior_precision ((v - prior_mean)^2 + var v) / 2`` less its
    entropy, ``ln(var v) / 2``.

    >>> found = best_log_sd(1000.0, np.array([4000.0]), 0.0, 1e-4)
    >>> np.exp(found.mean).round(2), found.var.round(5)
    (array([2.]), array([0.0005]))
    """
    # With E = n + prior_precision (v - prior_mean), var v = 1 / (2 E + prior_precision), and u = ln E solves
    # u + 2 e^u / prior_precision - 2 var v = c, which increases in u.
    c = np.log(np.maximum(squares, 1e-300)) - 2 * prior_mean + 2 * n / prior_precision

    def without_variance(shift: np.ndarray | float) -> np.ndarray:
        return np.log(np.real(wrightomega(c + shift + np.log(2 / prior_precision))) * prior_precision / 2)

    low = without_variance(0.0)
    high = without_variance(2 / (2 * np.exp(low) + prior_precision))
    u = low
    for _ in range(_NEWTON_STEPS):
        rise = np.exp(u)
        var = 1 / (2 * rise + prior_precision)
        excess = u + 2 * rise / prior_precision - 2 * var - c
        low, high = np.where(excess <= 0, u, low), np.where(excess >= 0, u, high)
        newton = u - excess / (1 + 2 * rise / prior_precision + 4 * rise * var**2)
        u = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
    var = 1 / (2 * np.exp(u) + prior_precision)
    return Normal(var + (np.log(np.maximum(squares, 1e-300)) - u) / 2, var)


class FactorRows:
    """Rows (columns of variance 1) with weights, and the free energy of a network for them."""

    def __init__(self, X: np.ndarray, weights: np.ndarray):
        self.X = X
        self.weights = weights

    def free_energy(self, q: Factors) -> float:
        """F: an upper bound on ``-ln p(X)``, as far as the moments of the network are exact."""
        known = outputs(q.s.mean, q.s.var, q.means, q.variances, q.hierarchy.noise.inverse_variance)
        return self._value(q, known)

    def _value(self, q: Factors, known: Outputs) -> float:
        of_rows = self.weights @ (row_cost(self.X, known, q.hierarchy.noise) + row_divergence(q.s))
        return float(of_rows) + divergence_of_weights(q) + divergence_of_hierarchy(q.hierarchy)

    def gradients(self, q: Factors) -> tuple[Factors, float]:
        """Of F without the entropies, for means and variances of s and the weights; and F."""
        precision = q.hierarchy.noise.inverse_variance
        known = outputs(q.s.mean, q.s.var, q.means, q.variances, precision, slopes=True)
        value = self._value(q, known)
        found = output_gradients(self.X, q.s.mean, q.s.var, q.means, q.variances, precision, self.weights, known)
        h = q.hierarchy
        reach, of_a, of_b = h.reach.inverse_variance, h.of_a.precision, h.of_b.precision
        means = Weights(
            found.means.A + q.means.A,
            found.means.a + of_a * (q.means.a - h.of_a.mean.mean),
            found.means.B + q.means.B * reach,
            found.means.b + of_b * (q.means.b - h.of_b.mean.mean),
        )
        variances = Weights(
            found.variances.A + 0.5,
            found.variances.a + of_a / 2,
            found.variances.B + reach / 2,
            found.variances.b + of_b / 2,
        )
        return Factors(Normal(found.s + q.s.mean, found.s_var + 0.5), means, variances, h), value

    def updated(self, q: Factors) -> Factors:
        """Hyper-parameters at their best values, and variances towards their fixed point as far as F falls."""
        q = q._replace(hierarchy=self._best_hierarchy(q))
        gradients, value = self.gradients(q)
        share = 1.0
        for _ in range(_MAX_DAMPINGS):
            moved = q._replace(
                s=q.s._replace(var=_towards_fixed_point(q.s.var, gradients.s.var, share)),
                variances=Weights(
                    *(
                        _towards_fixed_point(old, slope, share)
                        for old, slope in zip(q.variances, gradients.variances, strict=True)
                    )
                ),
            )
            if self.free_energy(moved) <= value:
                return moved
            share /= 2
        return q

    def _best_hierarchy(self, q: Factors) -> Hierarchy:
        h = q.hierarchy
        known = outputs(q.s.mean, q.s.var, q.means, q.variances, np.ones(self.X.shape[1]))
        squares = self.weights @ ((self.X - known.means) ** 2 + output_variances(q, known))
        noise = best_log_sd(self.weights.sum(), squares, float(h.of_noise.mean.mean), h.of_noise.precision)
        noise = noise._replace(mean=np.maximum(noise.mean, _SMALLEST_NOISE))
        n_columns = len(q.means.B)
        of_B = (q.means.B**2 + q.variances.B).sum(axis=0)
        reach = best_log_sd(n_columns, of_B, float(h.of_reach.mean.mean), h.of_reach.precision)
        return Hierarchy(
            noise,
            reach,
            _best_hyper(h.of_noise, noise),
            _best_hyper(h.of_reach, reach),
            _best_hyper(h.of_a, Normal(q.means.a, q.variances.a)),
            _best_hyper(h.of_b, Normal(q.means.b, q.variances.b)),
        )


def _best_hyper(given: Hyper, children: Normal) -> Hyper:
    mean = best_mean(children, given.precision)
    squares = np.sum((children.mean - mean.mean) ** 2 + children.var + mean.var)
    return Hyper(mean, best_log_sd(np.size(children.mean), squares, 0.0, _BROAD))


def _towards_fixed_point(old: np.ndarray, slope: np.ndarray, share: float) -> np.ndarray:
    """Variances between the old ones (share 0) and ``1 / (2 slope)``, on the scale of logarithms."""
    target = np.where(slope > 0, 0.5 / np.where(slope > 0, slope, 1.0), old)
    return old * (np.maximum(target, 1e-12) / old) ** share


def output_variances(q: Factors, known: Outputs) -> np.ndarray:
    """Variance of every output of every row."""
    omega = known.by_weights.second - known.by_weights.first**2
    found = omega @ (q.means.B**2).T + known.moments.second @ q.variances.B.T + q.variances.b
    for unit in range(q.s.mean.shape[1]):
        jacobian = (known.slope * q.means.A[:, unit]) @ q.means.B.T
        found += q.s.var[:, unit, None] * jacobian**2
    return found


def row_cost(X: np.ndarray, known: Outputs, noise: Normal) -> np.ndarray:
    """Expected negative log-likelihood of each row."""
    constant = X.shape[1] * _LOG_2PI / 2 + np.sum(noise.mean)
    return constant + ((X - known.means) ** 2 @ noise.inverse_variance + known.row_cost) / 2


def row_divergence(s: Normal) -> np.ndarray:
    """Divergence of the factors of each row from their prior."""
    return divergence_from_normal(s, 0.0, 0.0).sum(axis=1)


def divergence_of_weights(q: Factors) -> float:
    """Divergence of the weights from their priors."""
    h = q.hierarchy
    parts = (
        divergence_from_normal(Normal(q.means.A, q.variances.A), 0.0, 0.0),
        divergence_from_normal(Normal(q.means.a, q.variances.a), h.of_a.mean, h.of_a.log_sd),
        divergence_from_normal(Normal(q.means.B, q.variances.B), 0.0, h.reach),
        divergence_from_normal(Normal(q.means.b, q.variances.b), h.of_b.mean, h.of_b.log_sd),
    )
    return float(sum(part.sum() for part in parts))


def divergence_of_hierarchy(h: Hierarchy) -> float:
    """Divergence of the noise, the reach of hidden units and all hyper-parameters from their priors."""
    found = divergence_from_normal(h.noise, h.of_noise.mean, h.of_noise.log_sd).sum()
    found += divergence_from_normal(h.reach, h.of_reach.mean, h.of_reach.log_sd).sum()
    broad = -np.log(_BROAD) / 2
    for hyper in (h.of_noise, h.of_reach, h.of_a, h.of_b):
        found += divergence_from_normal(hyper.mean, 0.0, broad) + divergence_from_normal(hyper.log_sd, 0.0, broad)
    return float(found)


class FactorFit(NamedTuple):
    """Where one start ended."""

    factors: Factors
    path: np.ndarray
    n_eval: int
    converged: bool
    stopped: bool


def fit_factors(
    rows: FactorRows,
    start: Factors,
    *,
    method: str,
    geometry: str,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> FactorFit:
    """Means by `riemannian_cg`, everything else before each of its steps."""
    state = start
    shapes = [start.s.mean.shape, *(each.shape for each in start.means)]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def placed(x: np.ndarray) -> Factors:
        s, *weights = (part.reshape(shape) for part, shape in zip(np.split(x, cuts), shapes, strict=True))
        return state._replace(s=state.s._replace(mean=s), means=Weights(*weights))

    def packed(s: np.ndarray, weights: Weights) -> np.ndarray:
        return np.concatenate([s.ravel(), *(each.ravel() for each in weights)])

    def fun_grad(x: np.ndarray):
        q = placed(x)

        def gradient() -> np.ndarray:
            found, _ = rows.gradients(q)
            return packed(found.s.mean * rows.weights[:, None], found.means)

        return rows.free_energy(q), gradient

    def update(x: np.ndarray) -> None:
        nonlocal state
        state = rows.updated(placed(x))

    def information(x: np.ndarray) -> np.ndarray:
        of_weights = Weights(*(1 / each for each in state.variances))
        return packed(rows.weights[:, None] / state.s.var, of_weights)

    found = riemannian_cg(
        fun_grad,
        DiagonalMetric(information),
        packed(start.s.mean, start.means),
        method=method,  # type: ignore[arg-type]
        geometry=geometry,  # type: ignore[arg-type]
        tol=tol,
        max_iter=max_iter,
        update=update,
        callback=on_step,
    )
    return FactorFit(placed(found.x), found.path, found.n_eval, found.converged, found.stopped)


def starting_factors(
    X: np.ndarray, weights: np.ndarray, n_components: int, n_hidden: int, random: np.random.RandomState
) -> Factors:
    """Factors along random directions of large variance, random hidden units, and outputs by ridge regression.

    Of several draws, the one with the smallest residuals is taken: where rows follow a curve, few directions order them
    along it.
    """
    n_columns = X.shape[1]
    drawn = [_random_network(X, weights, n_components, n_hidden, random) for _ in range(_N_TRIES)]
    _, s, means = min(drawn, key=lambda each: each[0])
    variances = Weights(*(np.full(each.shape, 1e-2) for each in means))
    one = Hyper(Normal(np.array(0.0), np.array(1.0)), Normal(np.array(0.0), np.array(0.1)))
    hierarchy = Hierarchy(
        Normal(np.full(n_columns, -0.5), np.full(n_columns, 0.01)),
        Normal(np.zeros(n_hidden), np.full(n_hidden, 0.1)),
        one,
        one,
        one,
        one,
    )
    return Factors(Normal(s, np.full(s.shape, 0.1)), means, variances, hierarchy)


def _random_network(
    X: np.ndarray, weights: np.ndarray, n_components: int, n_hidden: int, random: np.random.RandomState
) -> tuple[float, np.ndarray, Weights]:
    """Sum of the squared residuals, factors and weights of one draw."""
    covariance = (X.T * weights) @ X / weights.sum()
    scores = X @ covariance @ random.standard_normal((X.shape[1], n_components))
    values, vectors = np.linalg.eigh((scores.T * weights) @ scores / weights.sum())
    there = values > 1e-10 * max(values.max(initial=0), 1e-300)
    s = scores @ (vectors * np.where(there, 1 / np.sqrt(np.where(there, values, 1.0)), 0.0))
    A, a = random.standard_normal((n_hidden, n_components)), random.standard_normal(n_hidden)
    hidden = np.column_stack([np.tanh(s @ A.T + a), np.ones(len(X))])
    ridge = np.diag(np.append(np.full(n_hidden, _START_RIDGE * weights.sum()), 1e-12))
    found = np.linalg.solve((hidden.T * weights) @ hidden + ridge, (hidden.T * weights) @ X)
    residuals = weights @ ((X - hidden @ found) ** 2)
    return float(residuals.sum()), s, Weights(A, a, found[:-1].T, found[-1])


def factors_of_rows(
    X: np.ndarray, starts: np.ndarray, means: Weights, variances: Weights, noise: Normal, *, tol: float = 1e-6
) -> tuple[Normal, np.ndarray]:
    """Posterior of s of new rows under a fitted network, and the bound on the log-likelihood of each row.

    Every row by itself: Gauss-Newton steps, cut in half until its cost falls, and the fixed point of its variances.
    """
    precision = noise.inverse_variance
    found = _RowSearch(X, Normal(starts.copy(), np.full(starts.shape, 0.1)), means, variances, noise)
    active = np.arange(len(X))
    for _ in range(_MAX_ROW_STEPS):
        before = found.costs[active]
        s, var = found.s.mean[active], found.s.var[active]
        known = outputs(s, var, means, variances, precision, slopes=True)
        slopes = output_gradients(X[active], s, var, means, variances, precision, np.ones(len(active)), known)
        reach = known.slope[:, :, None] * means.A
        bend = np.einsum("njl,jk,nkm->nlm", reach, known.gram, reach, optimize=True) + np.eye(s.shape[1])
        step = -np.linalg.solve(bend, (slopes.s + s)[:, :, None])[:, :, 0]
        found.move(active, step, np.ones_like(var))
        found.move(active, np.zeros_like(step), _towards_fixed_point(var, slopes.s_var + 0.5, 1.0) / var)
        active = active[before - found.costs[active] > tol]
        if not len(active):
            break
    return found.s, -found.costs


class _RowSearch:
    """Factors of rows and their costs, each row by itself."""

    def __init__(self, X: np.ndarray, s: Normal, means: Weights, variances: Weights, noise: Normal):
        self.X, self.s = X, s
        self._network = (means, variances, noise.inverse_variance)
        self._noise = noise
        self.costs = self._costs(np.arange(len(X)), s)

    def _costs(self, rows: np.ndarray, s: Normal) -> np.ndarray:
        return row_cost(self.X[rows], outputs(s.mean, s.var, *self._network), self._noise) + row_divergence(s)

    def move(self, rows: np.ndarray, step: np.ndarray, factor: np.ndarray) -> None:
        """Add a step to the means and multiply the variances: in whole, in half, ... until the cost does not rise."""
        waiting, share = np.arange(len(rows)), 1.0
        for _ in range(_MAX_HALVINGS):
            own = rows[waiting]
            tried = Normal(self.s.mean[own] + share * step[waiting], self.s.var[own] * factor[waiting] ** share)
            costs = self._costs(own, tried)
            lower = costs <= self.costs[own]
            kept = own[lower]
            self.s.mean[kept], self.s.var[kept], self.costs[kept] = tried.mean[lower], tried.var[lower], costs[lower]
            waiting, share = waiting[~lower], share / 2
            if not len(waiting):
                break
