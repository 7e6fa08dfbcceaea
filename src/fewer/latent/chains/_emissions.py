"""Distributions of a row given its state, with missing values at random: normal, categorical, Bernoulli, Poisson.

Columns are independent given the state, but for full and tied covariances of the normal distribution. A missing entry
then has no factor in the density; with a covariance, the density is that of the observed entries, and EM takes the
conditional mean and covariance of the missing ones. Both are exact where values are missing at random.

An emission knows how to estimate parameters from posteriors of the states (`maximised`), and gives log-densities of
rows in all states. So it serves chains and mixtures alike.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from scipy.special import gammaln

from fewer._estimators import known_column, warn_caller
from fewer._kernels._arrays import read_only
from fewer._kernels._numpy_lapack import solve_spd, solve_triangular
from fewer.latent.mixtures._class_mixture import kmeans_labels

_RARE = 1e-10
_SMALLEST_VARIANCE = 1e-12
_EMPTY = 1e-10


class Emission:
    """What a distribution of rows given their state has to do; parameters are tuples of arrays, state by state."""

    name: ClassVar[str]

    def learn(self, X: np.ndarray) -> None:
        """See what the table is like: units, categories; refuse what cannot be."""

    def prepare(self, X: np.ndarray) -> Any:
        """Rows as the other functions take them."""
        raise NotImplementedError

    def start(self, rows: Any, n_components: int, random: np.random.RandomState, spread: bool) -> Any:
        """Parameters to start from: k-means, or with ``spread`` some rows at random, far from each other."""
        raise NotImplementedError

    def log_densities(self, rows: Any, parameters: Any) -> np.ndarray:
        """Log-density of each row in each state."""
        raise NotImplementedError

    def maximised(self, rows: Any, posteriors: np.ndarray, parameters: Any) -> Any:
        """The M-step from posteriors of states, which may be weighted; ``parameters`` are the present ones."""
        raise NotImplementedError

    def log_prior(self, parameters: Any, total: float) -> float:
        """What the objective of EM has beyond the log-likelihood, for rows with this total weight."""
        return 0.0

    def log_units(self, rows: Any) -> np.ndarray | float:
        """What the log-density of each row has in addition in the units of the table."""
        return 0.0

    def n_parameters(self, n_components: int) -> int:
        """Free parameters."""
        raise NotImplementedError

    def ordered(self, parameters: Any, order: np.ndarray) -> Any:
        """Parameters with the states in another order."""
        return tuple(each[order] for each in parameters)

    def drawn(self, parameters: Any, states: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """A row for each state."""
        raise NotImplementedError

    def attributes(self, parameters: Any) -> dict[str, Any]:
        """Fitted attributes in the units of the table; None for those that another distribution has."""
        return {"means_": None, "covariances_": None, "probabilities_": None, "categories_": None}


class GaussianRows(NamedTuple):
    """Standardised rows, constants of their log-densities, and rows by which of their entries are missing."""

    X: np.ndarray
    constants: np.ndarray
    patterns: list[tuple[np.ndarray, np.ndarray]]


class GaussianEmission(Emission):
    """Normal distribution with a covariance of a given shape; ``reg_covar`` is a share of the variance of a column.

    Its part in the objective is ``-reg_covar n / (2 K) sum_k tr Sigma_k^-1``, so that the objective of EM climbs.
    """

    name = "gaussian"

    def __init__(self, covariance_type: str, reg_covar: float) -> None:
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar

    def learn(self, X: np.ndarray) -> None:
        observed = ~np.isnan(X)
        numbers = np.maximum(observed.sum(axis=0), 1)
        first = X[observed.argmax(axis=0), np.arange(X.shape[1])]
        first = np.where(np.isnan(first), 0.0, first)
        # Of large numbers, the mean of differences is more exact than that of the numbers.
        self.offset = first + np.where(observed, X - first, 0).sum(axis=0) / numbers
        centred = np.where(observed, X - self.offset, 0)
        largest = np.abs(centred).max(axis=0, initial=0)
        largest[largest == 0] = 1.0
        self.unit = largest * np.sqrt(((centred / largest) ** 2).sum(axis=0) / numbers)
        self.unit[~(self.unit > 0)] = 1.0

    def prepare(self, X: np.ndarray) -> GaussianRows:
        standardised = np.ascontiguousarray((np.asarray(X, dtype=np.float64) - self.offset) / self.unit)
        missing = np.isnan(standardised)
        constants = -(~missing).sum(axis=1) * np.log(2 * np.pi) / 2
        patterns = []
        if self.covariance_type in ("full", "tied"):
            kinds, members = np.unique(missing, axis=0, return_inverse=True)
            patterns = [(np.flatnonzero(members.ravel() == place), ~kind) for place, kind in enumerate(kinds)]
        return GaussianRows(standardised, constants, patterns)

    def start(self, rows, n_components, random, spread):
        filled = np.nan_to_num(rows.X)
        labels = _start_labels(filled, n_components, random, spread)
        n_columns = filled.shape[1]
        covariances = {
            "full": np.broadcast_to(np.eye(n_columns), (n_components, n_columns, n_columns)),
            "tied": np.eye(n_columns),
            "diag": np.ones((n_components, n_columns)),
            "spherical": np.ones(n_components),
        }[self.covariance_type]
        prior = (np.zeros((n_components, n_columns)), covariances)
        means, found = self.maximised(rows, labels, prior)
        return means, covariances.copy() if spread else found

    def log_densities(self, rows, parameters):
        means, covariances = parameters
        if self.covariance_type in ("diag", "spherical"):
            variances = _variances(covariances, means.shape)
            out = np.empty((len(rows.X), len(means)))
            _diagonal_densities(
                read_only(rows.X),
                read_only(np.ascontiguousarray(means.T)),
                read_only(np.ascontiguousarray(1 / variances.T)),
                read_only(np.ascontiguousarray(np.log(variances).T)),
                read_only(rows.constants),
                out,
            )
            return out
        out = np.empty((len(rows.X), len(means)))
        for members, seen in rows.patterns:
            if not seen.any():
                out[members] = 0.0
                continue
            block = rows.X if len(rows.patterns) == 1 and seen.all() else rows.X[np.ix_(members, seen)]
            factors = [_cholesky(each[np.ix_(seen, seen)]) for each in _each_once(covariances)]
            for k, mean in enumerate(means):
                factor = factors[k % len(factors)]
                points = solve_triangular(factor, (block - mean[seen]).T)
                out[members, k] = -np.log(np.diag(factor)).sum() - np.einsum("ij,ij->j", points, points) / 2
        return out + rows.constants[:, None]

    def maximised(self, rows, posteriors, parameters):
        means, covariances = parameters
        ridge = self.reg_covar * posteriors.sum() / len(means)
        if self.covariance_type in ("diag", "spherical"):
            sizes, sums, squares = (np.zeros(means.shape[::-1]) for _ in range(3))
            old = np.ascontiguousarray(means.T)
            _moments(
                read_only(rows.X), read_only(np.ascontiguousarray(posteriors)), read_only(old), sizes, sums, squares
            )
            shifts = sums / np.maximum(sizes, 1e-300)
            scatter = np.maximum(squares - shifts * sums, 0)
            if self.covariance_type == "spherical":
                numbers = sizes.sum(axis=0)
                variances = (scatter.sum(axis=0) + ridge * len(old)) / np.maximum(numbers, _EMPTY)
            else:
                numbers = sizes.T
                variances = (scatter + ridge).T / np.maximum(numbers, _EMPTY)
            variances = np.where(numbers > _EMPTY, np.maximum(variances, _SMALLEST_VARIANCE), covariances)
            return (old + shifts).T.copy(), variances
        sizes = np.maximum(posteriors.sum(axis=0), 1e-300)
        new_means = np.empty_like(means)
        scatters = np.empty((len(means), means.shape[1], means.shape[1]))
        each = _each_once(covariances)
        for k, mean in enumerate(means):
            filled, extra = _completed(rows, posteriors[:, k], mean, each[k % len(each)])
            shift = posteriors[:, k] @ (filled - mean) / sizes[k]
            new_means[k] = mean + shift
            centred = filled - new_means[k]
            scatters[k] = (centred * posteriors[:, k][:, None]).T @ centred + extra
        eye = np.eye(means.shape[1])
        if self.covariance_type == "tied":
            return new_means, (scatters.sum(axis=0) + ridge * len(means) * eye) / sizes.sum()
        found = (scatters + ridge * eye) / np.maximum(sizes, _EMPTY)[:, None, None]
        return new_means, np.where((sizes > _EMPTY)[:, None, None], found, covariances)

    def log_prior(self, parameters, total):
        if not self.reg_covar:
            return 0.0
        means, covariances = parameters
        n_components = len(means)
        if self.covariance_type in ("diag", "spherical"):
            trace = float((1 / _variances(covariances, means.shape)).sum())
        else:
            trace = sum(float(np.trace(np.linalg.inv(each))) for each in _each_once(covariances))
            trace *= n_components if self.covariance_type == "tied" else 1
        return -self.reg_covar * total / n_components / 2 * trace

    def log_units(self, rows):
        return -np.where(np.isnan(rows.X), 0, np.log(self.unit)).sum(axis=1)

    def n_parameters(self, n_components):
        n_columns = len(self.offset)
        shapes = {
            "full": n_components * n_columns * (n_columns + 1) // 2,
            "tied": n_columns * (n_columns + 1) // 2,
            "diag": n_components * n_columns,
            "spherical": n_components,
        }
        return n_components * n_columns + shapes[self.covariance_type]

    def ordered(self, parameters, order):
        means, covariances = parameters
        return means[order], covariances if self.covariance_type == "tied" else covariances[order]

    def drawn(self, parameters, states, random):
        means, covariances = parameters
        noise = random.normal(size=(len(states), means.shape[1]))
        if self.covariance_type in ("diag", "spherical"):
            noise *= np.sqrt(_variances(covariances, means.shape))[states]
        else:
            factors = np.array([_cholesky(each) for each in _each_once(covariances)])
            noise = np.einsum("ij,ikj->ik", noise, factors[states % len(factors)])
        return (means[states] + noise) * self.unit + self.offset

    def attributes(self, parameters):
        means, covariances = parameters
        if self.covariance_type == "diag":
            covariances = covariances * self.unit**2
        elif self.covariance_type == "spherical":
            covariances = covariances[:, None] * self.unit**2
        else:
            covariances = covariances * np.outer(self.unit, self.unit)
        return super().attributes(parameters) | {
            "means_": means * self.unit + self.offset,
            "covariances_": covariances,
        }


def _variances(covariances: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(covariances if covariances.ndim == 2 else covariances[:, None], shape)


def _each_once(covariances: np.ndarray) -> np.ndarray:
    return covariances if covariances.ndim == 3 else covariances[None]


def _cholesky(covariance: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "The covariance of a state is not positive definite: too few rows are in it, or columns are linearly "
            "dependent. Raise reg_covar, lower n_components, or use covariance_type='diag'."
        ) from None


def _completed(
    rows: GaussianRows, shares: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with conditional means in place of missing entries, and the weighted sum of conditional covariances."""
    extra = np.zeros_like(covariance)
    if len(rows.patterns) == 1 and rows.patterns[0][1].all():
        return rows.X, extra
    filled = rows.X.copy()
    for members, seen in rows.patterns:
        if seen.all():
            continue
        gone = ~seen
        if not seen.any():
            filled[members] = mean
            extra += shares[members].sum() * covariance
            continue
        slopes = solve_spd(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gone)])
        block = rows.X[np.ix_(members, seen)]
        filled[np.ix_(members, gone)] = mean[gone] + (block - mean[seen]) @ slopes
        rest = covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, seen)] @ slopes
        extra[np.ix_(gone, gone)] += shares[members].sum() * rest
    return filled, extra


@njit(cache=True, nogil=True)
def _diagonal_densities(X, means, inverses, log_variances, constants, out):
    n_rows, n_columns = X.shape
    n_states = means.shape[1]
    total = np.empty(n_states)
    for row in range(n_rows):
        for k in range(n_states):
            total[k] = 0.0
        for column in range(n_columns):
            value = X[row, column]
            if not np.isnan(value):
                for k in range(n_states):
                    total[k] += log_variances[column, k] + (value - means[column, k]) ** 2 * inverses[column, k]
        for k in range(n_states):
            out[row, k] = constants[row] - 0.5 * total[k]


@njit(cache=True, nogil=True)
def _moments(X, posteriors, means, sizes, sums, squares):
    """Weighted sums about the present means, [column, state], of observed entries."""
    n_rows, n_columns = X.shape
    n_states = means.shape[1]
    for row in range(n_rows):
        for column in range(n_columns):
            value = X[row, column]
            if not np.isnan(value):
                for k in range(n_states):
                    share = posteriors[row, k]
                    gap = value - means[column, k]
                    sizes[column, k] += share
                    sums[column, k] += share * gap
                    squares[column, k] += share * gap * gap


def _start_labels(X: np.ndarray, n_components: int, random: np.random.RandomState, spread: bool) -> np.ndarray:
    """Indicators of clusters (n, K): by k-means; or, ``spread``, of the nearest of some rows at random."""
    if spread:
        seeds = X[random.choice(len(X), size=n_components, replace=len(X) < n_components)]
        scores = (
            -((X[:, None, :] - seeds) ** 2).sum(axis=2)
            if X.size * n_components < 1e7
            else -np.array([((X - seed) ** 2).sum(axis=1) for seed in seeds]).T
        )
        labels = scores.argmax(axis=1)
    else:
        labels = kmeans_labels(X, np.ones(len(X)), n_components, random)
    return (labels[:, None] == np.arange(n_components)).astype(np.float64)


class CodedRows(NamedTuple):
    """Place of each entry's category among those of all columns, -1 where it is missing."""

    codes: np.ndarray


def coded_densities(rows: CodedRows, logs: np.ndarray) -> np.ndarray:
    """Sums of the entries of a table (categories, K) over the observed categories of each row."""
    out = np.zeros((len(rows.codes), logs.shape[1]))
    _coded_densities(read_only(rows.codes), read_only(np.ascontiguousarray(logs)), out)
    return out


class CategoricalEmission(Emission):
    """A probability for each category of each column; parameters: one table (categories of all columns, K)."""

    name = "categorical"

    def learn(self, X: np.ndarray) -> None:
        self.categories = []
        for column in range(X.shape[1]):
            values = X[:, column]
            values = values[~_is_missing(values)]
            if not len(values):
                raise ValueError(f"Column {known_column(column, X.shape[1])!r} has no observed value; leave it out.")
            try:
                self.categories.append(np.unique(values))
            except TypeError:
                raise ValueError(
                    f"Column {known_column(column, X.shape[1])!r} mixes text and numbers; make all of it text."
                ) from None
        self.edges = np.concatenate([[0], np.cumsum([len(each) for each in self.categories])])

    def prepare(self, X):
        codes = np.full(X.shape, -1, dtype=np.int64)
        unseen = []
        for column, categories in enumerate(self.categories):
            values = X[:, column]
            there = np.flatnonzero(~_is_missing(values))
            known = {value: place for place, value in enumerate(categories.tolist())}
            present = values[there].tolist()
            own = np.array([known.get(value, -1) for value in present], dtype=np.int64)
            unseen += [(column, value) for value in dict.fromkeys(present) if value not in known]
            codes[there, column] = np.where(own < 0, -1, own + self.edges[column])
        if unseen:
            column, value = unseen[0]
            warn_caller(
                f"Column {known_column(column, X.shape[1])!r} holds {value!r}, which was not seen in fit"
                + (f", and {len(unseen) - 1} more such values" if len(unseen) > 1 else "")
                + f". {'They count' if len(unseen) > 1 else 'It counts'} as missing."
            )
        return CodedRows(codes)

    def start(self, rows, n_components, random, spread):
        overall = np.bincount(rows.codes[rows.codes >= 0], minlength=self.edges[-1]).astype(np.float64)
        return (self.normalised(overall[:, None] * random.exponential(size=(len(overall), n_components))),)

    def normalised(self, table: np.ndarray) -> np.ndarray:
        """Shares within each column; no category is impossible."""
        totals = np.add.reduceat(table, self.edges[:-1], axis=0)
        sizes = np.diff(self.edges)
        shares = table / np.repeat(np.maximum(totals, 1e-300), sizes, axis=0)
        shares = np.where(np.repeat(totals > 0, sizes, axis=0), shares, np.repeat(1 / sizes, sizes)[:, None])
        shares = np.maximum(shares, _RARE)
        return shares / np.repeat(np.add.reduceat(shares, self.edges[:-1], axis=0), sizes, axis=0)

    def log_densities(self, rows, parameters):
        return coded_densities(rows, np.log(parameters[0]))

    def counts(self, rows: CodedRows, posteriors: np.ndarray) -> np.ndarray:
        """Expected number of rows with each category in each state."""
        out = np.zeros((self.edges[-1], posteriors.shape[1]))
        _coded_counts(read_only(rows.codes), read_only(np.ascontiguousarray(posteriors)), out)
        return out

    def maximised(self, rows, posteriors, parameters):
        return (self.normalised(self.counts(rows, posteriors)),)

    def n_parameters(self, n_components):
        return n_components * int(self.edges[-1] - len(self.categories))

    def ordered(self, parameters, order):
        return (parameters[0][:, order],)

    def drawn(self, parameters, states, random):
        dtypes = {each.dtype for each in self.categories}
        shared = self.categories[0].dtype if len(dtypes) == 1 else np.dtype(object)
        found = np.empty((len(states), len(self.categories)), dtype=shared)
        for column, categories in enumerate(self.categories):
            table = parameters[0][self.edges[column] : self.edges[column + 1]]
            running = np.cumsum(table, axis=0)[:, states]
            places = (random.uniform(size=len(states)) * running[-1] > running).sum(axis=0)
            found[:, column] = categories[np.minimum(places, len(categories) - 1)]
        return found

    def attributes(self, parameters):
        tables = np.split(parameters[0], self.edges[1:-1])
        return super().attributes(parameters) | {
            "probabilities_": [table.T.copy() for table in tables],
            "categories_": list(self.categories),
        }


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        # pandas' NA is neither equal to itself nor different.
        return np.array(
            [
                each is None or type(each).__name__ == "NAType" or (isinstance(each, float) and each != each)
                for each in values
            ],
            dtype=bool,
        )
    return np.zeros(len(values), dtype=bool)


@njit(cache=True, nogil=True)
def _coded_densities(codes, logs, out):
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            code = codes[row, column]
            if code >= 0:
                for k in range(out.shape[1]):
                    out[row, k] += logs[code, k]


@njit(cache=True, nogil=True)
def _coded_counts(codes, posteriors, out):
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            code = codes[row, column]
            if code >= 0:
                for k in range(out.shape[1]):
                    out[code, k] += posteriors[row, k]


class CountRows(NamedTuple):
    """Entries with 0 where they are missing, whether they are observed, and the part of densities without states."""

    X: np.ndarray
    observed: np.ndarray
    constants: np.ndarray


class _RateEmission(Emission):
    """A mean for each column and state, which EM estimates as the weighted mean of observed entries."""

    _highest: ClassVar[float] = np.inf

    def learn(self, X: np.ndarray) -> None:
        self.n_features = X.shape[1]
        for column in range(X.shape[1]):
            values = X[:, column]
            values = values[~np.isnan(values)]
            self._refuse(values, known_column(column, X.shape[1]))

    def _refuse(self, values: np.ndarray, column: Any) -> None:
        raise NotImplementedError

    def prepare(self, X):
        self.learn(X)
        observed = ~np.isnan(X)
        filled = np.where(observed, X, 0.0).astype(np.float64)
        return CountRows(filled, observed.astype(np.float64), self._constants(filled))

    def _constants(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))

    def start(self, rows, n_components, random, spread):
        centred = rows.X - rows.X.mean(axis=0)
        unit = centred.std(axis=0)
        labels = _start_labels(centred / np.where(unit > 0, unit, 1), n_components, random, spread)
        overall = rows.X.sum(axis=0) / np.maximum(rows.observed.sum(axis=0), 1)
        (means,) = self.maximised(rows, labels, None)
        return (self._bounded((means + overall) / 2),)

    def _bounded(self, means: np.ndarray) -> np.ndarray:
        return np.clip(means, _RARE, self._highest)

    def maximised(self, rows, posteriors, parameters):
        return (self._bounded((posteriors.T @ rows.X) / np.maximum(posteriors.T @ rows.observed, 1e-300)),)

    def n_parameters(self, n_components):
        return n_components * self.n_features

    def attributes(self, parameters):
        return super().attributes(parameters) | {"means_": parameters[0]}


class BernoulliEmission(_RateEmission):
    """Probability of a 1 in each column; entries are 0 or 1."""

    name = "bernoulli"
    _highest = 1 - _RARE

    def _refuse(self, values, column):
        wrong = values[(values != 0) & (values != 1)]
        if len(wrong):
            raise ValueError(
                f"Column {column!r} holds {wrong[0]:g}, and emission='bernoulli' takes 0 and 1 (and missing values) "
                "only; use 'categorical' for other codes."
            )

    def log_densities(self, rows, parameters):
        (means,) = parameters
        return rows.X @ np.log(means).T + (rows.observed - rows.X) @ np.log1p(-means).T

    def drawn(self, parameters, states, random):
        chances = parameters[0][states]
        return (random.uniform(size=chances.shape) < chances).astype(np.float64)


class PoissonEmission(_RateEmission):
    """Rate of each column; entries are whole numbers from 0 on."""

    name = "poisson"

    def _refuse(self, values, column):
        wrong = values[(values < 0) | (values != np.floor(values))]
        if len(wrong):
            raise ValueError(
                f"Column {column!r} holds {wrong[0]:g}, and emission='poisson' takes counts (0, 1, 2, ...) only; use "
                "'gaussian' for measurements."
            )

    def _constants(self, X):
        return -gammaln(X + 1).sum(axis=1)

    def log_densities(self, rows, parameters):
        (means,) = parameters
        return rows.X @ np.log(means).T - rows.observed @ means.T + rows.constants[:, None]

    def drawn(self, parameters, states, random):
        return random.poisson(parameters[0][states]).astype(np.float64)


def emission_of(name: str, covariance_type: str, reg_covar: float) -> Emission:
    """The distribution of a name."""
    if name == "gaussian":
        return GaussianEmission(covariance_type, reg_covar)
    return {"categorical": CategoricalEmission, "bernoulli": BernoulliEmission, "poisson": PoissonEmission}[name]()
